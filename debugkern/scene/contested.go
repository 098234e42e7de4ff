package scene

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Contested is who wrote which cells of a shared array in one block at the lines of a race, the first time
// that one of them wrote to it, and what the block does with them at all.
type Contested struct {
	Variable string
	Parties  Party
	dims     []int
	by       map[int]map[int]bool // cells, by linear index, that each party wrote
	here     map[int]bool         // cells that any thread wrote at the lines, in that kv tile
	before   map[int]site         // by cell: the line that had stored there last before
	wrote    map[int]bool         // by anything, until the block ended
	read     map[int]bool
	marks    []mark // the writes at the lines, in that kv tile
}

// mark is one element of a store: of which thread, the number of its stores at the lines before, and of the
// elements of this one.
type mark struct {
	thread, visit, element int
	cell                   int
	// instr is an index of the entry's body; -1: in a function that it calls, or an access of a whole warp.
	instr int
}

// Party is what those who write the same cells are.
type Party uint8

// The kinds of Party.
const (
	Warps Party = iota
	Lanes       // of the finding's warp
	Lines       // the finding's two
)

// Part is cells that several parties wrote.
type Part struct {
	Parties []int // their numbers
	Cells   string
}

// Contest executes the block of a race finding once more and returns which cells of its shared array parties
// wrote at the finding's line; for Lines, at both. It is nil where the array is not one of the plan's. Errors
// are those of Try.
func Contest(ctx context.Context, r *debugkern.Run, f *report.Finding, by Party) (*Contested, error) {
	if r.Outcome() == nil || f.Source == nil || len(f.Warps) == 0 {
		return nil, nil
	}
	i := slices.IndexFunc(r.Plan.Shared, func(a probes.SharedArray) bool { return a.Name == f.Variable })
	if i < 0 {
		return nil, nil
	}
	a, err := r.Attempt(ctx, debugkern.Trial{Blocks: []probes.Dim3{f.Block}})
	if err != nil {
		return nil, err
	}
	array := r.Plan.Shared[i]
	w := &writes{finding: f, size: array.DType.Size(), tile: -2, visits: map[int]int{}}
	w.out = &Contested{
		Variable: f.Variable, Parties: by, dims: array.Dims, by: map[int]map[int]bool{}, here: map[int]bool{},
		before: map[int]site{}, wrote: map[int]bool{}, read: map[int]bool{},
	}
	if err := a.Observe(ctx, w); err != nil {
		return nil, err
	}
	return w.out, nil
}

// writes watches the stores of one block.
type writes struct {
	mu      sync.Mutex
	view    target.View
	finding *report.Finding
	size    int // bytes of an element
	tile    int // the kv tile of the lines' first write; -2: none yet
	visits  map[int]int
	out     *Contested
}

// View implements target.Viewer.
func (w *writes) View(v target.View) { w.view = v }

// Interests implements target.Interested.
func (w *writes) Interests() target.ClassSet {
	return target.Classes(target.ClassStore, target.ClassAtomic, target.ClassAsync, target.ClassLoad)
}

// at reports whether a place is one of the lines that are asked about.
func (w *writes) at(src *target.Source) bool {
	is := func(s *report.Source) bool { return s != nil && src.Line == s.Line && src.File == s.File }
	return src != nil && (is(w.finding.Source) || w.out.Parties == Lines && is(w.finding.Other))
}

// party is the number of who executes an event in a lane; -1: none of them.
func (w *writes) party(e *target.Event, src *target.Source, lane int) int {
	switch {
	case w.out.Parties == Lines:
		return src.Line
	case w.out.Parties == Warps:
		return e.Warp
	case e.Warp == w.finding.Warps[0]:
		return lane
	}
	return -1
}

// Event implements target.Observer.
func (w *writes) Event(e *target.Event) {
	if e.Space != target.SpaceShared || e.Addr == nil || e.Probe || w.view == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	src := target.Blame(e.Func, e.Instr.Index)
	load := e.Class == target.ClassLoad
	here := !load && w.at(src)
	for lane := range 32 {
		if e.Mask>>lane&1 == 0 {
			continue
		}
		if here {
			w.visits[32*e.Warp+lane]++
		}
		for off := 0; off < e.Bytes; off += w.size {
			name, index := w.view.Name(e.Space, e.Addr[lane]+uint64(off))
			cell, ok := linear(index, w.out.dims)
			switch {
			case name != w.out.Variable || !ok:
			case load:
				w.out.read[cell] = true
			case here:
				w.wrote(cell, e, w.party(e, src, lane))
				w.mark(cell, e, lane, off/w.size)
			default:
				if w.out.wrote[cell] = true; w.tile == -2 && src != nil {
					w.out.before[cell] = site{src.File, src.Line}
				}
			}
		}
	}
}

// wrote notes that a party wrote a cell at one of the lines.
func (w *writes) wrote(cell int, e *target.Event, party int) {
	if w.out.wrote[cell] = true; w.tile == -2 {
		w.tile = e.KVTile
	}
	if e.KVTile != w.tile {
		return
	}
	if w.out.here[cell] = true; party < 0 {
		return
	}
	if w.out.by[party] == nil {
		w.out.by[party] = map[int]bool{}
	}
	w.out.by[party][cell] = true
}

// mark notes which store of which thread wrote a cell.
func (w *writes) mark(cell int, e *target.Event, lane, element int) {
	if e.KVTile != w.tile {
		return
	}
	m := mark{thread: 32*e.Warp + lane, element: element, cell: cell, instr: -1}
	m.visit = w.visits[m.thread] - 1
	if e.Func.Entry && !e.Instr.Kind().OfWarp() {
		m.instr = e.Instr.Index
	}
	w.out.marks = append(w.out.marks, m)
}

// Shared lists the cells that several parties wrote, those of the same parties together.
func (w *Contested) Shared() []Part {
	type group struct {
		parties []int
		cells   []int
	}
	who := map[int][]int{}
	for _, p := range slices.Sorted(maps.Keys(w.by)) {
		for c := range w.by[p] {
			who[c] = append(who[c], p)
		}
	}
	var groups []group
	for _, c := range slices.Sorted(maps.Keys(who)) {
		if len(who[c]) < 2 {
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool { return slices.Equal(g.parties, who[c]) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{parties: who[c]})
		}
		groups[i].cells = append(groups[i].cells, c)
	}
	var out []Part
	for _, g := range groups {
		out = append(out, Part{g.parties, w.boxes(g.cells)})
	}
	return out
}

// shared is how many cells several parties wrote.
func (w *Contested) shared() int {
	count, n := map[int]int{}, 0
	for _, cells := range w.by {
		for c := range cells {
			if count[c]++; count[c] == 2 {
				n++
			}
		}
	}
	return n
}

// Never words the cells that nothing in the block wrote, "" where there are none: of those that the block
// reads, where it reads any.
func (w *Contested) Never() string { return w.boxes(w.without(w.wrote)) }

// NeverText is Never as a sentence, "" where there are none.
func (w *Contested) NeverText() string {
	never := w.Never()
	switch {
	case never == "":
		return ""
	case len(w.read) > 0:
		return never + " are read and never written"
	}
	return never + " are never written"
}

// Missed words the cells that no thread wrote at the lines, if they are as many as several parties wrote: at
// is the line that stored to all of them before, nil where no one line did.
func (w *Contested) Missed() (cells string, at *report.Source) {
	missed := w.without(w.here)
	if len(missed) == 0 || len(missed) < w.shared() {
		return "", nil
	}
	by := w.before[missed[0]]
	if by.line > 0 && !slices.ContainsFunc(missed, func(c int) bool { return w.before[c] != by }) {
		at = &report.Source{File: by.file, Line: by.line}
	}
	return w.boxes(missed), at
}

// without lists the cells that are not in a set, of those that are read or written.
func (w *Contested) without(set map[int]bool) []int {
	total := 1
	for _, d := range w.dims {
		total *= d
	}
	var cells []int
	for c := range total {
		if !set[c] && (w.read[c] || w.wrote[c] || len(w.read) == 0) {
			cells = append(cells, c)
		}
	}
	return cells
}

// mostBoxes is how many ranges of indices cells are worded by.
const mostBoxes = 3

// boxes words cells: "sS[0:16][0:16], sS[16:32][16:32]", or how many they are within the smallest range
// around them where they are of more ranges than a message has room for. "" for no cells.
func (w *Contested) boxes(cells []int) string {
	if len(cells) == 0 {
		return ""
	}
	list := split(cells, w.dims)
	if len(list) > mostBoxes {
		return fmt.Sprintf("%d cells within %s", len(cells), w.Variable+around(cells, w.dims).String())
	}
	text := ""
	for i, b := range list {
		if i > 0 {
			text += ", "
		}
		text += w.Variable + b.String()
	}
	return text
}
