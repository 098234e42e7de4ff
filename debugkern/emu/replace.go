package emu

import (
	"context"
	"fmt"
	"math/bits"
	"sort"
	"sync/atomic"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A probe copies each cell of a tile by one thread, the load directly before its store. So an execution that is only
// watched tells, for every cell of every slot, which shared address it came from, whatever the tile's layout is; a second
// one can then replace the tile in that moment in which its first cell is stored. No thread may read it before: the probe
// stands behind the barrier that publishes the tile, and what uses the tile comes after the probe.

// site is one slot of the capture buffer and the shared addresses that its cells are copied from, -1 where unknown.
type site struct {
	r    *target.Replace
	kv   int
	off  uint64 // of the first cell
	size int    // bytes of a cell
	from []int32
	own  []byte // what the kernel left, once it was replaced
}

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
		if p.Capture.Kind != probes.CaptureProbe || !lay.Captures(p.Stage) {
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
}

// record executes a block of a launch with nothing replaced, and returns its sites. A block that does not end is known as
// far as it came.
func record(p *program, l *target.Launch, id probes.Dim3, rs []target.Replace, stop *atomic.Bool) ([]site, error) {
	one, probe := *l, *l.Probe
	probe.Replace = nil
	one.Probe, one.Only, one.Observe = &probe, []probes.Dim3{id}, nil
	mem, err := newMemory(p, &one, false)
	if err != nil {
		return nil, err
	}
	b := newBlock(p, &one, mem)
	b.stop = stop
	b.begin(id)
	r := &recorder{b: b, sites: sites(l, id, rs), loads: make([]int32, 32*len(b.warps))}
	for i := range r.loads {
		r.loads[i] = -1
	}
	b.observe(r)
	b.run()
	return r.sites, nil
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
			*last = int32(e.Addr[lane])
		case e.Class == target.ClassStore && e.Space == target.SpaceGlobal:
			a, off := r.b.mem.at(e.Addr[lane])
			if a == nil || a != r.b.mem.capture {
				continue
			}
			if s := find(r.sites, off); s != nil && e.Bytes == s.size {
				s.from[int(off-s.off)/s.size] = *last
			}
			*last = -1
		}
	}
}

// Interests implements target.Interested.
func (r *recorder) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore)
}

// replacer puts other tiles in place while a block runs. A nil one does nothing.
type replacer struct {
	b     *block
	sites []site
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
		probed = probed || p.Replace[i].Plan.Capture.Kind == probes.CaptureProbe
	}
	if !probed {
		return r
	}
	ss, err := record(b.p, b.l, b.id, p.Replace, b.stop)
	if err != nil {
		b.err = &target.Fault{Kind: "replace", Msg: "replace tiles: " + err.Error(), Block: b.id}
		return r
	}
	r.sites = ss
	return r
}

// Event implements target.Observer. It is told of a store before it happens, so the tile is still whole.
func (r *replacer) Event(e *target.Event) {
	if !e.Probe || e.Class != target.ClassStore || e.Space != target.SpaceGlobal || len(r.sites) == 0 {
		return
	}
	a, off := r.b.mem.at(e.Addr[bits.TrailingZeros32(e.Mask)&31])
	if a == nil || a != r.b.mem.capture {
		return
	}
	s := find(r.sites, off)
	if s == nil || s.own != nil || !s.known() {
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

// put writes the cells of a replacement to where they lie in shared memory.
func (r *replacer) put(rep *target.Replace, kv int, at func(row, col int) int) {
	t, rows, cols := rep.Tile(r.b.id, kv)
	size := rep.Plan.DType.Size()
	if len(t.Data) != rep.Plan.Rows*rep.Plan.Cols*size {
		return
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

// taken replaces a tile that a watch has just captured.
func (r *replacer) taken(p *watchPlace, kv int) {
	if r == nil {
		return
	}
	for i := range r.b.l.Probe.Replace {
		if rep := &r.b.l.Probe.Replace[i]; rep.Plan.Stage == p.w.Stage && rep.Plan.Capture.Kind == probes.CaptureShared {
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
		if s := &r.sites[i]; s.own != nil {
			copy(r.b.mem.capture.data[s.off:], s.own)
		}
	}
}

// state and restore save which slots were replaced.
func (r *replacer) state() [][]byte {
	if r == nil {
		return nil
	}
	own := make([][]byte, len(r.sites))
	for i := range own {
		own[i] = r.sites[i].own
	}
	return own
}

func (r *replacer) restore(own [][]byte) {
	if r == nil {
		return
	}
	for i := range own {
		r.sites[i].own = own[i]
	}
}

// Replaceable implements target.Replacer.
func (k *Kernel) Replaceable(ctx context.Context, l *target.Launch, id probes.Dim3, stages []*probes.StagePlan) (probes.StageSet, error) {
	if l.Probe == nil || !l.Probe.Layout.Range.Contains(id) {
		return 0, fmt.Errorf("launch %s: block %s captures nothing", k.p.entry.Name, id)
	}
	var set probes.StageSet
	var rs []target.Replace
	for _, p := range stages {
		switch {
		case !l.Probe.Layout.Captures(p.Stage):
		case p.Capture.Kind == probes.CaptureShared:
			set |= probes.StagesOf(p.Stage)
		case p.Capture.Kind == probes.CaptureProbe:
			rs = append(rs, target.Replace{Plan: p})
		}
	}
	if err := k.check(l); err != nil || len(rs) == 0 {
		return set, err
	}
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	ss, err := record(k.p, l, id, rs, &stop)
	if err != nil {
		return set, err
	}
	if err := ctx.Err(); err != nil {
		return set, err
	}
	for i := range ss { // in the first kv tile, which every block has
		if s := &ss[i]; s.kv <= l.Probe.Layout.Range.TileLo && s.known() {
			set |= probes.StagesOf(s.r.Plan.Stage)
		}
	}
	return set, nil
}

var _ target.Replacer = (*Kernel)(nil)
