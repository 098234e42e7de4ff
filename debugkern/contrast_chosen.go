package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// Chosen is a maximum or minimum of operands that all belong in a cell: only one of them enters.
type Chosen struct {
	Op   string // "max", "min"
	At   *report.Source
	Used *report.Source // what takes it for the sum: a compiler computes once what two lines ask for
}

// sides are the operands of a maximum or minimum: those that it gave, and those that it left.
type sides struct{ kept, left []lineage.Edge }

// unchosen finds the operands of a cell that come in only as the side of a maximum or minimum that it
// leaves, while the side that it gives has others of the same tile or argument. The cell's stage is no
// maximum itself, and no mask may leave the operands out.
func (c *contrast) unchosen(
	ctx context.Context, e *expected, a *actual,
) ([]operandKey, *Chosen, error) {
	if c.g.Stage(c.g.Index(c.x.stage.Stage)).Op.Largest() ||
		slices.ContainsFunc(e.direct, func(p ref.Part) bool { return p.Masked }) {
		return nil, nil, nil
	}
	choices, err := c.choices(ctx, a.g)
	if err != nil || len(choices) == 0 {
		return nil, nil, err
	}
	enters := c.chosenFrom(a.g, a.g.Roots, choices)
	var missing []operandKey
	var by *Chosen
	for n := range int32(len(a.g.Nodes)) { // nodes next to the cell come first
		s, ok := choices[n]
		if !ok {
			continue
		}
		kept := c.chosenFrom(a.g, s.kept, choices)
		for k := range c.chosenFrom(a.g, s.left, nil) {
			if enters[k] || slices.Contains(missing, k) || !c.expects(e, k) {
				continue
			}
			for o := range kept {
				if o.stage == k.stage && o.arg == k.arg && o.iter == k.iter && c.expects(e, o) {
					missing = append(missing, k)
					break
				}
			}
		}
		if by == nil && len(missing) > 0 {
			in := c.trace.Step(int(a.g.Nodes[n].Step)).Instr
			by = &Chosen{Op: in.Op, At: report.SourceOf(target.Blame(c.fn, in.Index))}
			if use := c.usedBy(a.g, n, choices); use >= 0 {
				by.Used = report.SourceOf(target.Blame(c.fn, use))
			}
		}
	}
	return missing, by, nil
}

// usedBy is the instruction that takes a value on its way to the cell, and is no choice itself; -1: none.
func (c *contrast) usedBy(g *lineage.Graph, n int32, choices map[int32]sides) int {
	for user := range int32(len(g.Nodes)) {
		if _, chooses := choices[user]; chooses || !c.own(g, user) {
			continue
		}
		if slices.ContainsFunc(g.Uses(user), func(e lineage.Edge) bool {
			return !e.Leaf && e.To == n && e.Kind == lineage.ByValue
		}) {
			return c.trace.Step(int(g.Nodes[user].Step)).Instr.Index
		}
	}
	return -1
}

// choices finds the maxima and minima of floats of which it is known what they gave.
func (c *contrast) choices(ctx context.Context, g *lineage.Graph) (map[int32]sides, error) {
	var refs []lineage.Ref
	var nodes []int32
	for n := range int32(len(g.Nodes)) {
		v := g.Nodes[n]
		in := c.trace.Step(int(v.Step)).Instr
		t := in.Type()
		if (in.Op == "max" || in.Op == "min") && t.Float() && int(v.N) == t.Bytes() && t == t.Single() &&
			v.Lo == 0 && v.Index != lineage.InMemory && c.own(g, n) {
			nodes, refs = append(nodes, n), append(refs, v)
			for _, e := range g.Uses(n) {
				if !e.Leaf {
					refs = append(refs, g.Nodes[e.To])
				}
			}
		}
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	bits, err := c.trace.Values(ctx, c.x.kernel, refs)
	if err != nil {
		return nil, err
	}
	out := map[int32]sides{}
	for _, n := range nodes {
		gave := bits[0]
		bits = bits[1:]
		var s sides
		leaves := 0
		for _, e := range g.Uses(n) {
			is := false
			if e.Leaf {
				leaves++
			} else {
				is, bits = bits[0] == gave, bits[1:]
			}
			if is {
				s.kept = append(s.kept, e)
			} else {
				s.left = append(s.left, e)
			}
		}
		if len(s.kept) == 0 && leaves == 1 {
			i := slices.IndexFunc(s.left, func(e lineage.Edge) bool { return e.Leaf })
			s.kept, s.left = []lineage.Edge{s.left[i]}, slices.Delete(slices.Clone(s.left), i, i+1)
		}
		if len(s.kept) > 0 && len(s.left) > 0 {
			out[n] = s
		}
	}
	return out, nil
}

// chosenFrom lists the operands that edges lead to by value, of each choice by the side that it gave.
func (c *contrast) chosenFrom(
	g *lineage.Graph, from []lineage.Edge, choices map[int32]sides,
) map[operandKey]bool {
	out, seen := map[operandKey]bool{}, map[int32]bool{}
	open := slices.Clone(from)
	for len(open) > 0 {
		e := open[len(open)-1]
		open = open[:len(open)-1]
		switch {
		case e.Kind != lineage.ByValue:
		case e.Leaf:
			switch l := g.Leaves[e.To]; l.Kind {
			case lineage.LeafCut:
				for _, k := range c.lists[l.Cut] {
					out[k] = true
				}
			case lineage.LeafElement:
				out[operandKey{stage: -1, arg: l.Arg, at: l.Element}] = true
			}
		case !seen[e.To]:
			seen[e.To] = true
			if s, ok := choices[e.To]; ok {
				open = append(open, s.kept...)
			} else {
				open = append(open, g.Uses(e.To)...)
			}
		}
	}
	return out
}

// expects reports whether an operand belongs in a cell: an element, or a valid cell of a tile that it is
// directly made of.
func (c *contrast) expects(e *expected, k operandKey) bool {
	if k.stage < 0 {
		return e.element[k]
	}
	cols := c.g.Stage(k.stage).Cols
	return slices.ContainsFunc(e.direct, func(p ref.Part) bool {
		return p.Stage == k.stage && p.Iter == k.iter && rect{p.Rows, p.Cols}.has(k.at, cols) &&
			k.at/cols < p.Valid[0] && k.at%cols < p.Valid[1]
	})
}
