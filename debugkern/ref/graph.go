// Package ref is the reference: what every stage of a launch should hold, tile by tile, with the tiling of the kernel that is
// looked at, and how far a right kernel may be from that.
//
// The one idea: a plan's stages are a graph of operators, and everything asked of the reference is a walk over it in one order:
// the stages before the loop, those of each iteration, those after it. A Pass is such a walk over one block. It computes exact
// numbers with the bounds of a right kernel's errors, or a kernel's own roundings; from the true inputs, or each stage from the
// tiles that a kernel left behind.
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
	uniform  bool // a gate injects uniform values
}

// stage is a stage and the vertex that computes it, -1 where none does.
type stage struct {
	*probes.StagePlan
	root  int
	phase probes.Phase
	pad   float64 // what the host fills in beyond the valid cells
}

// vertex is a node of the computation. Nodes that compute the same are one.
type vertex struct {
	node    *probes.Node
	args    []arg
	ext     op.Extent
	stage   int // whose arithmetic it has
	phase   probes.Phase
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
		g.stages = append(g.stages, stage{StagePlan: &p.Stages[i], root: -1, phase: p.Stages[i].Phase})
	}
	for i := range p.Undeclared {
		g.stages = append(g.stages, stage{StagePlan: &p.Undeclared[i], root: -1, phase: p.Undeclared[i].Phase})
	}
	state := make([]byte, len(g.stages))
	for i := range g.stages {
		if err := g.bind(i, state); err != nil {
			return nil, err
		}
	}
	for _, i := range g.byDependence() {
		g.order[g.stages[i].phase] = append(g.order[g.stages[i].phase], i)
	}
	return g, nil
}

// index is the stage's place in the graph, -1 where it has none.
func (g *Graph) index(s probes.Stage) int {
	return slices.IndexFunc(g.stages, func(x stage) bool { return x.Stage == s })
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
		return &Error{s.Stage, s.Op, fmt.Errorf("it is %d×%d, but %s makes %d×%d of its operands", want[0], want[1], s.Op.Op, got[0], got[1])}
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
	s, when := &g.stages[i], map[probes.Phase]int{probes.PhaseBefore: 0, probes.PhaseEach: 1, probes.PhaseAfter: 2}
	words := [...]string{"before the loop", "in each iteration", "after the loop"}
	for _, u := range g.vertices[s.root].uses {
		o := &g.stages[u.Stage]
		switch at := when[o.StagePlan.Phase]; {
		case u.Before && s.phase != probes.PhaseEach:
			return &Error{s.Stage, s.Op, fmt.Errorf("it uses %s of the iteration before, but is computed once, %s", o.Stage, words[when[s.phase]])}
		case at > when[s.phase]:
			return &Error{s.Stage, s.Op, fmt.Errorf("it is computed %s, from %s, which is computed %s", words[when[s.phase]], o.Stage, words[at])}
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
	v := vertex{node: n, args: args, stage: i, phase: sp.Phase, compute: sp.Compute}
	if n != sp.Op {
		v.compute.Unit, v.compute.Split = 0, 0 // how the stage sums is its own operation's
	}
	for k := range g.vertices {
		if w := &g.vertices[k]; reflect.DeepEqual(w.node, n) && slices.Equal(w.args, args) && w.phase == v.phase && g.alike(w, &v) {
			return k, nil
		}
	}
	exts := make([]op.Extent, len(args))
	for k, a := range args {
		if exts[k] = (op.Extent{g.stages[a.stage].Rows, g.stages[a.stage].Cols}); a.vertex >= 0 {
			exts[k] = g.vertices[a.vertex].ext
		}
	}
	kernel, ext, err := o.Bind(n, exts, g.env(&v, op.NewCoefs(nil)))
	if err != nil {
		return 0, &Error{sp.Stage, n, err}
	}
	v.ext = ext
	for k, a := range args {
		v.needs = append(v.needs, kernel.Needs(k))
		v.uses = g.join(v.uses, a, kernel.Needs(k))
		if p, ok := kernel.(op.Padded); ok && a.vertex < 0 {
			g.stages[a.stage].pad = max(g.stages[a.stage].pad, p.Pad(k))
		}
	}
	g.vertices = append(g.vertices, v)
	return len(g.vertices) - 1, nil
}

// alike reports whether two vertices of the same node and operands may be one: sums only within one stage, for how they are made is
// the stage's; a map in the same accumulator; anything else where exponential and unit are the same.
func (g *Graph) alike(a, b *vertex) bool {
	sum := a.node.Op == "matmul" || a.node.Op == "accumulate" || a.node.Op == "rowsum" || a.node.Op == "reduce"
	if sum && a.stage != b.stage {
		return false
	}
	if a.node.Op == "map" && a.compute.Acc != b.compute.Acc {
		return false
	}
	return a.compute.Exp == b.compute.Exp && g.stages[a.stage].unit() == g.stages[b.stage].unit()
}

// args resolves a node's operands; the operands of an operation that accumulate adds up come in its place.
func (g *Graph) args(n *probes.Node, i int, state []byte) ([]arg, error) {
	var out []arg
	for k, a := range n.Args {
		switch {
		case a.Node != nil && n.Op == "accumulate" && k == 0:
			inner, err := g.args(a.Node, i, state)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
		case a.Node != nil:
			v, err := g.vertex(a.Node, i, state)
			if err != nil {
				return nil, err
			}
			out = append(out, arg{vertex: v})
		case a.Tensor != "":
		default:
			s := g.index(a.Stage)
			if s < 0 {
				return nil, fmt.Errorf("%s is computed from stage %s, which there is not", n.Op, a.Stage)
			}
			if !a.Before && s == i {
				return nil, fmt.Errorf("it is computed from itself, without an iteration between")
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

// byDependence lists the stages that have an operator, each after those of the same iteration that it is computed from.
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
	e := &op.Env{Chip: g.chip, Coefs: c, Compute: v.compute, DType: s.DType, Unit: s.unit(), Tensor: g.tensor}
	if v.node != s.Op {
		e.DType, e.Unit = probes.F64, 1
	}
	for _, a := range v.args {
		unit := 1.0
		if a.vertex < 0 {
			unit = g.stages[a.stage].unit()
		}
		e.Units = append(e.Units, unit)
	}
	return e
}

func (s *stage) unit() float64 {
	if s.StagePlan.Unit == 0 {
		return 1
	}
	return s.StagePlan.Unit
}

// valid is the extent of a stage's tile that is compared.
func (s *stage) valid(block probes.Dim3, iter int) (rows, cols int) {
	return clamp(s.ValidRows.At(block, iter), s.Rows), clamp(s.ValidCols.At(block, iter), s.Cols)
}

func clamp(v, most int) int { return min(max(v, 0), most) }

// Index is the stage's place in the graph, -1 where it has none; those of the plan come first, in its order.
func (g *Graph) Index(s probes.Stage) int { return g.index(s) }

// Plan is the plan that the graph is of.
func (g *Graph) Plan() *probes.Plan { return g.plan }

// Stages is how many stages the graph has, those that the plan implies among them.
func (g *Graph) Stages() int { return len(g.stages) }

// Stage is the plan of a stage.
func (g *Graph) Stage(i int) *probes.StagePlan { return g.stages[i].StagePlan }

// Order lists the stages of a phase that an operator computes, each after those of the same iteration that it is computed from.
func (g *Graph) Order(ph probes.Phase) []int { return g.order[ph] }

// Uses lists the stages that a stage is computed from.
func (g *Graph) Uses(i int) []Use {
	if g.stages[i].root < 0 {
		return nil
	}
	return g.vertices[g.stages[i].root].uses
}

// Computed reports whether a stage is computed from stages, or from inputs that it reads in place: anything but a load.
func (g *Graph) Computed(i int) bool {
	return g.stages[i].root >= 0 && len(g.vertices[g.stages[i].root].args) > 0
}

// Known reports whether a stage follows from the inputs: an operator computes it, and all that it is computed from.
func (g *Graph) Known(i int) bool {
	known := make(map[int]bool)
	var visit func(i int) bool
	visit = func(i int) bool {
		if k, seen := known[i]; seen {
			return k
		}
		known[i] = g.stages[i].root >= 0
		for _, u := range g.Uses(i) {
			known[i] = visit(u.Stage) && known[i]
		}
		return known[i]
	}
	return visit(i)
}

// Coded reports whether the kernel decodes a stage that it loads, in arithmetic of its own.
func (g *Graph) Coded(i int) bool {
	n := g.stages[i].Op
	if n == nil || n.Op != "load" {
		return true
	}
	t := g.tensor(n.Args[0].Tensor)
	return t != nil && t.Coded()
}

// Valid is the extent of a stage's tile that is compared.
func (g *Graph) Valid(i int, block probes.Dim3, iter int) (rows, cols int) {
	return g.stages[i].valid(block, iter)
}

// consumer is a vertex that reads a stage as an operand of the same iteration.
type consumer struct{ vertex, operand int }

// Beyond reports which cells beyond a stage's valid ones an operation runs across: those of further rows, or of further columns.
func (g *Graph) Beyond(i int) (rows, cols bool) {
	for _, c := range g.consumers(i) {
		switch g.vertices[c.vertex].needs[c.operand] {
		case op.WholeColumn:
			rows = true
		default:
			cols = true
		}
	}
	return rows, cols
}

func (g *Graph) consumers(i int) []consumer {
	var out []consumer
	for v := range g.vertices {
		for k, a := range g.vertices[v].args {
			if a.vertex < 0 && a.stage == i && !a.before {
				out = append(out, consumer{v, k})
			}
		}
	}
	return out
}

// Reads reports whether a cell of a stage beyond its valid ones has a part in a result that some operation makes of the tiles of the
// pass; odd for one that is not finite.
func (p *Pass) Reads(i, r, c int, odd bool) bool {
	for _, x := range p.g.consumers(i) {
		v := &p.g.vertices[x.vertex]
		in := make([]*op.Value, len(v.args))
		for k, a := range v.args {
			if a.vertex < 0 {
				in[k] = p.stageValue(a.stage, a.before)
			}
		}
		var out *op.Value
		rows, cols := 0, 0
		for s := range p.g.stages {
			if p.g.stages[s].root == x.vertex {
				out = p.stageValue(s, false)
				rows, cols = p.g.stages[s].valid(p.Block, max(p.Iter, 0))
			}
		}
		t := &op.Tile{Block: p.Block, Iter: max(p.Iter, 0), Rows: rows, Cols: cols}
		if p.kernels[x.vertex].Reads(t, in, out, x.operand, r, c, odd) {
			return true
		}
	}
	return false
}

// Reason says in words how the error of a stage comes about: of the values that it is computed from in place, then its own.
func (p *Pass) Reason(i int) string { return p.reason(p.g.stages[i].root) }

func (p *Pass) reason(v int) string {
	var out string
	for _, a := range p.g.vertices[v].args {
		if a.vertex >= 0 && !op.IsCopy(p.kernels[a.vertex]) { // what is exact needs no reason
			out += p.reason(a.vertex) + "; "
		}
	}
	return out + p.kernels[v].Reason()
}
