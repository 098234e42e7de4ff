package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// A sum in registers that is not set to 0 before it begins goes on from the sum before it: the C of a matrix
// product, or the register that a sum is added to. Nothing is then wrong with the index of what comes in so.

// Carried is a sum, a maximum or a minimum that goes on from an earlier one of the same line of the source.
type Carried struct {
	Op   string         // of the PTX: "max" and "min"; of all else it is a sum
	At   *report.Source // what adds to it
	Used *report.Source // what takes the earlier sum, as finished
}

// addressed notes which instruction's address foreign operands come in by. The address is not what is wrong
// where another instruction than a read picks them, nor need it be where the thread has what belongs there
// as well and something behind the read may choose between the two.
func (c *contrast) addressed(o *Operands, a *actual, missing []operandKey) {
	s, ok := a.of[o.first]
	if !ok || o.by < 0 || !c.fn.Body[o.by].Kind().Reads() {
		return
	}
	at := slices.Index(s.way, o.by)
	if at < 0 {
		return
	}
	chooses := len(c.copiesOf(o.by)) > 1 || slices.ContainsFunc(s.way[at+1:], func(i int) bool {
		k := c.fn.Body[i].Kind()
		return k == isa.Select || k == isa.Shuffle
	})
	if chooses {
		n := a.g.Nodes[s.nodes[at]]
		own := thread{c.trace.Step(int(n.Step)).Warp, n.Lane}
		takes := func(t taking) bool { return t.thread == own }
		for _, m := range missing {
			if m.stage == o.first.stage && m.arg == o.first.arg &&
				slices.ContainsFunc(c.takenIn(o.by)[m], takes) {
				return
			}
		}
	}
	o.Access = []int{o.by}
}

// copiesOf lists the instructions that the compiler made of the operation of the source that one is.
func (c *contrast) copiesOf(instr int) []int {
	var out []int
	for i := range c.fn.Body {
		if c.alike(i, instr) {
			out = append(out, i)
		}
	}
	return out
}

// carried finds the sum by which all foreign operands come in, where it goes on from a sum of the same line
// that something else takes as finished; nil where there is none.
func (c *contrast) carried(a *actual, foreign []operandKey) *Carried {
	right := map[int32]bool{}
	for k, s := range a.of {
		if !slices.Contains(foreign, k) {
			for _, n := range s.nodes {
				right[n] = true
			}
		}
	}
	var out *Carried
	for _, k := range foreign {
		s := a.of[k]
		at := slices.IndexFunc(s.nodes, func(n int32) bool { return right[n] })
		if at < 1 || !computes(c.fn.Body[s.way[at]].Kind()) || !c.alike(s.way[at-1], s.way[at]) {
			return nil
		}
		used := c.takenBesides(s.way[at-1])
		if used < 0 {
			return nil
		}
		out = &Carried{
			Op:   c.fn.Body[s.way[at]].Op,
			At:   report.SourceOf(target.Blame(c.fn, s.way[at])),
			Used: report.SourceOf(target.Blame(c.fn, used)),
		}
	}
	if out == nil || out.At == nil || out.Used == nil {
		return nil
	}
	return out
}

// Anew is a sum that begins with a constant where it should go on.
type Anew struct {
	At  *report.Source // what adds
	Set *report.Source // where the constant is put; nil: it is an operand of what adds
}

// mostBegun is of how many executions of an addition before it is asked what they add.
const mostBegun = 64

// begunAnew finds the addition by which a cell's operands come in, where it begins with a constant, and in
// an execution before added an operand of the cell that is missing; or, of a matrix product, where its warp
// has read that and, because the sum begins behind it, a compiler has left its product out. nil where there
// is none.
func (c *contrast) begunAnew(ctx context.Context, a *actual, s seen, missing operandKey) (*Anew, error) {
	for i, n := range s.nodes {
		in := c.fn.Body[s.way[i]]
		if !in.Kind().Product() && in.Op != "fma" && in.Op != "add" {
			continue
		}
		set, begins := c.begins(a.g, n)
		if !begins {
			continue
		}
		was, err := c.addedBefore(ctx, a.g.Nodes[n], missing)
		warp := c.trace.Step(int(a.g.Nodes[n].Step)).Warp
		dropped := set >= 0 && in.Kind().Product() && c.loadedIn(missing, warp) != nil
		if err != nil || !was && !dropped {
			return nil, err
		}
		out := &Anew{At: report.SourceOf(target.Blame(c.fn, in.Index))}
		if set >= 0 {
			out.Set = report.SourceOf(target.Blame(c.fn, set))
		}
		return out, nil
	}
	return nil, nil
}

// addedBefore reports whether the lane that made a value made one of an operand by the same operation before.
func (c *contrast) addedBefore(ctx context.Context, own lineage.Ref, k operandKey) (bool, error) {
	by := c.trace.Step(int(own.Step))
	for at, asked := int(own.Step)-1, 0; at >= 0 && asked < mostBegun; at-- {
		step := c.trace.Step(at)
		if step.Warp != by.Warp || !step.Func.Entry || !c.alike(step.Instr.Index, by.Instr.Index) ||
			step.Mask>>own.Lane&1 == 0 {
			continue
		}
		asked++
		was := own
		was.Step = uint32(at)
		g, err := c.trace.WalkValue(ctx, was, lineage.Query{CutValue: c.cut, Nodes: sliceNodes})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(g.Leaves, func(l lineage.Leaf) bool { return c.isKey(l, k) }) {
			return true, nil
		}
	}
	return false, nil
}

// begins reports whether a value is made with constants by way of moves and conversions alone, and the last
// of these; -1 where the constant is an operand itself.
func (c *contrast) begins(g *lineage.Graph, n int32) (set int, begins bool) {
	for _, e := range g.Uses(n) {
		if e.Leaf {
			if g.Leaves[e.To].Kind == lineage.LeafImmediate {
				return -1, true
			}
		} else if c.onlyConstants(g, e.To, longestMove) {
			return c.trace.Step(int(g.Nodes[e.To].Step)).Instr.Index, true
		}
	}
	return -1, false
}

// onlyConstants reports whether a value is constants, behind at most so many moves and conversions.
func (c *contrast) onlyConstants(g *lineage.Graph, n int32, moves int) bool {
	uses := g.Uses(n)
	k := c.trace.Step(int(g.Nodes[n].Step)).Instr.Kind()
	if moves == 0 || len(uses) == 0 || k != isa.Move && k != isa.Convert {
		return false
	}
	return !slices.ContainsFunc(uses, func(e lineage.Edge) bool {
		if e.Leaf {
			return g.Leaves[e.To].Kind != lineage.LeafImmediate
		}
		return !c.onlyConstants(g, e.To, moves-1)
	})
}

// longestMove is through how many moves a constant is followed.
const longestMove = 4

// takenBesides is the first instruction, none of a probe, that reads the result of one and is no copy of it;
// -1 where there is none.
func (c *contrast) takenBesides(instr int) int {
	made := c.fn.Body[instr].Dests(nil)
	for i, in := range c.fn.Body {
		if in.Loc.Within(target.IsProbe) || c.alike(i, instr) {
			continue
		}
		var reads, writes []int32
		cfg.Uses(in, &reads, &writes)
		if slices.ContainsFunc(reads, func(r int32) bool { return slices.Contains(made, r) }) {
			return i
		}
	}
	return -1
}
