package ref

import "tilescope/debugkern/ref/op"

// What fingerprints ask of the graph.

// Constants are the named numbers of the graph's operations.
func (g *Graph) Constants() []op.Constant {
	var out []op.Constant
	for i := range g.vertices {
		n := g.vertices[i].node
		for name, text := range n.Params.Word {
			x, ok := n.Params.Number[name]
			if c := (op.Constant{Name: text, Value: x}); ok && x != 0 && x != 1 && !contains(out, c) {
				out = append(out, c)
			}
		}
		for _, a := range n.Args { // of what accumulate adds up
			if a.Node != nil && n.Op == "accumulate" {
				if x, ok := a.Node.Params.Number["scale"]; ok && x != 1 {
					out = append(out, op.Constant{Name: a.Node.Params.Word["scale"], Value: x})
				}
			}
		}
	}
	return out
}

func contains(all []op.Constant, c op.Constant) bool {
	for _, x := range all {
		if x == c {
			return true
		}
	}
	return false
}

// kernel binds a stage's operation for questions that need no numbers.
func (g *Graph) kernel(i int) op.Kernel {
	v := &g.vertices[g.stages[i].root]
	exts := make([]op.Extent, len(v.args))
	for k, a := range v.args {
		if exts[k] = (op.Extent{g.stages[a.stage].Rows, g.stages[a.stage].Cols}); a.vertex >= 0 {
			exts[k] = g.vertices[a.vertex].ext
		}
	}
	o, _ := op.Lookup(v.node.Op)
	k, _, _ := o.Bind(v.node, exts, g.env(v, op.NewCoefs(nil)))
	return k
}

// Suspects are the mistakes that are typical for a stage's operator.
func (g *Graph) Suspects(i int) []op.Suspect {
	if g.stages[i].root < 0 {
		return nil
	}
	if k, ok := g.kernel(i).(op.Suspicious); ok {
		return k.Suspects(g.Constants())
	}
	return nil
}

// Maximum reports whether a stage holds maxima, that others are relative to.
func (g *Graph) Maximum(i int) bool { return g.stages[i].root >= 0 && op.IsMaximum(g.kernel(i)) }

// Linear reports whether a stage is a sum over columns of its first operand, carried over or not.
func (g *Graph) Linear(i int) bool {
	if g.stages[i].root < 0 {
		return false
	}
	_, ok := op.IsLinear(g.kernel(i))
	return ok
}

// Over says what a linear stage's sum runs along.
func (g *Graph) Over(i int) string {
	over, _ := op.IsLinear(g.kernel(i))
	return over
}

// Masked reports whether stage i leaves columns of the operand beyond its last valid one out.
func (g *Graph) Masked(i, operand int) bool {
	return g.stages[i].root >= 0 && op.IsMasked(g.kernel(i)) && g.stages[operand].Cols > 1
}

// Related reports whether a stage is computed from stage c, or c from it, or both are from one maximum: whether c is a quantity that
// stage i may be multiplied by in error.
func (g *Graph) Related(i, c int) bool {
	seen := func() []bool { return make([]bool, len(g.stages)) }
	if i == c || g.reaches(i, c, seen()) {
		return true
	}
	for m := range g.stages {
		if g.stages[m].root >= 0 && g.Maximum(m) && m != i && g.reaches(i, m, seen()) && g.reaches(c, m, seen()) {
			return true
		}
	}
	return false
}

// OperandName is how a stage's operand is written in its operation: with the mark of a transpose where it is transposed.
func (g *Graph) OperandName(i, operand int) string {
	name := g.stages[operand].Stage.String()
	for _, u := range g.Uses(i) {
		if u.Stage == operand && u.Needs == op.RowOfColumn {
			return name + "ᵀ"
		}
	}
	return name
}
