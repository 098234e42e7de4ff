package frag

import (
	"fmt"

	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// Sizes of the parts: an entry of the grid and its lane's label; the tile's label and frame.
const (
	entryWidth = 6
	laneLabel  = 3
	tileFrame  = 2 + 3 + 1
	bothFrom   = 170 // the width from which the table stands beside the grid
)

// layout computes the areas.
func (p *Pane) layout() {
	p.Changed = true
	detail := 2
	if p.H >= 30 {
		detail = 3
	}
	main := max(0, p.H-detail)
	if p.layoutAlone(main) {
		p.scroll()
		return
	}
	elements, across := 8, 16
	if _, cols := p.extents(); cols < across {
		across = cols
	}
	if f := p.fragment(); f != nil && len(f.doc.Lanes) > 0 {
		elements = len(f.doc.Lanes[0])
	}
	whole := p.gridWidth(elements)
	pitch := 2
	for pitch < 7 && p.W-(across*(pitch+1)+tileFrame) >= 42 &&
		p.W-(across*(pitch+1)+tileFrame) >= min(whole, p.gridWidth(8)) {
		pitch++
	}
	left := p.W - (across*pitch + tileFrame)
	p.second = area{}
	if p.W >= bothFrom && p.ownTable() != nil {
		left = 2 * p.gridWidth(8)
	} else {
		left = min(left, max(whole, 42), p.W-16*2-tileFrame)
	}
	strip := min(len(p.phases)+3, max(5, main/3+3))
	if p.refused != nil || len(p.phases) == 0 {
		strip = 5
	}
	p.grid = area{0, 0, left, max(0, min(main-strip, 32+3))}
	if p.W >= bothFrom && p.ownTable() != nil {
		p.grid.w = left / 2
		p.second = area{p.grid.w, 0, left - p.grid.w, p.grid.h}
	}
	p.banks = area{0, p.grid.h, left, main - p.grid.h}
	tile := main
	rows, _ := p.extents()
	if lines := min(rows, 16) + 3; main-lines >= 6 {
		tile = lines
	}
	p.tile = area{left, 0, p.W - left, tile}
	p.lane = area{left, tile, p.W - left, main - tile}
	p.cover = area{}
	if need := min(elements, 16) + 3; p.lane.h >= need+tile { // both fit below each other
		p.lane.h = need
		p.cover = area{left, tile + need, p.W - left, main - tile - need}
	}
	p.scroll()
}

func (p *Pane) gridWidth(elements int) int { return 2 + laneLabel + elements*p.entryWidth() + 1 }

// entryWidth is the width of an entry of the grid: a mark, and row and column of a cell.
func (p *Pane) entryWidth() int {
	if rows, cols := p.extents(); rows > 10 && cols > 100 {
		return entryWidth + 1
	}
	return entryWidth
}

// entries is how many elements, rows how many lanes the grid shows.
func (p *Pane) entries() int { return max(1, (p.grid.w-2-laneLabel-1)/p.entryWidth()) }

func (p *Pane) rows() int { return max(1, p.grid.h-3) }

// scroll moves the grid's window to its cursor, and the strip's so that it ends with the last phase at most.
func (p *Pane) scroll() {
	p.Changed = true
	p.phase = max(0, min(p.phase, len(p.phases)-(p.banks.h-3)))
	x, ok := p.holder()
	f := p.fragment()
	if !ok || f == nil {
		return
	}
	p.top = theme.Into(p.top, x.lane, p.rows(), len(f.doc.Lanes))
	p.left = theme.Into(p.left, x.element, p.entries(), len(f.doc.Lanes[0]))
	_, cols := p.extents()
	p.tileCol = theme.Into(p.tileCol, p.cell[1], p.across(), cols)
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	if p.W < 78 || p.H < 12 {
		return p.Theme.Blank(p.W, p.H)
	}
	if p.fragment() == nil {
		text := p.data.Message
		if text == "" {
			text = "no fragment map"
		}
		return p.Theme.Box("FRAGMENT", "", p.wrapped(text, p.W-2, p.Theme.Text), p.W, p.H, p.Focus >= 0)
	}
	if p.Zoomed && p.Focus >= 0 {
		out := p.drawAlone()
		return append(out, p.detail(p.H-len(out))...)
	}
	left := append(p.drawGrids(), p.drawBanks(p.banks)...)
	right := p.drawTile(p.tile, p.shows)
	if p.lane.h > 0 {
		right = append(right, p.drawLane(p.lane)...)
	}
	if p.cover.h > 0 {
		right = append(right, p.drawTile(p.cover, Owners)...)
	}
	out := theme.Beside(left, right)
	return append(out, p.detail(p.H-len(out))...)
}

// drawGrids is the grid, and the kernel's own table next to it where there is room.
func (p *Pane) drawGrids() []string {
	if p.second.h > 0 {
		return theme.Beside(p.drawGrid(p.grid, false), p.drawGrid(p.second, true))
	}
	return p.drawGrid(p.grid, p.table)
}

// drawGrid is the lanes with their elements: the cells that the hardware has there, or the table's.
func (p *Pane) drawGrid(a area, table bool) []string {
	f, own := p.fragment(), p.ownTable()
	w := a.w - 2
	title := "HARDWARE " + p.choice()
	if table && own != nil {
		title = "TABLE " + own.Name
	}
	x, _ := p.holder()
	note, n := fmt.Sprintf("lane %d element %d", x.lane, x.element), len(f.doc.Lanes)
	switch shown := min(p.rows(), n-p.top); {
	case shown < n: // which cell the cursor is on stands below too
		note = fmt.Sprintf("lanes %d-%d of %d", p.top, p.top+shown-1, n)
	case table:
		note = ""
	}
	head := p.Theme.Line(w).Space(laneLabel)
	last := min(p.left+p.entries(), len(f.doc.Lanes[0]))
	for e := p.left; e < last; e++ {
		head.Right(p.Theme.Dim, fmt.Sprintf("e%d", e), head.Col()+p.entryWidth())
	}
	if last < len(f.doc.Lanes[0]) && head.Left() > 0 { // more elements follow to the right
		head.Glyph(p.Theme.Dim, p.Theme.Glyph.Ellipsis)
	}
	lines := []string{head.Done()}
	for l := p.top; l < min(p.top+p.rows(), len(f.doc.Lanes)); l++ {
		lines = append(lines, p.gridLine(l, last, w, x, table))
	}
	return p.Theme.Box(title, note, lines, a.w, a.h, p.Focus == Grid)
}

func (p *Pane) gridLine(lane, last, w int, x at, table bool) string {
	f, own := p.fragment(), p.ownTable()
	label := p.Theme.Dim
	if lane == x.lane {
		label = p.Theme.Strong
	}
	line := p.Theme.Line(w).Right(label, fmt.Sprint(lane), laneLabel-1).Space(1)
	mark := "" // of the cell to the left
	for e := p.left; e < last; e++ {
		c := f.doc.Lanes[lane][e]
		wrong := own != nil && e < len(own.Cells[lane]) && own.Cells[lane][e] != c
		if table {
			c = own.Cells[lane][e]
		}
		here := lane == x.lane && e == x.element
		p.separator(line, here, lane == x.lane && e == x.element+1 && e > p.left, mark)
		line.Right(p.entryStyle(lane, e, here, wrong, c, x), fmt.Sprintf("%d,%d", c[0], c[1]),
			line.Col()+p.entryWidth()-1)
		mark = ""
		switch {
		case p.shows >= Value:
			mark = p.badMark(f.doc.Lanes[lane][e])
		case wrong:
			mark = p.Theme.Glyph.Wrong
		}
	}
	p.separator(line, false, lane == x.lane && x.element == last-1, mark)
	return line.Done()
}

// separator is the column between two cells: the cursor's bracket, or the mark of the cell to its left: the
// table is wrong there, or the run's value is. A bracket that closes around a marked cell is in the mark's
// style.
func (p *Pane) separator(l *theme.Line, open, closed bool, mark string) {
	switch {
	case open:
		l.Glyph(p.Theme.Mark, p.Theme.Glyph.Left)
	case closed && mark != "":
		l.Glyph(p.Theme.Wrong, p.Theme.Glyph.Right)
	case closed:
		l.Glyph(p.Theme.Mark, p.Theme.Glyph.Right)
	case mark != "":
		l.Glyph(p.Theme.Wrong, mark)
	default:
		l.Space(1)
	}
}

func (p *Pane) entryStyle(lane, e int, here, wrong bool, c report.Cell16, x at) theme.Style {
	switch {
	case here || c == p.cell:
		return p.Theme.Select
	case wrong && p.shows < Value || p.shows >= Value && p.bad(c):
		return p.Theme.Wrong
	case lane == x.lane:
		return p.Theme.Strong
	}
	return p.Theme.Text
}

// value is the run's cell behind a cell of the map.
func (p *Pane) value(c report.Cell16) (cell.Cell, bool) {
	row, col := p.origin[0]+c[0], p.origin[1]+c[1]
	if !p.judge.Known() || !p.live.View.Valid(row, col) || !p.live.View.Got.Captured(row, col) {
		return cell.Cell{}, false
	}
	return p.judge.At(row, col), true
}

func (p *Pane) bad(c report.Cell16) bool {
	x, ok := p.value(c)
	return ok && x.Bad
}

// badMark is the mark of a cell whose value is out of its bound, "" for any other.
func (p *Pane) badMark(c report.Cell16) string {
	x, ok := p.value(c)
	if !ok || !x.Bad {
		return ""
	}
	mark, _ := p.Theme.ErrorMark(x.Standing())
	return mark
}

// Hit maps a place on the pane to what is drawn there: in Grid lane and element, in Tile row and
// column of the block.
func (p *Pane) Hit(x, y int) (part, i, j int, ok bool) {
	f := p.fragment()
	if f == nil {
		return Grid, 0, 0, false
	}
	switch {
	case p.grid.has(x, y) || p.second.has(x, y):
		a := p.grid
		if p.second.has(x, y) {
			a = p.second
		}
		i, j = p.top+y-a.y-2, p.left+(x-a.x-1-laneLabel)/p.entryWidth()
		ok = y-a.y >= 2 && y < a.y+a.h-1 && x-a.x-1 >= laneLabel && i < len(f.doc.Lanes) &&
			j < min(p.left+p.entries(), len(f.doc.Lanes[0]))
		return Grid, i, j, ok
	case p.tile.has(x, y):
		pitch := p.pitch()
		rows, _ := p.extents()
		i, j = p.firstRow(p.tile)+y-2, (x-p.tile.x-1-tileLabel)/pitch
		ok = y >= 2 && y < p.tile.h-1 && i < rows && x-p.tile.x-1 >= tileLabel && j < p.across()
		return Tile, i, j + p.tileCol, ok
	}
	return Banks, 0, 0, false
}

// Go puts the grid's cursor on an element of a lane.
func (p *Pane) Go(lane, element int) {
	if f := p.fragment(); f != nil {
		p.cell, p.element = f.doc.Lanes[lane][element], element
		p.scroll()
	}
}

// GoCell puts the cursor on a cell of the block.
func (p *Pane) GoCell(row, col int) {
	p.cell = report.Cell16{row, col}
	p.settle()
	p.scroll()
}
