// Package source is the pane that shows the CUDA source around a line.
//
// The one idea: it follows a line that somebody else points at, and scrolls on its own when it has the focus.
//
// It must not know runs or keys.
package source

import (
	"fmt"
	"strconv"

	"tilescope/tui/theme"
)

// Pane draws a file.
type Pane struct {
	th      *theme.Theme
	w, h    int
	file    string
	text    []string
	line    int // from 1; 0 where nothing is pointed at
	top     int
	note    string
	focus   bool
	lines   []string
	changed bool
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{th: th, changed: true} }

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) { p.th, p.changed = th, true }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if w != p.w || h != p.h {
		p.w, p.h, p.changed = w, h, true
		p.reveal()
	}
}

// SetFocus says whether the pane has the focus.
func (p *Pane) SetFocus(on bool) {
	if on != p.focus {
		p.focus, p.changed = on, true
	}
}

// Show points at a line of a file. A nil text says that the file is not at hand.
func (p *Pane) Show(file string, text []string, line int, note string) {
	if file == p.file && line == p.line && note == p.note && len(text) == len(p.text) {
		return
	}
	p.file, p.text, p.line, p.note, p.changed = file, text, line, note, true
	p.reveal()
}

// Pointed is the file and line pointed at.
func (p *Pane) Pointed() (string, int) { return p.file, p.line }

// Scroll moves by n lines and reports whether it moved.
func (p *Pane) Scroll(n int) bool {
	was := p.top
	p.top = max(0, min(p.top+n, len(p.text)-p.body()))
	p.changed = p.changed || p.top != was
	return p.top != was
}

func (p *Pane) body() int { return max(1, p.h-2) }

// reveal scrolls so that the line stands in the middle.
func (p *Pane) reveal() {
	if p.line > 0 {
		p.top = max(0, min(p.line-1-p.body()/2, len(p.text)-p.body()))
	}
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string {
	if p.changed {
		p.changed = false
		p.lines = p.draw()
	}
	return p.lines
}

func (p *Pane) draw() []string {
	title := "SOURCE"
	if p.file != "" {
		title += " " + p.file
		if p.line > 0 {
			title += ":" + strconv.Itoa(p.line)
		}
	}
	w := p.w - 2
	if p.text == nil {
		text := "the source appears with the first run"
		if p.file != "" {
			text = fmt.Sprintf("%s is not at hand", p.file)
		}
		return p.th.Box(title, "", []string{p.th.Line(w).Space(1).Add(p.th.Dim, text).Done()}, p.w, p.h, p.focus)
	}
	digits := len(strconv.Itoa(len(p.text)))
	var out []string
	for i := p.top; i < min(p.top+p.body(), len(p.text)); i++ {
		l := p.th.Line(w)
		num, text := p.th.SourceNum, p.th.SourceLine
		mark := " "
		if i+1 == p.line {
			num, text, mark = p.th.KernelLine, p.th.KernelLine, p.th.Glyph.Pointer
		}
		l.Add(num, mark).Right(num, strconv.Itoa(i+1), 1+digits).Add(num, " ")
		l.Add(text, untab(p.text[i]))
		if i+1 == p.line {
			out = append(out, l.DoneIn(text))
		} else {
			out = append(out, l.Done())
		}
	}
	return p.th.Box(title, p.note, out, p.w, p.h, p.focus)
}

// untab widens tabs to four columns.
func untab(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r != '\t' {
			out = append(out, r)
			continue
		}
		for ok := true; ok; ok = len(out)%4 != 0 {
			out = append(out, ' ')
		}
	}
	return string(out)
}
