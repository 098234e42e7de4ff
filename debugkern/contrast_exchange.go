package debugkern

import (
	"context"
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
)

// A sum over lanes lacks what other lanes have where an exchange brings it from the wrong ones. What it
// brings from the lane itself looks like what the lane has anyway: the way of an operand need not go through
// it.

// exchange is the nearest exchange between lanes behind a value that is made of an operand in some lane, and
// not in the one of the cell; -1 where there is none.
func (c *contrast) exchange(ctx context.Context, a *actual, from int32, k operandKey) int {
	found := -1
	c.behind(a.g, from, func(n int32) bool {
		in := c.trace.Step(int(a.g.Nodes[n].Step)).Instr
		if exchanges(in.Kind()) && c.own(a.g, n) && c.reaches(ctx, in.Index, k) {
			found = in.Index
		}
		return found < 0
	})
	return found
}

// leftAside is the instruction by which a thread takes what another one has, where it has itself a value that
// is made of an operand which its result lacks: what it has is left aside there. -1 where that is not so.
func (c *contrast) leftAside(ctx context.Context, other seen, missing operandKey) int {
	if missing.stage < 0 || len(other.nodes) < 2 || len(other.steps) != len(other.way) {
		return -1
	}
	last := len(other.way) - 1
	by := func(i int) thread { return thread{c.trace.Step(int(other.steps[i])).Warp, other.lanesOf[i]} }
	own := by(last)
	first := last
	for first > 0 && by(first-1) == own {
		first--
	}
	if first == 0 || !c.threadHas(ctx, own, other.steps[first], other.way[:first], missing) {
		return -1
	}
	for i := first; i <= last; i++ {
		if computes(c.fn.Body[other.way[i]].Kind()) {
			return other.way[i]
		}
	}
	return -1
}

// threadHas reports whether a thread computes a value that is made of an operand before a step, by one of
// some instructions: others make another thing of it, like a maximum.
func (c *contrast) threadHas(ctx context.Context, t thread, before uint32, by []int, k operandKey) bool {
	var refs []lineage.Ref
	for i := range int(before) {
		s := c.trace.Step(i)
		if s.Warp == t.warp && s.Func.Entry && s.Mask>>t.lane&1 != 0 && computes(s.Instr.Kind()) &&
			!s.Instr.Loc.Within(target.IsProbe) &&
			slices.ContainsFunc(by, func(i int) bool { return c.alike(i, s.Instr.Index) }) {
			refs = append(refs, lineage.Ref{
				Step: uint32(i), Lane: t.lane, N: uint8(max(1, min(8, s.Instr.Type().Bytes()))),
			})
		}
	}
	g, err := c.trace.WalkValues(ctx, refs, lineage.Query{CutValue: c.cut, Nodes: sliceNodes})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(g.Leaves, func(l lineage.Leaf) bool { return c.isKey(l, k) })
}

func exchanges(k isa.Kind) bool { return k == isa.Shuffle || k == isa.Vote }

// behind visits a value and all that it is made of, what is nearest first, until visit returns false.
func (c *contrast) behind(g *lineage.Graph, from int32, visit func(n int32) bool) {
	seen, open := map[int32]bool{from: true}, []int32{from}
	for at := 0; at < len(open); at++ {
		if !visit(open[at]) {
			return
		}
		for _, e := range g.Uses(open[at]) {
			if !e.Leaf && !seen[e.To] {
				seen[e.To] = true
				open = append(open, e.To)
			}
		}
	}
}

// ownValue names the threads of a warp that an exchange between lanes brings their own values, in any of its
// copies that make a cell, or, where it is one that takes from a lane by its number, in all of them; "" where
// it brings others', or is none.
func (c *contrast) ownValue(a *actual, instr int) string {
	if instr < 0 || c.fn.Body[instr].Kind() != isa.Shuffle {
		return ""
	}
	var lanes []int
	warp, others := -1, false
	for n, v := range a.g.Nodes {
		step := c.trace.Step(int(v.Step))
		if !c.own(a.g, int32(n)) || !c.alike(step.Instr.Index, instr) {
			continue
		}
		for _, e := range a.g.Uses(int32(n)) {
			if e.Kind != lineage.ByValue {
				continue
			}
			switch {
			case e.Leaf || a.g.Nodes[e.To].Lane != v.Lane:
				others = true
			case warp >= 0 && warp != step.Warp:
				return ""
			case !slices.Contains(lanes, int(v.Lane)):
				lanes, warp = append(lanes, int(v.Lane)), step.Warp
			}
		}
	}
	if len(lanes) == 0 || others && c.fn.Body[instr].Has("idx") {
		return ""
	}
	slices.Sort(lanes)
	if len(lanes) == 1 {
		return fmt.Sprintf("lane %d of warp %d its own value", lanes[0], warp)
	}
	return fmt.Sprintf("lanes %s of warp %d their own values", text.Spans(lanes), warp)
}
