package emu

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// filled is a tile that a probe has begun to copy: it is complete when all threads have come
// to the next barrier.
type filled struct {
	stage probes.Stage
	kv    int
}

// RunTo executes up to a moment of the block's clock.
func (s *stepper) RunTo(
	ctx context.Context, step uint64, stop func(*target.Event) bool,
) (target.Stop, error) {
	b := s.b
	b.stepTo, b.resume = step, noStep
	defer func() { b.stepTo, b.resume = noStep, noStep }()
	st, err := s.execute(ctx, stop, "breakpoint")
	if b.onCapture != nil && err == nil && st.Reason == "end" {
		b.reportFilled()
	}
	return st, err
}

// KVTile is the pass of the walk over kv tiles that a warp is in at an instruction.
func (s *stepper) KVTile(warp, pc int) int {
	if warp < 0 || warp >= len(s.b.warps) || pc < 0 || pc >= len(s.b.p.code) {
		return -1
	}
	w, lane := s.b.warps[warp], 0
	for i := range w.groups {
		if g := &w.groups[i]; i == w.cur || int(g.pc) == pc {
			if lane = bits.TrailingZeros32(g.mask); int(g.pc) == pc {
				break
			}
		}
	}
	return w.tile(&s.b.p.code[pc], lane)
}

// Array is where a named shared array lies.
func (s *stepper) Array(a probes.SharedArray) (int, bool) { return s.b.arrayAddr(a) }

// OnCapture has f called for every tile that becomes complete.
func (s *stepper) OnCapture(f func(probes.Stage, int)) {
	if s.b.onCapture == nil {
		s.b.observe(captureObserver{s.b})
	}
	s.b.onCapture = f
}

// captureObserver reports the tiles that probes copy.
type captureObserver struct{ b *block }

// Event implements target.Observer.
func (t captureObserver) Event(e *target.Event) {
	b := t.b
	switch {
	case e.Class == target.ClassBarrierDone:
		b.reportFilled()
	case e.Probe && e.Class == target.ClassStore && e.Space == target.SpaceGlobal && b.mem.capture != nil:
		for m := e.Mask; m != 0; m &= m - 1 {
			at := e.Addr[bits.TrailingZeros32(m)&31]
			if a, off := b.mem.at(at); a == b.mem.capture {
				c, ok := b.l.Probe.Layout.Locate(off)
				if f := (filled{c.Stage, c.KVTile}); ok && c.Header && !slices.Contains(b.filling, f) {
					b.filling = append(b.filling, f)
				}
			}
		}
	}
}

// reportFilled reports the tiles that are complete now.
func (b *block) reportFilled() {
	for _, f := range b.filling {
		b.onCapture(f.stage, f.kv)
	}
	b.filling = b.filling[:0:0]
}

// Functions are the entry and the functions that it calls.
func (k *Kernel) Functions() []*ptx.Func {
	p := k.p
	out := make([]*ptx.Func, 0, len(p.base))
	for f := range p.base {
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return p.base[out[i]] < p.base[out[j]] })
	return out
}

// Source is the place that blame falls on for an instruction.
func (k *Kernel) Source(pc int) *target.Source {
	if pc < 0 || pc >= len(k.p.code) {
		return nil
	}
	return k.p.code[pc].source()
}

// Outer is the line of the function's own body that an instruction was inlined into.
func (k *Kernel) Outer(pc int) *target.Source {
	if pc < 0 || pc >= len(k.p.code) {
		return nil
	}
	in := &k.p.code[pc]
	s := in.source()
	if len(in.fn.Body) == 0 {
		return s
	}
	if l := in.fn.Source(min(int(in.index), len(in.fn.Body)-1), target.IsLibrary).
		Outermost(); l != nil && l.Line > 0 {
		return &target.Source{File: l.Name, Line: l.Line, Function: in.fn.Demangled}
	}
	return s
}

// IsProbe reports whether an instruction belongs to the probe header.
func (k *Kernel) IsProbe(pc int) bool { return pc >= 0 && pc < len(k.p.code) && k.p.code[pc].probe }

// Registers lists the registers that concern the entry's instruction.
func (k *Kernel) Registers(pc int) (written, read, live []int) {
	f := k.p.entry
	if pc < 0 || pc >= len(f.Body) {
		return nil, nil, nil
	}
	var r, w []int32
	in := f.Body[pc]
	cfg.Uses(in, &r, &w)
	if in.Guard != nil {
		r = r[:len(r)-len(w)] // it is not read, it stays what it was in some lanes
	}
	named := map[int32]bool{}
	list := func(regs []int32) (out []int) {
		for _, x := range regs {
			if !slices.Contains(out, int(x)) {
				out = append(out, int(x))
			}
			named[x] = true
		}
		return out
	}
	written, read = list(w), list(r)
	k.live().Before(pc).Each(func(x int32) {
		if !named[x] {
			live = append(live, int(x))
		}
	})
	next := nextUses(f, pc)
	sort.SliceStable(live, func(i, j int) bool { return next[live[i]] < next[live[j]] })
	return written, read, live
}

// Written lists the registers that the entry's instruction writes.
func (k *Kernel) Written(pc int) []int {
	f := k.p.entry
	if pc < 0 || pc >= len(f.Body) {
		return nil
	}
	regs := f.Body[pc].Dests(nil)
	out := make([]int, len(regs))
	for i, r := range regs {
		out[i] = int(r)
	}
	return out
}

// nextUses is, by register, the distance in the text to the next instruction that reads it; past the end it
// goes on at the beginning, as a loop does.
func nextUses(f *ptx.Func, pc int) []int {
	next := make([]int, len(f.Regs))
	for i := range next {
		next[i] = 1 << 30
	}
	var r, w []int32
	for d := len(f.Body) - 1; d >= 0; d-- {
		cfg.Uses(f.Body[(pc+d)%len(f.Body)], &r, &w)
		for _, x := range r {
			next[x] = d
		}
	}
	return next
}

// live is the entry's liveness, computed when first asked for.
func (k *Kernel) live() *cfg.Liveness {
	k.liveOnce.Do(func() { k.lives = cfg.NewLiveness(cfg.New(k.p.entry), func(int) {}) })
	return k.lives
}

var (
	_ target.Walkable     = (*stepper)(nil)
	_ target.Program      = (*Kernel)(nil)
	_ target.SharedTracer = (*Kernel)(nil)
)
