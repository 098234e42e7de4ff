// Package ref is the reference: what every stage of a launch should hold, tile by tile, with the tiling of
// the kernel that is looked at, and how far a right kernel may be from that.
//
// The one idea: a plan's stages are a graph of operators, and everything asked of the reference is a walk
// over it in one order: the stages before the loop, those of each iteration, those after it. A Pass is such a
// walk over one block. It computes exact numbers with the bounds of a right kernel's errors, or a kernel's
// own roundings; from the true inputs, or each stage from the tiles that a kernel left behind.
//
// It must not know what an operator computes, verdicts, captures, or kernels and stages by name.
package ref

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Graph is a plan's stages with what each is computed from. It is immutable and safe for concurrent use.
type Graph struct {
	plan     *probes.Plan
	stages   []stage                // those of the plan, in its order, then those that it implies
	vertices []vertex               // in the order of computation
	order    map[probes.Phase][]int // stages in the order of computation
	chip     *fp.Model
	tensor   func(name string) op.Tensor
	uniform  bool       // a gate injects uniform values
	known    []bool     // stages that follow from the inputs
	readers  [][]reader // by stage: what reads it as an operand of the same iteration
}

// stage is a stage and the vertex that computes it, -1 where none does.
type stage struct {
	*probes.StagePlan
	root int
	pad  float64 // what the host fills in beyond the valid cells
}

// vertex is a node of the computation. Nodes that compute the same are one.
type vertex struct {
	node    *probes.Node
	args    []arg
	kernel  op.Kernel // for questions that need no numbers: each Pass has its own
	ext     op.Extent
	stage   int   // whose arithmetic it has
	uses    []Use // of stages, through values that are no stages too
	compute probes.Compute
	named   bool      // it computes a stage
	needs   []op.Need // by operand
}

// arg is an operand: the value of a vertex, or a stage's tile.
type arg struct {
	vertex int // -1: a stage
	stage  int
	before bool
}

// Use is a stage that another is computed from, and which of its cells a cell of the result depends on.
type Use struct {
	Stage  int
	Before bool // of the iteration before
	Needs  op.Need
}

// Error is a stage that cannot be computed as the plan says.
type Error struct {
	Stage probes.Stage
	Node  *probes.Node // the operation; nil: the stage as a whole
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("stage %s: %v", e.Stage, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// NewGraph binds the plan's stages to their operators. The errors are *Error.
func NewGraph(p *probes.Plan, tensor func(name string) op.Tensor, chip *fp.Model) (*Graph, error) {
	g := &Graph{plan: p, tensor: tensor, chip: chip, order: map[probes.Phase][]int{}}
	for i := range p.Stages {
		g.stages = append(g.stages, stage{&p.Stages[i], -1, 0})
	}
	for i := range p.Undeclared {
		g.stages = append(g.stages, stage{&p.Undeclared[i], -1, 0})
	}
	state := make([]byte, len(g.stages))
	for i := range g.stages {
		if err := g.bind(i, state); err != nil {
			return nil, err
		}
	}
	for _, i := range g.byDependence() {
		g.order[g.stages[i].Phase] = append(g.order[g.stages[i].Phase], i)
	}
	g.settle()
	return g, nil
}

// settle works out what is asked of a finished graph in every tile.
func (g *Graph) settle() {
	g.readers, g.known = make([][]reader, len(g.stages)), make([]bool, len(g.stages))
	for v := range g.vertices {
		for k, a := range g.vertices[v].args {
			if a.vertex < 0 && !a.before {
				g.readers[a.stage] = append(g.readers[a.stage], reader{v, k})
			}
		}
	}
	for i := range g.stages {
		g.known[i] = g.stages[i].root >= 0
		for k := range g.stages {
			if g.stages[k].root < 0 && g.reaches(i, k, make([]bool, len(g.stages))) {
				g.known[i] = false
			}
		}
	}
}

const (
	binding = 1 + iota
	bound
)

// bind makes a stage's vertices, those of the stages that it is computed from first.
func (g *Graph) bind(i int, state []byte) error {
	s := &g.stages[i]
	switch {
	case state[i] == bound || s.Op == nil:
		return nil
	case state[i] == binding:
		return &Error{s.Stage, s.Op, fmt.Errorf("it is computed from itself, without an iteration between")}
	}
	state[i] = binding
	v, err := g.vertex(s.Op, i, state)
	if err != nil {
		return located(err, s.Stage, s.Op)
	}
	s.root = v
	g.vertices[v].named = true
	if got, want := g.vertices[v].ext, (op.Extent{s.Rows, s.Cols}); got != want {
		return &Error{
			s.Stage, s.Op, fmt.Errorf("it is %d×%d, but %s makes %d×%d of its operands", want[0], want[1],
				s.Op.Op, got[0], got[1]),
		}
	}
	state[i] = bound
	return g.inTime(i)
}

// located gives an error the operation that it is about, where it has none yet.
func located(err error, s probes.Stage, n *probes.Node) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{s, n, err}
}

// inTime refuses a stage that is computed from a later phase, or that carries over where there is no loop.
func (g *Graph) inTime(i int) error {
	s, when := &g.stages[i], map[probes.Phase]int{
		probes.PhaseBefore: 0, probes.PhaseEach: 1, probes.PhaseAfter: 2,
	}
	words := [...]string{"before the loop", "in each iteration", "after the loop"}
	for _, u := range g.vertices[s.root].uses {
		o := &g.stages[u.Stage]
		switch at := when[o.Phase]; {
		case u.Before && s.Phase != probes.PhaseEach:
			return &Error{
				s.Stage, s.Op, fmt.Errorf("it uses %s of the iteration before, but is computed once, %s",
					o.Stage, words[when[s.Phase]]),
			}
		case at > when[s.Phase]:
			return &Error{
				s.Stage, s.Op, fmt.Errorf("it is computed %s, from %s, which is computed %s",
					words[when[s.Phase]], o.Stage, words[at]),
			}
		}
	}
	return nil
}

// vertex returns the vertex that computes a node, which may be there already.
func (g *Graph) vertex(n *probes.Node, i int, state []byte) (int, error) {
	o, ok := op.Lookup(n.Op)
	if !ok {
		return 0, fmt.Errorf("no operator %q; there are %v", n.Op, op.Names())
	}
	args, err := g.args(n, i, state)
	if err != nil {
		return 0, located(err, g.stages[i].Stage, n)
	}
	sp := g.stages[i].StagePlan
	v := vertex{node: n, args: args, stage: i, compute: sp.Compute}
	if n != sp.Op {
		v.compute.Unit, v.compute.Split = 0, 0 // how the stage sums is its own operation's
	}
	for k := range g.vertices {
		if w := &g.vertices[k]; reflect.DeepEqual(w.node, n) && slices.Equal(w.args, args) &&
			g.alike(o, w, &v) {
			return k, nil
		}
	}
	if v.kernel, v.ext, err = g.kernel(&v, op.NewCoefs(nil)); err != nil {
		return 0, &Error{sp.Stage, n, err}
	}
	for k, a := range args {
		v.needs = append(v.needs, v.kernel.Needs(k))
		v.uses = g.join(v.uses, a, v.kernel.Needs(k))
		if p, ok := v.kernel.(op.Padded); ok && a.vertex < 0 {
			g.stages[a.stage].pad = max(g.stages[a.stage].pad, p.Pad(k))
		}
	}
	g.vertices = append(g.vertices, v)
	return len(g.vertices) - 1, nil
}

// kernel binds a vertex's operator, with the coefficients of the bounds' terms.
func (g *Graph) kernel(v *vertex, c *op.Coefs) (op.Kernel, op.Extent, error) {
	exts := make([]op.Extent, len(v.args))
	for k, a := range v.args {
		if exts[k] = (op.Extent{g.stages[a.stage].Rows, g.stages[a.stage].Cols}); a.vertex >= 0 {
			exts[k] = g.vertices[a.vertex].ext
		}
	}
	o, _ := op.Lookup(v.node.Op)
	return o.Bind(v.node, exts, g.env(v, c))
}

// alike reports whether two vertices of the same node and operands may be one: in the same phase and unit,
// where the arithmetic of their stages makes no difference to the operator.
func (g *Graph) alike(o op.Operator, a, b *vertex) bool {
	s, t := &g.stages[a.stage], &g.stages[b.stage]
	return s.Phase == t.Phase && s.Natural() == t.Natural() &&
		(a.stage == b.stage || o.Shares(a.compute, b.compute))
}

// args resolves a node's operands.
func (g *Graph) args(n *probes.Node, i int, state []byte) ([]arg, error) {
	var out []arg
	for _, a := range op.Operands(n) {
		switch {
		case a.Node != nil:
			v, err := g.vertex(a.Node, i, state)
			if err != nil {
				return nil, err
			}
			out = append(out, arg{vertex: v})
		case a.Tensor != "":
		default:
			s := g.Index(a.Stage)
			if s < 0 {
				return nil, fmt.Errorf("%s is computed from stage %s, which there is not", n.Op, a.Stage)
			}
			if !a.Before {
				if err := g.bind(s, state); err != nil {
					return nil, err
				}
			}
			out = append(out, arg{-1, s, a.Before})
		}
	}
	return out, nil
}

// join adds what an operand depends on.
func (g *Graph) join(all []Use, a arg, needs op.Need) []Use {
	add := func(u Use) {
		if !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	if a.vertex < 0 {
		add(Use{a.stage, a.before, needs})
		return all
	}
	for _, u := range g.vertices[a.vertex].uses {
		switch {
		case needs == op.SameCell:
		case u.Needs == op.SameCell:
			u.Needs = needs
		case u.Needs != needs:
			u.Needs = op.WholeTile
		}
		add(u)
	}
	return all
}

// byDependence lists the stages that have an operator, each after those of the same iteration
// that it is computed from.
func (g *Graph) byDependence() []int {
	var out []int
	var visit func(i int)
	visit = func(i int) {
		if slices.Contains(out, i) || g.stages[i].root < 0 {
			return
		}
		for _, u := range g.vertices[g.stages[i].root].uses {
			if !u.Before && u.Stage != i {
				visit(u.Stage)
			}
		}
		out = append(out, i)
	}
	for i := range g.stages {
		visit(i)
	}
	return out
}

// env is what a vertex is computed in.
func (g *Graph) env(v *vertex, c *op.Coefs) *op.Env {
	s := &g.stages[v.stage]
	e := &op.Env{
		Chip: g.chip, Coefs: c, Compute: v.compute, DType: s.DType, Unit: s.Natural(), Tensor: g.tensor,
	}
	if v.node != s.Op {
		e.DType, e.Unit = probes.F64, 1
	}
	for _, a := range v.args {
		unit, dtype := 1.0, probes.F64
		if a.vertex < 0 {
			unit, dtype = g.stages[a.stage].Natural(), g.stages[a.stage].DType
		}
		e.Units, e.DTypes = append(e.Units, unit), append(e.DTypes, dtype)
	}
	return e
}

// valid is the extent of a stage's tile that is compared.
func (s *stage) valid(block probes.Dim3, iter int) (rows, cols int) {
	return clamp(s.ValidRows.At(block, iter), s.Rows), clamp(s.ValidCols.At(block, iter), s.Cols)
}

func clamp(v, most int) int { return min(max(v, 0), most) }

// Index is the stage's place in the graph, -1 where it has none; those of the plan come first, in its order.
func (g *Graph) Index(s probes.Stage) int {
	return slices.IndexFunc(g.stages, func(x stage) bool { return x.Stage == s })
}

// Plan is the plan that the graph is of.
func (g *Graph) Plan() *probes.Plan { return g.plan }

// Stages is how many stages the graph has, those that the plan implies among them.
func (g *Graph) Stages() int { return len(g.stages) }

// Stage is the plan of a stage.
func (g *Graph) Stage(i int) *probes.StagePlan { return g.stages[i].StagePlan }

// Order lists the stages of a phase that an operator computes, each after those of the same iteration
// that it is computed from.
func (g *Graph) Order(ph probes.Phase) []int { return g.order[ph] }

// Uses lists the stages that a stage is computed from.
func (g *Graph) Uses(i int) []Use {
	if g.stages[i].root < 0 {
		return nil
	}
	return g.vertices[g.stages[i].root].uses
}

// Defined reports whether an operator computes a stage, or loads it.
func (g *Graph) Defined(i int) bool { return g.stages[i].root >= 0 }

// Computed reports whether a stage is computed from stages, or from inputs that it reads in place:
// anything but a load.
func (g *Graph) Computed(i int) bool {
	return g.stages[i].root >= 0 && len(g.vertices[g.stages[i].root].args) > 0
}

// Known reports whether a stage follows from the inputs: an operator computes it, and all
// that it is computed from.
func (g *Graph) Known(i int) bool { return g.known[i] }

// Coded reports whether the kernel decodes a stage that it loads, in arithmetic of its own.
func (g *Graph) Coded(i int) bool {
	if g.stages[i].root < 0 {
		return true
	}
	t, ok := op.Source(g.vertices[g.stages[i].root].kernel)
	return !ok || t.Coded()
}

// Valid is the extent of a stage's tile that is compared.
func (g *Graph) Valid(i int, block probes.Dim3, iter int) (rows, cols int) {
	return g.stages[i].valid(block, iter)
}

// reader is a vertex that has a stage as an operand.
type reader struct{ vertex, operand int }

// Beyond reports which cells beyond a stage's valid ones an operation runs across: those of further rows, or
// of further columns.
func (g *Graph) Beyond(i int) (rows, cols bool) {
	for _, c := range g.readers[i] {
		switch g.vertices[c.vertex].needs[c.operand] {
		case op.WholeColumn, op.ColumnOfRow:
			rows = true
		default:
			cols = true
		}
	}
	return rows, cols
}
