// Package warps is the pane that shows every warp of a block: its groups of lanes, where each
// stands, what it waits for.
//
// The one idea: one line a group, and the mask as 32 marks, so that lanes which parted are seen as a pattern.
//
// It must not know runs, walks or keys.
package warps

import (
	"fmt"

	"tilescope/debugkern/target"
	"tilescope/tui/theme"
)

// Data is what is shown.
type Data struct {
	Warps   []target.Warp
	Current int
	Next    int      // the warp whose turn it is, -1 for none
	Lines   []int    // of the source, by PC
	PTX     []int    // lines of the PTX, by PC
	Texts   []string // by PC
	Note    string
	Empty   string
}

// Pane draws warps.
type Pane struct {
	theme.Frame[bool]
	data Data
	rows []row
	cur  int
	top  int
}

// row is a group of a warp; pc -1 is a warp that has ended.
type row struct {
	warp  int
	pc    int
	mask  uint32
	wait  string
	first bool
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false)} }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.scroll()
	}
}

// SetData shows another state.
func (p *Pane) SetData(d Data) {
	chosen := p.Chosen()
	same := d.Current == p.data.Current
	p.data, p.Changed = d, true
	p.rows = p.rows[:0]
	for _, w := range d.Warps {
		if len(w.Groups) == 0 {
			p.rows = append(p.rows, row{warp: w.Index, pc: -1, mask: w.Exited, wait: "ended", first: true})
		}
		for i, g := range w.Groups {
			p.rows = append(p.rows, row{warp: w.Index, pc: g.PC, mask: g.Mask, wait: w.Wait, first: i == 0})
		}
	}
	if !same {
		chosen = d.Current
	}
	p.cur = 0
	for i := len(p.rows) - 1; i >= 0; i-- {
		if p.rows[i].warp == chosen {
			p.cur = i
		}
	}
	p.scroll()
}

// Chosen is the warp under the cursor.
func (p *Pane) Chosen() int {
	if p.cur < len(p.rows) {
		return p.rows[p.cur].warp
	}
	return p.data.Current
}

// Move moves the cursor by n lines and reports whether it moved.
func (p *Pane) Move(n int) bool {
	was := p.cur
	p.cur = max(0, min(p.cur+n, len(p.rows)-1))
	p.scroll()
	p.Changed = p.Changed || p.cur != was
	return p.cur != was
}

// Hit puts the cursor on the line drawn at y.
func (p *Pane) Hit(y int) bool {
	i := p.top + y - 1
	if y < 1 || y >= p.H-1 || i >= len(p.rows) {
		return false
	}
	p.cur, p.Changed = i, true
	return true
}

func (p *Pane) scroll() {
	p.top = theme.Into(p.top, p.cur, p.H-2, len(p.rows))
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	w := max(p.W-2, 0)
	if len(p.rows) == 0 {
		return p.Theme.Box("WARPS", "", []string{
			p.Theme.Line(w).Space(1).Add(p.Theme.Dim, p.Theme.Fit(p.data.Empty, w-1)).Done(),
		}, p.W, p.H, p.Focus)
	}
	var out []string
	for i := p.top; i < min(p.top+max(1, p.H-2), len(p.rows)); i++ {
		out = append(out, p.row(i, w))
	}
	note := p.data.Note
	if of := p.listed(len(out)); of != "" && note != "" {
		note = of + " · " + note
	} else if of != "" {
		note = of
	}
	return p.Theme.Box("WARPS", note, out, p.W, p.H, p.Focus)
}

// listed says which warps n lines from the top list: "warps 4-7 of 8"; where each warp has a line among them,
// and lanes that parted have more, which lines: "lines 1-4 of 6". "" where all are listed.
func (p *Pane) listed(n int) string {
	if n == len(p.rows) {
		return ""
	}
	first, last := p.rows[p.top].warp, p.rows[p.top+n-1].warp
	switch all := len(p.data.Warps); {
	case last-first+1 == all:
		return fmt.Sprintf("lines %d-%d of %d", p.top+1, p.top+n, len(p.rows))
	case first == last:
		return fmt.Sprintf("warp %d of %d", first, all)
	default:
		return fmt.Sprintf("warps %d-%d of %d", first, last, all)
	}
}

// row: ▸ 0 ████████····███ 493 ptx 1851 wmma.store…
func (p *Pane) row(i, w int) string {
	r, t := p.rows[i], p.Theme
	l := t.Line(w)
	style := t.Text
	switch {
	case i == p.cur && p.Focus:
		style = t.Select
	case r.pc < 0:
		style = t.Off
	case r.warp == p.data.Current:
		style = t.Strong
	}
	l.Pointer(r.warp == p.data.Current && r.first)
	name := "  "
	if r.first {
		name = fmt.Sprintf("%2d", r.warp)
	}
	l.Add(style, name)
	if r.warp == p.data.Next && r.first {
		l.Glyph(t.OK, t.Glyph.Dot)
	} else {
		l.Add(style, " ")
	}
	p.mask(l, style, r, w)
	if r.pc >= 0 {
		if r.pc < len(p.data.Lines) && p.data.Lines[r.pc] > 0 {
			l.Add(style, t.Fit(fmt.Sprintf(" %d", p.data.Lines[r.pc]), l.Left()))
		}
		if r.pc < len(p.data.PTX) && p.data.PTX[r.pc] > 0 {
			l.Add(t.SourceNum, t.Fit(fmt.Sprintf(" ptx %d", p.data.PTX[r.pc]), l.Left()))
		}
	}
	switch {
	case r.wait != "":
		l.Add(style, " ").Add(t.Taint, t.Fit(r.wait, l.Left()))
	case r.pc >= 0 && r.pc < len(p.data.Texts) && l.Left() > 8:
		l.Add(t.Dim, " "+t.Fit(p.data.Texts[r.pc], l.Left()-1))
	}
	if style == t.Select {
		return l.DoneIn(style)
	}
	return l.Done()
}

// mask is a mark a lane where there is room, else hexadecimal.
func (p *Pane) mask(l *theme.Line, style theme.Style, r row, w int) {
	if w < 60 {
		l.Add(style, fmt.Sprintf("%08x", r.mask))
		return
	}
	full, none := p.Theme.Glyph.Spark[len(p.Theme.Glyph.Spark)-1], p.Theme.Glyph.Equal
	for lane := range 32 {
		if r.mask>>lane&1 != 0 && r.pc >= 0 {
			l.Glyph(style, full)
		} else {
			l.Glyph(p.Theme.Dim, none)
		}
	}
}
