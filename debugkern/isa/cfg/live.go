package cfg

import (
	"math/bits"

	"tilescope/debugkern/ptx"
)

// RegSet is a set of registers of a function, by their indices in Func.Regs.
type RegSet []uint64

// NewRegSet returns an empty set for the registers of f.
func NewRegSet(f *ptx.Func) RegSet { return make(RegSet, (len(f.Regs)+63)/64) }

// Has reports whether r is in the set.
func (s RegSet) Has(r int32) bool { return s[r>>6]>>(r&63)&1 != 0 }

// Add puts r into the set.
func (s RegSet) Add(r int32) { s[r>>6] |= 1 << (r & 63) }

// Drop takes r out of the set.
func (s RegSet) Drop(r int32) { s[r>>6] &^= 1 << (r & 63) }

// Join adds t and reports whether that changed anything.
func (s RegSet) Join(t RegSet) (changed bool) {
	for i, v := range t {
		if s[i]|v != s[i] {
			s[i] |= v
			changed = true
		}
	}
	return changed
}

// Each calls f for every register of the set, ascending.
func (s RegSet) Each(f func(r int32)) {
	for w, v := range s {
		for ; v != 0; v &= v - 1 {
			f(int32(w<<6 + bits.TrailingZeros64(v)))
		}
	}
}

// Uses lists the registers that an instruction reads and writes, into the arrays of read and written. A
// guarded write keeps the old value in some lanes, so it reads too.
func Uses(in *ptx.Instr, read, written *[]int32) {
	*read, *written = (*read)[:0], in.Dests((*written)[:0])
	for i := range in.Args {
		// A destination is registers that are written, and nothing else where they are no accumulators.
		if i > 0 || len(*written) == 0 || in.Kind().Accumulates() {
			*read = in.Args[i].Registers(*read)
		}
	}
	if in.Guard != nil {
		*read = append(append(*read, in.Guard.Reg), *written...)
	}
}

// Interval is the points, two an instruction (before, after), between which a register is live in any flow.
// From is above To where the register is never live.
type Interval struct {
	Reg      int32
	From, To int
}

// Liveness is which registers are live where the blocks of a graph begin.
type Liveness struct {
	g  *Graph
	in []RegSet // by block
}

// NewLiveness solves the flow equations: what a block reads before it writes it, and what lives through it.
// step is called with the amount of work done, and may panic to end it.
func NewLiveness(g *Graph, step func(int)) *Liveness {
	n := len(g.Succ)
	gen, kill := make([]RegSet, n), make([]RegSet, n)
	l := &Liveness{g: g, in: make([]RegSet, n)}
	var read, written []int32
	for b := range n {
		gen[b], kill[b], l.in[b] = NewRegSet(g.Func), NewRegSet(g.Func), NewRegSet(g.Func)
		step(len(gen[b]) + g.Start[b+1] - g.Start[b])
		for i := g.Start[b]; i < g.Start[b+1]; i++ {
			Uses(g.Func.Body[i], &read, &written)
			for _, r := range read {
				if !kill[b].Has(r) {
					gen[b].Add(r)
				}
			}
			for _, r := range written {
				kill[b].Add(r)
			}
		}
	}
	after := NewRegSet(g.Func)
	for changed := true; changed; {
		changed = false
		for b := n - 1; b >= 0; b-- {
			step(len(gen[b]) * (1 + len(g.Succ[b])))
			l.out(b, after)
			for w, v := range after {
				if v = v&^kill[b][w] | gen[b][w]; v != l.in[b][w] {
					l.in[b][w], changed = v, true
				}
			}
		}
	}
	return l
}

// out makes s what is live where a block ends.
func (l *Liveness) out(b int, s RegSet) {
	clear(s)
	for _, t := range l.g.Succ[b] {
		for w, v := range l.in[t] {
			s[w] |= v
		}
	}
}

// Before returns what is live in front of the instruction at body index i.
func (l *Liveness) Before(i int) RegSet {
	b := l.g.Of[i]
	s := NewRegSet(l.g.Func)
	l.out(b, s)
	var read, written []int32
	for j := l.g.Start[b+1] - 1; j >= i; j-- {
		Uses(l.g.Func.Body[j], &read, &written)
		for _, r := range written {
			s.Drop(r)
		}
		for _, r := range read {
			s.Add(r)
		}
	}
	return s
}

// Intervals returns the interval of every register of the function.
func (l *Liveness) Intervals(step func(int)) []Interval {
	var read, written []int32
	iv := make([]Interval, len(l.g.Func.Regs))
	for r := range iv {
		iv[r] = Interval{int32(r), 1 << 30, -1}
	}
	grow := func(r int32, at int) {
		iv[r].From, iv[r].To = min(iv[r].From, at), max(iv[r].To, at)
	}
	after := NewRegSet(l.g.Func)
	for b := range l.g.Succ {
		step(len(l.in[b]) + l.g.Start[b+1] - l.g.Start[b])
		l.in[b].Each(func(r int32) { grow(r, 2*l.g.Start[b]) })
		l.out(b, after)
		after.Each(func(r int32) { grow(r, 2*l.g.Start[b+1]-1) })
		for i := l.g.Start[b]; i < l.g.Start[b+1]; i++ {
			Uses(l.g.Func.Body[i], &read, &written)
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
