package check

import (
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// Uniformity says which instructions of a function all threads of a block, or all lanes of a warp, come to
// together: where a barrier of theirs may stand. It follows from the text alone: what differs by thread
// begins at %tid and %laneid, at atomics, at shuffles and in local memory, goes on through what is computed
// from it, through memory whose address differs, and through every register that is written under a branch
// that differs. It errs on the side of "not together": a thread that has returned early counts as one that
// does not come.
type Uniformity struct {
	graph *cfg.Graph
	// deciders of each basic block: cfg.Graph.Deciders.
	deciders [][]int

	block []isa.Variance // of each basic block: who comes to it
	reg   []isa.Variance
	defs  []int  // definitions of each register
	tid   []bool // registers that hold %tid.x itself
}

// UniformityOf analyses the body of a function.
func UniformityOf(fn *ptx.Func) *Uniformity {
	g := cfg.New(fn)
	n := len(fn.Regs)
	u := &Uniformity{
		graph: g, deciders: g.Deciders(), block: make([]isa.Variance, len(g.Succ)),
		reg: make([]isa.Variance, n), defs: make([]int, n), tid: make([]bool, n),
	}
	for _, in := range fn.Body {
		for _, r := range in.Dests(nil) {
			u.defs[r]++
		}
	}
	for u.values() || u.ways() {
	}
	return u
}

// Block reports whether all threads of a block come to instruction at together: whether a block barrier may
// stand before it.
func (u *Uniformity) Block(at int) bool { return u.at(at) == isa.SameInBlock }

// Warp reports whether all lanes of a warp do: whether a barrier of a whole warp may stand before it.
func (u *Uniformity) Warp(at int) bool { return u.at(at) <= isa.SameInWarp }

func (u *Uniformity) at(at int) isa.Variance {
	if at < 0 || at >= len(u.graph.Func.Body) {
		return isa.ByThread
	}
	return u.block[u.graph.Of[at]]
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
	for i, in := range u.graph.Func.Body {
		to := in.Dests(nil)
		if len(to) == 0 {
			continue
		}
		v := u.result(in)
		for _, r := range to {
			x := v
			if u.defs[r] > 1 { // which of them wrote it is decided by the way that was taken
				x = max(x, u.block[u.graph.Of[i]])
			}
			if in.Guard != nil {
				x = max(x, u.reg[in.Guard.Reg])
			}
			if in.Kind() == isa.Move && u.defs[r] == 1 && u.isTid(&in.Args[1]) && !u.tid[r] {
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
func (u *Uniformity) result(in *ptx.Instr) isa.Variance {
	if v, decided := in.Form().Varies(); decided {
		return v
	}
	switch {
	case in.Kind() == isa.Load && in.Space() == ptx.SpaceLocal:
		return isa.ByThread
	case in.Op == "shr": // %tid.x / 32 and beyond: of a whole warp, whose lanes are consecutive in x
		if len(in.Args) == 3 && in.Args[2].Kind == ptx.OpInt && in.Args[2].Imm >= 5 && u.isTid(&in.Args[1]) {
			return isa.SameInWarp
		}
	}
	v := isa.SameInBlock
	for i := range in.Args {
		if i > 0 {
			v = max(v, u.operand(&in.Args[i]))
		}
	}
	return v
}

// operand is the variance of an operand's value, or of the address that it is.
func (u *Uniformity) operand(op *ptx.Operand) isa.Variance {
	v := isa.SameInBlock
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
func special(name string) isa.Variance {
	switch {
	case name == "%warpid":
		return isa.SameInWarp
	case strings.HasPrefix(name, "%tid"), strings.HasPrefix(name, "%lane"),
		strings.HasPrefix(name, "%clock"), strings.HasPrefix(name, "%globaltimer"):
		return isa.ByThread
	}
	return isa.SameInBlock
}

// ways passes on who comes to a block from the branches that decide on it; it reports whether something
// changed.
func (u *Uniformity) ways() bool {
	changed := false
	for b, by := range u.deciders {
		for _, c := range by {
			v := u.block[c]
			last := u.graph.Last(c)
			if last.Guard != nil {
				v = max(v, u.reg[last.Guard.Reg])
			}
			if last.Kind() == isa.BranchIndexed && len(last.Args) > 0 {
				v = max(v, u.operand(&last.Args[0]))
			}
			if v > u.block[b] {
				u.block[b], changed = v, true
			}
		}
	}
	return changed
}
