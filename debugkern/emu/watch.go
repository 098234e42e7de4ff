package emu

import (
	"path"
	"slices"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// watcher captures shared arrays without probes: it counts how often the block has come to the line that begins a kv tile,
// and the block barriers since, and copies an array out where its Watch says.
type watcher struct {
	b      *block
	places []watchPlace
	onTake func(p *watchPlace, kv int) // who-wrote asks
}

// watchPlace is one Watch with what it has seen.
type watchPlace struct {
	w        *target.Watch
	addr     int     // of the array in shared memory
	tilePC   int32   // the instruction that begins a tile, -1: always tile 0
	lines    []int32 // instructions of AtLine, ascending
	tiles    []int   // by warp: how often it came to tilePC
	tile     int     // of the block: the most of any warp, less one
	barriers int     // completed since
	passed   []int   // by warp: the last tile whose AtLine it has passed, plus one
	taken    int     // the last tile captured, plus one
}

// newWatcher returns the observer for a launch's watches, nil where it has none.
func newWatcher(b *block) target.Observer {
	b.watch = nil
	if b.l.Probe == nil || len(b.l.Probe.Watch) == 0 || !b.l.Probe.Layout.Range.Contains(b.id) {
		return nil
	}
	w := &watcher{b: b}
	n := len(b.warps)
	for i := range b.l.Probe.Watch {
		wa := &b.l.Probe.Watch[i]
		addr, ok := b.arrayAddr(wa.Array)
		if !ok {
			continue
		}
		p := watchPlace{w: wa, addr: addr, tilePC: -1, tiles: make([]int, n), passed: make([]int, n)}
		if wa.TileLine > 0 {
			p.tilePC, p.tile = b.p.lineStart(wa.File, wa.TileLine), -1
		}
		if wa.AtLine > 0 {
			p.lines = b.p.lineOf(wa.File, wa.AtLine)
		}
		w.places = append(w.places, p)
	}
	b.watch = w
	return w
}

// arrayAddr finds a shared array of the manifest.
func (b *block) arrayAddr(a probes.SharedArray) (int, bool) {
	name := a.Name
	if a.Within != "" {
		name = a.Within
	}
	for _, s := range b.p.shared {
		if s.Demangled == name || s.Name == name {
			return s.Addr + a.Offset, s.Addr+a.Offset+a.Bytes <= len(b.shared)
		}
	}
	return 0, false
}

// lineOf lists the entry's instructions that blame falls on a line for.
func (p *program) lineOf(file string, line int) []int32 {
	var pcs []int32
	for i := range p.entry.Body {
		in := &p.code[i]
		if in.src.Loc == nil || in.probe {
			continue
		}
		s := in.source()
		if s.Line == line && (file == "" || path.Base(strings.ReplaceAll(s.File, `\`, "/")) == file) {
			pcs = append(pcs, int32(i))
		}
	}
	return pcs
}

// lineStart is the first instruction of a line: of those inside a walk over tiles, if there are any. -2: none.
func (p *program) lineStart(file string, line int) int32 {
	pcs := p.lineOf(file, line)
	for _, pc := range pcs {
		if p.code[pc].inLoop >= 0 {
			return pc
		}
	}
	if len(pcs) > 0 {
		return pcs[0]
	}
	return -2
}

// Event implements target.Observer.
func (w *watcher) Event(e *target.Event) {
	for i := range w.places {
		p := &w.places[i]
		if e.Class == target.ClassBarrierDone {
			if p.barriers++; p.w.AtLine == 0 && p.barriers == p.w.AtBarrier {
				w.take(p, max(p.tile, 0))
			}
			continue
		}
		if e.Class == target.ClassAsyncLand {
			continue
		}
		// A line that both begins a kv tile and is awaited belongs to the tile it begins; any other instruction that begins a
		// tile may be the one that shows the awaited line of the tile before to be passed.
		begins := int32(e.PC) == p.tilePC
		both := slices.Contains(p.lines, p.tilePC)
		if begins && both {
			p.begin(e.Warp)
		}
		w.line(p, e)
		if begins && !both {
			p.begin(e.Warp)
		}
	}
}

// begin counts a kv tile that a warp has come to.
func (p *watchPlace) begin(warp int) {
	if p.tiles[warp]++; p.tiles[warp]-1 > p.tile {
		p.tile, p.barriers = p.tiles[warp]-1, 0
	}
}

// line notes that a warp has come past the last instruction of the awaited line, and captures when all have.
func (w *watcher) line(p *watchPlace, e *target.Event) {
	if len(p.lines) == 0 {
		return
	}
	last := p.lines[len(p.lines)-1]
	tile := max(p.tiles[e.Warp]-1, 0)
	if int32(e.PC) > last && p.passed[e.Warp] == -tile-1 {
		p.passed[e.Warp] = tile + 1
	}
	if int32(e.PC) == last && p.passed[e.Warp] != tile+1 {
		p.passed[e.Warp] = -tile - 1 // on it
	}
	kv := p.taken
	if p.tilePC < 0 && kv > 0 {
		return
	}
	for i, v := range p.passed {
		if v < kv+1 && w.b.warps[i].alive != 0 {
			return
		}
	}
	p.taken = kv + 1
	w.take(p, kv)
}

// take copies the array into its slot. A kv tile that the layout has no slot for is not captured.
func (w *watcher) take(p *watchPlace, kv int) {
	wa := p.w
	if p.tilePC == -2 || !wa.PerTile && kv > 0 { // a stage taken once a block is taken in its first tile
		return
	}
	lay := w.b.l.Probe.Layout
	if _, ok := lay.Slot(wa.Stage, w.b.id, kv); !ok {
		return
	}
	if w.onTake != nil {
		w.onTake(p, kv)
	}
	if w.b.tell != nil {
		w.b.tell(wa.Stage, kv)
	}
	size := wa.Array.DType.Size()
	data := make([]byte, wa.Rows*wa.Cols*size)
	for r := range wa.Rows {
		for c := range wa.Cols {
			at := p.cell(r, c)
			if at+size <= len(w.b.shared) {
				copy(data[(r*wa.Cols+c)*size:][:size], w.b.shared[at:])
			}
		}
	}
	// The slot exists and the data has its size by construction of the layout; a stage declared otherwise stays empty.
	_ = lay.Put(w.b.mem.capture.data, wa.Stage, w.b.id, kv, data)
	w.b.replace.taken(p, kv)
}

// cell is the shared address of a cell of the tile.
func (p *watchPlace) cell(r, c int) int {
	if p.w.Transposed {
		r, c = c, r
	}
	ld := p.w.Cols
	if p.w.Transposed {
		ld = p.w.Rows
	}
	if d := p.w.Array.Dims; len(d) > 1 {
		ld = d[len(d)-1]
	}
	return p.addr + (r*ld+c)*p.w.Array.DType.Size()
}

// clone and restore save what a watcher has counted.
func (w *watcher) clone() *watcher {
	t := *w
	t.places = append([]watchPlace(nil), w.places...)
	for i := range t.places {
		p := &t.places[i]
		p.tiles = append([]int(nil), p.tiles...)
		p.passed = append([]int(nil), p.passed...)
	}
	return &t
}

func (w *watcher) restore(t *watcher) { w.places = t.clone().places }
