package emu

import (
	"math/bits"
	"path"
	"slices"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// watcher captures shared arrays without probes: it counts how often the block has come to the line that
// begins a kv tile, and the block barriers since, and copies an array out where its Watch says.
type watcher struct {
	b      *block
	places []watchPlace
	onTake func(p *watchPlace, kv int) // who-wrote asks
}

// watchPlace is one Watch with what it has seen.
type watchPlace struct {
	w        *target.Watch
	addr     int         // of the array in shared memory
	tilePC   int32       // the instruction that begins a tile, -1: always tile 0
	lanes    [][32]int32 // by warp: how often each lane came to tilePC
	tiles    []int       // by warp: the most of any lane
	tile     int         // of the block: the most of any warp, less one
	barriers int         // completed since
	lines    []int32     // instructions of AtLine, ascending; nil where the line is a barrier
	line     linePasses
	done     []int32 // block barriers on AtLine: the line is passed when one of them completes
	taken    []int   // by tile: how often it was captured
}

// newWatcher returns the observer for a launch's watches, nil where it has none.
func newWatcher(b *block) target.Observer {
	b.watch = nil
	if b.l.Probe == nil || len(b.l.Probe.Watch) == 0 || !b.l.Probe.Layout.Range.Contains(b.id) {
		return nil
	}
	w := &watcher{b: b}
	for i := range b.l.Probe.Watch {
		wa, n := &b.l.Probe.Watch[i], len(b.warps)
		addr, ok := b.arrayAddr(wa.Array)
		if !ok {
			continue
		}
		p := watchPlace{w: wa, addr: addr, tilePC: -1, lanes: make([][32]int32, n), tiles: make([]int, n)}
		if wa.TileLine > 0 {
			p.tilePC, p.tile = b.p.lineStart(wa.File, wa.TileLine), -1
		}
		if wa.AtLine > 0 {
			p.lines = b.p.lineOf(wa.File, wa.AtLine)
			if p.done = b.p.blockBarriers(p.lines); p.done != nil {
				p.lines, n = nil, 1
			}
			p.line = newLinePasses(p.lines, n)
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

// lineStart is the first instruction of a line: of those inside a walk over tiles, if
// there are any. -2: none.
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
			w.barrierDone(p, e)
			continue
		}
		if e.Class == target.ClassAsyncLand {
			continue
		}
		// A line that both begins a kv tile and is awaited belongs to the tile it begins; any other
		// instruction that begins a tile may be the one that shows the awaited line of the tile
		// before to be passed.
		begins := int32(e.PC) == p.tilePC
		both := slices.Contains(p.lines, p.tilePC)
		if begins && both {
			p.begin(e.Warp, e.Mask)
		}
		if p.lines != nil {
			p.line.event(e, &p.lanes[e.Warp])
			w.passed(p)
		}
		if begins && !both {
			p.begin(e.Warp, e.Mask)
		}
	}
}

// begin counts a kv tile that lanes of a warp have come to; lanes that diverged come one after the other.
func (p *watchPlace) begin(warp int, mask uint32) {
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		p.lanes[warp][lane]++
		p.tiles[warp] = max(p.tiles[warp], int(p.lanes[warp][lane]))
		if p.lines != nil {
			p.line.lanes[warp][lane] = 0
		}
	}
	if p.tiles[warp]-1 > p.tile {
		p.tile, p.barriers = p.tiles[warp]-1, 0
	}
}

// barrierDone counts a block barrier, and captures where it is the one that is awaited: then no
// thread has gone on yet.
func (w *watcher) barrierDone(p *watchPlace, e *target.Event) {
	p.barriers++
	kv := max(p.tile, 0)
	if p.w.AtLine == 0 && p.barriers == p.w.AtBarrier {
		w.take(p, kv)
	}
	if !slices.Contains(p.done, int32(e.PC)) {
		return
	}
	if n := p.line.count(0, kv); p.w.Pass == probes.PassLast || n == max(p.w.Pass, 1) {
		w.take(p, kv)
	}
}

// passed captures a tile when all warps that have not exited have passed the line, as often as was asked,
// or have gone on to the next tile. A last pass is not known for one until the tile ends: each is
// captured, over the one before.
func (w *watcher) passed(p *watchPlace) {
	l := &p.line
	want := max(p.w.Pass, 1)
	for {
		all, beyond, alive := true, p.tilePC >= 0, false
		for i, warp := range w.b.warps {
			if warp.alive == 0 {
				continue
			}
			if alive = true; p.tiles[i]-1 > l.kv {
				continue
			}
			all, beyond = all && l.at(i, l.kv) >= want, false
		}
		if all && (p.takes(l.kv) == 0 || p.w.Pass == probes.PassLast && l.fresh) && l.most(l.kv) >= want {
			l.fresh = false
			w.take(p, l.kv)
		}
		if !beyond || !alive {
			return
		}
		l.kv++
	}
}

// takes is how often a tile was captured.
func (p *watchPlace) takes(kv int) int {
	if kv >= len(p.taken) {
		return 0
	}
	return p.taken[kv]
}

// take copies the array into its slot. A kv tile that the layout has no slot for is not captured.
func (w *watcher) take(p *watchPlace, kv int) {
	wa := p.w
	for len(p.taken) <= kv {
		p.taken = append(p.taken, 0)
	}
	p.taken[kv]++
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
	if w.b.onCapture != nil {
		w.b.onCapture(wa.Stage, kv)
	}
	for _, o := range w.b.obs {
		if t, ok := o.Observer.(target.Taker); ok {
			t.Took(wa.Stage, kv, func(row, col int) uint64 { return uint64(p.cell(row, col)) })
		}
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
	// The slot exists and the data has its size by construction of the layout; a stage declared
	// otherwise stays empty.
	_ = lay.Put(&w.b.slots, wa.Stage, w.b.id, kv, data)
	off, _ := lay.Slot(wa.Stage, w.b.id, kv)
	fill(w.b.slots.written(off, off+uint64(len(data))), 0xff)
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
		p.tiles, p.lanes = slices.Clone(p.tiles), slices.Clone(p.lanes)
		p.line, p.taken = p.line.clone(), slices.Clone(p.taken)
	}
	return &t
}

func (w *watcher) restore(t *watcher) { w.places = t.clone().places }
