// Package frag is the Frag view's pane: which cell of a fragment's tile each lane holds in each element (of
// WMMA, mma.sync and ldmatrix), the same read the other way round, the kernel's own table compared with it,
// the run's values and errors on the map, and the 32 banks that moving the fragment takes.
//
// The one idea: lane×element grid and tile are two readings of one map under one cursor. The pane
// keeps a cell of the tile and an element that holds it; moving in either looks the other up, so
// they cannot come apart.
//
// It must not know sessions, runs or keys: maps, the table and the tile are given to it.
package frag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	Owners // how many elements a cell has: of the kernel's table where there is one
	Value
	Error
	numShows
)

var showNames = [numShows]string{"lane", "element", "owners", "value", "error"}

func (s Show) String() string { return showNames[s] }

// Data is what does not depend on the run's place.
type Data struct {
	Maps    []report.Fragment
	Backend string           // the device that was introspected
	Tables  []fragment.Table // the kernel's own
	Target  string           // whose kernel it is
	Message string           // instead of maps: loading, an error
}

// Live is the run's tile at the cursor.
type Live struct {
	View   *debugkern.TileView // nil where there is none
	Ref    cell.Ref
	Bound  cell.Bound
	Raw    bool // the stage is captured as raw fragments: a warp owns the 16×16 block
	Writer *target.WriteSite
	Note   string // about the writer, where it is not known
	Tile   string // the iteration in which the tile is computed: kv 2; "" outside of a loop
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

	origin  report.Cell16 // of the fragment's block in the stage's tile
	cell    report.Cell16
	element int                    // of the lane that holds the cell
	holders map[report.Cell16][]at // of the map shown
	owners  map[report.Cell16][]at // of the kernel's table, where it has one for this fragment
	shows   Show
	table   bool // the grid shows the kernel's table

	ld      int
	swizzle int
	matrix  bool
	phases  []fragment.BankPhase
	refused error
	phase   int // first shown

	top, left int // window of the grid
	tileCol   int // first column of the tile on screen
	grid      area
	second    area // the table beside the grid, where there is room
	tile      area
	lane      area
	cover     area // the coverage map below the lane, where there is room
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

// name is instruction, kind, type and layout: acc f32 row, m16n8k16 a f16 row, ldmatrix.x4 matrix b16 row.
func (p *Pane) name(i int) string {
	f := p.list[i]
	name := fmt.Sprintf("%s %s %s", f.doc.Kind, f.doc.DType,
		map[bool]string{true: "col", false: "row"}[f.columns])
	return strings.TrimSpace(f.doc.Instruction + " " + name)
}

// Names lists what can be chosen.
func (p *Pane) Names() []string {
	var out []string
	for i := range p.list {
		out = append(out, p.name(i))
	}
	return out
}

// Next shows the n-th fragment of the same instruction after this one and returns its name.
func (p *Pane) Next(n int) string {
	f := p.fragment()
	if f == nil {
		return ""
	}
	step := max(-1, min(1, n))
	for ; n != 0; n -= step {
		for {
			p.at = (p.at + step + len(p.list)) % len(p.list)
			if p.list[p.at].doc.Instruction == f.doc.Instruction {
				break
			}
		}
	}
	p.chosen()
	return p.choice()
}

// Choose shows the first fragment that has every word of its name in words, of the instruction shown before
// any other.
func (p *Pane) Choose(words []string) bool {
	here := ""
	if f := p.fragment(); f != nil {
		here = f.doc.Instruction
	}
	for _, same := range []bool{true, false} {
		for i := range p.list {
			if (p.list[i].doc.Instruction == here) == same && p.list[i].named(words) {
				p.at = i
				p.chosen()
				return true
			}
		}
	}
	return false
}

// Restore shows again what a new pane shows, and names each choice that it takes back: another fragment,
// another way to move it, a leading dimension, a swizzle, the kernel's table.
func (p *Pane) Restore() (back []string) {
	if p.at != 0 {
		back = append(back, "fragment "+p.choice())
	}
	if f := p.fragment(); f != nil && p.matrix != asMatrix(f.doc) {
		back = append(back, "moved "+p.moves())
	}
	if p.ld != DefaultLD {
		back = append(back, fmt.Sprintf("leading dimension %d", p.ld))
	}
	if p.swizzle != 0 {
		back = append(back, fmt.Sprintf("swizzle %d", p.swizzle))
	}
	if p.table {
		back = append(back, "table")
	}
	p.at, p.wanted, p.ld, p.swizzle, p.table, p.phase = 0, "", DefaultLD, 0, false, 0
	p.chosen()
	return back
}

// asMatrix reports whether a fragment is moved as ldmatrix does until the other way is chosen.
func asMatrix(f *report.Fragment) bool { return f.Kind != "acc" && fragment.Bits(f.DType) <= 16 }

// Near lists up to n names of fragments that are like the words, those first that have most of them: a word
// that no fragment has counts by how much of its beginning is one's.
func (p *Pane) Near(words []string, n int) []string {
	order, like := make([]int, len(p.list)), make([]int, len(p.list))
	for i := range p.list {
		order[i] = i
		for _, w := range words {
			like[i] += p.list[i].likeness(w)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(like[b], like[a]) })
	var out []string
	for _, i := range order[:min(n, len(order))] {
		out = append(out, p.name(i))
	}
	return out
}

// likeness is how much of the beginning of a word a part of the fragment's name has; all of it and one more
// where the fragment has the word.
func (f *choice) likeness(word string) int {
	if f.named([]string{word}) {
		return len(word) + 1
	}
	most := 0
	for _, part := range strings.Split(f.doc.Instruction, ".") {
		n := 0
		for n < min(len(part), len(word)) && part[n] == word[n] {
			n++
		}
		most = max(most, n)
	}
	return most
}

// wordNames are other words for what a fragment's name has.
var wordNames = map[string]string{
	"accumulator": "acc", "c": "acc", "d": "acc", "s8": "b8", "u8": "b8", "e4m3": "b8", "e5m2": "b8",
	"s4": "b4", "u4": "b4", "sparse": "sp",
}

// named reports whether each of the words is one of the fragment's.
func (f *choice) named(words []string) bool {
	have := append(strings.Split(f.doc.Instruction, "."), f.doc.Instruction, f.doc.Kind, f.doc.DType,
		map[bool]string{true: "col", false: "row"}[f.columns])
	switch {
	case f.doc.Instruction == "":
		have = append(have, "wmma")
	case f.doc.Kind != "matrix":
		have = append(have, "mma", "mma.sync", "mma."+f.doc.Instruction, "mma.sync."+f.doc.Instruction)
	}
	return !slices.ContainsFunc(words, func(w string) bool {
		other, ok := wordNames[w]
		return !slices.Contains(have, w) && !(ok && slices.Contains(have, other)) &&
			!strings.HasPrefix(f.doc.Instruction, w+".")
	})
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
		p.matrix = asMatrix(f.doc)
		rows, cols := f.doc.Extents()
		row, col := p.Place()
		p.origin = report.Cell16{row / rows * rows, col / cols * cols}
		p.cell = report.Cell16{row % rows, col % cols}
		length := cols
		if f.columns {
			length = rows
		}
		p.ld = max(p.ld, length)
	}
	p.owners = nil
	if t := p.ownTable(); t != nil {
		p.owners = map[report.Cell16][]at{}
		for l, cells := range t.Cells {
			for e, c := range cells {
				p.owners[c] = append(p.owners[c], at{l, e})
			}
		}
	} else {
		p.table = false
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
	r, c := p.extents()
	p.origin = report.Cell16{row / r * r, col / c * c}
	p.cell = report.Cell16{row % r, col % c}
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

// extents is the rows and columns of the fragment's tile.
func (p *Pane) extents() (rows, cols int) {
	if f := p.fragment(); f != nil {
		return f.doc.Extents()
	}
	return 16, 16
}

// MoveCell moves within the fragment's block and reports whether it moved.
func (p *Pane) MoveCell(rows, cols int) bool {
	r, c := p.extents()
	to := report.Cell16{max(0, min(p.cell[0]+rows, r-1)), max(0, min(p.cell[1]+cols, c-1))}
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

// ownTable is the kernel's own table of the fragment that is shown, nil where it has none: the one that was
// found to be nearest to this map.
func (p *Pane) ownTable() *fragment.Table {
	f := p.fragment()
	if f == nil {
		return nil
	}
	for i := range p.data.Tables {
		if t := &p.data.Tables[i]; of(t, f.doc) {
			return t
		}
	}
	return nil
}

// of reports whether a table is one of a fragment.
func of(t *fragment.Table, f *report.Fragment) bool {
	if t.Encoding == "" { // of an accumulator of WMMA, f16 or f32
		return f.Kind == "acc" && f.Instruction == ""
	}
	rows, cols := f.Extents()
	r, c := t.Maps[0].Extents()
	return rows == r && cols == c && slices.EqualFunc(t.Maps[0].Lanes, f.Lanes, slices.Equal)
}

// ShowTable shows the n-th of the kernel's tables in the grid, with the fragment that it is of, and returns
// it; nil where there is no such table.
func (p *Pane) ShowTable(n int) *fragment.Table {
	if n < 0 || n >= len(p.data.Tables) {
		return nil
	}
	t := &p.data.Tables[n]
	if f := p.fragment(); f == nil || !of(t, f.doc) {
		p.at = p.namedBy(t)
	}
	p.table = true
	p.chosen()
	return t
}

// namedBy is the fragment that a table was compared with: of those with the same map the one of its name.
func (p *Pane) namedBy(t *fragment.Table) int {
	at := -1
	for i := range p.list {
		if f := p.list[i].doc; of(t, f) {
			if at < 0 {
				at = i
			}
			if len(t.Maps) > 0 && f.Instruction == t.Maps[0].Instruction && f.Kind == t.Maps[0].Kind &&
				f.DType == t.Maps[0].DType {
				return i
			}
		}
	}
	return max(at, 0)
}

// Table is the kernel's table that is shown in the grid; nil where the hardware's map is.
func (p *Pane) Table() *fragment.Table {
	if !p.table {
		return nil
	}
	return p.ownTable()
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
