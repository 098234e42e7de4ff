package debugkern

import (
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// vector is an operand of which a cell takes a row or a column: the k-th of one is multiplied with the k-th
// of the other.
type vector struct {
	part ref.Part
	cols int // of its tile
}

// term is the place of an operand in a vector, -1 where it is none of it.
func (v *vector) term(k operandKey) int {
	if v.part.Stage != k.stage || v.part.Iter != k.iter ||
		!(rect{v.part.Rows, v.part.Cols}).has(k.at, v.cols) {
		return -1
	}
	if v.part.Rows[1]-v.part.Rows[0] == 1 {
		return k.at%v.cols - v.part.Cols[0]
	}
	return k.at/v.cols - v.part.Rows[0]
}

// at is the operand at a place in a vector.
func (v *vector) at(term int) operandKey {
	k := operandKey{stage: v.part.Stage, iter: v.part.Iter, arg: -1}
	if v.part.Rows[1]-v.part.Rows[0] == 1 {
		k.at = v.part.Rows[0]*v.cols + v.part.Cols[0] + term
	} else {
		k.at = (v.part.Rows[0]+term)*v.cols + v.part.Cols[0]
	}
	return k
}

// vectors are the two tiles whose rows or columns a cell is the product of; ok is false for anything else.
func (c *contrast) vectors(e *expected) (a, b vector, ok bool) {
	var list []vector
	for _, p := range e.direct {
		if p.Stage < 0 {
			continue
		}
		rows, cols := p.Rows[1]-p.Rows[0], p.Cols[1]-p.Cols[0]
		if (rows == 1) != (cols == 1) && p.Stage != c.g.Index(c.x.stage.Stage) {
			list = append(list, vector{p, c.g.Stage(p.Stage).Cols})
		}
	}
	if len(list) != 2 {
		return a, b, false
	}
	return list[0], list[1], true
}

// mismatched finds products of a cell's sum whose factors belong to two terms: the cell is made of what it
// should be made of, and yet wrong. nil where there are none, or where the sum is no product of two tiles.
func (c *contrast) mismatched(cell Cell, e *expected, act *actual) *Pair {
	a, b, ok := c.vectors(e)
	if !ok {
		return c.sumsMultiplied(act)
	}
	g := act.g
	var first *Pair
	n := 0
	for node := range g.Nodes {
		for _, f := range c.factors(g, int32(node)) {
			x, y := c.only(g, f[0]), c.only(g, f[1])
			if x == nil || y == nil {
				continue
			}
			p, q := a.term(*x), b.term(*y)
			if p < 0 || q < 0 {
				x, y = y, x
				p, q = a.term(*x), b.term(*y)
			}
			if p < 0 || q < 0 || p == q {
				continue
			}
			n++
			if first == nil {
				first = &Pair{A: c.operand(*x, act), B: c.operand(*y, act), With: c.operand(b.at(p), act)}
			}
		}
	}
	if first == nil {
		return nil
	}
	first.N = n
	inRow, inCol := c.rightNear(cell)
	if c.ofRows(a.part.Stage, cell) == (inRow > inCol) {
		first.At = first.B.At
	} else {
		first.At = first.A.At
	}
	if inRow == inCol {
		first.At = nil
	}
	return first
}

// sumsMultiplied finds products of two sums of operands of two kinds, which have the products of different
// terms in them. nil where there are none.
func (c *contrast) sumsMultiplied(act *actual) *Pair {
	g := act.g
	var out *Pair
	for node := range g.Nodes {
		for _, f := range c.factors(g, int32(node)) {
			x, y := c.terms(g, f[0], mostTerms), c.terms(g, f[1], mostTerms)
			if len(x) < 2 || len(x) != len(y) || x[0].stage == y[0].stage && x[0].arg == y[0].arg {
				continue
			}
			if out == nil {
				by := c.trace.Step(int(g.Nodes[node].Step)).Instr.Index
				out = &Pair{
					A: c.operand(x[0], act), B: c.operand(y[1], act), With: c.operand(y[0], act), Sums: true,
					At: report.SourceOf(target.Blame(c.fn, by)),
				}
			}
			out.N++
		}
	}
	return out
}

// mostTerms is how many terms of a sum are followed.
const mostTerms = 8

// terms are the operands that an edge leads to by additions, moves and conversions alone, in order, all of
// one stage or argument; nil where it leads to others.
func (c *contrast) terms(g *lineage.Graph, e lineage.Edge, most int) []operandKey {
	if k := c.only(g, e); k != nil {
		return []operandKey{*k}
	}
	for range mostWay {
		if e.Leaf {
			return nil
		}
		in := c.trace.Step(int(g.Nodes[e.To].Step)).Instr
		uses := slices.DeleteFunc(slices.Clone(g.Uses(e.To)), func(u lineage.Edge) bool {
			return u.Kind != lineage.ByValue
		})
		if in.Op == "add" && in.Type().Float() && len(uses) == 2 {
			x, y := c.terms(g, uses[0], most/2), c.terms(g, uses[1], most/2)
			if most < 2 || len(x) == 0 || len(y) == 0 || x[0].stage != y[0].stage || x[0].arg != y[0].arg ||
				x[0].iter != y[0].iter {
				return nil
			}
			x = append(x, y...)
			slices.SortFunc(x, func(a, b operandKey) int { return a.at - b.at })
			return x
		}
		if len(uses) != 1 {
			return nil
		}
		e = uses[0]
	}
	return nil
}

// rightNear counts the right cells in the row and in the column of a cell.
func (c *contrast) rightNear(cell Cell) (inRow, inCol int) {
	v, err := c.run.View(cell.Place)
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return 0, 0
	}
	right := func(r, col int) bool { return v.Judged(r, col, true) && !v.Bad(r, col, true) }
	for r := range v.ValidRows {
		if right(r, cell.Col) {
			inCol++
		}
	}
	for col := range v.ValidCols {
		if right(cell.Row, col) {
			inRow++
		}
	}
	return inRow, inCol
}

// operand is one operand with the place where it is read.
func (c *contrast) operand(k operandKey, a *actual) Operands {
	list, _ := c.operands([]operandKey{k}, a.of, func(k operandKey) (int, error) {
		if s, ok := a.of[k]; ok {
			return s.instr, nil
		}
		return -1, nil
	})
	return list[0]
}

// factors lists the pairs of operands that a node multiplies.
func (c *contrast) factors(g *lineage.Graph, n int32) [][2]lineage.Edge {
	v := g.Nodes[n]
	if v.Index == lineage.InMemory || !c.own(g, n) {
		return nil
	}
	in := c.trace.Step(int(v.Step)).Instr
	uses := slices.DeleteFunc(slices.Clone(g.Uses(n)), func(e lineage.Edge) bool {
		return e.Kind != lineage.ByValue
	})
	switch {
	case in.Kind() == isa.Multiply: // A's and B's elements in turn, then that of C
		var out [][2]lineage.Edge
		for i := 0; i+1 < len(uses); i += 2 {
			out = append(out, [2]lineage.Edge{uses[i], uses[i+1]})
		}
		return out
	case (in.Op == "fma" || in.Op == "mad" || in.Op == "mul") && len(uses) >= 2:
		return [][2]lineage.Edge{{uses[0], uses[1]}}
	}
	return nil
}

// only is the operand that an edge leads to by moves and conversions alone; nil where it is made of several
// values.
func (c *contrast) only(g *lineage.Graph, e lineage.Edge) *operandKey {
	l := c.onlyLeaf(g, e)
	switch {
	case l == nil:
	case l.Kind == lineage.LeafCut && len(c.lists[l.Cut]) == 1:
		return &c.lists[l.Cut][0]
	case l.Kind == lineage.LeafElement:
		return &operandKey{stage: -1, arg: l.Arg, at: l.Element}
	}
	return nil
}

// onlyLeaf is the leaf that an edge leads to by moves and conversions alone; nil where there are several.
func (c *contrast) onlyLeaf(g *lineage.Graph, e lineage.Edge) *lineage.Leaf {
	for range mostWay {
		if e.Leaf {
			return &g.Leaves[e.To]
		}
		var next []lineage.Edge
		for _, u := range g.Uses(e.To) {
			if u.Kind == lineage.ByValue && !(u.Leaf && g.Leaves[u.To].Kind == lineage.LeafImmediate) {
				next = append(next, u)
			}
		}
		if len(next) != 1 {
			return nil
		}
		e = next[0]
	}
	return nil
}
