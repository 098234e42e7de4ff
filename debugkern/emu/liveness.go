package emu

import (
	"math/bits"
	"sort"

	"tilescope/debugkern/ptx"
)

// Slots are shared between registers that are never live at the same time, so that a warp's registers stay in the cache.
// A register's interval runs, in the order of the text, over every place where it is live in any flow; lanes that have
// parted write their own lanes only, so an interval that is free in the text is free for every lane.
//
// A block that is stepped has a program without sharing: there a register keeps its value for whoever looks.

// bitset is a set of registers.
type bitset []uint64

func (s bitset) add(i int32)      { s[i>>6] |= 1 << (i & 63) }
func (s bitset) has(i int32) bool { return s[i>>6]>>(i&63)&1 != 0 }

// uses lists the registers that an instruction reads and writes. A guarded write keeps the old value in some lanes, so it
// reads too.
func uses(in *ptx.Instr, read, written *[]int32) {
	*read, *written = (*read)[:0], (*written)[:0]
	for i := range in.Args {
		op := &in.Args[i]
		if i == 0 && in.HasDest() {
			*written = op.Registers(*written)
			continue
		}
		*read = op.Registers(*read)
	}
	if in.Guard != nil {
		*read = append(append(*read, in.Guard.Reg), *written...)
	}
}

// interval is the places, two an instruction (before, after), at which a register is live.
type interval struct {
	reg      int32
	from, to int
}

// liveness is which registers are live where the blocks of a flow graph begin.
type liveness struct {
	f  *ptx.Func
	g  *flowGraph
	in []bitset // by block
}

// newLiveness solves the flow equations: what a block reads before it writes it, and what lives through it. step is called with
// the amount of work done, and may panic to end it.
func newLiveness(f *ptx.Func, g *flowGraph, step func(int)) *liveness {
	words := (len(f.Regs) + 63) / 64
	n := len(g.succ)
	gen, kill := make([]bitset, n), make([]bitset, n)
	l := &liveness{f: f, g: g, in: make([]bitset, n)}
	var read, written []int32
	for b := range n {
		step(words + g.start[b+1] - g.start[b])
		gen[b], kill[b], l.in[b] = make(bitset, words), make(bitset, words), make(bitset, words)
		for i := g.start[b]; i < g.start[b+1]; i++ {
			uses(f.Body[i], &read, &written)
			for _, r := range read {
				if !kill[b].has(r) {
					gen[b].add(r)
				}
			}
			for _, r := range written {
				kill[b].add(r)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for b := n - 1; b >= 0; b-- {
			step(words * (1 + len(g.succ[b])))
			for w, v := range l.out(b) {
				if v = v&^kill[b][w] | gen[b][w]; v != l.in[b][w] {
					l.in[b][w], changed = v, true
				}
			}
		}
	}
	return l
}

// out is what is live where a block ends.
func (l *liveness) out(b int) bitset {
	s := make(bitset, (len(l.f.Regs)+63)/64)
	for _, t := range l.g.succ[b] {
		for w, v := range l.in[t] {
			s[w] |= v
		}
	}
	return s
}

// before is what is live in front of the instruction at body index i.
func (l *liveness) before(i int) bitset {
	b := 0
	for l.g.start[b+1] <= i {
		b++
	}
	s := l.out(b)
	var read, written []int32
	for j := l.g.start[b+1] - 1; j >= i; j-- {
		uses(l.f.Body[j], &read, &written)
		for _, r := range written {
			s[r>>6] &^= 1 << (r & 63)
		}
		for _, r := range read {
			s.add(r)
		}
	}
	return s
}

// intervals computes each register's interval.
func intervals(f *ptx.Func, g *flowGraph, step func(int)) []interval {
	l := newLiveness(f, g, step)
	n := len(g.succ)
	var read, written []int32
	iv := make([]interval, len(f.Regs))
	for r := range iv {
		iv[r] = interval{int32(r), 1 << 30, -1}
	}
	grow := func(r int32, at int) {
		iv[r].from, iv[r].to = min(iv[r].from, at), max(iv[r].to, at)
	}
	for b := range n {
		step(len(l.in[b]) + g.start[b+1] - g.start[b])
		each(l.in[b], func(r int32) { grow(r, 2*g.start[b]) })
		each(l.out(b), func(r int32) { grow(r, 2*g.start[b+1]-1) })
		for i := g.start[b]; i < g.start[b+1]; i++ {
			uses(f.Body[i], &read, &written)
			for _, r := range read {
				grow(r, 2*i)
			}
			for _, r := range written {
				grow(r, 2*i+1)
			}
		}
	}
	return iv
}

func each(s bitset, f func(r int32)) {
	for w, v := range s {
		for ; v != 0; v &= v - 1 {
			f(int32(w<<6 + bits.TrailingZeros64(v)))
		}
	}
}

// shareSlots gives the registers of f slots by linear scan over their intervals.
func (d *decoder) shareSlots(f *ptx.Func, slots []regSlot) {
	iv := intervals(f, ptxFlow(f), d.step)
	sort.Slice(iv, func(i, j int) bool {
		if iv[i].from != iv[j].from {
			return iv[i].from < iv[j].from
		}
		return iv[i].reg < iv[j].reg
	})
	type held struct {
		to   int
		slot int32
	}
	var active [3][]held // by bank
	var free [3][]int32
	for _, v := range iv {
		d.step(1 + len(active[0]) + len(active[1]) + len(active[2]))
		k := bankOf(f.Regs[v.reg])
		if k != bank32 && k != bank64 || v.to < 0 {
			continue
		}
		i := int(k - bank32)
		kept := active[i][:0]
		for _, h := range active[i] {
			if h.to < v.from {
				free[i] = append(free[i], h.slot)
			} else {
				kept = append(kept, h)
			}
		}
		active[i] = kept
		var s int32
		if n := len(free[i]); n > 0 {
			s, free[i] = free[i][n-1], free[i][:n-1]
		} else {
			s = d.slot(k)
		}
		slots[v.reg].slot = s
		active[i] = append(active[i], held{v.to, s})
	}
}

// bankOf says which bank a register lives in.
func bankOf(r ptx.Reg) bank {
	switch n := r.Type.Bits(); {
	case r.Vec != 0:
		return bankNone
	case r.Type == ptx.Pred:
		return bankPred
	case n <= 32:
		return bank32
	case n == 64:
		return bank64
	}
	return bankNone
}

// ptxFlow is the flow graph of a function before it is decoded.
func ptxFlow(f *ptx.Func) *flowGraph {
	return newFlowGraph(len(f.Body), func(i int) (targets []int, falls bool) {
		in := f.Body[i]
		switch in.Op {
		case "bra":
			if len(in.Args) > 0 && in.Args[0].Kind == ptx.OpLabel {
				targets = append(targets, int(in.Args[0].Target))
			}
			return targets, in.Guard != nil
		case "brx":
			if len(in.Args) > 1 {
				for _, t := range in.Args[1].Targets {
					targets = append(targets, int(t))
				}
			}
			return targets, in.Guard != nil
		case "exit", "ret", "trap":
			return nil, in.Guard != nil
		}
		return nil, true
	})
}
