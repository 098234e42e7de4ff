package debugkern

import (
	"context"
	"fmt"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
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

// ownValue names the thread that an exchange between lanes, in all of its copies that make a cell, brings its
// own value; "" where it brings another's, or is none.
func (c *contrast) ownValue(a *actual, instr int) string {
	if instr < 0 || c.fn.Body[instr].Kind() != isa.Shuffle {
		return ""
	}
	out := ""
	for n, v := range a.g.Nodes {
		step := c.trace.Step(int(v.Step))
		if !c.own(a.g, int32(n)) || !c.alike(step.Instr.Index, instr) {
			continue
		}
		for _, e := range a.g.Uses(int32(n)) {
			if e.Kind != lineage.ByValue {
				continue
			}
			if name := fmt.Sprintf("lane %d of warp %d", v.Lane, step.Warp); e.Leaf ||
				a.g.Nodes[e.To].Lane != v.Lane || out != "" && out != name {
				return ""
			} else {
				out = name
			}
		}
	}
	return out
}
