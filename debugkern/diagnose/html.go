package diagnose

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"tilescope/debugkern/page"
	"tilescope/debugkern/report"
)

//go:embed page.html
var pageText string

// view is what page.html shows.
type view struct {
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
	Excerpts []page.Excerpt
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

// WriteHTML writes one self-contained page: the story, causes with their source, tiles as pictures, findings,
// commands. version is the program's.
func (d *Diagnosis) WriteHTML(w io.Writer, version string) error {
	p := &view{Diagnosis: d, Title: "tilescope: " + d.Run.Title(), Version: version, Again: d.again}
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
	return page.Write(w, pageText, p)
}

func (d *Diagnosis) pageCause(i int) pageCause {
	c := pageCause{Cause: d.Causes[i], Number: i + 1}
	places := []*report.Source{c.Place.Source, c.Place.Other}
	for _, f := range c.Findings {
		places = append(places, d.Findings[f].Source, d.Findings[f].Other)
	}
	c.Excerpts = page.Excerpts(places, d.Executed.Source)
	return c
}

// addTiles draws a wrong stage's first bad tile.
func (p *view) addTiles(doc *report.Stage) error {
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
	t := pageTiles{
		Caption: fmt.Sprintf("%s, %s: block %s%s, %d×%d", doc.Name, doc.Verdict, v.Block,
			report.AtTile(", ", doc.Phase, doc.TileName, doc.FirstBad.KVTile), v.ValidRows, v.ValidCols),
	}
	for _, pic := range pictures {
		t.Pictures = append(t.Pictures, pagePicture{pic, template.URL(pic.URI)})
	}
	p.Tiles = append(p.Tiles, t)
	return nil
}
