package debugkern

import (
	"context"
	"math"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// recognised is what a cell is made of, values that are an operand computed again taken for the operand; nil
// where other blocks made a part of it.
func (c *contrast) recognised(ctx context.Context, e *expected, at lineage.Place) (*actual, error) {
	c.moved = 0
	looked := !slices.ContainsFunc(e.direct, func(p ref.Part) bool { return p.Stage >= 0 })
	a, err := c.actual(ctx, at, looked)
	if err != nil || a == nil {
		return nil, err
	}
	if again, err := c.recognise(ctx, e, a); err != nil || !again {
		return a, err
	}
	return c.actual(ctx, at, looked)
}

// recognise finds values of a cell's lineage that are an operand which it should have, computed again: every
// thread of a row may compute the row's maximum for itself, and one of them stores it. They have the
// operand's bits. It reports whether there are any; cut ends a walk at them from then on.
func (c *contrast) recognise(ctx context.Context, e *expected, a *actual) (bool, error) {
	wanted := map[uint64][]operandKey{}
	for _, p := range e.direct {
		if p.Stage < 0 || p.Stage == c.g.Index(c.x.stage.Stage) || c.g.Stage(p.Stage).DType != probes.F32 {
			continue
		}
		sp := c.g.Stage(p.Stage)
		if sp.Cols > 1 && reads(a.of, p) {
			continue // a tile is taken from where it was stored, or computed again as a whole
		}
		kv := p.Iter
		if !sp.PerTile {
			kv = 0
		}
		v, err := c.run.View(Place{Stage: sp.Stage, Block: c.block, KVTile: kv})
		if err != nil {
			continue
		}
		for _, k := range c.cellKeys(p) {
			row, col := k.at/sp.Cols, k.at%sp.Cols
			if !v.Got.Captured(row, col) {
				continue
			}
			if bits := v.Got.Bits(row, col); telling(bits) {
				wanted[bits] = append(wanted[bits], k)
			}
		}
	}
	if len(wanted) == 0 {
		return false, nil
	}
	var refs []lineage.Ref
	var nodes []int32
	for i, n := range a.g.Nodes {
		if n.N == 4 && n.Lo == 0 && n.Index != lineage.InMemory && c.trace.Type(n) == ptx.F32 &&
			computes(c.trace.Step(int(n.Step)).Instr.Kind()) {
			refs, nodes = append(refs, n), append(nodes, int32(i))
		}
	}
	bits, err := c.trace.Values(ctx, c.x.kernel, refs)
	if err != nil {
		return false, err
	}
	found := false
	for i, r := range refs {
		id := lineage.Value{Step: r.Step, Lane: r.Lane, Index: r.Index}
		if len(c.captured[id]) > 0 {
			continue
		}
		for _, k := range wanted[bits[i]] {
			if c.g.Stage(k.stage).Op.Largest() && leaves(a.g, nodes[i]) < c.compared(k) {
				continue // the largest of a few numbers is that of all
			}
			c.captured[id] = append(c.captured[id], part{r.Lo, r.N, r.Part, k})
			found = true
		}
	}
	if found {
		clear(c.ids)
	}
	return found, nil
}

// compared is how many numbers a cell that is a maximum must at least be made of.
func (c *contrast) compared(k operandKey) int {
	cols := c.g.Stage(k.stage).Cols
	row, col := k.at/cols, k.at%cols
	parts, ok := c.g.MadeOf(k.stage, c.block, k.iter, ref.Span{row, row + 1}, ref.Span{col, col + 1})
	n := 0
	for _, p := range parts {
		switch {
		case p.Masked:
			return 2
		case p.Stage < 0:
			n += len(p.Elements)
		case p.Stage != k.stage:
			n += max(min(p.Rows[1], p.Valid[0])-p.Rows[0], 0) * max(min(p.Cols[1], p.Valid[1])-p.Cols[0], 0)
		}
	}
	if !ok {
		return 2
	}
	return max(n, 2)
}

// leaves is of how many elements and captured cells a value is made.
func leaves(g *lineage.Graph, n int32) int {
	seen, open := map[int32]bool{n: true}, []int32{n}
	found := map[lineage.Leaf]bool{}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, e := range g.Uses(n) {
			switch {
			case e.Kind != lineage.ByValue:
			case !e.Leaf:
				if !seen[e.To] {
					seen[e.To] = true
					open = append(open, e.To)
				}
			case g.Leaves[e.To].Kind == lineage.LeafElement || g.Leaves[e.To].Kind == lineage.LeafCut:
				found[g.Leaves[e.To]] = true
			}
		}
	}
	return len(found)
}

// telling reports whether the bits of a float are unlikely to be those of two values that have nothing to do
// with each other.
func telling(bits uint64) bool {
	x := float64(math.Float32frombits(uint32(bits)))
	return x != math.Trunc(x) && !math.IsNaN(x)
}

// replaced finds what a cell is made of in place of a tile or input that it is not made of at all: another
// captured tile, or an input that enters more often than it should. What is not made of an operand, and
// of nothing in its place, misses it.
func (c *contrast) replaced(
	ctx context.Context, at lineage.Place, e *expected, a *actual, out *Contrast,
) (foreign, missing []operandKey, err error) {
	if c.zero(out.Cell) {
		return nil, nil, nil // it need not be computed from anything
	}
	for _, p := range e.direct {
		if p.Masked || p.Stage < 0 && slices.ContainsFunc(c.elementKeys(p), func(k operandKey) bool {
			return a.of[k].ways > 0
		}) || p.Stage >= 0 && reads(a.of, p) {
			continue
		}
		want := c.elementKeys(p)
		if p.Stage >= 0 {
			want = c.cellKeys(p)
			if slices.ContainsFunc(want, func(k operandKey) bool { return !c.stored[k] }) ||
				c.madeAgain(p, a) ||
				c.unchanged(p, a) {
				continue // it stays in registers, where nothing says which value it is, or is made again
			}
		}
		missing = append(missing, want...)
	}
	if len(missing) == 0 {
		return nil, nil, nil
	}
	b, err := c.elsewhere(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	for k := range b.of {
		if k.stage >= 0 && !e.tiles[[2]int{k.stage, k.iter}].has(k.at, c.g.Stage(k.stage).Cols) &&
			!slices.ContainsFunc(e.direct, func(p ref.Part) bool { return p.Stage == k.stage }) {
			foreign = append(foreign, k)
			s := b.of[k]
			s.then = -1 // its node is of another graph
			a.of[k] = s
		}
	}
	usual := func(k operandKey) (int, error) { return -1, nil }
	if len(foreign) == 0 {
		usual = func(k operandKey) (int, error) { return c.usual(ctx, a, k) }
	}
	if out.Missing, err = c.operands(missing, a.of, usual); err != nil || len(foreign) > 0 {
		return foreign, missing, err
	}
	out.Wholly = true
	var twice []operandKey
	least := uint64(math.MaxUint64)
	for _, s := range a.of {
		least = min(least, s.ways)
	}
	for k, s := range a.of {
		if k.stage < 0 && s.ways > least && missing[0].stage < 0 {
			twice = append(twice, k)
		}
	}
	out.Twice, err = c.operands(twice, a.of, func(k operandKey) (int, error) {
		return c.firstUser(a.g, k), nil
	})
	return nil, missing, err
}

// instead finds what a cell is made of in the place of a tile that it is not made of at all, where it is made
// of elements that it should not be: the elements are what the other tile is made of.
func (c *contrast) instead(
	ctx context.Context, at lineage.Place, e *expected, a *actual, foreign []operandKey, out *Contrast,
) (instead, missing []operandKey, err error) {
	if len(foreign) == 0 || slices.ContainsFunc(foreign, func(k operandKey) bool { return k.stage >= 0 }) {
		return nil, nil, nil
	}
	x := Contrast{Cell: out.Cell}
	instead, missing, err = c.replaced(ctx, at, e, a, &x)
	if len(instead) > 0 {
		out.Missing = x.Missing
	}
	return instead, missing, err
}

// firstUser is the first instruction in the entry's body that computes with an operand; -1
// where there is none.
func (c *contrast) firstUser(g *lineage.Graph, k operandKey) int {
	first := -1
	for n := range g.Nodes {
		in := c.trace.Step(int(g.Nodes[n].Step)).Instr
		if !c.own(g, int32(n)) || !computes(in.Kind()) || first >= 0 && in.Index >= first {
			continue
		}
		for _, e := range g.Uses(int32(n)) {
			if x := c.only(g, e); x != nil && *x == k {
				first = in.Index
			}
		}
	}
	return first
}

// zero reports whether a cell should be 0.
func (c *contrast) zero(cell Cell) bool {
	v, err := c.run.View(cell.Place)
	return err != nil || v.Local == nil || v.Local[cell.Row*c.x.stage.Cols+cell.Col] == 0
}

// unchanged reports whether a tile of one iteration has, where a cell is not made of it, the values of
// another iteration's, of which the cell is made.
func (c *contrast) unchanged(p ref.Part, a *actual) bool {
	sp := c.g.Stage(p.Stage)
	value := func(k operandKey) (uint64, bool) {
		v, err := c.run.View(Place{Stage: sp.Stage, Block: c.block, KVTile: k.iter})
		if err != nil || !v.Got.Captured(k.at/sp.Cols, k.at%sp.Cols) {
			return 0, false
		}
		return v.Got.Bits(k.at/sp.Cols, k.at%sp.Cols), true
	}
	return sp.PerTile && !slices.ContainsFunc(c.cellKeys(p), func(k operandKey) bool {
		was, ok := value(k)
		if !ok {
			return true
		}
		for o := range a.of {
			if o.stage == k.stage && o.at == k.at && o.iter != k.iter {
				now, ok := value(o)
				return !ok || now != was
			}
		}
		return true
	})
}

// madeAgain reports whether a cell is made of all that a part is made of.
func (c *contrast) madeAgain(p ref.Part, a *actual) bool {
	parts, ok := c.g.MadeOf(p.Stage, c.block, p.Iter, p.Rows, p.Cols)
	return !ok || !slices.ContainsFunc(parts, func(x ref.Part) bool {
		if x.Stage >= 0 {
			return !reads(a.of, x)
		}
		return !slices.ContainsFunc(c.elementKeys(x), func(k operandKey) bool { return a.of[k].ways > 0 })
	})
}

// elsewhere is what a cell is made of where the walk ends at every captured tile, and not at those alone
// that its stage is computed from.
func (c *contrast) elsewhere(ctx context.Context, at lineage.Place) (*actual, error) {
	all := *c
	all.captured, all.ids, all.lists = map[lineage.Value][]part{}, map[lineage.Ref]int{}, nil
	for id, list := range c.captured {
		all.captured[id] = list
	}
	x := *c.x
	stage := *c.x.stage
	stage.From = nil
	for i := range c.x.st.r.plan.Stages {
		sp := &c.x.st.r.plan.Stages[i]
		if sp.Stage != stage.Stage && !slices.Contains(c.x.stage.From, sp.Stage) {
			stage.From = append(stage.From, sp.Stage)
		}
	}
	x.stage = &stage
	x.operandTiles(c.trace, c.kv, func(sp *probes.StagePlan, iter, row, col int, way []lineage.Ref) {
		key := operandKey{stage: c.g.Index(sp.Stage), iter: iter, arg: -1, at: row*sp.Cols + col}
		if sp.PerTile && iter != c.kv {
			return
		}
		for _, v := range way {
			if c.constant(v) {
				continue
			}
			id := lineage.Value{Step: v.Step, Lane: v.Lane, Index: v.Index}
			all.captured[id] = append(all.captured[id], part{v.Lo, v.N, v.Part, key})
		}
	})
	return all.actualBy(ctx, at, false, all.cut)
}

// constant reports whether a value is made of constants of the program alone: it is no tile's, whatever was
// stored of it.
func (c *contrast) constant(v lineage.Ref) bool {
	if v.Index == lineage.InMemory {
		return false
	}
	uses := c.trace.Uses(v, false, false)
	return len(uses) > 0 && !slices.ContainsFunc(uses, func(u lineage.Use) bool {
		return u.Leaf == nil || u.Leaf.Kind != lineage.LeafImmediate
	})
}

// misplaced reports whether a cell has whole terms of another cell's sum: each factor of what it should not
// be made of belongs to that cell, home, and each factor of its own terms is missing. Such terms are computed
// rightly, and go to the wrong place. Where the cell goes on from none of its own, it is made of nothing then
// that is not of home: terms with factors of both cells belong to neither.
func (c *contrast) misplaced(cell Cell, a *actual, foreign, missing []operandKey) (home [2]int, ok bool) {
	own := c.g.Index(c.x.stage.Stage)
	stages := map[int]bool{}
	for _, k := range missing {
		if k.stage >= 0 && k.stage != own && c.g.Stage(k.stage).Cols > 1 {
			stages[k.stage] = true
		}
	}
	if len(stages) < 2 || len(foreign) == 0 {
		return home, false
	}
	other := [2]int{cell.Row, cell.Col}
	for _, k := range foreign {
		if k.stage < 0 {
			return home, false
		}
		cols := c.g.Stage(k.stage).Cols
		if c.ofRows(k.stage, cell) {
			other[0] = k.at / cols
		} else {
			other[1] = k.at % cols
		}
	}
	parts, ok := c.g.MadeOf(own, c.block, c.kv, ref.Span{other[0], other[0] + 1},
		ref.Span{other[1], other[1] + 1})
	elsewhere := func(k operandKey) bool {
		return !slices.ContainsFunc(parts, func(p ref.Part) bool { return c.has(p, k) })
	}
	if !ok || other == [2]int{cell.Row, cell.Col} || slices.ContainsFunc(foreign, elsewhere) {
		return other, false
	}
	goesOn, mixed := false, false
	for k := range a.of {
		goesOn = goesOn || k.stage == own
		mixed = mixed || k.stage >= 0 && elsewhere(k)
	}
	return other, goesOn || !mixed
}

// ofRows reports whether a cell of the stage is made of the same row of an operand.
func (c *contrast) ofRows(stage int, cell Cell) bool {
	parts, _ := c.g.MadeOf(c.g.Index(c.x.stage.Stage), c.block, c.kv, ref.Span{cell.Row, cell.Row + 1},
		ref.Span{cell.Col, cell.Col + 1})
	return slices.ContainsFunc(parts, func(p ref.Part) bool {
		return p.Stage == stage && p.Rows == ref.Span{cell.Row, cell.Row + 1}
	})
}
