// Package attn computes attention over whole heads, which the output of a kernel whose stages have the
// operators of the conventions is compared with, and what other projects' tests would say of it.
//
// The one idea: it is the problem itself, without tiles: three tensors [B,H,S,D] in, one out, so that it
// shares no code with the tiled reference but the products.
//
// It must not know captures, verdicts or how a kernel divides the problem.
package attn

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"tilescope/debugkern/input"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// OutputErrors compares the kernel's O with attention in float64.
type OutputErrors struct {
	MaxAbs, MeanAbs float64
	BadFraction     float64 // share of elements off by more than Limits.MaxAbs (or not finite)
	Cosine          float64
	OK              bool  // the plan's limits hold
	Histogram       []int // |error| by decade: < 1e-6, < 1e-5, … < 1, the rest (NaN with it)
	Nonfinite       int
	NaN             int // of Nonfinite
}

// histogramDecades are the bins' upper ends.
var histogramDecades = [...]float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1}

// Whole is attention over whole heads, [B,H,S,D], which O is compared with. It depends on the inputs and
// on little of the plan (WholeKey), so that it is reused while flags are toggled.
type Whole struct {
	True    []float64 // from the inputs before quantising
	Decoded []float64 // from what the kernel was given
	// Unfused is Decoded as a kernel that is not fused computes it: Q, K, V, S, P and O rounded to the plan's
	// dtypes where they are stored, every product and sum between exact.
	Unfused []float64
}

// WholeKey distinguishes plans whose Whole differs on the same inputs.
func WholeKey(p *probes.Plan) string {
	key := fmt.Sprint(p.Shape, p.Scale)
	for _, s := range stages {
		key += fmt.Sprint(" ", storedAs(p, s))
	}
	for query := range extentsOf(p).s {
		if hidden := hiddenKeys(p, query); hidden > 0 {
			key += fmt.Sprint(" ", query, ":", hidden)
		}
	}
	return key
}

// NewWhole computes attention three times, on all cores. It returns ctx's error if cancelled.
func NewWhole(ctx context.Context, p *probes.Plan, in *input.Inputs) (*Whole, error) {
	w := &Whole{}
	var err error
	if w.True, err = attention(ctx, p, reader(p, in.Original)); err != nil {
		return nil, err
	}
	if w.Decoded, err = attention(ctx, p, reader(p, in.Tensor)); err != nil {
		return nil, err
	}
	w.Unfused, err = baseline(ctx, p, in)
	return w, err
}

// Output compares O ([B,H,S,D], the output argument's bits widened) with attention on the
// inputs before quantising.
func (w *Whole) Output(p *probes.Plan, o []float64) *OutputErrors {
	return Compare(o, w.True, p.Limits)
}

// Compare compares numbers of a kernel's output with the exact ones.
func Compare(o, ref []float64, lim probes.Limits) *OutputErrors {
	e := &OutputErrors{Histogram: make([]int, len(histogramDecades)+1)}
	var sum, dot, oo, rr float64
	bad := 0
	for i, got := range o {
		want := ref[i]
		d := math.Abs(got - want)
		bin := 0
		for bin < len(histogramDecades) && !(d < histogramDecades[bin]) {
			bin++
		}
		e.Histogram[bin]++
		if math.IsNaN(d) || math.IsInf(d, 0) {
			e.Nonfinite++
			if math.IsNaN(d) {
				e.NaN++
			}
			bad++
			continue
		}
		e.MaxAbs = max(e.MaxAbs, d)
		sum += d
		dot, oo, rr = dot+got*want, oo+got*got, rr+want*want
		if d > lim.MaxAbs {
			bad++
		}
	}
	n := float64(max(len(o), 1))
	e.MeanAbs, e.BadFraction = sum/n, float64(bad)/n
	if e.Cosine = dot / math.Sqrt(oo*rr); oo == 0 && rr == 0 {
		e.Cosine = 1
	}
	if e.Nonfinite > 0 {
		e.MaxAbs, e.MeanAbs, e.Cosine = math.Inf(1), math.Inf(1), math.NaN()
	}
	e.OK = e.MaxAbs <= lim.MaxAbs && e.MeanAbs <= lim.MeanAbs && e.BadFraction <= lim.BadFraction
	return e
}

// Rule is another project's acceptance test, evaluated on O: it would pass where Error ≤ Limit.
type Rule struct {
	Error, Limit float64
	// Stored is the same error measured on Whole.Unfused: what storing the stages in the plan's dtypes costs
	// by itself, with every product, sum and exponential exact.
	Stored float64
}

// Holds reports whether the rule is met.
func (r Rule) Holds() bool { return r.Error <= r.Limit }

// Context says in words why the rule is not met, "" where it is. Both sides of every rule start
// from the decoded inputs, so quantising is never the reason: either exact arithmetic that is
// only stored in the plan's dtypes exceeds the limit as well, or the rest is made by the kernel,
// by its roundings or by a mistake.
func (r Rule) Context() string {
	switch {
	case r.Holds():
		return ""
	case math.IsInf(r.Error, 1):
		return "O has cells that are not finite"
	case r.Stored > r.Limit:
		return fmt.Sprintf(
			"stricter than this kernel's dtypes allow: exact arithmetic stored in them errs by %.3g",
			r.Stored)
	}
	return fmt.Sprintf(
		"exact arithmetic stored in this kernel's dtypes errs by %.3g, the rest is made by this kernel",
		r.Stored)
}

// Rules are what other projects' tests would say about O. They are context and never part of a verdict.
type Rules struct {
	// Flash is FlashAttention's: max|out − ref| ≤ 2·max|baseline − ref| + rounding of the output's
	// dtype, ref attention on the decoded inputs, baseline the unfused computation that stores S and
	// P in the kernel's dtypes.
	Flash Rule
	// PyTorch is torch.testing.assert_close for the output's dtype: |out − ref| / (atol + rtol·|ref|) ≤ 1.
	PyTorch Rule
	// Triton is its fused attention test's: |out − ref| ≤ 1e-2.
	Triton Rule
}

// Rules evaluates other projects' rules on O.
func (w *Whole) Rules(p *probes.Plan, o []float64) *Rules {
	dtype := storedAs(p, "O")
	atol, rtol := closeTolerance(dtype)
	var out, unfused, top, torch, torchStored float64
	for i, want := range w.Decoded {
		d, stored, allowed := distance(o[i], want), distance(w.Unfused[i], want), atol+rtol*math.Abs(want)
		out, unfused = max(out, d), max(unfused, stored)
		top = max(top, math.Abs(want))
		torch, torchStored = max(torch, d/allowed), max(torchStored, stored/allowed)
	}
	return &Rules{
		Flash:   Rule{out, 2*unfused + op.HalfULP(dtype, top), unfused},
		PyTorch: Rule{torch, 1, torchStored},
		Triton:  Rule{out, 1e-2, unfused},
	}
}

// distance is |a − b|, infinite where either is NaN, so that a maximum cannot lose it.
func distance(a, b float64) float64 {
	d := math.Abs(a - b)
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}

// stages are those whose dtypes attention depends on here, in the order of computation.
var stages = []probes.Stage{"Q", "K", "V", "S", "m", "l", "P", "U", "O"}

// storedAs is the dtype that a stage's tiles are kept in: half where the kernel has no such stage.
func storedAs(p *probes.Plan, s probes.Stage) probes.DType {
	if sp := p.Stage(s); sp != nil {
		return sp.DType
	}
	return probes.F16
}

// closeTolerance is torch.testing.assert_close's default absolute and relative tolerance.
func closeTolerance(t probes.DType) (atol, rtol float64) {
	switch t {
	case probes.F16:
		return 1e-5, 1e-3
	case probes.BF16:
		return 1e-5, 1.6e-2
	}
	return 1e-5, 1.3e-6
}

type headReader = [3]func(dst []float64, b, h int)

// tensors are the three inputs, in the order of a headReader.
var tensors = [3]string{"Q", "K", "V"}

// extents are those of every tensor, [B,H,S,D].
type extents struct{ b, h, s, d int }

func extentsOf(p *probes.Plan) extents {
	e := p.Shape.Extents()
	return extents{e[0], e[1], e[2], e[3]}
}

// at is the place of element [b][h][i][0].
func (e extents) at(b, h, i int) int { return ((b*e.h+h)*e.s + i) * e.d }

// reader reads whole heads of the three inputs.
func reader(p *probes.Plan, tensor func(name string) op.Tensor) headReader {
	var x headReader
	e := extentsOf(p)
	for i, name := range tensors {
		t := tensor(name)
		x[i] = func(dst []float64, b, h int) { t.Decode(dst, e.at(b, h, 0)) }
	}
	return x
}

// attention is softmax(Q·Kᵀ·scale)·V in float64, [B,H,S,D].
func attention(ctx context.Context, p *probes.Plan, x headReader) ([]float64, error) {
	exact := func(v float64) float64 { return v }
	return unfused(ctx, p, x, exact, exact, exact)
}

// baseline is Whole.Unfused.
func baseline(ctx context.Context, p *probes.Plan, in *input.Inputs) ([]float64, error) {
	rounder := func(s probes.Stage) func(float64) float64 {
		t := storedAs(p, s)
		return func(v float64) float64 { return op.RoundTo(t, v) }
	}
	x := reader(p, in.Tensor)
	for t, s := range stages[:3] {
		read, round := x[t], rounder(s)
		x[t] = func(dst []float64, b, h int) {
			read(dst, b, h)
			for i, v := range dst {
				dst[i] = round(v)
			}
		}
	}
	return unfused(ctx, p, x, rounder("S"), rounder("P"), rounder("O"))
}

// unfusedRows is how many query rows are computed together: their scores stay in cache.
const unfusedRows = 32

// unfused computes attention head by head and rows by rows over all cores, storing S, P (normalised) and O
// through the given roundings.
func unfused(
	ctx context.Context, p *probes.Plan, x headReader, s, pr, o func(float64) float64,
) ([]float64, error) {
	e := extentsOf(p)
	out := make([]float64, e.b*e.h*e.s*e.d)
	each := (e.s + unfusedRows - 1) / unfusedRows // of one head
	var next atomic.Int64
	var wg join.Group
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			w := newHeadWork(p, x)
			for i := int(next.Add(1)) - 1; i < e.b*e.h*each; i = int(next.Add(1)) - 1 {
				if w.rows(ctx, i/each/e.h, i/each%e.h, i%each*unfusedRows, out, s, pr, o) != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// headWork is one worker's memory: a whole head of Q, K, V and the scores of a few rows.
type headWork struct {
	p    *probes.Plan
	e    extents
	x    headReader
	b, h int
	q, k op.Matrix
	v, s op.Matrix

	panels op.Panels // k as the products take it
}

func newHeadWork(p *probes.Plan, x headReader) *headWork {
	e := extentsOf(p)
	n, d := e.s, e.d
	return &headWork{
		p: p, e: e, x: x, b: -1, h: -1, q: op.NewMatrix(n, d), k: op.NewMatrix(n, d), v: op.NewMatrix(n, d),
		s: op.NewMatrix(unfusedRows, n),
	}
}

// rows computes rows of the output from first on, and looks at the context before each of its steps.
func (w *headWork) rows(
	ctx context.Context, b, h, first int, out []float64, s, pr, o func(float64) float64,
) error {
	if b != w.b || h != w.h {
		w.b = -1
		for t, m := range []op.Matrix{w.q, w.k, w.v} {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.x[t](m.Data, b, h)
		}
		w.panels.Pack(w.k, w.k.Rows)
		w.b, w.h = b, h
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d := w.e.d
	rows := min(unfusedRows, w.e.s-first)
	q := op.Matrix{Rows: rows, Cols: d, Data: w.q.Data[first*d : (first+rows)*d]}
	op.Scores(w.s, q, &w.panels, rows, w.e.s, w.p.Scale)
	for r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.softmaxRow(w.s.Row(r), first+r, s, pr)
	}
	lo := w.e.at(b, h, first)
	res := op.Matrix{Rows: rows, Cols: d, Data: out[lo : lo+rows*d]}
	op.Accumulate(res, w.s, w.v, rows, 0, w.e.s)
	for i, v := range res.Data {
		res.Data[i] = o(v)
	}
	return nil
}

// softmaxRow replaces scores by probabilities; keys that the plan hides from the query count as −Inf.
func (w *headWork) softmaxRow(row []float64, query int, s, pr func(float64) float64) {
	hidden := hiddenKeys(w.p, query)
	top := math.Inf(-1)
	for j := range row {
		row[j] = s(row[j])
		if j < hidden {
			row[j] = math.Inf(-1)
		}
		if row[j] > top {
			top = row[j]
		}
	}
	sum := 0.0
	for j := range row {
		row[j] = op.Below(row[j], top)
		sum += row[j]
	}
	for j := range row {
		row[j] = pr(row[j] / sum)
	}
}

// hiddenKeys is how many leading keys the plan hides from a query row (of every head and batch alike).
func hiddenKeys(p *probes.Plan, query int) int {
	hidden := p.Position("hidden_rows")
	if hidden.Values[0] == 0 && len(hidden.Values) == 1 {
		return 0
	}
	first, key := p.Position("query"), p.Position("first_key")
	for bx := range p.Grid[0] {
		id := probes.Dim3{bx, 0, 0}
		if r := query - first.At(id, 0); r >= 0 && r < hidden.At(id, 0) {
			return key.At(id, 0)
		}
	}
	return 0
}
