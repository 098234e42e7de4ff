// Package gates is the Gates view's pane: PTXAS, correctness and performance by variant as a table, and below
// it the numbers behind each verdict of the row at the cursor, case by case.
//
// The one idea: a row is a gates.TargetDoc or nothing. Nothing is drawn as not judged; a number stands only
// next to the limit that it was compared with, and what the emulator counted is called a count.
//
// It must not know sessions, sweeps or keys.
package gates

import (
	"slices"

	"tilescope/debugkern/gates"
	"tilescope/probes"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// Row is one variant.
type Row struct {
	Target string
	Doc    *gates.TargetDoc // nil: not judged
	// Previous is the heading of a document of an earlier run, "" for one that answers what
	// would be judged now.
	Previous string
}

// Data is what is shown.
type Data struct {
	Rows    []Row
	Kernel  string
	Current string         // the variant that is run; the cursor begins there
	Without string         // what the request has on top of a variant: it is not judged; ""
	Against string         // what speed is compared with, ""
	Now     gates.Progress // of the sweep under way
	Running bool
	Note    string // what the last sweep came to
	Alone   bool   // the kernel has no reference: findings alone are judged
	Ahead   Ahead
	Keys    string // which keys judge what
	// Parts is where the gates are that run only a part of the kernel, "" where it has none
	Parts string
	// Known is what the run on screen, of the request KnownOf, has shown. It stands below every row: what
	// changes with the cursor costs bytes on a slow line
	Known   []view.Fact
	KnownOf string
}

// Ahead is what a sweep will judge, and by what.
type Ahead struct {
	Limits            probes.Limits
	Archs, Shapes     []string
	Seeds             []uint64
	Warmups, Launches int
}

// Panes of the view, as focus counts them.
const (
	Table = iota
	Numbers
)

// Pane draws the view.
type Pane struct {
	theme.Frame[int] // focus -1: elsewhere
	data             Data
	sel              int // row
	top              int
	line             int // of the numbers
	first            int
	grow             int // lines that a person gave the table

	facts []fact
}

// fact is one line of the numbers; cell is the case that it is about, or nil.
type fact struct {
	style theme.Style
	text  string
	cell  *gates.CellDoc
}

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, -1)} }

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) {
	p.Frame.SetTheme(th)
	p.explain()
}

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.explain()
	}
}

// SetData shows other rows. The selection stays on the same variant.
func (p *Pane) SetData(d Data) {
	was := p.Selected()
	if p.data.Kernel != d.Kernel {
		was.Target = d.Current
	}
	p.data = d
	if i := slices.IndexFunc(d.Rows, func(r Row) bool { return r.Target == was.Target }); i >= 0 {
		p.sel = i
	}
	p.sel = max(0, min(p.sel, len(d.Rows)-1))
	p.explain()
}

// Selected is the row at the cursor, the zero Row where there is none.
func (p *Pane) Selected() Row {
	if p.sel < 0 || p.sel >= len(p.data.Rows) {
		return Row{}
	}
	return p.data.Rows[p.sel]
}

// Case is the case at the cursor, nil unless the numbers have the focus and it stands on one.
func (p *Pane) Case() *gates.CellDoc {
	if p.Focus != Numbers || p.line >= len(p.facts) {
		return nil
	}
	return p.facts[p.line].cell
}

// Move moves by n rows, or lines where the numbers have the focus, and reports whether anything moved.
func (p *Pane) Move(n int) bool {
	if p.Focus == Numbers {
		was := p.line
		p.line = max(0, min(p.line+n, len(p.facts)-1))
		p.Changed = true
		return p.line != was
	}
	was := p.sel
	p.sel = max(0, min(p.sel+n, len(p.data.Rows)-1))
	if p.sel != was {
		p.line, p.first = 0, 0
		p.explain()
	}
	return p.sel != was
}

// NextRed goes to the next or previous row that is red, or, where the numbers have the focus, to
// the next case that is.
func (p *Pane) NextRed(dir int) bool {
	if p.Focus == Numbers {
		for i := p.line + dir; i >= 0 && i < len(p.facts); i += dir {
			if c := p.facts[i].cell; c != nil && c.Verdict == gates.Red {
				p.line, p.Changed = i, true
				return true
			}
		}
		return false
	}
	n := len(p.data.Rows)
	for k := 1; k < n; k++ {
		i := ((p.sel+dir*k)%n + n) % n
		if d := p.data.Rows[i].Doc; d != nil && d.Verdict == gates.Red {
			return p.Move(i - p.sel)
		}
	}
	return false
}

// tableHeight is how many lines the table takes: all rows where they leave the numbers room.
// Where a part is drawn alone it has all lines, or none.
func (p *Pane) tableHeight() int {
	switch {
	case p.Zoomed && p.Focus == Table:
		return p.H
	case p.Zoomed && p.Focus == Numbers:
		return 0
	}
	return max(4, min(len(p.data.Rows)+3+p.grow, p.H-7))
}

// Grow gives the table n lines more or fewer.
func (p *Pane) Grow(n int) {
	p.grow, p.Changed = max(-20, min(20, p.grow+2*n)), true
}

// Scroll moves by n in what lies at a place, wherever the focus is.
func (p *Pane) Scroll(_, y, n int) {
	was, height := p.Focus, p.tableHeight()
	p.Focus = Table
	if y >= height {
		p.Focus = Numbers
	}
	p.Move(n)
	p.Focus = was
}

// Hit maps a place to a row or a line of the numbers.
func (p *Pane) Hit(x, y int) (part int, ok bool) {
	th := p.tableHeight()
	if y < th {
		i := p.top + y - 2
		if y < 2 || y >= th-1 || i >= len(p.data.Rows) {
			return Table, false
		}
		if i != p.sel {
			p.sel, p.line, p.first = i, 0, 0
			p.explain()
		}
		return Table, true
	}
	i := p.first + y - th - 1
	if y < th+1 || y >= p.H-1 || i >= len(p.facts) {
		return Numbers, false
	}
	p.line, p.Changed = i, true
	return Numbers, true
}
