// Package page writes what a command found as one self-contained HTML page: no script, no file or
// address outside it.
//
// The one idea: what pages have in common (style, excerpts of sources) is written once; a command brings the
// body. Whatever a kernel or a file says goes through the template's escaping, and what a browser would obey
// beyond that is spelled out.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

//go:embed common.html
var common string

// Write executes a template for data that has at least a Title. The template may use "head", which ends after
// the body's opening tag, and "excerpts" of a []Excerpt.
func Write(w io.Writer, body string, data any) error {
	t, err := template.New("common").Parse(common)
	if err == nil {
		t, err = t.New("page").Parse(body)
	}
	if err != nil {
		return fmt.Errorf("BUG: the page's template: %w", err)
	}
	// the template escapes what HTML means; this spells out what a browser would obey
	shown := text.NewWriter(w)
	if err := t.Execute(shown, data); err != nil {
		return err
	}
	return shown.Flush()
}

// Excerpt is a few lines of a source file around the guilty ones.
type Excerpt struct {
	File  string
	Lines []Line
	Left  int // guilty lines that there was no room for
}

// Line is one line of an excerpt.
type Line struct {
	Number int
	Text   string
	Guilty bool
}

const (
	excerptContext = 4  // lines before and after a guilty one
	excerptMost    = 60 // lines of a file that are shown
)

// Excerpts cuts the lines around places out of their files, file by file, gaps left out. text has the lines
// of a file, nil where it cannot be read; nil places are passed over.
func Excerpts(places []*report.Source, text func(file string) []string) []Excerpt {
	guilty := map[string][]int{}
	var files []string
	for _, p := range places {
		if p == nil || p.Line < 1 {
			continue
		}
		if guilty[p.File] == nil {
			files = append(files, p.File)
		}
		if !slices.Contains(guilty[p.File], p.Line) {
			guilty[p.File] = append(guilty[p.File], p.Line)
		}
	}
	var out []Excerpt
	for _, file := range files {
		lines := text(file)
		if len(lines) == 0 {
			continue
		}
		e := Excerpt{File: file}
		for n := 1; n <= len(lines); n++ {
			if len(e.Lines) == excerptMost {
				if slices.Contains(guilty[file], n) {
					e.Left++
				}
				continue
			}
			if slices.ContainsFunc(guilty[file], func(g int) bool {
				return n >= g-excerptContext && n <= g+excerptContext
			}) {
				e.Lines = append(e.Lines, Line{n, lines[n-1], slices.Contains(guilty[file], n)})
			}
		}
		out = append(out, e)
	}
	return out
}
