// Package source is the pane that shows the CUDA source around a line.
//
// The one idea: it follows a line that somebody else points at, and scrolls on its own when it has the focus.
// Where lines are chosen in it, it has a cursor of its own.
//
// It must not know runs or keys.
package source

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"tilescope/tui/theme"
)

// Pane draws a file.
type Pane struct {
	theme.Frame[bool]
	file  string
	text  []string
	line  int // from 1; 0 where nothing is pointed at
	cur   int // the chosen line, from 1; 0 where none is
	top   int
	note  string
	marks map[int]bool
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false)} }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.reveal()
	}
}

// Show points at a line of a file. A nil text says that the file is not at hand.
func (p *Pane) Show(file string, text []string, line int, note string) {
	if file == p.file && line == p.line && note == p.note && len(text) == len(p.text) {
		return
	}
	p.file, p.text, p.line, p.note, p.Changed = file, text, line, note, true
	p.reveal()
}

// SetMarks marks lines, as those with breakpoints.
func (p *Pane) SetMarks(lines map[int]bool) { p.marks, p.Changed = lines, true }

// SetCursor chooses a line and scrolls so that it is seen.
func (p *Pane) SetCursor(line int) {
	p.cur, p.Changed = max(1, min(line, len(p.text))), true
	if n := p.body(); p.cur-1 < p.top+min(2, n/4) || p.cur-1 >= p.top+n-min(2, n/4) {
		p.top = p.cur - 1 - n/2
	}
	p.top = max(0, min(p.top, len(p.text)-p.body()))
}

// Cursor is the file and the chosen line.
func (p *Pane) Cursor() (string, int) { return p.file, p.cur }

// Move moves the chosen line by n and reports whether it moved.
func (p *Pane) Move(n int) bool {
	was := p.cur
	p.cur = max(1, min(p.cur+n, len(p.text)))
	p.top = theme.Into(p.top, p.cur-1, p.body(), len(p.text))
	p.Changed = true
	return p.cur != was
}

// Hit chooses the line drawn at y.
func (p *Pane) Hit(y int) {
	if line := p.top + y; y >= 1 && y < p.H-1 && line <= len(p.text) {
		p.cur, p.Changed = line, true
	}
}

// Point points at another line of the file without scrolling.
func (p *Pane) Point(line int) { p.line, p.Changed = line, true }

// Pointed is the file and line pointed at.
func (p *Pane) Pointed() (string, int) { return p.file, p.line }

// Scroll moves by n lines and reports whether it moved.
func (p *Pane) Scroll(n int) bool {
	was := p.top
	p.top = max(0, min(p.top+n, len(p.text)-p.body()))
	p.Changed = p.Changed || p.top != was
	return p.top != was
}

func (p *Pane) body() int { return max(1, p.H-2) }

// reveal scrolls so that the line stands in the middle.
func (p *Pane) reveal() {
	if p.line > 0 {
		p.top = max(0, min(p.line-1-p.body()/2, len(p.text)-p.body()))
	}
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	title := "SOURCE"
	if p.file != "" {
		if title += " " + p.file; p.cur > 0 {
			title = "SOURCE " + path.Base(p.file)
		}
		if p.line > 0 {
			title += ":" + strconv.Itoa(p.line)
		}
	}
	w := p.W - 2
	if p.text == nil {
		text := "the source appears with the first run"
		if p.file != "" {
			text = fmt.Sprintf("%s is not at hand", p.file)
		}
		return p.Theme.Box(title, "", []string{p.Theme.Line(w).Space(1).Add(p.Theme.Dim, text).Done()}, p.W,
			p.H, p.Focus)
	}
	digits := len(strconv.Itoa(len(p.text)))
	indent := p.indent(w - digits - 4)
	var out []string
	for i := p.top; i < min(p.top+p.body(), len(p.text)); i++ {
		l := p.Theme.Line(w)
		num, text := p.Theme.SourceNum, p.Theme.SourceLine
		mark := " "
		chosen := i+1 == p.cur && p.Focus
		switch {
		case i+1 == p.line:
			num, text, mark = p.Theme.KernelLine, p.Theme.KernelLine, p.Theme.Glyph.Pointer
		case chosen:
			num, text, mark = p.Theme.Select, p.Theme.Select, p.Theme.Glyph.Left
		}
		switch {
		case p.marks[i+1]:
			l.Glyph(p.Theme.Wrong, p.Theme.Glyph.Dot)
		case p.cur > 0:
			l.Space(1)
		}
		l.Add(num, mark).Right(num, strconv.Itoa(i+1), l.Col()+digits).Add(num, " ")
		l.Add(text, cut(theme.Untab(p.text[i]), indent))
		if i+1 == p.line || chosen {
			out = append(out, l.DoneIn(text))
		} else {
			out = append(out, l.Done())
		}
	}
	return p.Theme.Box(title, p.note, out, p.W, p.H, p.Focus)
}

// indent is the blanks that all lines on screen begin with, where they would otherwise be cut at their end.
// Only a pane with a cursor moves its text: one that merely points shows it as it is written.
func (p *Pane) indent(w int) int {
	least, longest := 1<<30, 0
	for i := p.top; i < min(p.top+p.body(), len(p.text)); i++ {
		s := theme.Untab(p.text[i])
		if s = strings.TrimRight(s, " "); s != "" && s[0] != '#' {
			least, longest = min(least, len(s)-len(strings.TrimLeft(s, " "))), max(longest, len(s))
		}
	}
	if p.cur == 0 || longest <= w || least == 1<<30 {
		return 0
	}
	return least
}

// cut takes up to n blanks from the beginning.
func cut(s string, n int) string {
	for ; n > 0 && s != "" && s[0] == ' '; n-- {
		s = s[1:]
	}
	return s
}
