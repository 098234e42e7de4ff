package page

import (
	_ "embed"
	"io"
	"path/filepath"

	"tilescope/debugkern/report"
)

//go:embed check.html
var checkText string

// CheckPage is what the page of a check shows.
type CheckPage struct {
	Doc      *report.Check
	Title    string
	Version  string // the program's
	Again    string // the command line that asks for the same
	Covered  string // how much the verdict speaks of
	Findings []CheckFinding
}

// CheckFinding is a finding with the lines that it is about.
type CheckFinding struct {
	report.Finding
	Excerpts []Excerpt
}

// WriteCheck writes the page of a check. text has the lines of a file as findings name it, nil
// where it cannot be read.
func WriteCheck(w io.Writer, d *report.Check, version, again string, text func(file string) []string) error {
	p := &CheckPage{
		Doc: d, Title: "tilescope check: " + filepath.Base(d.File), Version: version, Again: again,
		Covered: d.Coverage.Text(),
	}
	for _, f := range d.Findings {
		p.Findings = append(p.Findings, CheckFinding{f, Excerpts([]*report.Source{f.Source, f.Other}, text)})
	}
	return Write(w, checkText, p)
}
