// Package expect has what stages and arguments are compared with where that is not what the graph makes of
// the inputs: arrays of a file or of a command's answer, the tiles of another kernel; and tolerances other
// than the derived bounds.
//
// The one idea: whatever the numbers are taken from, they are values of a stage by tile, and a bound for each
// cell. Everything that can be wrong with them (a name, a type, an extent, no number at all) is found when a
// Set is made, before anything is compared.
//
// It must not know how a command is run, how a kernel is launched, or what a verdict is.
package expect

import (
	"context"
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Error is a reference that cannot be used.
type Error struct {
	At   probes.Where // where the manifest has it
	Kind probes.ReferenceKind
	Err  error // it names the source
}

func (e *Error) Error() string { return e.At.String() + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Source is where numbers come from. Its methods may not be called concurrently.
type Source interface {
	// Label names it in messages.
	Label() string
	// Names lists what it has numbers of.
	Names() []string
	// Values returns the numbers that it has of a stage or argument under a name; ok is false where it has
	// nothing of that name. An error says why what it has cannot be compared with the stage.
	Values(ctx context.Context, name string, sp *probes.StagePlan) (v Values, ok bool, err error)
}

// Values are the numbers of a stage, or of an argument, by tile. They are safe for concurrent use.
type Values interface {
	// Tile returns a tile as a function that writes a row of it into dst, from its first column on, as many
	// numbers as dst has.
	Tile(block probes.Dim3, kv int) (row func(dst []float64, row int))
	// Covers reports whether there are numbers of a block's tiles.
	Covers(block probes.Dim3) bool
	// DType is the type that they were rounded to.
	DType() probes.DType
}

// Config says what a Set is made of.
type Config struct {
	Plan   *probes.Plan
	Graph  *ref.Reference
	Stages probes.StageSet // those that are captured
	Blocks []probes.Dim3   // those that are judged
	// Source returns where the arrays of a reference come from; it is asked about references with arrays
	// alone.
	Source func(r *probes.Reference) Source
}

// Set is what the stages and arguments of one launch are compared with. It is immutable and safe for
// concurrent use.
type Set struct {
	of map[probes.Stage]*comparison
}

// comparison is what one stage is compared with.
type comparison struct {
	sp       *probes.StagePlan
	values   Values // nil: the graph's
	twice    bool   // the numbers are a kernel's, which rounds as the stage does
	tol      probes.Tolerance
	spread   float64              // of a baseline: Factor times its largest error
	largest  float64              // that error
	baseKind probes.ReferenceKind // what the baseline is an array of
}

// New finds the arrays of every stage and argument of the plan that needs some, and makes the bounds that
// depend on them. It returns nil where every stage is compared with the graph alone, by derived bounds. The
// errors are *Error, and ctx's.
func New(ctx context.Context, c Config) (*Set, error) {
	out := &Set{of: map[probes.Stage]*comparison{}}
	for _, sp := range c.Plan.Tiles() {
		if !sp.Referenced() || !sp.OfLaunch() && (!c.Plan.Gate.Judged.Has(sp.Stage) ||
			!c.Stages.Has(sp.Stage)) {
			continue
		}
		if !sp.Reference.Arrays() && sp.Tolerance.Kind < probes.ToleranceFixed {
			continue
		}
		one, err := c.comparison(ctx, sp)
		if err != nil {
			return nil, err
		}
		out.of[sp.Stage] = one
	}
	if len(out.of) == 0 {
		return nil, ctx.Err()
	}
	return out, ctx.Err()
}

// comparison finds what a stage is compared with.
func (c *Config) comparison(ctx context.Context, sp *probes.StagePlan) (*comparison, error) {
	out := &comparison{sp: sp, tol: sp.Tolerance, twice: sp.Reference.Kind == probes.ReferenceKernel}
	known := !sp.OfLaunch() && c.Graph.Graph().Known(c.Graph.Graph().Index(sp.Stage))
	switch {
	case out.tol.Kind == probes.ToleranceDerived && !known:
		return nil, &Error{out.tol.At, probes.ReferenceGraph,
			fmt.Errorf("no error can be derived for %s: it does not follow from the inputs by operators; "+
				"give {rtol: N, atol: N} or {baseline: NAME}", sp.Stage)}
	case out.tol.Kind == probes.ToleranceUsual && known:
		out.tol.Kind = probes.ToleranceDerived
	case out.tol.Kind == probes.ToleranceUsual:
		out.tol = probes.UsualTolerance(sp.DType)
	}
	if !sp.Reference.Arrays() && !known {
		return nil, &Error{out.tol.At, probes.ReferenceGraph,
			fmt.Errorf("stage %s does not follow from the inputs by operators: the tolerance is of nothing",
				sp.Stage)}
	}
	var err error
	if sp.Reference.Arrays() {
		if out.values, err = c.find(ctx, &sp.Reference, sp, ""); err != nil {
			return nil, err
		}
	}
	if out.tol.Kind != probes.ToleranceBaseline {
		return out, nil
	}
	return out, c.baseline(ctx, out)
}

// baseline finds the array that a stage's errors are measured by.
func (c *Config) baseline(ctx context.Context, one *comparison) error {
	from, name := &one.sp.Reference, one.tol.Baseline
	if one.tol.Of != nil {
		from, name = one.tol.Of, ""
	}
	at := *from
	at.At, one.baseKind = one.tol.At, from.Kind
	base, err := c.find(ctx, &at, one.sp, name)
	if err != nil {
		return err
	}
	one.largest, err = c.largestError(ctx, one, base)
	if err != nil {
		return err
	}
	one.spread = one.tol.Factor * one.largest
	return nil
}

// find looks a stage up in a source, by the given name alone where there is one, else by the reference's or
// the stage's own.
func (c *Config) find(ctx context.Context, r *probes.Reference, sp *probes.StagePlan, name string) (Values,
	error) {
	src := c.Source(r)
	tried := Names(sp)
	switch {
	case name != "":
		tried = []string{name}
	case r.Array != "":
		tried = []string{r.Array}
	}
	for _, name := range tried {
		v, ok, err := src.Values(ctx, name, sp)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, &Error{r.At, r.Kind, err}
		}
		if !ok {
			continue
		}
		for _, b := range c.Blocks {
			if !sp.OfLaunch() && !v.Covers(b) {
				return nil, &Error{r.At, r.Kind, fmt.Errorf("%s: %q has no tiles of block %s", src.Label(),
					name, b)}
			}
		}
		return v, nil
	}
	return nil, &Error{r.At, r.Kind, fmt.Errorf("%s: there is no array %s for %s (it has %s)", src.Label(),
		quoted(tried, " or "), sp.Stage, quoted(src.Names(), " "))}
}

// Names lists the names that the array of a stage or argument may have, the first that is there counts: of a
// stage that is cut out of an argument its own and the argument's, for the whole, then that of its tiles in a
// dump; of any other stage that of its tiles, then its own.
func Names(sp *probes.StagePlan) []string {
	switch {
	case sp.OfLaunch():
		return []string{sp.Capture.Output}
	case sp.Capture.Kind == probes.CaptureOutput && sp.Capture.Output != sp.Stage.String():
		return []string{sp.Stage.String(), sp.Capture.Output, tilePrefix + sp.Stage.String()}
	}
	if sp.Capture.Kind == probes.CaptureOutput {
		return []string{sp.Stage.String(), tilePrefix + sp.Stage.String()}
	}
	return []string{tilePrefix + sp.Stage.String(), sp.Stage.String()}
}

func quoted(names []string, sep string) string {
	const most = 20
	var out []string
	for i, n := range names {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		out = append(out, fmt.Sprintf("%q", n))
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, sep)
}

// Has reports whether a stage or an argument is compared with something else than the graph by derived
// bounds. A nil Set has none.
func (x *Set) Has(s probes.Stage) bool { return x != nil && x.of[s] != nil }

// Own reports whether the numbers are given, and not the graph's.
func (x *Set) Own(s probes.Stage) bool { return x.Has(s) && x.of[s].values != nil }

// Tolerance returns the tolerance in use, and of a baseline the largest error that was found; ok is false
// where the Set does not have the stage.
func (x *Set) Tolerance(s probes.Stage) (t probes.Tolerance, largest float64, ok bool) {
	if !x.Has(s) {
		return t, 0, false
	}
	return x.of[s].tol, x.of[s].largest, true
}

// Reason says in words how the bounds of a stage come about; "" where they are those of its operators.
func (x *Set) Reason(s probes.Stage) string {
	c := x.of[s]
	given := " as the manifest says"
	if c.sp.Tolerance.Kind == probes.ToleranceUsual {
		given = fmt.Sprintf(", those of torch.testing.assert_close for %s: nothing says how it is computed",
			c.sp.DType)
		if c.sp.DType.Size() == 1 || !c.sp.DType.Float() {
			given = fmt.Sprintf(" for %s: nothing says how it is computed", c.sp.DType)
		}
	}
	switch c.tol.Kind {
	case probes.ToleranceFixed:
		return fmt.Sprintf("rtol %.3g, atol %.3g%s", c.tol.RTol, c.tol.ATol, given)
	case probes.ToleranceBaseline:
		return fmt.Sprintf("%.3g times the largest error of %s, %.3g, and a rounding to %s", c.tol.Factor,
			c.tol.Baseline, c.largest, c.sp.DType)
	}
	return ""
}

// Rows fills e with rows of a tile, from row first on, as many as e has: what they should be, and how far a
// right kernel may be from it. graph is what the graph makes of the same rows; it is read where the stage is
// not Own, or its bounds are the derived ones. Cells beyond the valid ones are 0.
func (x *Set) Rows(s probes.Stage, block probes.Dim3, kv, first int, graph, e *ref.Estimate) {
	c := x.of[s]
	e.Exact, e.Certain = false, false
	if c.values == nil {
		e.Exact, e.Certain = graph.Exact, graph.Certain
	}
	rows, cols := c.valid(block, kv)
	var row func(dst []float64, row int)
	if c.values != nil {
		row = c.values.Tile(block, kv)
	}
	for r := range e.Ref.Rows {
		ref, pre, bound := e.Ref.Row(r), e.Pre.Row(r), e.Bound.Row(r)
		clear(ref)
		clear(pre)
		clear(bound)
		n := c.width(first+r, rows, cols)
		switch {
		case n == 0:
		case row != nil:
			row(ref[:n], first+r)
		default:
			copy(ref[:n], graph.Ref.Row(r))
		}
		for i, v := range ref[:n] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue // a cell without a finite reference has no distance from it
			}
			pre[i], bound[i] = c.bound(math.Abs(v), graph, r, i)
		}
	}
}

// Exact returns the numbers that a tile of a stage is compared with, 0 beyond the valid cells; ok is false
// where they are the graph's.
func (x *Set) Exact(s probes.Stage, block probes.Dim3, kv int) (m op.Matrix, ok bool) {
	if !x.Own(s) || !x.of[s].values.Covers(block) {
		return op.Matrix{}, false
	}
	c := x.of[s]
	m = op.NewMatrix(c.sp.Rows, c.sp.Cols)
	rows, cols := c.valid(block, kv)
	row := c.values.Tile(block, kv)
	for r := range rows {
		if n := c.width(r, rows, cols); n > 0 {
			row(m.Row(r)[:n], r)
		}
	}
	return m, true
}

// valid is how many rows and columns of a tile are compared.
func (c *comparison) valid(block probes.Dim3, kv int) (rows, cols int) {
	return min(c.sp.ValidRows.At(block, kv), c.sp.Rows), min(c.sp.ValidCols.At(block, kv), c.sp.Cols)
}

// width is how many cells of a row are compared: the last row of a list may not be full.
func (c *comparison) width(row, rows, cols int) int {
	if row >= rows {
		return 0
	}
	if c.sp.OfLaunch() {
		return max(0, min(cols, probes.Elems(c.sp.Capture.Dims)-row*c.sp.Cols))
	}
	return cols
}

// bound is what a right kernel may be off by from a number of magnitude v, before the last rounding and after
// it.
func (c *comparison) bound(v float64, graph *ref.Estimate, row, col int) (pre, bound float64) {
	switch c.tol.Kind {
	case probes.ToleranceFixed:
		b := c.tol.ATol + float64(c.tol.RTol*v)
		return b, b
	case probes.ToleranceBaseline:
		return c.spread, c.spread + half(c.sp.DType, v)
	}
	pre, bound = graph.Pre.At(row, col), graph.Bound.At(row, col)
	if c.twice {
		pre, bound = 2*pre, 2*bound
	}
	if c.values != nil {
		own := half(c.values.DType(), v)
		pre, bound = pre+own, bound+own
	}
	return pre, bound
}

// half is the largest error of rounding a number of magnitude v to a type.
func half(t probes.DType, v float64) float64 {
	if !t.Float() || t == probes.F64 {
		return 0
	}
	return op.HalfULP(t, v)
}

// largestError is the largest distance between the baseline and the reference over all compared cells, of
// those where the reference is finite. A baseline that is not finite there is an error.
func (c *Config) largestError(ctx context.Context, one *comparison, base Values) (float64, error) {
	worst := 0.0
	for i := range c.Plan.Grid.Count() {
		block := c.Plan.Grid.At(i)
		if one.sp.OfLaunch() && i > 0 {
			break
		}
		if !base.Covers(block) || one.values != nil && !one.values.Covers(block) {
			continue
		}
		var exact *ref.Block
		if one.values == nil {
			var err error
			if exact, err = c.Graph.Compute(ctx, block); err != nil {
				return 0, err
			}
		}
		tiles := 1
		if one.sp.PerTile {
			tiles = c.Plan.Work.Tiles.At(block, 0)
		}
		for kv := range tiles {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			want := one.exact(exact, block, kv)
			if want == nil {
				continue
			}
			d, err := one.distance(want, base.Tile(block, kv), block, kv)
			if err != nil {
				return 0, err
			}
			worst = max(worst, d)
		}
	}
	return worst, nil
}

// exact is a tile of the reference by rows; nil where there is none.
func (c *comparison) exact(b *ref.Block, block probes.Dim3, kv int) func(dst []float64, row int) {
	if c.values != nil {
		return c.values.Tile(block, kv)
	}
	m, ok := b.Values(c.sp.Stage, kv)
	if !ok {
		return nil
	}
	return func(dst []float64, row int) { copy(dst, m.Row(row)) }
}

// distance is the largest distance between two tiles over the compared cells.
func (c *comparison) distance(want, got func(dst []float64, row int), block probes.Dim3, kv int) (float64,
	error) {
	worst := 0.0
	x, y := make([]float64, c.sp.Cols), make([]float64, c.sp.Cols)
	rows, cols := c.valid(block, kv)
	for row := range rows {
		n := c.width(row, rows, cols)
		want(x[:n], row)
		got(y[:n], row)
		for col := range n {
			d := math.Abs(y[col] - x[col])
			switch {
			case math.IsNaN(x[col]) || math.IsInf(x[col], 0):
			case math.IsNaN(d) || math.IsInf(d, 0):
				return 0, &Error{c.tol.At, c.baseKind,
					fmt.Errorf("baseline %s is %v at %s, where the reference is %.6g", c.tol.Baseline, y[col],
						c.name(block, kv, row, col), x[col])}
			default:
				worst = max(worst, d)
			}
		}
	}
	return worst, nil
}

// name is how a cell is called in messages.
func (c *comparison) name(block probes.Dim3, kv, row, col int) string {
	if c.sp.OfLaunch() {
		return fmt.Sprintf("%s%v", c.sp.Capture.Output, probes.Index(row*c.sp.Cols+col, c.sp.Capture.Dims))
	}
	if c.sp.PerTile {
		return fmt.Sprintf("%s, block %s, iteration %d, cell (%d,%d)", c.sp.Stage, block, kv, row, col)
	}
	return fmt.Sprintf("%s, block %s, cell (%d,%d)", c.sp.Stage, block, row, col)
}
