package emu

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// reacher follows one block: who stores to a slot of the capture buffer, and where each lane leaves.
type reacher struct {
	b      *block
	lo, hi uint64 // addresses of the slot
	probe  int32  // the instruction that stored there first, -1
	stored []uint32
	copies []bool           // by warp: it issued a bulk copy
	probed []map[int32]bool // by warp: the probes' instructions that it executed
	last   [][32]int32      // by warp and lane: the instruction executed last
	left   [][32]int32      // where each lane left, -1: it did not
}

// Reach implements target.ReachTracer.
func (k *Kernel) Reach(
	ctx context.Context, l *target.Launch, id probes.Dim3, lo, hi uint64,
) (*target.Reach, error) {
	one := *l
	one.Observe = nil
	s, err := k.open(&one, id)
	if err != nil {
		return nil, err
	}
	b := s.b
	a := b.mem.capture
	if a == nil || hi > l.Probe.Layout.CaptureBytes {
		return nil, fmt.Errorf("trace block %s: nothing is captured at %d", id, lo)
	}
	r := &reacher{b: b, lo: a.base + lo, hi: a.base + hi, probe: -1, stored: make([]uint32, len(b.warps))}
	r.copies, r.probed = make([]bool, len(b.warps)), make([]map[int32]bool, len(b.warps))
	r.last, r.left = make([][32]int32, len(b.warps)), make([][32]int32, len(b.warps))
	for i := range r.left {
		for lane := range r.left[i] {
			r.last[i][lane], r.left[i][lane] = -1, -1
		}
	}
	b.observe(r)
	if _, err := s.Run(ctx, nil); err != nil {
		if f, ok := err.(*target.Fault); !ok || f.Err != nil { // else the kernel's block ended
			return nil, err
		}
	}
	return r.result(), nil
}

// Event implements target.Observer.
func (r *reacher) Event(e *target.Event) {
	switch e.Class {
	case target.ClassBarrierDone, target.ClassAsyncLand:
		return
	case target.ClassStore:
		for m := e.Mask; e.Space == target.SpaceGlobal && m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			if at := e.Addr[lane]; at < r.lo || at >= r.hi {
				continue
			}
			r.stored[e.Warp] |= 1 << lane
			if r.probe < 0 {
				r.probe = int32(e.PC)
			}
		}
	}
	r.copies[e.Warp] = r.copies[e.Warp] || e.Mask != 0 && e.Instr != nil && e.Instr.Kind() == isa.BulkCopy
	if e.Mask != 0 && e.Instr != nil && e.Instr.Loc.Within(target.IsProbe) {
		if r.probed[e.Warp] == nil {
			r.probed[e.Warp] = map[int32]bool{}
		}
		r.probed[e.Warp][int32(e.PC)] = true
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		if before := r.last[e.Warp][lane]; e.Class == target.ClassExit {
			r.left[e.Warp][lane] = int32(e.PC)
			if before >= 0 && r.b.p.code[before].flow == flowBranch {
				r.left[e.Warp][lane] = before
			}
		}
		r.last[e.Warp][lane] = int32(e.PC)
	}
}

func (r *reacher) result() *target.Reach {
	out, loop := &target.Reach{}, int32(-1)
	p := r.b.p
	if r.probe >= 0 {
		out.Probe = p.code[r.probe].source()
		if loop = p.code[r.probe].inLoop; loop >= 0 {
			out.Loop = p.branchBack(loop)
		}
	}
	for i, w := range r.b.warps {
		wr := target.WarpReach{Exists: w.exists, Stored: r.stored[i], Copies: r.copies[i]}
		for pc := range r.probed[i] {
			s := p.code[pc].source()
			wr.Probed = wr.Probed || out.Probe != nil && s != nil && s.File == out.Probe.File &&
				s.Line == out.Probe.Line
		}
		for m := w.exists; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			at := r.left[i][lane]
			if at < 0 {
				continue
			}
			wr.Add(target.Left{
				Lanes: 1 << lane, At: int(at), Source: p.code[at].source(), Rounds: w.rounds(loop, lane),
			})
		}
		out.Warps = append(out.Warps, wr)
	}
	return out
}

// branchBack is the place of a loop's last branch back to its head, nil for none.
func (p *program) branchBack(loop int32) *target.Source {
	for i := len(p.code) - 1; i >= 0; i-- {
		if in := &p.code[i]; in.flow == flowBranch && in.loop == loop {
			return in.source()
		}
	}
	return nil
}

// TileLoop finds the loop over tiles of f: of the loops that hold a block barrier (of all, where none does)
// and are not a probe's alone, the smallest that holds all of the marked instructions that any of them holds.
// It returns the last branch back to its head, false where there is none.
func TileLoop(f *ptx.Func, marked func(i int) bool) (branch int, ok bool) {
	if len(f.Body) == 0 {
		return 0, false
	}
	g := cfg.New(f)
	var best tileLoop
	for head, body := range g.Loops() {
		if l := tileLoopOf(g, head, body, marked); l.own && l.marks > 0 && (!ok || l.beats(best)) {
			best, ok = l, true
		}
	}
	return best.back, ok
}

// tileLoop identifies the loop over tiles among the loops.
type tileLoop struct {
	head, size, marks, back int
	barrier, own            bool // holds a block barrier, and more than a probe
}

func (a tileLoop) beats(b tileLoop) bool {
	switch {
	case a.barrier != b.barrier:
		return a.barrier
	case a.marks != b.marks:
		return a.marks > b.marks
	case a.size != b.size:
		return a.size < b.size
	}
	return a.head < b.head
}

func tileLoopOf(g *cfg.Graph, head int, body map[int]bool, marked func(i int) bool) tileLoop {
	l := tileLoop{head: head, size: len(body)}
	for b := range body {
		for i := g.Start[b]; i < g.Start[b+1]; i++ {
			in := g.Func.Body[i]
			if marked(i) {
				l.marks++
			}
			l.own = l.own || !in.Loc.Within(target.IsProbe)
			k := in.Kind()
			l.barrier = l.barrier || k == isa.Barrier || k == isa.ClusterBarrier
		}
		if slices.Contains(g.Succ[b], head) {
			l.back = max(l.back, g.Start[b+1]-1)
		}
	}
	return l
}

var _ target.ReachTracer = (*Kernel)(nil)
