package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/report"
	"tilescope/debugkern/sarif"
)

// checksSchema names the document of a check of several files.
const checksSchema = "tilescope.checks/1"

// checksDoc is the document tilescope.checks/1.
type checksDoc struct {
	Schema string        `json:"schema"`
	Exit   int           `json:"exit"` // the largest of Files
	Files  []checkedFile `json:"files"`
}

// checkedFile is a file's check: LeftOut is why there is none, Error why it did not end.
type checkedFile struct {
	File    string        `json:"file"`
	Exit    int           `json:"exit"`
	LeftOut string        `json:"left_out,omitempty"`
	Error   string        `json:"error,omitempty"`
	Check   *report.Check `json:"check"`
}

// sharedOptions are the options of check that several files can have in common.
var sharedOptions = []string{
	"seed", "schedule", "builder", "arch", "include", "define", "std", "timeout", "suppress", "baseline",
	"sarif", "changed", "json", "memory-max", "trust", "host", "help",
}

// checkFiles checks several files, each with the launch that its text states.
func (a *app) checkFiles(cmd *cobra.Command, opt *checkOptions, names []string) error {
	var single error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(sharedOptions, f.Name) && single == nil {
			single = usageError("--%s is of one FILE: of several, or with --changed, each states its launch in its text",
				f.Name)
		}
	})
	if single != nil {
		return single
	}
	known, err := checkrun.ReadKnownFindings(cmd.Context(), opt.suppress, opt.baseline)
	if err != nil {
		return err
	}
	log := sarif.Log{
		Version: a.Version, Of: "check", Command: opt.again(cmd, names...), Successful: true,
	}
	out := outputs{{
		option: "--sarif", path: opt.sarif, kind: sarifFile,
		fill: func(w io.Writer) error { return log.Write(w, nil) },
	}}
	defer out.abandon()
	if err := out.create(cmd.Context(), a); err != nil {
		return err
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	doc := checksDoc{Schema: checksSchema, Files: []checkedFile{}}
	given := opt.clone()
	for _, name := range names {
		*opt = given.clone()
		f, results, err := a.checkFile(cmd, opt, s, known, name)
		if err != nil {
			return err
		}
		log.Results = append(log.Results, results...)
		log.Successful = log.Successful && f.Error == ""
		doc.Files, doc.Exit = append(doc.Files, *f), max(doc.Exit, f.Exit)
		opt.discard()
		if !a.json {
			f.print(a.Stdout)
		}
	}
	if err := out.write(); err != nil {
		return err
	}
	if err := a.print(doc, doc.print); err != nil {
		return err
	}
	return exitFor(doc.Exit)
}

// checkFile checks one of several files. The error is the context's: whatever else happens is the file's.
func (a *app) checkFile(
	cmd *cobra.Command, opt *checkOptions, s *debugkern.Session, known report.KnownFindings, name string,
) (*checkedFile, []sarif.Result, error) {
	f := &checkedFile{File: name}
	why, err := leftOut(cmd, opt, name)
	if f.LeftOut = why; why != "" {
		return f, nil, nil
	}
	var c *checkrun.Result
	if err == nil {
		err = opt.check(cmd, name)
	}
	if err == nil {
		meter := newMeter(a.Stderr, a.json)
		c, err = opt.checked(cmd, a, s, name, meter)
		meter.clear()
	}
	if cmd.Context().Err() != nil {
		return nil, nil, cmd.Context().Err()
	}
	if err != nil {
		f.Error, f.Exit = err.Error(), codeOf(err)
		return f, []sarif.Result{notChecked(name, err)}, nil
	}
	c.Doc.Apply(known)
	f.Check, f.Exit = c.Doc, c.Doc.ExitCode()
	results := sarifResults(c)
	for i := range results {
		results[i].Source, results[i].Other = atFile(name, results[i].Source), atFile(name, results[i].Other)
	}
	return f, results, nil
}

// leftOut says why one of the changed files is not checked; "" where it is.
func leftOut(cmd *cobra.Command, opt *checkOptions, name string) (string, error) {
	switch {
	case !opt.changed, build.Bundled(name):
		return "", nil
	case !isKernelFile(name) && !ofPython(name):
		return "it is no kernel", nil
	}
	lines, err := checkrun.OptionComments(cmd.Context(), name)
	if err == nil && len(lines) == 0 {
		return `it states no launch ("// tilescope: --grid …")`, nil
	}
	return "", err
}

// sarifResults are the findings of a check as results.
func sarifResults(c *checkrun.Result) []sarif.Result {
	var out []sarif.Result
	for i := range c.Doc.Findings {
		out = append(out, sarif.OfFinding(&c.Doc.Findings[i], c.Source))
	}
	return out
}

// notChecked is the result of a file whose check did not end, at its error's place where that is known.
func notChecked(name string, err error) sarif.Result {
	r := sarif.Result{
		Kind: "not-checked", Message: err.Error(), About: name, Source: &report.Source{File: name, Line: 1},
	}
	var failed *report.KernelError
	if errors.As(err, &failed) {
		r.Source = cmp.Or(atFile(name, failed.Failure().Source), r.Source)
	}
	return r
}

// atFile is a place whose file is spelled as that of the kernel that was checked, where it is the same:
// compilers and bundles leave out the folder.
func atFile(name string, s *report.Source) *report.Source {
	if s == nil {
		return nil
	}
	at, base := *s, filepath.Base(filepath.FromSlash(s.File))
	switch {
	case base == filepath.Base(name):
		at.File = name
	case base == s.File: // of a PTX file, say: its source is next to it
		at.File = filepath.Join(filepath.Dir(name), base)
	}
	return &at
}

// codeOf is the exit code that an error stands for.
func codeOf(err error) int {
	var coded *report.Error
	if errors.As(err, &coded) {
		return int(coded.Code)
	}
	if debugkern.OutOfMemory(err) {
		return int(report.CodeFailed)
	}
	return exitUsage
}

func (f *checkedFile) print(w io.Writer) {
	switch {
	case f.LeftOut != "":
		fmt.Fprintf(w, "%s: left out: %s\n", f.File, f.LeftOut)
	case f.Error != "":
		fmt.Fprintf(w, "%s: not checked: %s\n", f.File, f.Error)
	default:
		fmt.Fprintf(w, "%s: ", f.File)
		printCheck(w, f.Check)
		fmt.Fprintln(w)
	}
}

// print is the last line: how many files came out how.
func (d *checksDoc) print(w io.Writer) {
	var clean, found, failed, out int
	for i := range d.Files {
		switch f := &d.Files[i]; {
		case f.LeftOut != "":
			out++
		case f.Error != "":
			failed++
		case f.Exit != 0:
			found++
		default:
			clean++
		}
	}
	fmt.Fprintf(w, "%s: %d clean, %d with errors, %d not checked, %d left out\n", plural(len(d.Files), "file"),
		clean, found, failed, out)
}
