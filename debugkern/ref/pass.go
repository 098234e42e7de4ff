package ref

import (
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Estimate is a stage's reference in one tile, with what a right kernel may be off by before it rounds to the
// stage's dtype (Pre) and after (Bound). Row-major, as the tile.
type Estimate struct {
	Ref, Pre, Bound op.Matrix
	Exact           bool // nothing is rounded to the stage's dtype
	Certain         bool // of a cell that is infinite and has bound 0 any other value is wrong
}

// NewEstimate returns an empty estimate.
func NewEstimate(rows, cols int) *Estimate {
	return &Estimate{
		Ref: op.NewMatrix(rows, cols), Pre: op.NewMatrix(rows, cols), Bound: op.NewMatrix(rows, cols),
	}
}

// First is the estimate's first rows; it shares its memory.
func (e *Estimate) First(rows int) *Estimate {
	cut := func(m op.Matrix) op.Matrix {
		return op.Matrix{Rows: rows, Cols: m.Cols, Data: m.Data[:rows*m.Cols]}
	}
	return &Estimate{
		Ref: cut(e.Ref), Pre: cut(e.Pre), Bound: cut(e.Bound), Exact: e.Exact, Certain: e.Certain,
	}
}

// Pass walks over one block at a time. It owns its memory, which each iteration overwrites: one
// goroutine at a time.
//
// In a pass from the inputs a stage's value is what the pass computed for it, or what the gate injects. In a
// pass from the kernel's own tiles (FromOwn) it is what Set was given, and a stage is computed where all that
// it is computed from is there.
type Pass struct {
	g        *Graph
	coefs    *op.Coefs
	mode     mode
	kernels  []op.Kernel
	made     []op.Value // by vertex
	nodes    []bool     // vertices computed in this iteration
	est      []*Estimate
	current  []value              // by stage: of this iteration
	previous []value              // of the one before
	given    func(stage int) bool // the gate injects it
	plain    *Pass                // what injected stages are made of; nil where nothing is injected
	wanted   []bool               // stages that are judged, or that those are computed from
	spare    op.Value             // Again's
	weighed  bool                 // its terms have weights of their own
	loaded   [][]loadedTile       // by stage and iteration; nil for stages that are computed

	Block probes.Dim3
	Iter  int // -1 before the loop
	Iters int
}

type mode uint8

const (
	fromInputs mode = iota // from the inputs, with errors
	fromOwn                // from the kernel's own tiles, with errors
	exact                  // from the inputs, numbers alone
	rounding               // from the inputs, as a kernel rounds
	uniform                // from the inputs, as uniform softmax
)

// value is a stage's tile in a pass.
type value struct {
	op.Value
	ok     bool
	m, err op.Matrix
	lo, hi []float64
	shifts []float64
}

// newPass returns a pass; w weighs the terms of the bounds, nil: all 1.
func (g *Graph) newPass(m mode, w *[op.NumTerms]float64) *Pass {
	p := g.barePass(m, w)
	if gate := &g.plan.Gate; len(gate.Injected) > 0 {
		p.given = func(i int) bool { return gate.Injected.Has(g.stages[i].Stage) }
		from := exact
		if g.uniform {
			from = uniform
		}
		p.plain = g.barePass(from, w)
	}
	return p
}

// barePass is a pass that no gate injects anything into.
func (g *Graph) barePass(m mode, w *[op.NumTerms]float64) *Pass {
	p := &Pass{g: g, coefs: op.NewCoefs(w), mode: m}
	p.made, p.nodes = make([]op.Value, len(g.vertices)), make([]bool, len(g.vertices))
	for i := range g.vertices {
		v := &g.vertices[i]
		kernel, _, err := g.kernel(v, p.coefs)
		if err != nil {
			panic("BUG: a vertex that was bound before: " + err.Error())
		}
		p.kernels = append(p.kernels, kernel)
		p.made[i].M, p.made[i].Err = op.NewMatrix(v.ext[0], v.ext[1]), op.NewMatrix(v.ext[0], v.ext[1])
	}
	for i := range g.stages {
		s := &g.stages[i]
		p.est = append(p.est, NewEstimate(s.Rows, s.Cols))
		p.current = append(p.current, value{
			m: op.NewMatrix(s.Rows, s.Cols), err: op.NewMatrix(s.Rows, s.Cols),
		})
		p.previous = append(p.previous, value{
			m: op.NewMatrix(s.Rows, s.Cols), err: op.NewMatrix(s.Rows, s.Cols),
		})
	}
	p.given = func(int) bool { return false }
	p.wanted = g.wanted(m == exact || m == rounding)
	p.loaded = make([][]loadedTile, len(g.stages))
	for i := range g.stages {
		if m == fromInputs {
			p.loaded[i] = make([]loadedTile, g.Loads(i))
		}
	}
	return p
}

// Begin opens a block: the stages before the loop are computed next, by Before.
func (p *Pass) Begin(block probes.Dim3) {
	p.Block, p.Iter, p.Iters = block, -1, p.g.plan.Work.Tiles.At(block, 0)
	clear(p.nodes) // what was computed, by whatever was asked last, is of another block
	for i := range p.current {
		p.current[i].ok, p.previous[i].ok = false, false
		if len(p.loaded[i]) == 0 {
			p.est[i].clear()
		}
	}
	if p.plain != nil {
		p.plain.Begin(block)
	}
}

func (e *Estimate) clear() {
	clear(e.Ref.Data)
	clear(e.Pre.Data)
	clear(e.Bound.Data)
}

// Before computes the stages before the loop.
func (p *Pass) Before() { p.phase(probes.PhaseBefore) }

// Next goes to the next iteration and computes its stages.
func (p *Pass) Next() {
	p.Step()
	p.phase(probes.PhaseEach)
}

// After computes the stages after the loop: of a block without iterations from what is carried
// over into the first.
func (p *Pass) After() {
	if p.Iters == 0 {
		p.Start()
		if p.plain != nil {
			p.plain.Start()
		}
	}
	p.phase(probes.PhaseAfter)
}

// Start gives the stages that carry a value over what they have before the first iteration: all that a block
// without iterations has.
func (p *Pass) Start() {
	for i := range p.g.stages {
		s := &p.g.stages[i]
		k, ok := p.g.computedBy(i).(op.Initial)
		if !ok || s.Phase != probes.PhaseEach {
			continue
		}
		x, ok := k.Initial()
		if !ok {
			continue
		}
		v := &p.current[i]
		for n := range v.m.Data {
			v.m.Data[n] = x / s.Natural()
		}
		v.Value, v.ok = op.Value{M: v.m, Rows: s.Rows, Cols: s.Cols, Unit: s.Natural(), Origin: i}, true
	}
}

// Step goes to the next iteration without computing anything: what Set gives and Compute
// computes is then of that.
func (p *Pass) Step() {
	p.Iter++
	for i := range p.current {
		if p.g.stages[i].Phase == probes.PhaseEach {
			p.current[i], p.previous[i] = p.previous[i], p.current[i]
			p.current[i].ok = false
		}
	}
	clear(p.nodes)
	if p.plain != nil {
		p.plain.Step()
	}
}

func (p *Pass) phase(ph probes.Phase) {
	if p.plain != nil {
		p.plain.phaseOf(ph, p.needed)
	}
	p.phaseOf(ph, nil)
}

// phaseOf computes the stages of a phase, in order; of those that only says, where it is not nil.
func (p *Pass) phaseOf(ph probes.Phase, only func(i int) bool) {
	if ph != probes.PhaseEach {
		clear(p.nodes)
	}
	for _, i := range p.g.order[ph] {
		if only == nil && p.wanted[i] || only != nil && only(i) {
			p.Compute(i)
		}
	}
}

// wanted are the stages that a pass computes: those that the gate judges, the injected ones, and what they
// are computed from, but for what only injected ones are. With all, every stage where there is no gate.
func (g *Graph) wanted(all bool) []bool {
	gate, out := &g.plan.Gate, make([]bool, len(g.stages))
	var visit func(i int)
	visit = func(i int) {
		if out[i] {
			return
		}
		out[i] = true
		if g.stages[i].root < 0 || gate.Injected.Has(g.stages[i].Stage) {
			return
		}
		for _, u := range g.vertices[g.stages[i].root].uses {
			visit(u.Stage)
		}
	}
	for i := range g.stages {
		if gate.Judged.Has(g.stages[i].Stage) || gate.Injected.Has(g.stages[i].Stage) ||
			all && gate.Name == probes.GateNone {
			visit(i)
		}
	}
	return out
}

// needed reports whether an injected stage is the stage, or is computed from it.
func (p *Pass) needed(i int) bool {
	if p.given(i) {
		return true
	}
	for k := range p.g.stages {
		if p.given(k) && p.g.reaches(k, i, make([]bool, len(p.g.stages))) {
			return true
		}
	}
	return false
}

// reaches reports whether stage k is computed from stage i, directly or not.
func (g *Graph) reaches(k, i int, seen []bool) bool {
	if seen[k] || g.stages[k].root < 0 {
		return false
	}
	seen[k] = true
	for _, u := range g.vertices[g.stages[k].root].uses {
		if u.Stage == i || g.reaches(u.Stage, i, seen) {
			return true
		}
	}
	return false
}

// Set gives a stage's tile in a pass from the kernel's own tiles: its numbers, of which rows × cols are
// compared. reused is nil, or what is known of exactly these numbers.
func (p *Pass) Set(i int, m op.Matrix, reused *op.Reused) {
	s, v := &p.g.stages[i], &p.current[i]
	rows, cols := s.valid(p.Block, max(p.Iter, 0))
	v.Value = op.Value{M: m, Rows: rows, Cols: cols, Whole: true, Unit: s.Natural(), Origin: i}
	v.Reused = reused
	v.ok = true
}

// SetBefore gives the tile of the iteration before in place of what Set gave then.
func (p *Pass) SetBefore(i int, m op.Matrix) {
	p.previous[i].Value = op.Value{
		M: m, Rows: m.Rows, Cols: m.Cols, Whole: true, Unit: p.g.stages[i].Natural(), Origin: i,
	}
	p.previous[i].ok = true
}

// Estimate is the stage's estimate of the current iteration, where it was computed; its memory is the pass's.
func (p *Pass) Estimate(i int) *Estimate { return p.est[i] }

// Value is the stage's value of the current iteration, or of the one before; nil where there is none.
func (p *Pass) Value(i int, before bool) *op.Value {
	if before && p.Iter <= 0 {
		return nil
	}
	return p.stageValue(i, before)
}

// Ready reports whether everything that a stage is computed from is there.
func (p *Pass) Ready(i int) bool { return p.g.stages[i].root >= 0 && p.ready(p.g.stages[i].root) }

// Coefs are the coefficients of the bounds' terms.
func (p *Pass) Coefs() *op.Coefs { return p.coefs }

// Kernel is what computes a stage, and its operands in the current iteration.
func (p *Pass) Kernel(i int) (op.Kernel, []*op.Value, *op.Value) {
	root := p.g.stages[i].root
	out := &p.made[root]
	if tiles := p.loaded[i]; len(tiles) > 0 {
		out = &tiles[max(p.Iter, 0)%len(tiles)].made
	}
	return p.kernels[root], p.operands(root), out
}

// Again computes a stage of the current iteration once more with one of its operand stages changed; the
// errors are those before the last rounding, with the common factor. The result is valid until the next call.
func (p *Pass) Again(i, operand int, before bool, change func(v op.Value) op.Value) (op.Matrix, op.Matrix) {
	at := &p.current[operand]
	if before {
		at = &p.previous[operand]
	}
	old, nodes := at.Value, append([]bool(nil), p.nodes...)
	defer func() { at.Value = old; clear(p.nodes); p.nodes[p.g.stages[i].root] = nodes[p.g.stages[i].root] }()
	at.Value = change(old)
	at.Value.Reused = nil
	clear(p.nodes)
	rows, cols := p.g.stages[i].valid(p.Block, max(p.Iter, 0))
	root := p.g.stages[i].root
	saved := p.made[root]
	if p.spare.M.Rows != saved.M.Rows || p.spare.M.Cols != saved.M.Cols {
		p.spare = op.Value{
			M: op.NewMatrix(saved.M.Rows, saved.M.Cols), Err: op.NewMatrix(saved.M.Rows, saved.M.Cols),
		}
	}
	p.made[root].M, p.made[root].Err = p.spare.M, p.spare.Err
	out := p.evaluate(root, rows, cols)
	m, err := out.M, out.Err
	p.made[root] = saved
	return m, err
}

// mistaken computes a stage of the current iteration once more with another kernel for one of the vertices
// that it is made of; results are those of Again.
func (p *Pass) mistaken(i, vertex int, wrong op.Kernel) (op.Matrix, op.Matrix) {
	root := p.g.stages[i].root
	inner := p.g.inPlace(root)
	right, made, nodes := p.kernels[vertex], make([]op.Value, len(inner)), make([]bool, len(inner))
	for k, v := range inner {
		made[k], nodes[k] = p.made[v], p.nodes[v]
		rows, cols := made[k].M.Rows, made[k].M.Cols
		p.made[v], p.nodes[v] = op.Value{M: op.NewMatrix(rows, cols), Err: op.NewMatrix(rows, cols)}, false
	}
	p.kernels[vertex] = wrong
	defer func() {
		p.kernels[vertex] = right
		for k, v := range inner {
			p.made[v], p.nodes[v] = made[k], nodes[k]
		}
	}()
	rows, cols := p.g.stages[i].valid(p.Block, max(p.Iter, 0))
	out := p.evaluate(root, rows, cols)
	return out.M, out.Err
}

// Compute computes one stage of the current iteration, where all that it is computed from is there, and
// reports whether it was.
func (p *Pass) Compute(i int) bool {
	s, v := &p.g.stages[i], &p.current[i]
	if s.root < 0 {
		return false
	}
	if p.mode != fromOwn && p.given(i) {
		p.inject(i)
		return true
	}
	if !p.ready(s.root) {
		return false
	}
	rows, cols := s.valid(p.Block, max(p.Iter, 0))
	if len(p.loaded[i]) > 0 {
		p.load(i, rows, cols)
		return true
	}
	out := p.evaluate(s.root, rows, cols)
	e := p.est[i]
	if p.mode == rounding {
		for k, x := range out.M.Data {
			e.Ref.Data[k] = op.RoundTo(s.DType, x)
		}
		p.keep(i, out, e.Ref, op.Matrix{})
		return true
	}
	copy(e.Ref.Data, out.M.Data)
	if p.mode == uniform || p.mode == exact {
		p.keep(i, out, e.Ref, op.Matrix{})
		return true
	}
	p.close(s, e, out, v.err, rows, cols)
	if p.mode == fromInputs {
		p.keep(i, out, e.Ref, v.err)
	}
	return true
}

// close makes the estimate of a stage from its result, whose numbers e.Ref has already. err gets the
// errors after the rounding to the stage's dtype without the common factor; it may be e.Bound where there
// is no such factor.
func (p *Pass) close(s *stage, e *Estimate, out *op.Value, err op.Matrix, rows, cols int) {
	r := op.Rounding{Coefs: p.coefs, DType: s.DType, Exact: out.Exact, Power: out.Power, Certain: out.Certain}
	e.Exact, e.Certain = out.Exact, out.Certain
	copy(err.Data, out.Err.Data)
	closed := op.Value{M: e.Ref, Err: err, Factor: out.Factor}
	r.Close(&closed, e.Pre, e.Bound, rows, cols)
}

// keep makes the result of stage i the value that later stages read.
func (p *Pass) keep(i int, out *op.Value, m, err op.Matrix) {
	s, v := &p.g.stages[i], &p.current[i]
	rows, cols := s.valid(p.Block, max(p.Iter, 0))
	copy(v.m.Data, m.Data)
	v.Value = op.Value{M: v.m, Err: err, Rows: rows, Cols: cols, Unit: s.Natural(), Origin: i}
	v.lo, v.hi, v.shifts = append(v.lo[:0], out.Lo...), append(v.hi[:0], out.Hi...),
		append(v.shifts[:0], out.Shift...)
	if out.Shift != nil && p.mode == fromInputs {
		v.Lo, v.Hi, v.Shift = v.lo, v.hi, v.shifts
	}
	if out.Factor != nil {
		v.Factor, v.Origin = out.Factor, out.Origin
	}
	v.ok = true
}

// inject makes the value of an injected stage what the host feeds in: the plain value in the stage's dtype.
func (p *Pass) inject(i int) {
	s, v, e := &p.g.stages[i], &p.current[i], p.est[i]
	from := &p.plain.current[i]
	e.clear()
	rows, cols := s.valid(p.Block, max(p.Iter, 0))
	for r := range rows {
		for c := range cols {
			e.Ref.Row(r)[c] = op.RoundTo(s.DType, from.M.At(r, c))
		}
	}
	copy(v.m.Data, e.Ref.Data)
	v.Value = op.Value{M: v.m, Rows: rows, Cols: cols, Unit: s.Natural(), Origin: i}
	v.ok = true
}

// ready reports whether everything that a vertex is computed from is there.
func (p *Pass) ready(v int) bool {
	for _, u := range p.g.vertices[v].uses {
		if p.stageValue(u.Stage, u.Before) == nil {
			return false
		}
	}
	return true
}

// missing is the value before the first iteration.
var missing = &op.Value{Missing: true}

// stageValue is a stage's tile of this iteration or of the one before; nil where there is none.
func (p *Pass) stageValue(i int, before bool) *op.Value {
	v := &p.current[i]
	if before {
		if p.Iter <= 0 {
			return missing
		}
		v = &p.previous[i]
	}
	if !v.ok {
		return nil
	}
	return &v.Value
}

// operands are the values that a vertex is computed from, nil for those that are not there.
func (p *Pass) operands(v int) []*op.Value {
	x := &p.g.vertices[v]
	in := make([]*op.Value, len(x.args))
	for k, a := range x.args {
		if a.vertex < 0 {
			in[k] = p.stageValue(a.stage, a.before)
			continue
		}
		if p.ready(a.vertex) {
			in[k] = p.evaluate(a.vertex, -1, -1)
		}
	}
	return in
}

// evaluate computes a vertex once an iteration; rows below 0: as far as its operands go.
func (p *Pass) evaluate(v, rows, cols int) *op.Value {
	out := &p.made[v]
	if p.nodes[v] {
		return out
	}
	x, kernel := &p.g.vertices[v], p.kernels[v]
	in := p.operands(v)
	t := &op.Tile{Block: p.Block, Iter: max(p.Iter, 0)}
	if rows < 0 || !x.named && len(in) > 0 {
		rows, cols = kernel.Valid(t, in)
	}
	unit := 1.0
	if s := &p.g.stages[x.stage]; x.node == s.Op {
		unit = s.Natural()
	}
	*out = op.Value{M: out.M, Err: out.Err, Rows: rows, Cols: cols, Unit: unit}
	if rows < out.M.Rows || cols < out.M.Cols {
		clear(out.M.Data)
		clear(out.Err.Data)
	}
	t.Rows, t.Cols = rows, cols
	u, ok := kernel.(op.Uniform)
	switch {
	case p.mode == rounding:
		kernel.Mirror(t, in, out)
	case p.mode == uniform && ok:
		u.Uniform(t, in, out)
	case p.mode == uniform || p.mode == exact:
		kernel.Exact(t, in, out)
	default:
		kernel.Estimate(t, in, out)
	}
	p.nodes[v] = true
	return out
}

// Reads reports whether a cell of a stage beyond its valid ones has a part in a result that some operation
// makes of the tiles of the pass; odd for one that is not finite.
func (p *Pass) Reads(i, r, c int, odd bool) bool {
	for _, x := range p.g.readers[i] {
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
