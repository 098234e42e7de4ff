package configs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// inPhase is what the expressions of a stage's operation may use: the kv tile only where the
// stage is computed in each.
func inPhase(sp *probes.StagePlan) class {
	if sp.PerTile {
		return inTile
	}
	return inBlock
}

// shapeOnly is an input of which only the extents are known.
type shapeOnly struct {
	dims  []int
	coded bool
}

func (t *shapeOnly) Dims() []int            { return t.dims }
func (t *shapeOnly) Coded() bool            { return t.coded }
func (t *shapeOnly) Decode([]float64, int)  { panic("BUG: the numbers of an input that has none") }
func (t *shapeOnly) Rounded([]float64, int) { panic("BUG: the numbers of an input that has none") }

// extents is an input by name, without numbers; nil where there is none.
func (r *resolver) extents(name string) op.Tensor {
	if in := r.plan.Input(name); in != nil {
		return &shapeOnly{in.Dims, in.Coded}
	}
	return nil
}

// entry is a stage's entry: of several the one that this build has, else the first; nil where
// the manifest has none.
func (r *resolver) entry(s probes.Stage) *Stage {
	if e := r.entries[s]; e != nil {
		return e
	}
	for i := range r.m.Stages {
		if r.m.Stages[i].Stage == s {
			return &r.m.Stages[i]
		}
	}
	return nil
}

// stagePlace is where a stage's entry stands; the list of stages for one that the manifest does not have.
func (r *resolver) stagePlace(s probes.Stage) place {
	if e := r.entry(s); e != nil {
		return e.at
	}
	return place{field: "stages"}
}

// operators resolves what each stage computes, by the manifest or by the convention of its name, those that
// the build does not have among them.
func (r *resolver) operators() error {
	for i := range r.plan.Stages {
		if err := r.operator(&r.plan.Stages[i]); err != nil {
			return err
		}
	}
	for i := range r.plan.Undeclared {
		sp := &r.plan.Undeclared[i]
		if err := r.imply(sp); err != nil {
			return err
		}
		if err := r.operator(sp); err != nil {
			return err
		}
	}
	if out := r.plan.Output(); out != nil {
		r.plan.Conventional = r.conventional(out.Stage)
	}
	return r.graph()
}

// imply gives a stage that the build does not have the arithmetic and the valid cells that
// the convention says.
func (r *resolver) imply(sp *probes.StagePlan) error {
	c := conventions().stage(sp.Stage)
	if c == nil {
		return nil
	}
	sp.DType = probes.F32
	sp.Compute = probes.Compute{Acc: probes.F32, Split: 1}
	if c.Compute != nil {
		sp.Compute.Unit, sp.Compute.Block = units[c.Compute.Unit], c.Compute.Block
		var err error
		if sp.Compute.Acc, err = probes.ParseDType(c.Compute.Acc); err != nil {
			panic("BUG: conventions.yaml: " + err.Error())
		}
	}
	for axis, to := range [2]*probes.Extent{&sp.ValidRows, &sp.ValidCols} {
		side := [2]int{sp.Rows, sp.Cols}[axis]
		*to = probes.Fixed(side)
		a, ok := conventions().Axes[sp.Axes[axis]]
		if !ok || a.Of == "" {
			continue
		}
		x, err := r.expression(fmt.Sprintf("min(%d, max(0, %s - %s))", side, a.Of, a.From),
			place{field: "work"}, inTile)
		if err != nil {
			return err
		}
		if *to, err = r.extent(x, r.kvTiles(sp.PerTile), 0, int64(side), side); err != nil {
			return err
		}
	}
	return nil
}

// operator resolves what one stage computes.
func (r *resolver) operator(sp *probes.StagePlan) error {
	o := r.operation(sp.Stage)
	if o == nil || r.written(sp.Stage) == nil && o.op == "load" && r.plan.Input(o.args[0].name) == nil {
		return nil // what is loaded by convention is not known where no argument is that tensor
	}
	if c := conventions().stage(sp.Stage); c != nil {
		sp.Deferred = c.Deferred
		for _, k := range c.Keys {
			switch {
			// op says it otherwise
			case k == "scaled" && !sp.Meaning.Scaled && r.plan.Stage(sp.Stage) != nil &&
				r.written(sp.Stage) == nil:
				sp.Unit = r.plan.Scale
			case k == "domain" && sp.Meaning.Log2:
				sp.Unit = math.Ln2
			}
		}
	}
	var err error
	if e := r.entries[sp.Stage]; e != nil && e.unit != "" {
		at := e.at
		at.field += ".unit"
		if sp.Unit, err = r.unit(e.unit, at); err != nil {
			return err
		}
	}
	sp.Op, err = r.node(o, sp, true)
	return err
}

// unit evaluates a stage's unit: a number, or a product of softmax_scale, ln2 and numbers.
func (r *resolver) unit(text string, at place) (float64, error) {
	unit := 1.0
	for _, factor := range strings.Split(text, "*") {
		switch factor = strings.TrimSpace(factor); factor {
		case "ln2":
			unit *= math.Ln2
		default:
			v, err := r.real(factor, at)
			if err != nil {
				return 0, err
			}
			unit *= v
		}
	}
	if unit <= 0 || math.IsInf(unit, 0) {
		return 0, r.m.errorAt(at, "%q is %v; expected a number above 0", clip(text), unit)
	}
	return unit, nil
}

// graph binds the stages' operators to each other, with inputs that have extents and no numbers: what does
// not fit is a mistake of the manifest.
func (r *resolver) graph() error {
	own := slices.ContainsFunc(r.m.Stages, func(s Stage) bool { return s.op != nil })
	// the conventions' fit; what a manifest makes of their extents is found for the shape that is asked for
	if r.corners && !own {
		return nil
	}
	_, err := ref.NewGraph(r.plan, r.extents, nil)
	var e *ref.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return err
	}
	at, ok := r.nodes[e.Node]
	if !ok {
		panic("BUG: an operation without a place: " + err.Error())
	}
	return r.m.errorAt(at, "stage %s: %v", e.Stage, e.Err)
}

// written is what the manifest says that a stage of this build computes; nil where it says nothing.
func (r *resolver) written(s probes.Stage) *operation {
	if e := r.entry(s); e != nil {
		return e.op
	}
	return nil
}

// conventional reports whether a stage and all that it is computed from have the
// operators of the conventions.
func (r *resolver) conventional(s probes.Stage) bool {
	for _, a := range r.plan.Ancestors(s).Union(probes.StagesOf(s)) {
		if r.written(a) != nil || conventions().stage(a) == nil {
			return false
		}
	}
	for _, a := range r.m.Args { // attention over whole heads has tensors in the order of the conventions
		c := conventions().input(a.Tensor)
		if c != nil && a.Role == probes.RoleInput && conventionalOrder(a, c) != nil ||
			a.Role == probes.RoleOutput && conventionalOrder(a, &conventions().Output) != nil {
			return false
		}
	}
	return true
}

// operation is what the manifest, or the convention, says that a stage computes; nil where
// neither says anything.
func (r *resolver) operation(s probes.Stage) *operation {
	if o := r.written(s); o != nil {
		return o
	}
	if c := conventions().stage(s); c != nil {
		return c.what
	}
	return nil
}

// placeOf is where a parameter of an operation stands, "" for the operation; of a
// convention's the stage's entry.
func (r *resolver) placeOf(o *operation, param string, sp *probes.StagePlan) place {
	if r.written(sp.Stage) == nil {
		return r.stagePlace(sp.Stage)
	}
	return o.placeOf(param)
}

// node resolves an operation; root for the stage's own.
func (r *resolver) node(o *operation, sp *probes.StagePlan, root bool) (*probes.Node, error) {
	n := &probes.Node{Op: o.op, Params: probes.Params{
		Number: map[string]float64{}, Word: map[string]string{}, Index: map[string][]probes.Extent{},
	}}
	if r.nodes == nil {
		r.nodes = map[*probes.Node]place{}
	}
	r.nodes[n] = r.placeOf(o, "", sp)
	for _, a := range o.args {
		switch {
		case a.op != nil:
			inner, err := r.node(a.op, sp, root && o.scaledLoad && a.op.op == "load" && len(n.Args) == 0)
			if err != nil {
				return nil, err
			}
			n.Args = append(n.Args, probes.Operand{Node: inner})
		case readsInput(o.op):
			n.Args = append(n.Args, probes.Operand{Tensor: a.name})
		default:
			n.Args = append(n.Args, probes.Operand{Stage: probes.Stage(a.name)})
		}
	}
	if o.op == "accumulate" {
		n.Args = append(n.Args, probes.Operand{Stage: sp.Stage, Before: true})
		if by := probes.Stage(o.params["by"]); by != "" {
			n.Args = append(n.Args, probes.Operand{Stage: by, Before: true}, probes.Operand{Stage: by})
		}
	}
	if o.params["running"] == "true" {
		n.Args = append(n.Args, probes.Operand{Stage: sp.Stage, Before: true})
	}
	return n, r.parameters(o, n, sp, root)
}

// parameters resolves an operation's parameters.
func (r *resolver) parameters(o *operation, n *probes.Node, sp *probes.StagePlan, root bool) error {
	for k, text := range o.params {
		switch k {
		case "by", "running":
		case "fill":
			v, err := math.Inf(-1), error(nil)
			if text != "-inf" {
				v, err = r.real(text, r.placeOf(o, k, sp))
			}
			if err != nil {
				return err
			}
			n.Params.Number[k] = v
		case "rows", "cols":
			d, err := strconv.Atoi(text)
			if err != nil || d < 0 {
				return r.m.errorAt(r.placeOf(o, k, sp),
					"%s is %q; expected a dimension of the input, from 0 on", k, clip(text))
			}
			n.Params.Number[k] = float64(d)
		case "scale", "factor", "keep":
			v, err := r.real(text, r.placeOf(o, k, sp))
			if err != nil {
				return err
			}
			n.Params.Number[k], n.Params.Word[k] = v, text
		default:
			n.Params.Word[k] = text
		}
	}
	switch o.op {
	case "load":
		return r.load(o, n, sp, root)
	case "map":
		return r.names(n, sp, r.placeOf(o, "", sp), strings.Split(n.Params.Word["names"], ","),
			o.params["expr"])
	case "gather":
		return r.gather(o, n, sp, root)
	case "dropout":
		return r.dropout(o, n, sp)
	}
	if err := r.mask(n, o.lists["mask"], r.placeOf(o, "mask", sp), sp); err != nil {
		return err
	}
	return r.where(n, o.lists["where"], r.placeOf(o, "where", sp), sp)
}

// where resolves the rules of the operator mask. A rule with an element of an input, which has brackets, is
// left to the operator, which evaluates it for each cell.
func (r *resolver) where(n *probes.Node, rules []string, at place, sp *probes.StagePlan) error {
	var looked, linear []string
	for _, text := range rules {
		if strings.Contains(text, "[") {
			n.Params.Word[fmt.Sprintf("rule.%d", len(looked))] = text
			looked = append(looked, text)
		} else {
			linear = append(linear, text)
		}
	}
	if err := r.mask(n, linear, at, sp); err != nil {
		return err
	}
	return r.names(n, sp, at, nil, looked...)
}

// gather resolves what the expressions of a position name, and the tile's extent. The expressions are left to
// the operator: they are evaluated when the inputs' values are known.
func (r *resolver) gather(o *operation, n *probes.Node, sp *probes.StagePlan, root bool) error {
	if err := r.tileOf(o, n, sp, root); err != nil {
		return err
	}
	texts := o.lists["at"]
	n.Params.Number["rank"] = float64(len(texts))
	for d, text := range texts {
		n.Params.Word[fmt.Sprintf("at.%d", d)] = text
	}
	if limit := o.params["limit"]; limit != "" {
		texts = append(slices.Clone(texts), limit)
	}
	return r.names(n, sp, r.placeOf(o, "", sp), nil, texts...)
}

// dropout resolves what the expressions of an operation's random numbers name.
func (r *resolver) dropout(o *operation, n *probes.Node, sp *probes.StagePlan) error {
	var texts []string
	for i, text := range o.lists["counter"] {
		n.Params.Word[fmt.Sprintf("counter.%d", i)] = text
		texts = append(texts, text)
	}
	for _, k := range []string{"seed", "word", "byte", "below"} {
		texts = append(texts, o.params[k])
	}
	return r.names(n, sp, r.placeOf(o, "", sp), nil, texts...)
}

// names resolves what an operation's expressions name besides its operands and a cell's row and column:
// positions of work, constants, the shape. What depends on block or kv tile becomes a position, the rest
// numbers. A name that there is not, or that of an input, is left to the operator.
func (r *resolver) names(n *probes.Node, sp *probes.StagePlan, at place, operands []string,
	texts ...string) error {
	var names []string
	for _, text := range texts {
		names = append(names, op.NamesIn(text)...)
	}
	for _, name := range names {
		_, known := r.m.scope.slots[name]
		known = known || name == "softmax_scale"
		if name == "r" || name == "c" || !known || slices.Contains(operands, name) {
			continue
		}
		if name == "softmax_scale" {
			n.Params.Number[name] = r.plan.Scale
			continue
		}
		x, err := r.expression(name, at, inPhase(sp))
		if err != nil {
			return err
		}
		if x.uses == [4]bool{} && !x.reads {
			if n.Params.Number[name], err = r.real(name, at); err != nil {
				return err
			}
			continue
		}
		e, err := r.extent(x, r.kvTiles(sp.PerTile), math.MinInt32, math.MaxInt32, 0)
		if err != nil {
			return err
		}
		n.Params.Index[name] = []probes.Extent{e}
	}
	return nil
}

// tileOf resolves the extent of a tile that is read from an input: the stage's, or dims for an operand in
// place.
func (r *resolver) tileOf(o *operation, n *probes.Node, sp *probes.StagePlan, root bool) error {
	height, width := sp.Rows, sp.Cols
	if !root {
		dims := o.lists["dims"]
		if len(dims) != 2 {
			return r.m.errorAt(r.placeOf(o, "", sp),
				"an input that is read in place needs dims: [ROWS, COLUMNS]")
		}
		for i, to := range [2]*int{&height, &width} {
			x, err := r.expression(dims[i], r.placeOf(o, "dims", sp), inShape)
			if err != nil {
				return err
			}
			var bad *Error
			if *to, bad = x.integer(r.env, 1, maxTileSide); bad != nil {
				return bad
			}
		}
	}
	n.Params.Number["height"], n.Params.Number["width"] = float64(height), float64(width)
	return nil
}

// load resolves where a tile of an input begins, and its extent.
func (r *resolver) load(o *operation, n *probes.Node, sp *probes.StagePlan, root bool) error {
	if err := r.tileOf(o, n, sp, root); err != nil {
		return err
	}
	at := o.lists["at"]
	if order := r.m.reordered(o.args[0].name); order != nil && r.written(sp.Stage) == nil {
		at = permuted(at, order)
		for _, k := range []string{"rows", "cols"} {
			n.Params.Number[k] = float64(along(int(n.Params.Number[k]), order))
		}
	}
	for _, text := range at {
		x, err := r.expression(text, r.placeOf(o, "at", sp), inPhase(sp))
		if err != nil {
			return err
		}
		e, err := r.extent(x, r.kvTiles(sp.PerTile), 0, math.MaxInt32, 0)
		if err != nil {
			return err
		}
		n.Params.Index["at"] = append(n.Params.Index["at"], e)
	}
	return nil
}

// real evaluates a number that does not depend on the block; softmax_scale is the scale that
// the kernel is given.
func (r *resolver) real(text string, at place) (float64, error) {
	if text == "softmax_scale" {
		return r.plan.Scale, nil
	}
	x, err := r.expression(text, at, inShape)
	if err != nil {
		return 0, err
	}
	v, bad := x.value(r.env)
	if bad != nil {
		return 0, bad
	}
	return v.real(), nil
}

// expression compiles the text of an operation's parameter.
func (r *resolver) expression(text string, at place, allowed class) (*Expr, error) {
	return r.compile(text, at, r.m.scope, allowed)
}

// compile compiles an expression, once for a manifest: where it stands is that of its first use.
func (r *resolver) compile(text string, at place, sc *scope, allowed class) (*Expr, error) {
	key := compiledKey{text, len(sc.classes), allowed}
	if x, ok := r.m.compiled.Load(key); ok {
		return x.(*Expr), nil
	}
	rd := &reader{file: r.m.File}
	x := rd.number(&yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: at.line, Column: at.col},
		at.field, sc, allowed)
	if len(rd.errs) > 0 {
		return nil, rd.errs[0]
	}
	r.m.compiled.Store(key, x)
	return x, nil
}

// compiledKey is what the compiled form of an expression depends on: its text, how many names are in scope,
// and which of them it may use.
type compiledKey struct {
	text    string
	names   int
	allowed class
}

// comparison is one term of a mask's rule.
var comparison = regexp.MustCompile(`^(.+?)(<=|>=|<|>)(.+)$`)

// mask resolves the rules of a mask: each a comparison, or several with || between, of expressions that are
// linear in the tile's row r and column c.
func (r *resolver) mask(n *probes.Node, rules []string, at place, sp *probes.StagePlan) error {
	for i, text := range rules {
		n.Params.Word[fmt.Sprintf("mask.%d", i)] = text
		key := fmt.Sprint(sp.Phase, text)
		if rule, ok := r.rules[key]; ok {
			n.Params.Mask = append(n.Params.Mask, rule)
			continue
		}
		var rule probes.Rule
		for _, term := range strings.Split(text, "||") {
			m := comparison.FindStringSubmatch(strings.TrimSpace(term))
			if m == nil {
				return r.m.errorAt(at,
					"mask %q: expected comparisons such as key + c <= query + r, with || between them",
					clip(text))
			}
			diff := map[string]string{
				"<=": "(" + m[3] + ") - (" + m[1] + ")", ">=": "(" + m[1] + ") - (" + m[3] + ")",
				"<": "(" + m[3] + ") - (" + m[1] + ") - 1", ">": "(" + m[1] + ") - (" + m[3] + ") - 1",
			}[m[2]]
			l, err := r.linear(diff, text, at, sp)
			if err != nil {
				return err
			}
			rule = append(rule, l)
		}
		if r.rules == nil {
			r.rules = map[string]probes.Rule{}
		}
		r.rules[key] = rule
		n.Params.Mask = append(n.Params.Mask, rule)
	}
	return nil
}

// cellScope is the manifest's scope with a tile's row r and column c.
func (m *Manifest) cellScope() (sc *scope, row, col int) {
	row, col = len(m.scope.classes), len(m.scope.classes)+1
	if x, ok := m.compiled.Load("cells"); ok {
		return x.(*scope), row, col
	}
	sc = m.scope.clone()
	sc.cells = [2]int{sc.add("r", classElement), sc.add("c", classElement)}
	m.compiled.Store("cells", sc)
	return sc, row, col
}

// linear resolves an expression over block, iteration, row and column as base, and what a
// row and a column add.
func (r *resolver) linear(text, whole string, at place, sp *probes.StagePlan) (probes.Linear, error) {
	sc, row, col := r.m.cellScope()
	x, err := r.compile(text, at, sc, inPhase(sp)|classElement)
	if err != nil {
		return probes.Linear{}, err
	}
	outer := r.env
	r.env = outer.widened(2)
	defer func() { r.env = outer }()
	value := func(i, j int) (int, error) {
		r.env.vars[row], r.env.vars[col] = intValue(int64(i)), intValue(int64(j))
		v, bad := x.integer(r.env, math.MinInt32, math.MaxInt32)
		r.env.vars[row], r.env.vars[col] = intValue(0), intValue(0)
		if bad != nil {
			return 0, bad
		}
		return v, nil
	}
	var at4 [4]int
	for k, p := range [4][2]int{{0, 0}, {1, 0}, {0, 1}, {3, 5}} {
		if at4[k], err = value(p[0], p[1]); err != nil {
			return probes.Linear{}, err
		}
	}
	l := probes.Linear{Row: at4[1] - at4[0], Col: at4[2] - at4[0]}
	if at4[3] != at4[0]+3*l.Row+5*l.Col {
		return l, r.m.errorAt(at, "mask %q: expected expressions that are linear in r and c", clip(whole))
	}
	l.Base, err = r.extent(x, r.kvTiles(sp.PerTile), math.MinInt32, math.MaxInt32, 0)
	return l, err
}
