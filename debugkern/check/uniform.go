package check

import (
	"strings"

	"tilescope/debugkern/ptx"
)

// variance says between which threads of a block a value, or the way that is taken, can differ.
type variance uint8

const (
	sameInBlock variance = iota // all threads of a block agree
	sameInWarp                  // all lanes of a warp agree
	byThread                    // lanes of a warp can differ
)

// Uniformity says which instructions of a function all threads of a block, or all lanes of a warp, come to
// together: where a barrier of theirs may stand. It follows from the text alone: what differs by thread
// begins at %tid and %laneid, at atomics, at shuffles and in local memory, goes on through what is computed
// from it, through memory whose address differs, and through every register that is written under a branch
// that differs. It errs on the side of "not together": a thread that has returned early counts as one that
// does not come.
type Uniformity struct {
	graph *graph
	block []variance // of each basic block: who comes to it
	reg   []variance
	defs  []int  // definitions of each register
	tid   []bool // registers that hold %tid.x itself
}

// UniformityOf analyses the body of a function.
func UniformityOf(fn *ptx.Func) *Uniformity {
	g := graphOf(fn)
	n := len(fn.Regs)
	u := &Uniformity{
		graph: g, block: make([]variance, len(g.succ)), reg: make([]variance, n), defs: make([]int, n), tid: make([]bool, n),
	}
	for _, in := range fn.Body {
		for _, r := range written(in) {
			u.defs[r]++
		}
	}
	deciders := g.deciders()
	for u.values() || u.ways(deciders) {
	}
	return u
}

// Block reports whether all threads of a block come to instruction at together: whether a block barrier may
// stand before it.
func (u *Uniformity) Block(at int) bool { return u.at(at) == sameInBlock }

// Warp reports whether all lanes of a warp do: whether a barrier of a whole warp may stand before it.
func (u *Uniformity) Warp(at int) bool { return u.at(at) <= sameInWarp }

func (u *Uniformity) at(at int) variance {
	if at < 0 || at >= len(u.graph.fn.Body) {
		return byThread
	}
	return u.block[u.graph.of[at]]
}

// Allows reports whether an edit puts a barrier only where all that it is for come together; other edits are
// allowed anywhere.
func (u *Uniformity) Allows(e ptx.Edit) bool {
	switch e.Kind {
	case ptx.InsertBarrier:
		return u.Block(e.At)
	case ptx.InsertWarpSync:
		return u.Warp(e.At)
	}
	return true
}

// values goes over all instructions once; it reports whether a register became less uniform.
func (u *Uniformity) values() bool {
	changed := false
	for i, in := range u.graph.fn.Body {
		to := written(in)
		if len(to) == 0 {
			continue
		}
		v := u.result(in)
		for _, r := range to {
			x := v
			if u.defs[r] > 1 { // which of them wrote it is decided by the way that was taken
				x = max(x, u.block[u.graph.of[i]])
			}
			if in.Guard != nil {
				x = max(x, u.reg[in.Guard.Reg])
			}
			if in.Op == "mov" && u.defs[r] == 1 && u.isTid(&in.Args[1]) && !u.tid[r] {
				u.tid[r], changed = true, true
			}
			if x > u.reg[r] {
				u.reg[r], changed = x, true
			}
		}
	}
	return changed
}

// result is the variance of what an instruction computes.
func (u *Uniformity) result(in *ptx.Instr) variance {
	switch in.Op {
	case "atom", "shfl", "match", "ldmatrix", "wmma", "mma", "clock", "movmatrix":
		return byThread
	case "vote", "activemask", "elect", "redux":
		return sameInWarp
	case "bar", "barrier": // a vote of the whole block
		return sameInBlock
	case "call":
		return byThread
	case "ld":
		if in.Space() == ptx.SpaceLocal {
			return byThread
		}
	case "shr": // %tid.x / 32 and beyond: of a whole warp, whose lanes are consecutive in x
		if len(in.Args) == 3 && in.Args[2].Kind == ptx.OpInt && in.Args[2].Imm >= 5 && u.isTid(&in.Args[1]) {
			return sameInWarp
		}
	}
	v := sameInBlock
	for i := range in.Args {
		if i > 0 {
			v = max(v, u.operand(&in.Args[i]))
		}
	}
	return v
}

// operand is the variance of an operand's value, or of the address that it is.
func (u *Uniformity) operand(op *ptx.Operand) variance {
	v := sameInBlock
	if op.Kind == ptx.OpSpecial {
		v = special(op.Name)
	}
	for _, r := range op.Registers(nil) {
		v = max(v, u.reg[r])
	}
	for i := range op.Elems {
		v = max(v, u.operand(&op.Elems[i]))
	}
	return v
}

// isTid reports whether an operand is %tid.x, or a register that holds it.
func (u *Uniformity) isTid(op *ptx.Operand) bool {
	switch op.Kind {
	case ptx.OpSpecial:
		return op.Name == "%tid" && op.Comp <= 0
	case ptx.OpReg:
		return u.tid[op.Reg]
	}
	return false
}

// special is the variance of a special register.
func special(name string) variance {
	switch {
	case name == "%warpid":
		return sameInWarp
	case strings.HasPrefix(name, "%tid"), strings.HasPrefix(name, "%lane"),
		strings.HasPrefix(name, "%clock"), strings.HasPrefix(name, "%globaltimer"):
		return byThread
	}
	return sameInBlock
}

// written lists the registers that an instruction writes.
func written(in *ptx.Instr) []int32 {
	if in.Op == "call" && len(in.Args) > 0 {
		return in.Args[0].Registers(nil)
	}
	if !in.HasDest() || len(in.Args) == 0 {
		return nil
	}
	return in.Args[0].Registers(nil)
}

// ways passes on who comes to a block from the branches that decide on it; it reports whether something
// changed.
func (u *Uniformity) ways(deciders [][]int) bool {
	changed := false
	for b, by := range deciders {
		for _, c := range by {
			v := u.block[c]
			last := u.graph.fn.Body[u.graph.start[c+1]-1]
			if last.Guard != nil {
				v = max(v, u.reg[last.Guard.Reg])
			}
			if last.Op == "brx" && len(last.Args) > 0 {
				v = max(v, u.operand(&last.Args[0]))
			}
			if v > u.block[b] {
				u.block[b], changed = v, true
			}
		}
	}
	return changed
}

// deciders lists, for every basic block, those whose branch decides whether it executes: one way out of them
// leads to it surely, another need not.
func (g *graph) deciders() [][]int {
	after := g.postdominators()
	out := make([][]int, len(g.succ))
	for c := range g.succ {
		exits := g.exits(c)
		if len(g.succ[c]) < 2 && !(len(g.succ[c]) == 1 && exits) {
			continue
		}
		for b := range g.succ {
			sure, unsure := false, exits
			for _, s := range g.succ[c] {
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

// exits reports whether the function can end at the end of block b.
func (g *graph) exits(b int) bool {
	last := g.fn.Body[g.start[b+1]-1]
	_, falls := next(last)
	return last.Op == "ret" || last.Op == "exit" || falls && b == len(g.succ)-1
}

// postdominators says, for every block, which blocks every way from it to the end of the function passes,
// itself included. A way that ends in a trap ends everything and counts as passing all.
func (g *graph) postdominators() [][]bool {
	n := len(g.succ)
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
			for i := range n {
				all := i == b || !g.exits(b)
				for _, s := range g.succ[b] {
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
