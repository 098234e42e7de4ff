package diagnose

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

//go:embed page.html
var pageText string

// page is what page.html shows.
type page struct {
	*Diagnosis
	Title   string
	Version string
	Again   string
	Causes  []pageCause
	Tiles   []pageTiles
	Rows    []pageFinding
}

type pageCause struct {
	Cause
	Number   int
	Excerpts []excerpt
}

// excerpt is a few lines of a source file around the guilty ones.
type excerpt struct {
	File  string
	Lines []excerptLine
	Left  int // guilty lines that there was no room for
}

type excerptLine struct {
	Number int
	Text   string
	Guilty bool
}

// pageTiles is a wrong stage's first bad tile.
type pageTiles struct {
	Caption  string
	Pictures []pagePicture
}

type pagePicture struct {
	picture
	Src template.URL // a data URI of our own making
}

type pageFinding struct {
	report.Finding
	Where string
}

// WriteHTML writes one self-contained page: the story, causes with their source, tiles as pictures, findings, commands.
// version is the program's.
func (d *Diagnosis) WriteHTML(w io.Writer, version string) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("BUG: page.html: %w", err)
	}
	p := &page{Diagnosis: d, Title: "tilescope: " + d.Run.Title(), Version: version, Again: d.again}
	for i := range d.Causes {
		p.Causes = append(p.Causes, d.pageCause(i))
	}
	for i := range d.Stages {
		if err := p.addTiles(&d.Stages[i]); err != nil {
			return err
		}
	}
	for _, f := range d.Findings {
		row := pageFinding{f, f.Source.At()}
		if f.Other != nil {
			row.Where += ", " + lineText(f.Other, f.Source)
		}
		p.Rows = append(p.Rows, row)
	}
	shown := text.NewWriter(w) // the template escapes what HTML means; this spells out what a browser would obey
	if err := t.Execute(shown, p); err != nil {
		return err
	}
	return shown.Flush()
}

func (d *Diagnosis) pageCause(i int) pageCause {
	c := pageCause{Cause: d.Causes[i], Number: i + 1}
	places := []*report.Source{c.Place.Source, c.Place.Other}
	for _, f := range c.Findings {
		places = append(places, d.Findings[f].Source, d.Findings[f].Other)
	}
	c.Excerpts = d.excerpts(places)
	return c
}

const (
	excerptContext = 4  // lines before and after a guilty one
	excerptMost    = 60 // lines of a file that are shown
)

// excerpts cuts the lines around places out of their files, file by file, gaps left out.
func (d *Diagnosis) excerpts(places []*report.Source) []excerpt {
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
	var out []excerpt
	for _, file := range files {
		lines := d.Executed.Source(file)
		if len(lines) == 0 {
			continue
		}
		e := excerpt{File: file}
		for n := 1; n <= len(lines); n++ {
			if len(e.Lines) == excerptMost {
				if slices.Contains(guilty[file], n) {
					e.Left++
				}
				continue
			}
			if slices.ContainsFunc(guilty[file], func(g int) bool { return n >= g-excerptContext && n <= g+excerptContext }) {
				e.Lines = append(e.Lines, excerptLine{n, lines[n-1], slices.Contains(guilty[file], n)})
			}
		}
		out = append(out, e)
	}
	return out
}

// addTiles draws a wrong stage's first bad tile.
func (p *page) addTiles(doc *report.Stage) error {
	if doc.Verdict != report.Wrong && doc.Verdict != report.Tainted {
		return nil
	}
	v, local, err := firstBadTile(p.Judged(), doc)
	if err != nil || v == nil {
		return err
	}
	pictures, err := tilePictures(v, local)
	if err != nil {
		return err
	}
	t := pageTiles{Caption: fmt.Sprintf("%s, %s: block %s%s, %d×%d", doc.Name, doc.Verdict, v.Block, report.AtTile(", ", doc.Phase, doc.TileName, doc.FirstBad.KVTile), v.ValidRows, v.ValidCols)}
	for _, pic := range pictures {
		t.Pictures = append(t.Pictures, pagePicture{pic, template.URL(pic.URI)})
	}
	p.Tiles = append(p.Tiles, t)
	return nil
}
