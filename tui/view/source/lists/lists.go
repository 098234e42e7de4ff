// Package lists is the pane of short lists: watches, breakpoints, calls.
//
// The one idea: a row is a mark and some columns, as wide as the widest of them; the last takes what is left.
//
// It must not know what it lists.
package lists

import (
	"tilescope/tui/theme"
)

// Tone says how a row looks.
type Tone uint8

// The tones.
const (
	Plain Tone = iota
	Dim        // disabled, or without a value
	Changed
	Wrong // it cannot be evaluated
)

// Row is one entry.
type Row struct {
	Mark string // one character before it, "" for none
	Tone Tone
	Cols []string
}

// Data is what is shown.
type Data struct {
	Title, Note string
	Rows        []Row
	Empty       string // instead of rows
}

// Pane draws a list.
type Pane struct {
	theme.Frame[bool]
	data Data
	cur  int
	top  int
	left int // columns scrolled out of the last column
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false)} }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.scroll()
	}
}

// SetData shows another list.
func (p *Pane) SetData(d Data) {
	if d.Title != p.data.Title {
		p.cur, p.top, p.left = 0, 0, 0
	}
	p.data, p.Changed = d, true
	p.cur = max(0, min(p.cur, len(d.Rows)-1))
	p.scroll()
}

// Current is the row under the cursor, -1 where there is none.
func (p *Pane) Current() int {
	if p.cur >= len(p.data.Rows) {
		return -1
	}
	return p.cur
}

// Move moves the cursor by rows, or scrolls the last column, and reports whether anything moved.
func (p *Pane) Move(rows, cols int) bool {
	cur, left := p.cur, p.left
	p.cur = max(0, min(p.cur+rows, len(p.data.Rows)-1))
	longest := 0
	for _, r := range p.data.Rows {
		longest = max(longest, p.Theme.Width(r.Cols[len(r.Cols)-1]))
	}
	p.left = max(0, min(p.left+8*cols, longest-8))
	p.scroll()
	p.Changed = true
	return cur != p.cur || left != p.left
}

// Hit puts the cursor on the row drawn at y and reports whether there is one.
func (p *Pane) Hit(y int) bool {
	i := p.top + y - 1
	if y < 1 || y >= p.H-1 || i >= len(p.data.Rows) {
		return false
	}
	p.cur, p.Changed = i, true
	return true
}

func (p *Pane) scroll() { p.top = theme.Into(p.top, p.cur, p.H-2, len(p.data.Rows)) }

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	w, t := max(p.W-2, 0), p.Theme
	var out []string
	if len(p.data.Rows) == 0 {
		for _, s := range t.Wrap(p.data.Empty, w-2) {
			out = append(out, t.Line(w).Space(1).Add(t.Dim, s).Done())
		}
		return t.Box(p.data.Title, p.data.Note, out, p.W, p.H, p.Focus)
	}
	widths := p.widths()
	for i := p.top; i < min(p.top+max(1, p.H-2), len(p.data.Rows)); i++ {
		out = append(out, p.row(i, w, widths))
	}
	return t.Box(p.data.Title, p.data.Note, out, p.W, p.H, p.Focus)
}

// widths are the columns' but for the last; a column takes at most two fifths of the pane.
func (p *Pane) widths() (out []int) {
	for _, r := range p.data.Rows {
		for i, s := range r.Cols[:len(r.Cols)-1] {
			if i == len(out) {
				out = append(out, 0)
			}
			out[i] = max(out[i], min(p.Theme.Width(s), (p.W-2)*2/5))
		}
	}
	return out
}

func (p *Pane) row(i, w int, widths []int) string {
	r, t := &p.data.Rows[i], p.Theme
	l := t.Line(w)
	style := t.Text
	switch r.Tone {
	case Dim:
		style = t.Off
	case Changed:
		style = t.Taint
	case Wrong:
		style = t.Wrong
	}
	chosen := i == p.cur && p.Focus
	mark := style
	if chosen {
		style, mark = t.Select, t.Select
	}
	if r.Mark == "" {
		l.Add(mark, " ")
	} else {
		l.Add(mark, r.Mark)
	}
	l.Add(style, " ")
	at := 2
	last := len(r.Cols) - 1
	for last > 0 && r.Cols[last] == "" {
		last-- // what has nothing behind it takes the rest of the row
	}
	for k, s := range r.Cols[:last+1] {
		if k < last {
			l.Add(style, t.Fit(s, widths[k]))
			at += widths[k] + 2
			for l.Col() < min(at, w) {
				l.Add(style, " ")
			}
			continue
		}
		if cut := []rune(s); p.left > 0 && len(cut) > p.left {
			s = t.Glyph.Ellipsis + string(cut[p.left+1:])
		}
		l.Add(style, t.Fit(s, l.Left()))
	}
	if chosen {
		return l.DoneIn(style)
	}
	return l.Done()
}
