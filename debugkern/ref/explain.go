package ref

import (
	"slices"

	"tilescope/debugkern/ref/op"
)

// What fingerprints ask of the graph.

// Constants are the named numbers of the graph's operations.
func (g *Graph) Constants() []op.Constant {
	var out []op.Constant
	for i := range g.vertices {
		for _, c := range op.Constants(g.vertices[i].node) {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// Factors are the named numbers that a stage's own operation multiplies by.
func (g *Graph) Factors(i int) []op.Constant {
	if g.stages[i].root < 0 {
		return nil
	}
	return op.Factors(g.vertices[g.stages[i].root].node)
}

// Divisor is the stage that a stage's own operation divides by, -1 where there is none.
func (g *Graph) Divisor(i int) int {
	if g.stages[i].root < 0 {
		return -1
	}
	v := &g.vertices[g.stages[i].root]
	if v.node.Op != "divide" || v.args[1].vertex >= 0 {
		return -1
	}
	return v.args[1].stage
}

// computedBy is what computes a stage, for questions that need no numbers; nil where none does.
func (g *Graph) computedBy(i int) op.Kernel {
	if g.stages[i].root < 0 {
		return nil
	}
	return g.vertices[g.stages[i].root].kernel
}

// Suspects are the mistakes that are typical for a stage's operator.
func (g *Graph) Suspects(i int) []op.Suspect {
	if k, ok := g.computedBy(i).(op.Suspicious); ok {
		return k.Suspects(g.Constants())
	}
	return nil
}

// Mistake is a mistake in one of the operations that a stage is made of.
type Mistake struct {
	op.Mistake
	vertex, number int
}

// Mistakes are those of the operations that a stage is made of, its own and those in place.
func (g *Graph) Mistakes(i int) []Mistake {
	if g.stages[i].root < 0 {
		return nil
	}
	var out []Mistake
	for _, v := range g.inPlace(g.stages[i].root) {
		if k, ok := g.vertices[v].kernel.(op.Mistaken); ok {
			for n, m := range k.Mistakes() {
				out = append(out, Mistake{m, v, n})
			}
		}
	}
	return out
}

// inPlace are a vertex and those that it is computed from without a stage between.
func (g *Graph) inPlace(v int) []int {
	out := []int{v}
	for i := 0; i < len(out); i++ {
		for _, a := range g.vertices[out[i]].args {
			if a.vertex >= 0 && !slices.Contains(out, a.vertex) {
				out = append(out, a.vertex)
			}
		}
	}
	return out
}

// Make computes stage i of a pass's current iteration with the mistake; results are those of Pass.Again.
func (m *Mistake) Make(p *Pass, i int) (op.Matrix, op.Matrix) {
	return p.mistaken(i, m.vertex, p.kernels[m.vertex].(op.Mistaken).Mistakes()[m.number].Kernel)
}

// Maximum reports whether a stage holds maxima, that others are relative to.
func (g *Graph) Maximum(i int) bool { return op.IsMaximum(g.computedBy(i)) }

// Linear reports whether a stage is a sum over columns of its first operand, carried over or not, and what
// the sum runs along.
func (g *Graph) Linear(i int) (over string, ok bool) { return op.IsLinear(g.computedBy(i)) }

// Carried reports whether a stage is a sum that is carried over from iteration to iteration.
func (g *Graph) Carried(i int) bool {
	_, linear := g.Linear(i)
	return linear && slices.ContainsFunc(g.Uses(i), func(u Use) bool { return u.Stage == i && u.Before })
}

// Masked reports whether stage i leaves columns of the operand beyond its last valid one out.
func (g *Graph) Masked(i, operand int) bool {
	return op.IsMasked(g.computedBy(i)) && g.stages[operand].Cols > 1
}

// Related reports whether a stage is computed from stage c, or c from it, or both are from one maximum:
// whether c is a quantity that stage i may be multiplied by in error.
func (g *Graph) Related(i, c int) bool {
	seen := func() []bool { return make([]bool, len(g.stages)) }
	if i == c || g.reaches(i, c, seen()) {
		return true
	}
	for m := range g.stages {
		if g.Maximum(m) && m != i && g.reaches(i, m, seen()) && g.reaches(c, m, seen()) {
			return true
		}
	}
	return false
}

// OperandName is how a stage's operand is written in its operation: with the mark of a transpose
// where it is transposed.
func (g *Graph) OperandName(i, operand int) string {
	name := g.stages[operand].Stage.String()
	for _, u := range g.Uses(i) {
		if u.Stage == operand && (u.Needs == op.RowOfColumn || u.Needs == op.ColumnOfRow) {
			return name + "ᵀ"
		}
	}
	return name
}

// Reason says in words how the error of a stage comes about: of the values that it is computed from in
// place, then its own.
func (g *Graph) Reason(i int) string { return g.reason(g.stages[i].root) }

func (g *Graph) reason(v int) string {
	var out string
	for _, a := range g.vertices[v].args {
		if a.vertex < 0 {
			continue
		}
		if t, ok := op.Source(g.vertices[a.vertex].kernel); ok && !t.Coded() {
			continue // what is copied needs no reason
		}
		out += g.reason(a.vertex) + "; "
	}
	return out + g.vertices[v].kernel.Reason()
}
