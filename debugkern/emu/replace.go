package emu

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A probe copies each cell of a tile by one thread, the load directly before its store. So an execution that
// is only watched is, for every cell of every slot, which shared address it came from, whatever the tile's
// layout is; a second one can then replace the tile in that moment in which its first cell is stored. No
// thread may read it before: the probe stands behind the barrier that publishes the tile, and what uses the
// tile comes after the probe.

// A fragment lies in registers, which no other thread reads: each is replaced when its own thread stores it.

// site is one slot of the capture buffer and the shared addresses that its cells are copied from, -1 where
// unknown; for fragments, 0 where the register that an element is stored from is read again.
type site struct {
	r     *target.Replace
	kv    int
	off   uint64 // of the first cell
	size  int    // bytes of a cell
	from  []int32
	own   []byte // what the kernel left, once it was replaced
	saved []bool // fragments: by element, whether own has it
}

func (s *site) fragment() bool { return s.r.Plan.Capture.Kind == probes.CaptureFrag }

func (s *site) end() uint64 { return s.off + uint64(len(s.from)*s.size) }

// known reports whether the address of every cell is known.
func (s *site) known() bool {
	for _, a := range s.from {
		if a < 0 {
			return false
		}
	}
	return true
}

// sites lists, by offset, a block's slots of the stages that probes capture.
func sites(l *target.Launch, id probes.Dim3, rs []target.Replace) []site {
	var out []site
	lay := l.Probe.Layout
	for i := range rs {
		p := rs[i].Plan
		if probed := p.Capture.Kind == probes.CaptureProbe || p.Capture.Kind == probes.CaptureFrag; !probed ||
			!lay.Captures(p.Stage) {
			continue
		}
		lo, n := 0, 1
		if p.PerTile {
			lo, n = lay.Range.TileLo, lay.Range.TileN
		}
		for kv := lo; kv < lo+n; kv++ {
			off, ok := lay.Slot(p.Stage, id, kv)
			if !ok {
				continue
			}
			s := site{r: &rs[i], kv: kv, off: off, size: p.DType.Size(), from: make([]int32, p.Rows*p.Cols)}
			for j := range s.from {
				s.from[j] = -1
			}
			out = append(out, s)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].off < out[j].off })
	return out
}

// find returns the site that an offset in the capture buffer lies in, nil where none does.
func find(ss []site, off uint64) *site {
	i := sort.Search(len(ss), func(i int) bool { return ss[i].end() > off })
	if i < len(ss) && ss[i].off <= off {
		return &ss[i]
	}
	return nil
}

// recorder watches a block and notes where its probes copy from.
type recorder struct {
	b     *block
	sites []site
	loads []int32 // by thread: the shared address that its probe last read, -1
	again map[int32]bool
}

// record executes a block of a launch with nothing replaced, and returns its sites and what its watches saw.
// A block that does not end is known as far as it came.
func record(
	p *program, l *target.Launch, id probes.Dim3, rs []target.Replace, stop *atomic.Bool,
) ([]site, *watcher, error) {
	one, probe := *l, *l.Probe
	probe.Replace = nil
	one.Probe, one.Only, one.Observe = &probe, []probes.Dim3{id}, nil
	sum := needs(p, &one, false)
	perBlock(&sum, p, &one, 1)
	if err := sum.Within(l.Memory.Limit()); err != nil {
		return nil, nil, err
	}
	release, err := l.Memory.Reserve("studying the probes of "+p.entry.Name, sum.Total())
	if err != nil {
		return nil, nil, err
	}
	defer release()
	mem, err := newMemory(p, &one, false)
	if err != nil {
		return nil, nil, err
	}
	b, run := single(p, &one, mem, id, stop)
	r := &recorder{
		b: b, sites: sites(l, id, rs), loads: make([]int32, 32*len(b.warps)), again: map[int32]bool{},
	}
	for i := range r.loads {
		r.loads[i] = -1
	}
	b.observe(r)
	run()
	return r.sites, b.watch, nil
}

// Event implements target.Observer.
func (r *recorder) Event(e *target.Event) {
	if !e.Probe || e.Class != target.ClassLoad && e.Class != target.ClassStore {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		last := &r.loads[32*e.Warp+lane]
		switch {
		case e.Class == target.ClassLoad && e.Space == target.SpaceShared:
			*last = -1
			if at := e.Addr[lane]; at < uint64(len(r.b.shared)) &&
				uint64(e.Bytes) <= uint64(len(r.b.shared))-at {
				*last = int32(at)
			}
		case e.Class == target.ClassStore && e.Space == target.SpaceGlobal:
			a, off := r.b.mem.at(e.Addr[lane])
			if a == nil || a != r.b.mem.capture {
				continue
			}
			switch s := find(r.sites, off); {
			case s == nil || e.Bytes != s.size || int(off-s.off)%s.size != 0:
			case !s.fragment():
				s.from[int(off-s.off)/s.size] = *last
			case r.readAgain(e):
				s.from[int(off-s.off)/s.size] = 0
			}
			*last = -1
		}
	}
}

// readAgain reports whether an instruction of the kernel's own reads the register that a
// probe's store writes out.
func (r *recorder) readAgain(e *target.Event) bool {
	src := e.Instr.Args[len(e.Instr.Args)-1]
	if src.Kind != ptx.OpReg || e.Instr.Kind() != isa.Store {
		return false
	}
	known, ok := r.again[src.Reg]
	if !ok {
		for _, in := range e.Func.Body {
			if !in.Loc.Within(target.IsProbe) && reads(in, src.Reg) {
				known = true
			}
		}
		r.again[src.Reg] = known
	}
	return known
}

// reads reports whether an instruction has a register among its sources, for what accumulators go into:
// anything but the first operand, and all of a store.
func reads(in *ptx.Instr, reg int32) bool {
	var among func(ops []ptx.Operand) bool
	among = func(ops []ptx.Operand) bool {
		for i := range ops {
			if ops[i].Kind == ptx.OpReg && ops[i].Reg == reg || among(ops[i].Elems) {
				return true
			}
		}
		return false
	}
	args := in.Args
	switch in.Kind() {
	case isa.Store, isa.Reduce, isa.StoreFragment:
	default:
		args = args[min(1, len(args)):]
	}
	return among(args)
}

// Interests implements target.Interested.
func (r *recorder) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore)
}

// replacer puts other tiles in place while a block runs. A nil one does nothing.
type replacer struct {
	b     *block
	sites []site
	takes map[*target.Watch][]int // by watch and kv tile: how often a tile is captured
}

// newReplacer returns the observer for a launch's replacements, nil where it has none for the block.
func newReplacer(b *block) *replacer {
	p := b.l.Probe
	if p == nil || len(p.Replace) == 0 || !p.Layout.Range.Contains(b.id) {
		return nil
	}
	r := &replacer{b: b}
	probed := false
	for i := range p.Replace {
		c := &p.Replace[i].Plan.Capture
		probed = probed || c.Kind != probes.CaptureShared || c.Pass == probes.PassLast
	}
	if !probed {
		return r
	}
	ss, seen, err := record(b.p, b.l, b.id, p.Replace, b.stop)
	if err != nil {
		b.err = &target.Fault{Kind: "replace", Msg: "replace tiles: " + err.Error(), Block: b.id, Err: err}
		return r
	}
	r.sites = ss
	if seen != nil {
		r.takes = map[*target.Watch][]int{}
		for i := range seen.places {
			r.takes[seen.places[i].w] = seen.places[i].taken
		}
	}
	return r
}

// Event implements target.Observer. It is called before a store happens, so the tile is still whole.
func (r *replacer) Event(e *target.Event) {
	if !e.Probe || e.Class != target.ClassStore || e.Space != target.SpaceGlobal || len(r.sites) == 0 {
		return
	}
	a, off := r.b.mem.at(e.Addr[bits.TrailingZeros32(e.Mask)&31])
	if a == nil || a != r.b.mem.capture {
		return
	}
	s := find(r.sites, off)
	if s == nil || !s.known() {
		return
	}
	if s.fragment() {
		r.registers(s, e)
		return
	}
	if s.own != nil {
		return
	}
	s.own = make([]byte, len(s.from)*s.size)
	for i, at := range s.from {
		copy(s.own[i*s.size:(i+1)*s.size], r.b.shared[at:])
	}
	r.put(s.r, s.kv, func(row, col int) int { return int(s.from[row*s.r.Plan.Cols+col]) })
}

// Interests implements target.Interested.
func (r *replacer) Interests() target.ClassSet { return target.Classes(target.ClassStore) }

// registers replaces the elements of a fragment that the lanes are about to store, in the registers
// that they store from.
func (r *replacer) registers(s *site, e *target.Event) {
	if s.own == nil {
		s.own, s.saved = make([]byte, len(s.from)*s.size), make([]bool, len(s.from))
	}
	t, rows, cols := s.r.Tile(r.b.id, s.kv)
	x, w := r.b.p.code[e.PC].mem, r.b.warps[e.Warp]
	if len(t.Data) != len(s.own) || len(s.r.Cells) != len(s.from) || e.Bytes != s.size ||
		e.Instr.Args[len(e.Instr.Args)-1].Kind != ptx.OpReg {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		a, off := r.b.mem.at(e.Addr[lane])
		if a != r.b.mem.capture || off < s.off || off+uint64(s.size) > s.end() {
			continue // another slot's
		}
		i := int(off-s.off) / s.size
		if x.banks[0] == bank64 {
			putScalar(s.own[i*s.size:], s.size, w.lane64(x.regs[0], lane))
		} else {
			putScalar(s.own[i*s.size:], s.size, uint64(w.lane32(x.regs[0], lane)))
		}
		s.saved[i] = true
		if c := s.r.Cells[i]; c/s.r.Plan.Cols < rows && c%s.r.Plan.Cols < cols {
			w.setElement(x, 0, scalarAt(t.Data[c*s.size:], s.size), 1<<lane)
		}
	}
}

// put writes the cells of a replacement to where they lie in shared memory.
func (r *replacer) put(rep *target.Replace, kv int, at func(row, col int) int) {
	t, rows, cols := rep.Tile(r.b.id, kv)
	size := rep.Plan.DType.Size()
	if len(t.Data) != rep.Plan.Rows*rep.Plan.Cols*size {
		return
	}
	if rep.Cells != nil { // the array has an order of its own
		element := make([]int, len(rep.Cells))
		for i, c := range rep.Cells {
			element[c] = i
		}
		rowMajor := at
		at = func(row, col int) int {
			i := element[row*rep.Plan.Cols+col]
			return rowMajor(i/rep.Plan.Cols, i%rep.Plan.Cols)
		}
	}
	for row := range min(rows, rep.Plan.Rows) {
		for col := range min(cols, rep.Plan.Cols) {
			to := at(row, col)
			if to < 0 || to+size > len(r.b.shared) {
				continue
			}
			from := (row*rep.Plan.Cols + col) * size
			copy(r.b.shared[to:to+size], t.Data[from:from+size])
			fill(r.b.swrit[to:to+size], 0xff)
		}
	}
}

// taken replaces a tile that a watch has just captured, for the last time where that is what it waits for.
func (r *replacer) taken(p *watchPlace, kv int) {
	if r == nil || !p.lastPass(kv, r.takes[p.w]) {
		return
	}
	for i := range r.b.l.Probe.Replace {
		if rep := &r.b.l.Probe.Replace[i]; rep.Plan.Stage == p.w.Stage &&
			rep.Plan.Capture.Kind == probes.CaptureShared {
			r.put(rep, kv, p.cell)
		}
	}
}

// finish gives slots what the kernel left: probes that came after the replacement copied its contents.
func (r *replacer) finish() {
	if r == nil {
		return
	}
	for i := range r.sites {
		s := &r.sites[i]
		for j := range len(s.own) / s.size {
			if s.saved == nil || s.saved[j] {
				copy(r.b.slots.Bytes(s.off+uint64(j*s.size), s.end()), s.own[j*s.size:(j+1)*s.size])
			}
		}
	}
}

// siteState is what a snapshot keeps of a site.
type siteState struct {
	own   []byte
	saved []bool
}

// state and restore save which slots were replaced.
func (r *replacer) state() []siteState {
	if r == nil {
		return nil
	}
	out := make([]siteState, len(r.sites))
	for i := range out {
		out[i] = siteState{bytes.Clone(r.sites[i].own), slices.Clone(r.sites[i].saved)}
	}
	return out
}

func (r *replacer) restore(from []siteState) {
	if r == nil {
		return
	}
	for i := range from {
		r.sites[i].own, r.sites[i].saved = bytes.Clone(from[i].own), slices.Clone(from[i].saved)
	}
}

// Replaceable implements target.Replacer.
func (k *Kernel) Replaceable(
	ctx context.Context, l *target.Launch, id probes.Dim3, stages []*probes.StagePlan,
) (probes.StageSet, error) {
	if l.Probe == nil || !l.Probe.Layout.Range.Contains(id) {
		return nil, fmt.Errorf("launch %s: block %s captures nothing", k.p.entry.Name, id)
	}
	var set probes.StageSet
	var rs []target.Replace
	for _, p := range stages {
		switch {
		case !l.Probe.Layout.Captures(p.Stage):
		case p.Capture.Kind == probes.CaptureShared:
			set = set.Union(probes.StagesOf(p.Stage))
		case p.Capture.Kind == probes.CaptureProbe, p.Capture.Kind == probes.CaptureFrag:
			rs = append(rs, target.Replace{Plan: p})
		}
	}
	if err := k.check(l); err != nil || len(rs) == 0 {
		return set, err
	}
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	ss, _, err := record(k.p, l, id, rs, &stop)
	if err != nil {
		return set, err
	}
	if err := ctx.Err(); err != nil {
		return set, err
	}
	for i := range ss { // in the first kv tile, which every block has
		if s := &ss[i]; s.kv <= l.Probe.Layout.Range.TileLo && s.known() {
			set = set.Union(probes.StagesOf(s.r.Plan.Stage))
		}
	}
	return set, nil
}

var _ target.Replacer = (*Kernel)(nil)
