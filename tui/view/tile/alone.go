package tile

import (
	"fmt"

	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// A tile without a reference: what is said of the cell and the tile below it.

// aloneLine: out[3]  k 2.6250 0x40280000 │ before 0 0x00000000
func (p *Pane) aloneLine(l *theme.Line, x cell.Cell, digits int) *theme.Line {
	v, t := p.data.View, p.data.View.Got.DType
	bar := " " + p.Theme.Glyph.V + " "
	switch {
	case !v.Valid(p.row, p.col):
		return l.Add(p.Theme.Dim, "  past the last element")
	case x.Absent:
		return l.Add(p.Theme.Taint, "  "+p.Theme.Glyph.Absent+" not captured")
	}
	l.Add(p.Theme.Text, fmt.Sprintf("  %*s 0x%s", digits, cell.Typed(t, x.Got), cell.HexText(t, x.Bits))).
		Add(p.Theme.Border, bar)
	switch {
	case v.Injected:
		return l.Add(p.Theme.Notice, "injected by the gate, not computed by the kernel")
	case !v.Plan.OfLaunch():
		return l.Add(p.Theme.Dim, "no reference")
	case v.Plan.Capture.Before:
		return l.Add(p.Theme.Dim, "before the launch")
	case !v.Previous.Reached():
		return l.Add(p.Theme.Dim, "not written before the launch")
	case x.Equal:
		return l.Add(p.Theme.Dim, "as before the launch")
	}
	return l.Add(p.Theme.Text, fmt.Sprintf("before %*s 0x%s", digits, cell.Typed(t, x.Want),
		cell.HexText(t, x.RefBits)))
}

// aloneTileLine: 1024 elements · -3.21 to 4.02 · 2 NaN · 4 changed by the launch
func (p *Pane) aloneTileLine(w int) string {
	l, s, v := p.Theme.Line(w), p.stats, p.data.View
	n := v.ValidRows * v.ValidCols
	if v.Elems > 0 {
		n = v.Elems
	}
	l.Add(p.Theme.Text, theme.Count(n, "element"))
	part := func(style theme.Style, format string, args ...any) {
		l.Add(p.Theme.Dim, " · ").Add(style, fmt.Sprintf(format, args...))
	}
	if s.Every > 1 {
		part(p.Theme.Dim, "of one in %d", s.Every)
	}
	if s.Lo <= s.Hi {
		part(p.Theme.Text, "%s to %s", cell.Typed(v.Got.DType, s.Lo), cell.Typed(v.Got.DType, s.Hi))
	}
	if s.NaN > 0 {
		part(p.Theme.Wrong, "%s %d NaN", p.Theme.Glyph.NaN, s.NaN)
	}
	if s.Inf > 0 {
		part(p.Theme.Wrong, "%s %d Inf", p.Theme.Glyph.Inf, s.Inf)
	}
	if s.Absent > 0 {
		part(p.Theme.Taint, "%s %d not captured", p.Theme.Glyph.Absent, s.Absent)
	}
	if v.Previous.Reached() {
		if s.Changed == 0 {
			part(p.Theme.Dim, "the launch changed none")
		} else {
			part(p.Theme.Text, "%d changed by the launch", s.Changed)
		}
	}
	if p.judge.Crossed() {
		part(p.Theme.Taint, "%s%d from the emulator", p.Theme.Glyph.Differs, s.Differing)
	}
	return l.Done()
}
