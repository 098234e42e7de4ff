package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// view lets observers look at a block. It implements target.View.
type view struct{ b *block }

func (v *view) Launch() *target.Launch { return v.b.l }

func (v *view) Program() []*ptx.Func { return v.b.p.funcs }

func (v *view) Block() probes.Dim3 { return v.b.id }

func (v *view) SharedBytes() int { return len(v.b.shared) }

func (v *view) Capture() uint64 {
	if v.b.mem.capture == nil {
		return 0
	}
	return v.b.mem.capture.base
}

func (v *view) InOrder() bool { return v.b.ordered }

func (v *view) Name(space target.Space, addr uint64) (string, []int) {
	n := v.b.variableAt(space, addr)
	return n.name, n.index
}

func (v *view) Extent(addr uint64) (lo, hi uint64, writable bool) {
	a, off := v.b.at(addr)
	if a == nil || off >= uint64(len(a.data)) {
		return 0, 0, false
	}
	return a.base, a.base + uint64(len(a.data)), v.b.mem.writable(v.b.p, a)
}

func (v *view) OnHeap(addr uint64) bool { return onHeap(addr) }

func (v *view) Strays(pc int, space target.Space, addr uint64) bool {
	b := v.b
	if pc < 0 || pc >= len(b.p.code) || b.p.code[pc].mem == nil {
		return false
	}
	x := b.p.code[pc].mem
	if x.second != nil && space == target.SpaceGlobal {
		x = x.second // what a cp.async reads
	}
	set := b.pointers(b.p.sets[x.set])
	if set == 0 || onlySpace(b, set, space) {
		return false
	}
	for m := uint64(set); m != 0; m &= m - 1 {
		lo, n, ok := b.extent(b.p.syms[bits.TrailingZeros64(m)])
		if ok && addr >= lo && addr < lo+uint64(n) {
			return false
		}
	}
	return true
}

// bytes is the memory at an address, to the end of what it lies in; written is nil where all of it was.
func (v *view) bytes(space target.Space, addr uint64, warp, lane int) (data, written []byte) {
	b := v.b
	switch space {
	case target.SpaceShared:
		data, written = b.shared, b.swrit
	case target.SpaceLocal:
		if thread := warp*32 + lane; warp >= 0 && warp < len(b.warps) && lane >= 0 && lane < 32 {
			data, written = b.frame(thread)
		}
	case target.SpaceParam:
		data = b.mem.params
	case target.SpaceGlobal, target.SpaceConst:
		a, off := b.at(addr)
		if a == nil {
			return nil, nil
		}
		data, written, addr = a.data, a.written, off
	}
	if addr >= uint64(len(data)) {
		return nil, nil
	}
	if written != nil {
		written = written[addr:]
	}
	return data[addr:], written
}

func (v *view) Memory(space target.Space, addr uint64, warp, lane int, to []byte) int {
	data, _ := v.bytes(space, addr, warp, lane)
	return copy(to, data)
}

func (v *view) Written(space target.Space, addr uint64, warp, lane, n int) bool {
	data, written := v.bytes(space, addr, warp, lane)
	return n <= len(data) && (written == nil || allWritten(written[:n]))
}

func (v *view) Stored(lane int, to []byte) int {
	in, w := v.b.eventInst, v.b.eventWarp
	if in == nil || in.class != target.ClassStore || in.mma != nil || in.mem == nil || lane < 0 || lane > 31 {
		return 0
	}
	x := in.mem
	var p [64]byte
	for e := range x.n {
		if x.banks[e] == bank64 {
			putScalar(p[e*x.size:], x.size, w.lane64(x.regs[e], lane))
		} else {
			putScalar(p[e*x.size:], x.size, uint64(w.lane32(x.regs[e], lane)))
		}
	}
	return copy(to, p[:x.total()])
}

func (v *view) Register(warp int, f *ptx.Func, reg int32) (out [32]uint64) {
	regs := v.b.p.regs[f]
	if warp < 0 || warp >= len(v.b.warps) || reg < 0 || int(reg) >= len(regs) {
		return out
	}
	w := v.b.warps[warp]
	switch r := regs[reg]; r.bank {
	case bankPred:
		for m := w.pred[r.slot]; m != 0; m &= m - 1 {
			out[bits.TrailingZeros32(m)] = 1
		}
	case bank32:
		for i, u := range w.full32(r.slot) {
			out[i] = uint64(u)
		}
	case bank64:
		out = *w.full64(r.slot)
	}
	return out
}

func (v *view) Predicate(warp int, f *ptx.Func, reg int32) uint32 {
	regs := v.b.p.regs[f]
	if warp < 0 || warp >= len(v.b.warps) || reg < 0 || int(reg) >= len(regs) || regs[reg].bank != bankPred {
		return 0
	}
	return v.b.warps[warp].pred[regs[reg].slot]
}

func (v *view) Passed(pc int, callee *ptx.Func) (args, results []target.Passed) {
	if pc < 0 || pc >= len(v.b.p.code) || v.b.p.code[pc].call == nil {
		return nil, nil
	}
	c := v.b.p.code[pc].call
	if c.provided != nil {
		return nil, nil
	}
	copies, back := c.copies, c.results
	if c.indirect != nil {
		t := c.indirect.of(callee)
		copies, back = t.copies, t.results
	}
	return passed(copies), passed(back)
}

func passed(cs []paramCopy) []target.Passed {
	out := make([]target.Passed, len(cs))
	for i, c := range cs {
		out[i] = target.Passed{To: uint64(c.to), From: uint64(c.from), Size: c.size}
	}
	return out
}
