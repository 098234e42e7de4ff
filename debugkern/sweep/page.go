package sweep

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern/file"
	"tilescope/debugkern/page"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

//go:embed sweep.html
var pageText string

// rowKey identifies a combination.
type rowKey struct {
	Target, Shape, Gate, Flags, Faults string
}

// row sums the runs of one combination over all seeds.
type row struct {
	rowKey
	Agree, Differ    int
	Guilty, Findings string
	First            string // the first run that does not agree
}

// rows sums a document up, in the plan's order.
func (d *Doc) rows() []row {
	var order []*row
	by := map[rowKey]*row{}
	for i := range d.Runs {
		r := &d.Runs[i]
		k := rowKey{
			Target: r.Target, Shape: r.Shape, Gate: r.Gate, Flags: flagText(r.Flags),
			Faults: strings.Join(r.Faults, ", "),
		}
		x := by[k]
		if x == nil {
			x = &row{rowKey: k}
			by[k] = x
			order = append(order, x)
		}
		if r.Exit == 0 {
			x.Agree++
			continue
		}
		if x.Differ++; x.First == "" {
			x.First = r.Name()
		}
		for _, g := range r.Guilty {
			x.Guilty = joined(x.Guilty, g)
		}
		for _, f := range r.Findings {
			x.Findings = joined(x.Findings, f.String())
		}
	}
	out := make([]row, 0, len(order))
	for _, x := range order {
		out = append(out, *x)
	}
	return out
}

// joined adds a name to a list in words that does not have it.
func joined(list, one string) string {
	switch {
	case list == "":
		return one
	case slices.Contains(strings.Split(list, ", "), one):
		return list
	}
	return list + ", " + one
}

func flagText(flags map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		out = append(out, fmt.Sprintf("%s=%d", name, flags[name]))
	}
	return strings.Join(out, " ")
}

// Counts is how many runs agreed, did not, and failed.
func (d *Doc) Counts() (agree, differ, failed int) {
	for i := range d.Runs {
		if d.Runs[i].Exit == 0 {
			agree++
		} else {
			differ++
		}
	}
	return agree, differ, len(d.Failed)
}

// Title says what a sweep came to, in a line.
func (d *Doc) Title(missing int) string {
	agree, differ, failed := d.Counts()
	t := fmt.Sprintf("%d runs: %d agree, %d do not, %d failed", d.Plan.Runs, agree, differ, failed)
	if missing > 0 {
		t += fmt.Sprintf(", %d are not done", missing)
	}
	if n := len(d.Plan.Skipped); n > 0 {
		t += fmt.Sprintf("; %d combinations cannot be", n)
	}
	return t
}

// write writes the document, its table and its page.
func (d *Doc) write(files *file.System, dir string, missing int) error {
	if err := d.writeJSON(files, filepath.Join(dir, DocumentFile)); err != nil {
		return err
	}
	if err := files.Write(filepath.Join(dir, TableFile), []byte(d.table(missing)), 0o644); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := page.Write(&out, pageText, map[string]any{
		"Title": "tilescope sweep", "Says": d.Title(missing), "Rows": d.rows(), "Doc": d,
	}); err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, PageFile), out.Bytes(), 0o644)
}

// writeJSON writes the document as json.MarshalIndent has it, run by run: the text of 10^6 runs is never in
// memory as a whole.
func (d *Doc) writeJSON(files *file.System, path string) error {
	head := *d
	head.Runs = []Result{}
	b, err := json.MarshalIndent(&head, "", " ")
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	const end = "[]\n}" // of the document: the runs are its last field
	out, err := files.Create(path, 0o644)
	if err != nil {
		return err
	}
	defer out.Abandon()
	fmt.Fprintf(out, "%s", text.JSON(bytes.TrimSuffix(b, []byte(end))))
	for i := range d.Runs {
		b, err := json.MarshalIndent(&d.Runs[i], "  ", " ")
		if err != nil {
			return fmt.Errorf("encode the document: %w", err)
		}
		before := ",\n  "
		if i == 0 {
			before = "[\n  "
		}
		if _, err := fmt.Fprintf(out, "%s%s", before, text.JSON(b)); err != nil {
			return err
		}
	}
	last := end
	if len(d.Runs) > 0 {
		last = "\n ]\n}"
	}
	fmt.Fprintln(out, last) // its error is Commit's
	return out.Commit()
}

// table is the document as Markdown.
func (d *Doc) table(missing int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# tilescope sweep\n\n%s\n\n", d.Title(missing))
	b.WriteString("| target | shape | gate | flags | fault | agree | do not | stages | findings | first |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range d.rows() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %d | %s | %s | %s |\n", cell(r.Target),
			cell(r.Shape), r.Gate, cell(r.Flags), cell(r.Faults), r.Agree, r.Differ, cell(r.Guilty),
			cell(r.Findings), cell(r.First))
	}
	for _, f := range d.Failed {
		fmt.Fprintf(&b, "\nfailed: %s: %s\n", cell(f.Run), cell(f.Error))
	}
	for _, s := range d.Plan.Skipped {
		fmt.Fprintf(&b, "\nskipped: %s on %s, gate %s, %s %s: %s\n", cell(s.Target), cell(s.Shape), s.Gate,
			cell(flagText(s.Flags)), cell(strings.Join(s.Faults, ", ")), cell(s.Reason))
	}
	return b.String()
}

// cell is text in a table of Markdown.
func cell(s string) string { return strings.ReplaceAll(text.Line(s), "|", "\\|") }

// ExitCode is the contract's: 0 all agree, 1 some do not, 4 some could not be run.
func (d *Doc) ExitCode(missing int) int {
	_, differ, failed := d.Counts()
	switch {
	case failed > 0 || missing > 0:
		return int(report.CodeFailed)
	case differ > 0:
		return 1
	}
	return 0
}
