// Package cfg is the control-flow graph of a PTX function, and what follows from it: dominators, loops,
// reachability, postdominators and liveness.
//
// The one idea: everybody who asks about control flow asks this graph of the text, before decoding and
// without executing: the emulator shares register slots by it and finds loops, the checkers find where a
// barrier may stand. The package must not know executors or observers.
package cfg

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// Graph is the control flow between the basic blocks of a function. It is never changed after New.
type Graph struct {
	Func  *ptx.Func
	Start []int   // first instruction of each block, and the end of the body
	Of    []int   // block of each instruction; as many entries as instructions, and one
	Succ  [][]int // of each block: branch targets, then the block behind it
	Pred  [][]int
}

// Next says where an instruction may branch to, by body index, and whether the one after it can follow. A
// call counts as an instruction that comes back.
func Next(in *ptx.Instr) (to []int32, falls bool) {
	guarded := in.Guard != nil
	switch in.Kind() {
	case isa.Branch:
		for i := range in.Args {
			if in.Args[i].Kind == ptx.OpLabel {
				to = append(to, in.Args[i].Target)
			}
		}
		return to, guarded
	case isa.BranchIndexed:
		for i := range in.Args {
			to = append(to, in.Args[i].Targets...)
		}
		return to, guarded
	case isa.Return, isa.Exit, isa.Trap:
		return nil, guarded
	}
	return nil, true
}

// New cuts the body of a function into basic blocks. A block ends where control may leave it: behind
// branches, and behind returns and exits that are guarded too.
func New(f *ptx.Func) *Graph {
	n := len(f.Body)
	leader := make([]bool, n+1)
	leader[0] = true
	for i, in := range f.Body {
		to, falls := Next(in)
		for _, t := range to {
			leader[min(int(t), n)] = true
		}
		if len(to) > 0 || !falls || in.Kind().Leaves() {
			leader[i+1] = true
		}
	}
	g := &Graph{Func: f, Of: make([]int, n+1)}
	for i := range n {
		if leader[i] {
			g.Start = append(g.Start, i)
		}
		g.Of[i] = len(g.Start) - 1
	}
	blocks := len(g.Start)
	g.Start = append(g.Start, n)
	g.Succ, g.Pred = make([][]int, blocks), make([][]int, blocks)
	edge := func(from, to int) {
		if to < n {
			g.Succ[from] = append(g.Succ[from], g.Of[to])
			g.Pred[g.Of[to]] = append(g.Pred[g.Of[to]], from)
		}
	}
	for b := range blocks {
		to, falls := Next(g.Last(b))
		for _, t := range to {
			edge(b, int(t))
		}
		if falls {
			edge(b, g.Start[b+1])
		}
	}
	return g
}

// Last returns the last instruction of a block.
func (g *Graph) Last(b int) *ptx.Instr { return g.Func.Body[g.Start[b+1]-1] }

// Exits reports whether the function can end at the end of block b. A trap ends the whole grid, and is no end
// of the function.
func (g *Graph) Exits(b int) bool {
	last := g.Last(b)
	_, falls := Next(last)
	return last.Kind().Leaves() || falls && b == len(g.Succ)-1
}

// Reach marks the blocks that can be come to from the end of block b, without entering block not (-1: any).
// Back edges are left out where ahead is set: what is reached then is reached in the same iteration.
func (g *Graph) Reach(b, not int, ahead bool) []bool {
	seen := make([]bool, len(g.Succ))
	work := []int{b}
	for len(work) > 0 {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range g.Succ[x] {
			if s != not && !seen[s] && !(ahead && s <= x) {
				seen[s] = true
				work = append(work, s)
			}
		}
	}
	return seen
}

// Follows reports whether instruction b can execute after a in the same iteration of the loops around them.
func (g *Graph) Follows(a, b int) bool {
	return g.Of[a] == g.Of[b] && a < b || g.Reach(g.Of[a], -1, true)[g.Of[b]]
}

// Cuts reports whether every way from instruction a to instruction b passes the point in front of at.
func (g *Graph) Cuts(at, a, b int) bool {
	x, from, to := g.Of[at], g.Of[a], g.Of[b]
	if from == to && a < b {
		return x == from && at > a && at <= b
	}
	switch {
	case x == from && at > a, x == to && at <= b:
		return true
	case x == from || x == to:
		return false
	}
	return !g.Reach(from, x, false)[to]
}

// Postdominators says, for every block, which blocks every way from it to the end of the function passes,
// itself included. A way that ends in a trap ends everything and counts as passing all.
func (g *Graph) Postdominators() [][]bool {
	n := len(g.Succ)
	after := make([][]bool, n)
	for b := range after {
		after[b] = make([]bool, n)
		for i := range after[b] {
			after[b][i] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for b := n - 1; b >= 0; b-- {
			exits := g.Exits(b)
			for i := range n {
				all := i == b || !exits
				for _, s := range g.Succ[b] {
					all = all && (i == b || after[s][i])
				}
				if after[b][i] && !all {
					after[b][i], changed = false, true
				}
			}
		}
	}
	return after
}

// Deciders lists, for every block, those whose branch decides whether it executes: one way out of them leads
// to it surely, another need not.
func (g *Graph) Deciders() [][]int {
	after := g.Postdominators()
	out := make([][]int, len(g.Succ))
	for c := range g.Succ {
		exits := g.Exits(c)
		if len(g.Succ[c]) < 2 && !(len(g.Succ[c]) == 1 && exits) {
			continue
		}
		for b := range g.Succ {
			sure, unsure := false, exits
			for _, s := range g.Succ[c] {
				if after[s][b] {
					sure = true
				} else {
					unsure = true
				}
			}
			if sure && unsure {
				out[b] = append(out[b], c)
			}
		}
	}
	return out
}
