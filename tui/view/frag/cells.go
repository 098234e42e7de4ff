package frag

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// tileLabel is the width of a row's label.
const tileLabel = 3

// pitch is how many columns a cell of the tile takes, separator included.
func (p *Pane) pitch() int { return max(2, min(7, (p.tile.w-tileFrame)/p.across())) }

// across is how many columns of the tile are on screen at once.
func (p *Pane) across() int {
	_, cols := p.extents()
	return min(cols, 16)
}

// firstRow is the first row of the tile in an area: 16 rows fit but on the lowest screens.
func (p *Pane) firstRow(a area) int {
	rows, _ := p.extents()
	return theme.Into(0, p.cell[0], max(1, a.h-3), rows)
}

// drawTile is the fragment's block: in each cell the lane or element that holds it, how many do, or the run's
// value or error.
func (p *Pane) drawTile(a area, shows Show) []string {
	w, pitch := a.w-2, p.pitch()
	rows, cols := p.extents()
	letter, across := "", ""
	title := "TILE: " + shows.String()
	switch {
	case shows == Owners:
		title = "OWNERS by " + p.ownerName()
	case pitch == 2 && shows == Lane:
		title += ", a=10 v=31"
	case pitch <= 3 && shows == Value:
		title += ", 0 least 9 greatest"
	}
	if cols > p.across() {
		title += fmt.Sprintf(", columns %d-%d of %d", p.tileCol, p.tileCol+p.across()-1, cols)
	}
	note := fmt.Sprintf("(%d,%d)", p.cell[0], p.cell[1])
	if v := p.live.View; v != nil {
		letter, across = cell.Axes(v.Plan)
		note = v.Stage.String() + " " + cell.Name(v.Plan, p.origin[0]+p.cell[0], p.origin[1]+p.cell[1])
	}
	if p.live.Raw {
		title += fmt.Sprintf(" · warp %d", p.block())
	}
	head := p.Theme.Line(w).Space(tileLabel)
	for c := range p.across() {
		name := strconv.Itoa(p.origin[1] + p.tileCol + c)
		if pitch >= 5 {
			name = across + name
		}
		if len(strconv.Itoa(p.origin[1]+cols-1)) >= pitch { // every fourth column, as many digits as it has
			if c%4 != 0 {
				head.Pad(tileLabel + pitch*(c+1))
				continue
			}
			head.Pad(tileLabel+pitch*c+1).Add(p.Theme.Dim, name)
			continue
		}
		head.Right(p.Theme.Dim, name, tileLabel+pitch*(c+1))
	}
	if last := strconv.Itoa(p.origin[0] + rows - 1); p.Theme.Width(letter+last) > tileLabel {
		letter = "" // the index alone tells rows apart
	}
	lines := []string{head.Done()}
	for r := p.firstRow(a); r < rows; r++ {
		lines = append(lines, p.tileLine(letter, r, w, pitch, shows))
	}
	return p.Theme.Box(title, note, lines, a.w, a.h, p.Focus == Tile)
}

// block is the number of the fragment's block in the stage's tile, counted row by row.
func (p *Pane) block() int {
	r, c := p.extents()
	cols := c
	if v := p.live.View; v != nil {
		cols = max(c, v.Got.Cols)
	}
	return p.origin[0]/r*(cols/c) + p.origin[1]/c
}

func (p *Pane) tileLine(letter string, row, w, pitch int, shows Show) string {
	l := p.Theme.Line(w).Add(p.Theme.Dim, p.Theme.Fit(letter+strconv.Itoa(p.origin[0]+row), tileLabel)).
		Pad(tileLabel)
	x, _ := p.holder()
	here := row == p.cell[0]
	mark := "" // of the cell to the left
	for i := range p.across() {
		col := p.tileCol + i
		c := report.Cell16{row, col}
		p.separator(l, here && col == p.cell[1], here && i > 0 && col == p.cell[1]+1, mark)
		text, style := p.tileCell(c, pitch-1, shows)
		if h := p.holders[c]; shows != Owners && len(h) > 0 && h[0].lane == x.lane {
			style = p.Theme.Select
		}
		l.Repeat(style, " ", pitch-1-p.Theme.Width(text)).Add(style, text)
		if mark = ""; shows != Error && shows != Owners {
			mark = p.badMark(c)
		}
	}
	p.separator(l, false, here && p.cell[1] == p.tileCol+p.across()-1, mark)
	return l.Done()
}

// ownerName is whose elements are counted as a cell's owners.
func (p *Pane) ownerName() string {
	if t := p.ownTable(); t != nil {
		return t.Name
	}
	return "the hardware"
}

// ownersOf are the elements that have a cell: by the kernel's table where there is one for this fragment,
// else by the hardware's map.
func (p *Pane) ownersOf(c report.Cell16) []at {
	if p.owners != nil {
		return p.owners[c]
	}
	return p.holders[c]
}

// ownership is how many elements own a cell. As many as by the hardware's map recede; none and more lead.
func (p *Pane) ownership(c report.Cell16) (string, theme.Style) {
	n := len(p.ownersOf(c))
	text := strconv.Itoa(n)
	if n > 9 {
		text = "+"
	}
	switch {
	case n == 0:
		return p.Theme.Glyph.Wrong, p.Theme.Wrong
	case n != len(p.holders[c]):
		return text, p.Theme.Wrong
	}
	return text, p.Theme.Dim
}

// tileCell is what a cell shows in n columns.
func (p *Pane) tileCell(c report.Cell16, n int, shows Show) (string, theme.Style) {
	h := p.holders[c]
	switch {
	case shows == Owners:
		return p.ownership(c)
	case shows >= Value:
		return p.number(c, n)
	case len(h) == 0:
		return p.Theme.Glyph.Wrong, p.Theme.Wrong
	}
	of, base := h[0].lane, 32
	if shows == Element {
		of, base = h[0].element, 36
	}
	style := p.Theme.Text
	if p.bad(c) {
		style = p.Theme.Wrong
	}
	text := strconv.Itoa(of)
	if len(text) > n {
		text = strconv.FormatInt(int64(of), base)
	}
	if len(text) > n {
		text = "+"
	}
	return text, style
}

// number is the run's value or error, in one column a digit from 0 (least) to 9 or the error's mark.
func (p *Pane) number(c report.Cell16, n int) (string, theme.Style) {
	x, ok := p.value(c)
	if !ok {
		return p.Theme.Glyph.Off, p.Theme.Off
	}
	if p.shows == Error {
		mark, style := p.Theme.ErrorMark(x.Standing())
		if n < 4 || x.Equal && !x.Bad {
			return mark, style
		}
		text, marked := cell.DiffULP.ErrorText(x, n)
		if marked || len(text) < n && !x.Bad {
			text += mark
		}
		return text, style
	}
	style := p.Theme.Text
	if p.Theme.Colours() {
		style = p.Theme.Value[p.stats.Level(x.Got, len(p.Theme.Value))]
	}
	switch {
	case n >= 3:
		return cell.FixedText(x.Got, n), style
	case math.IsNaN(x.Got):
		return p.Theme.Glyph.NaN, style
	case math.IsInf(x.Got, 0):
		return p.Theme.Glyph.Inf, style
	}
	return strconv.Itoa(p.stats.Level(x.Got, 10)), style
}

// Side is the lane at the cursor as a box of its own, empty without a map.
func (p *Pane) Side(w, h int) []string {
	if p.fragment() == nil || h < 4 || w < 30 {
		return p.Theme.Box("LANE", "", nil, w, h, false)
	}
	return p.drawLane(area{w: w, h: h})
}

// drawLane lists the lane's elements: hardware and table, value and reference, error in its bound.
func (p *Pane) drawLane(a area) []string {
	f, own := p.fragment(), p.ownTable()
	x, _ := p.holder()
	w := a.w - 2
	head := p.Theme.Line(w).Add(p.Theme.Dim, "  el  cell")
	if own != nil {
		head.Pad(12).Add(p.Theme.Dim, "table")
	}
	columns := "    kernel  reference      error"
	if w < wideLane {
		columns = "   kernel     error"
	}
	lines := []string{head.Pad(20).Add(p.Theme.Dim, columns).Done()}
	cells := f.doc.Lanes[x.lane]
	first := theme.Into(0, x.element, max(1, a.h-3), len(cells))
	for e := first; e < len(cells); e++ {
		pointer := " "
		if e == x.element {
			pointer = p.Theme.Glyph.Pointer
		}
		l := p.Theme.Line(w).Add(p.Theme.Mark, pointer).Right(p.Theme.Text, strconv.Itoa(e), 4).
			Right(p.Theme.Text, pair(cells[e]), 10)
		if own != nil && e < len(own.Cells[x.lane]) {
			l.Space(1)
			if t := own.Cells[x.lane][e]; t == cells[e] {
				l.Add(p.Theme.OK, p.Theme.Glyph.OK+" "+pair(t))
			} else {
				l.Add(p.Theme.Wrong, p.Theme.Glyph.Wrong+" "+pair(t))
			}
		}
		lines = append(lines, p.laneValue(l.Pad(20), cells[e]).Done())
	}
	title := fmt.Sprintf("LANE %d of %s", x.lane, p.choice())
	note := p.names(x.lane)
	if p.otherwise() {
		note = fmt.Sprintf("the writer is lane %d", p.live.Writer.Lane)
	}
	return p.Theme.Box(title, note, lines, a.w, a.h, false)
}

// otherwise reports whether the cell under the cursor is known to have been written by no store of a
// fragment: the map then says which lane would hold it in one.
func (p *Pane) otherwise() bool { return p.live.Writer != nil && p.live.Writer.Fragment == "" }

// names is where a lane stands: group and place in it, in the terms of the PTX ISA.
func (p *Pane) names(lane int) string {
	return fmt.Sprintf("group %d, thread %d of it", lane/4, lane%4)
}

// wideLane is the width from which the reference stands beside the kernel's value.
const wideLane = 60

// leastULP is the width of the errors' column without the blank before it.
const leastULP = 10

func pair(c report.Cell16) string { return fmt.Sprintf("%d,%d", c[0], c[1]) }

func (p *Pane) laneValue(l *theme.Line, c report.Cell16) *theme.Line {
	x, ok := p.value(c)
	if !ok {
		return l.Right(p.Theme.Off, p.Theme.Glyph.Off, l.Col()+10)
	}
	at, end := l.Col(), 32
	l.Right(p.Theme.Text, cell.Long(x.Got), at+10)
	if l.Left() < wideLane-30 {
		end = 21
	} else {
		l.Right(p.Theme.Text, cell.Long(x.Want), at+21)
	}
	style, mark := p.Theme.OK, p.Theme.Glyph.OK
	if x.Bad {
		style, mark = p.Theme.Wrong, p.Theme.Glyph.Wrong
	}
	text := strings.TrimSpace(x.ULPText(0))
	if math.IsNaN(x.Delta) || math.IsInf(x.Delta, 0) {
		text = cell.Odd(x.Delta)
	} else if p.Theme.Width(text) > leastULP && strings.HasSuffix(text, " ulp") {
		text = cell.CountText(x.ULP, 6) + " ulp"
	}
	sign := map[bool]string{false: " ≤", true: " >"}[x.Bad]
	l.Right(p.Theme.Text, text, at+end).Space(1).Add(style, mark)
	if bound := " " + x.BoundText(); p.Theme.Width(sign+bound) <= l.Left() { // no sign without its bound
		l.Add(style, sign).Add(p.Theme.Dim, bound)
	}
	return l
}
