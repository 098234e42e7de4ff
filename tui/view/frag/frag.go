// Package frag is the Frag view's pane: which cell of a 16×16 tile each lane holds in each element, the same
// read the other way round, the kernel's own table compared with it, the run's values and errors on the map,
// and the 32 banks that moving the fragment takes.
//
// The one idea: lane×element grid and tile are two readings of one map under one cursor. The pane
// keeps a cell of the tile and an element that holds it; moving in either looks the other up, so
// they cannot come apart.
//
// It must not know sessions, runs or keys: maps, the table and the tile are given to it.
package frag

import (
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// Panes of the view, as focus counts them.
const (
	Grid = iota
	Tile
	Banks
)

// Show is what the tile's cells show.
type Show uint8

// The readings, in the order of their key.
const (
	Lane Show = iota
	Element
	Value
	Error
	numShows
)

var showNames = [numShows]string{"lane", "element", "value", "error"}

func (s Show) String() string { return showNames[s] }

// Data is what does not depend on the run's place.
type Data struct {
	Maps    []report.Fragment
	Backend string          // the device that was introspected
	Table   *fragment.Table // the kernel's own; nil where it has none
	Target  string          // whose kernel it is
	Message string          // instead of maps: loading, an error
}

// Live is the run's tile at the cursor.
type Live struct {
	View   *debugkern.TileView // nil where there is none
	Ref    cell.Ref
	Bound  cell.Bound
	Raw    bool // the stage is captured as raw fragments: a warp owns the 16×16 block
	Writer *target.WriteSite
	Note   string // about the writer, where it is not known
}

// choice is what can be shown: a map, and how it lies in memory.
type choice struct {
	doc     *report.Fragment
	columns bool // memory is column-major
}

// Pane draws the view.
type Pane struct {
	theme.Frame[int] // focus -1: elsewhere
	data             Data
	live             Live
	judge            cell.Judge
	stats            cell.Stats

	list   []choice
	at     int    // in list
	wanted string // its name, kept while there are no maps

	origin  report.Cell16 // of the 16×16 block in the stage's tile
	cell    report.Cell16
	element int                    // of the lane that holds the cell
	holders map[report.Cell16][]at // of the map shown
	shows   Show
	table   bool // the grid shows the kernel's table

	ld      int
	swizzle int
	matrix  bool
	phases  []fragment.BankPhase
	refused error
	phase   int // first shown

	top, left int // window of the grid
	grid      area
	second    area // the table beside the grid, where there is room
	tile      area
	lane      area
	banks     area
}

// at is a place in the grid.
type at struct{ lane, element int }

// area is a rectangle of the pane; empty where its height is 0.
type area struct{ x, y, w, h int }

func (a area) has(x, y int) bool { return x >= a.x && x < a.x+a.w && y >= a.y && y < a.y+a.h }

// DefaultLD is the leading dimension that the strip begins with: a tile of 64 halves a row.
const DefaultLD = 64

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, -1), ld: DefaultLD} }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.layout()
	}
}

// SetData shows other maps. The choice stays on the same fragment.
func (p *Pane) SetData(d Data) {
	p.data, p.list = d, nil
	for i := range d.Maps {
		m := &d.Maps[i]
		if m.Layout == "" { // an accumulator is stored either way
			p.list = append(p.list, choice{m, false}, choice{m, true})
			continue
		}
		p.list = append(p.list, choice{m, m.Layout == "col"})
	}
	p.at = 0
	for i := range p.list {
		if p.name(i) == p.wanted {
			p.at = i
		}
	}
	p.chosen()
}

// choice names the fragment that is shown, "" without maps.
func (p *Pane) choice() string {
	if p.at >= len(p.list) {
		return ""
	}
	return p.name(p.at)
}

// name is kind, type and layout: acc f32 row.
func (p *Pane) name(i int) string {
	f := p.list[i]
	return fmt.Sprintf("%s %s %s", f.doc.Kind, f.doc.DType,
		map[bool]string{true: "col", false: "row"}[f.columns])
}

// Names lists what can be chosen.
func (p *Pane) Names() []string {
	var out []string
	for i := range p.list {
		out = append(out, p.name(i))
	}
	return out
}

// Next shows the n-th fragment after this one and returns its name.
func (p *Pane) Next(n int) string {
	if len(p.list) == 0 {
		return ""
	}
	p.at = ((p.at+n)%len(p.list) + len(p.list)) % len(p.list)
	p.chosen()
	return p.choice()
}

// Choose shows the first fragment that has every word of its name in words.
func (p *Pane) Choose(words []string) bool {
next:
	for i, f := range p.list {
		layout := map[bool]string{true: "col", false: "row"}[f.columns]
		for _, w := range words {
			if w != f.doc.Kind && w != f.doc.DType && w != layout &&
				!(w == "accumulator" && f.doc.Kind == "acc") {
				continue next
			}
		}
		p.at = i
		p.chosen()
		return true
	}
	return false
}

// chosen works out what follows from the fragment.
func (p *Pane) chosen() {
	p.holders = map[report.Cell16][]at{}
	if f := p.fragment(); f != nil {
		p.wanted = p.choice()
		for l, cells := range f.doc.Lanes {
			for e, c := range cells {
				p.holders[c] = append(p.holders[c], at{l, e})
			}
		}
		p.matrix = f.doc.Kind != "acc"
		if f.doc.Kind != "acc" {
			p.table = false
		}
	}
	p.rebank()
	p.settle()
	p.layout()
}

func (p *Pane) fragment() *choice {
	if p.at >= len(p.list) {
		return nil
	}
	return &p.list[p.at]
}

// settle keeps the element on the cell.
func (p *Pane) settle() {
	h := p.holders[p.cell]
	for _, x := range h {
		if x.element == p.element {
			return
		}
	}
	if len(h) > 0 {
		p.element = h[0].element
	}
}

// holder is where the grid's cursor stands; ok is false where no element holds the cell.
func (p *Pane) holder() (at, bool) {
	h := p.holders[p.cell]
	for _, x := range h {
		if x.element == p.element {
			return x, true
		}
	}
	if len(h) == 0 {
		return at{}, false
	}
	return h[0], true
}

// SetLive shows another tile, or none.
func (p *Pane) SetLive(l Live) {
	if l == p.live {
		return
	}
	if l.View != p.live.View || l.Ref != p.live.Ref || l.Bound != p.live.Bound {
		p.judge, p.stats = cell.Judge{}, cell.Stats{}
		if l.View != nil {
			if p.judge = cell.NewJudge(l.View, l.Ref, l.Bound); p.judge.Known() {
				p.stats = p.judge.Stats()
			}
		}
	}
	p.live, p.Changed = l, true
}

// Follow puts the cursor on a cell of the stage's tile, of rows×cols. A place of the map that the tile does
// not have stays: it may only be where the nearest cell of the tile is (row, col).
func (p *Pane) Follow(row, col, rows, cols int) {
	if min(p.origin[0]+p.cell[0], rows-1) == row && min(p.origin[1]+p.cell[1], cols-1) == col {
		return
	}
	p.origin = report.Cell16{row / 16 * 16, col / 16 * 16}
	p.cell = report.Cell16{row % 16, col % 16}
	p.settle()
	p.scroll()
}

// Place is the cell of the stage's tile that the cursor is on.
func (p *Pane) Place() (row, col int) { return p.origin[0] + p.cell[0], p.origin[1] + p.cell[1] }

// MoveGrid moves by lanes and elements and reports whether it moved.
func (p *Pane) MoveGrid(lanes, elements int) bool {
	f := p.fragment()
	x, ok := p.holder()
	if f == nil || !ok {
		return false
	}
	l := max(0, min(x.lane+lanes, len(f.doc.Lanes)-1))
	e := max(0, min(x.element+elements, len(f.doc.Lanes[l])-1))
	if l == x.lane && e == x.element {
		return false
	}
	p.cell, p.element = f.doc.Lanes[l][e], e
	p.scroll()
	return true
}

// MoveCell moves within the 16×16 block and reports whether it moved.
func (p *Pane) MoveCell(rows, cols int) bool {
	to := report.Cell16{max(0, min(p.cell[0]+rows, 15)), max(0, min(p.cell[1]+cols, 15))}
	if to == p.cell {
		return false
	}
	p.cell = to
	p.settle()
	p.scroll()
	return true
}

// NextShow changes what the tile's cells show.
func (p *Pane) NextShow() Show {
	p.shows, p.Changed = (p.shows+1)%numShows, true
	return p.shows
}

// ToggleTable shows the kernel's table in the grid, or the hardware's map again. ok is false where there is
// no table for this fragment.
func (p *Pane) ToggleTable() (table, ok bool) {
	if p.ownTable() == nil {
		return false, false
	}
	p.table, p.Changed = !p.table, true
	return p.table, true
}

// ownTable is the kernel's own table where it describes the fragment that is shown: an accumulator.
func (p *Pane) ownTable() *fragment.Table {
	if f := p.fragment(); f == nil || f.doc.Kind != "acc" || p.data.Table == nil {
		return nil
	}
	return p.data.Table
}

// NextWrong goes to the next or previous entry in which table and hardware disagree.
func (p *Pane) NextWrong(dir int) bool {
	t, f := p.ownTable(), p.fragment()
	x, ok := p.holder()
	if t == nil || !ok {
		return false
	}
	n := len(t.Cells) * len(t.Cells[0])
	i := x.lane*len(t.Cells[0]) + min(x.element, len(t.Cells[0])-1)
	for range n {
		i = ((i+dir)%n + n) % n
		l, e := i/len(t.Cells[0]), i%len(t.Cells[0])
		if t.Cells[l][e] != f.doc.Lanes[l][e] {
			p.cell, p.element = f.doc.Lanes[l][e], e
			p.scroll()
			return true
		}
	}
	return false
}

// CellText is the cursor's entry in words, for copying.
func (p *Pane) CellText() string {
	x, ok := p.holder()
	if !ok {
		return ""
	}
	text := fmt.Sprintf("%s: lane %d element %d holds %d,%d", p.choice(), x.lane, x.element,
		p.cell[0], p.cell[1])
	if t := p.ownTable(); t != nil {
		c := t.Cells[x.lane][x.element]
		text += fmt.Sprintf("; %s says %d,%d", t.Name, c[0], c[1])
	}
	return text
}
