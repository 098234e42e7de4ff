package fragment

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Table is a table of the cells of a fragment: a kernel's own, as it stands in the module that was executed
// or in its sources, or one in a file that is judged alone, which is in no module. The document is what is
// wrong with it, nil until it is judged.
type Table struct {
	Name  string            // the variable's, in the source
	Var   string            // as in the PTX
	Line  int               // of its definition in the PTX
	At    *report.Source    // where the source declares it, nil where that was not found
	Cells [][]report.Cell16 // by lane and element
	lines [][]int           // of a table that HeaderTable read, where the entries stand
	// Right: what a module's should hold, in its own element type: the Data of a ptx.Edit. nil
	// until it is judged
	Right []byte
	// Encoding is how a table that FindLookups or TextTable found writes the map down; "" of others
	Encoding string
	*report.Lut

	size int // bytes of an element in the module
}

// FindTables lists the tables by which an entry takes an accumulator apart, in the order of the module,
// without judging them. A table is recognised by its content, not its name: constant data of 32×8 pairs of
// integers that name most cells of a 16×16 tile. source returns the lines of a source file of the module by
// name, nil where it is not available.
func FindTables(m *ptx.Module, entry *ptx.Func, source func(file string) []string) []Table {
	var found []Table
	for _, v := range m.Vars {
		if v.Space != ptx.SpaceConst && v.Space != ptx.SpaceGlobal || len(v.Relocs) > 0 {
			continue
		}
		for _, size := range []int{1, 2, 4} {
			cells := tableIn(v.Init, size)
			if cells == nil || !m.Uses(entry, v) { // compilers emit data that nothing reads
				continue
			}
			found = append(found, Table{
				Name: v.Demangled, Var: v.Name, Line: v.Pos.Line,
				At: declaration(m, source, v.Demangled, cells), Cells: cells, size: size,
			})
		}
	}
	return found
}

// HeaderTable reads the table WMMA_ACCUM_LUT out of the text of a header, without judging it. A text without
// a full table is a usage error that names the file.
func HeaderTable(path string, text []byte) (*Table, error) {
	cells, lines, err := parseLut(string(text), lutName)
	if err != nil {
		return nil, report.Usagef("%s: %w", filepath.Base(path), err)
	}
	return &Table{Name: filepath.Base(path), Cells: cells, lines: lines}, nil
}

// NamesTable reports whether a header's text has WMMA_ACCUM_LUT, whole or not.
func NamesTable(text []byte) bool { return strings.Contains(string(text), lutName) }

// Judge compares a table with the accumulator's map, of several dtypes with the one that it is nearest to:
// float's and half's need not be the same.
func (m *Maps) Judge(t *Table, dtypes ...probes.DType) error {
	for _, dtype := range dtypes {
		doc, err := m.Document(Filter{Kind: "acc", DType: dtype.String()})
		if err != nil {
			return err
		}
		if judgeCells(doc, t.Cells); t.Lut == nil || len(doc.Wrong) < len(t.Wrong) {
			t.Lut = doc
		}
	}
	if t.size == 0 { // of a header
		for i := range t.Wrong {
			if w := &t.Wrong[i]; t.lines != nil {
				w.Line = t.lines[w.Lane][w.Element]
			}
		}
		return nil
	}
	t.Right = make([]byte, 2*tableLanes*tableElements*t.size)
	for l, elems := range t.Maps[0].Lanes {
		for e, cell := range elems {
			for k, n := range cell {
				t.Right[(2*(l*tableElements+e)+k)*t.size] = byte(n)
			}
		}
	}
	return nil
}

// The extents of a table, WMMA_ACCUM_LUT[tableLanes][tableElements][2].
const (
	tableLanes    = 32
	tableElements = 8
)

// tableIn reads data as pairs of integers of size bytes; nil unless there are exactly as many as a table
// has, and at least three quarters of the tile's cells are among them: a table with a hole or a cell
// named twice is still one.
func tableIn(data []byte, size int) [][]report.Cell16 {
	if len(data) != tableLanes*tableElements*2*size {
		return nil
	}
	at := func(i int) int {
		switch size {
		case 2:
			return int(int16(binary.LittleEndian.Uint16(data[2*i:])))
		case 4:
			return int(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
		return int(data[i])
	}
	seen, cells := map[report.Cell16]bool{}, make([][]report.Cell16, tableLanes)
	for l := range cells {
		for e := range tableElements {
			i := 2 * (l*tableElements + e)
			c := report.Cell16{at(i), at(i + 1)}
			if c[0] >= 0 && c[0] < 16 && c[1] >= 0 && c[1] < 16 {
				seen[c] = true
			}
			cells[l] = append(cells[l], c)
		}
	}
	if len(seen) < 192 {
		return nil
	}
	return cells
}

var includeLine = regexp.MustCompile(`(?m)^\s*#\s*include\s*"([^"]+)"`)

// declaration finds the source line that declares a table: of several headers of the same name, the one whose
// numbers are those that were compiled.
func declaration(
	m *ptx.Module, source func(file string) []string, name string, got [][]report.Cell16,
) *report.Source {
	for _, file := range sourceFiles(m, source) {
		lines := source(file)
		text := strings.Join(lines, "\n")
		lanes, _, err := parseLut(text, name)
		if err != nil || !slices.EqualFunc(lanes, got, slices.Equal) {
			continue
		}
		head := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\[\s*32\s*\].*=`)
		for n, line := range lines {
			if head.MatchString(line) {
				return &report.Source{File: file, Line: n + 1}
			}
		}
	}
	return nil
}

// judgeCells fills what is wrong with a table: coverage, then order. A cell that the hardware's map has in
// several elements may be as often in the table.
func judgeCells(d *report.Lut, got [][]report.Cell16) {
	want := d.Maps[0].Lanes
	rows, cols := d.Maps[0].Extents()
	d.Missing, d.Duplicate, d.Wrong = []report.Cell16{}, []report.Cell16{}, []report.LutEntry{}
	count, usual := map[report.Cell16]int{}, map[report.Cell16]int{}
	for l, elems := range got {
		for e, c := range elems {
			count[c]++
			usual[want[l][e]]++
			if c != want[l][e] {
				d.Wrong = append(d.Wrong, report.LutEntry{Lane: l, Element: e, Want: want[l][e], Got: c})
			}
		}
	}
	for i := range rows * cols {
		if c := (report.Cell16{i / cols, i % cols}); count[c] == 0 && usual[c] > 0 {
			d.Missing = append(d.Missing, c)
		}
	}
	var outside []report.Cell16 // of the tile
	for c, n := range count {
		switch {
		case c[0] < 0 || c[0] >= rows || c[1] < 0 || c[1] >= cols:
			outside = append(outside, c)
		case n > usual[c]:
			d.Duplicate = append(d.Duplicate, c)
		}
	}
	for _, cells := range [][]report.Cell16{outside, d.Duplicate} {
		slices.SortFunc(cells, func(a, b report.Cell16) int { return slices.Compare(a[:], b[:]) })
	}
	covered := len(d.Missing) == 0 && len(d.Duplicate) == 0 && len(outside) == 0
	ordered := len(d.Wrong) == 0
	d.Covered, d.Ordered = &covered, &ordered
	switch {
	case ordered:
		d.Explanation = "right: covers every cell, in the order of the hardware"
	case covered:
		text, _ := explainOrder(want, got, d.Wrong)
		d.Explanation = "covers every cell, order wrong: " + text
	default:
		d.Explanation = "does not cover every cell: "
		for _, x := range []struct {
			what  string
			cells []report.Cell16
		}{
			{"never", d.Missing}, {"more than once", d.Duplicate},
			{fmt.Sprintf("outside of the %d×%d tile", rows, cols), outside},
		} {
			if len(x.cells) > 0 {
				d.Explanation += x.what + " " + list(x.cells) + "; "
			}
		}
		d.Explanation += entries(d.Wrong)
	}
}

// entries says how many entries are wrong, and which come first.
func entries(wrong []report.LutEntry) string {
	text := fmt.Sprintf("%d entries are wrong:", len(wrong))
	if len(wrong) == 1 {
		text = "1 entry is wrong:"
	}
	for i, e := range wrong {
		if i == 4 {
			return fmt.Sprintf("%s and %d more", text, len(wrong)-i)
		}
		text += fmt.Sprintf(" lane %d element %d %s for %s", e.Lane, e.Element, e.Got, e.Want)
		if i < min(4, len(wrong))-1 {
			text += ","
		}
	}
	return text
}

// list names at most eight cells.
func list(cells []report.Cell16) string {
	var b strings.Builder
	for i, c := range cells {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(cells)-i)
			break
		}
		fmt.Fprintf(&b, " %s", c)
	}
	return strings.TrimSpace(b.String())
}

// explainOrder returns how a table that covers every cell comes out of the right one, and else, with ok
// false, which entries are wrong.
func explainOrder(want, got [][]report.Cell16, wrong []report.LutEntry) (text string, ok bool) {
	sorted := func(by func(a, b report.Cell16) bool) bool {
		for l := range want {
			w := slices.Clone(want[l])
			sort.SliceStable(w, func(i, j int) bool { return by(w[i], w[j]) })
			if !slices.Equal(w, got[l]) {
				return false
			}
		}
		return true
	}
	var names []string
	if sorted(func(a, b report.Cell16) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }) {
		names = append(names, "sorted by row")
	}
	if sorted(func(a, b report.Cell16) bool { return a[1] < b[1] || a[1] == b[1] && a[0] < b[0] }) {
		names = append(names, "sorted by column")
	}
	transposed := true
	for l := range want {
		for e := range want[l] {
			transposed = transposed && got[l][e] == report.Cell16{want[l][e][1], want[l][e][0]}
		}
	}
	if transposed {
		names = append(names, "rows and columns exchanged")
	}
	if p, lanes := elementOrder(want, got); p != nil {
		names = append(names, fmt.Sprintf("in %s: the hardware's elements in the order %s", lanes,
			strings.Trim(fmt.Sprint(p), "[]")))
	}
	if pairs := exchangedLanes(want, got); names == nil && pairs != "" {
		names = append(names, pairs)
	}
	if shift := shiftedLanes(want, got); names == nil && shift != "" {
		names = append(names, shift)
	}
	if names == nil && len(wrong) == 2 && wrong[0].Got == wrong[1].Want && wrong[1].Got == wrong[0].Want {
		return fmt.Sprintf("lane %d element %d and lane %d element %d exchanged", wrong[0].Lane,
			wrong[0].Element, wrong[1].Lane, wrong[1].Element), true
	}
	if names == nil {
		return entries(wrong) + "; no single permutation of elements explains it", false
	}
	return strings.Join(names, "; "), true
}

// shiftedLanes says that every lane has the cells of the lane so many after it; "" where that does not
// explain the table.
func shiftedLanes(want, got [][]report.Cell16) string {
	n := len(want)
	for by := 1; by < n; by++ {
		all := true
		for l := range got {
			all = all && slices.Equal(got[l], want[(l+by)%n])
		}
		switch {
		case !all:
		case by <= n/2:
			return fmt.Sprintf("every lane has the cells of the lane %d after it", by)
		default:
			return fmt.Sprintf("every lane has the cells of the lane %d before it", n-by)
		}
	}
	return ""
}

// exchangedLanes names pairs of lanes that have each other's cells, where every other lane is right: "lanes 3
// and 5 exchanged"; "" where that does not explain the table.
func exchangedLanes(want, got [][]report.Cell16) string {
	var pairs []string
	for l := range got {
		if slices.Equal(got[l], want[l]) {
			continue
		}
		other := slices.IndexFunc(want, func(w []report.Cell16) bool { return slices.Equal(w, got[l]) })
		if other < 0 || !slices.Equal(got[other], want[l]) {
			return ""
		}
		if l < other {
			pairs = append(pairs, fmt.Sprintf("%d and %d", l, other))
		}
	}
	switch {
	case pairs == nil:
		return ""
	case len(pairs) > 4:
		return fmt.Sprintf("%d pairs of lanes exchanged: %s …", len(pairs), strings.Join(pairs[:4], ", "))
	}
	return "lanes " + strings.Join(pairs, ", ") + " exchanged"
}

// elementOrder is the permutation p with got[lane][e] = want[lane][p[e]] in every lane that is wrong, and
// says which lanes these are; nil where there is none.
func elementOrder(want, got [][]report.Cell16) (p []int, lanes string) {
	var wrong []int
	for l := range got {
		if slices.Equal(got[l], want[l]) {
			continue
		}
		if wrong = append(wrong, l); p == nil {
			for _, c := range got[l] {
				p = append(p, slices.Index(want[l], c))
			}
		}
		for e, c := range got[l] {
			if p[e] < 0 || c != want[l][p[e]] {
				return nil, ""
			}
		}
	}
	switch n := len(wrong); {
	case n == len(got):
		return p, "every lane"
	case n < 2: // its entries are the shorter text
		return nil, ""
	case wrong[n-1]-wrong[0] == n-1:
		return p, fmt.Sprintf("lanes %d to %d", wrong[0], wrong[n-1])
	default:
		return p, "lanes " + strings.ReplaceAll(strings.Trim(fmt.Sprint(wrong), "[]"), " ", ", ")
	}
}
