package diff

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/attn"
	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// witness is a right kernel's worst case of one term: run returns the error that real arithmetic attains there, and the bound
// of the same cell with the terms weighted by w.
type witness struct {
	term term
	name string
	run  func(t *testing.T, w weights) (attained, bound float64)
}

// unattained are the terms that no right kernel attains a quarter of, and why. Their values are checked by errors just above the
// bound: TestUnattainedTerms.
var unattained = map[term]string{
	termReference: "float64 roundings of the reference are below 2^-40 of a bound of float32 roundings; 2^-16 also covers their growth over long chains",
}

// share is what a term adds to the bound of a witness, with the term times factor.
func (x witness) share(t *testing.T, factor float64) float64 {
	_, with := x.run(t, only(x.term, factor))
	_, without := x.run(t, only(x.term, 0))
	return with - without
}

// only weighs one term by factor and leaves the others.
func only(x term, factor float64) weights {
	w := &[numTerms]float64{}
	for i := range w {
		w[i] = 1
	}
	w[x] = factor
	return w
}

// tight reports whether a right kernel attains a quarter of the term times factor.
func (x witness) tight(t *testing.T, factor float64) bool {
	attained, _ := x.run(t, nil)
	return attained >= x.share(t, factor)/4
}

// TestEveryBoundTermIsTight checks for every term of every bound that a right kernel stays under the bound and attains at
// least a quarter of the term, and that neither holds any more with the term times 4: a bound that is too loose by that fails
// here.
func TestEveryBoundTermIsTight(t *testing.T) {
	seen := map[term]bool{}
	for _, x := range append(localWitnesses(), globalWitnesses()...) {
		t.Run(x.term.String()+"/"+x.name, func(t *testing.T) {
			attained, bound := x.run(t, nil)
			share := x.share(t, 1)
			t.Logf("attained %.4g, %.2f of the term's %.4g; the whole bound is %.4g", attained, attained/share, share, bound)
			if !(attained <= bound) {
				t.Errorf("a right kernel is off by %g, the bound is %g", attained, bound)
			}
			if !x.tight(t, 1) {
				t.Errorf("a right kernel attains %g, less than a quarter of the term's %g", attained, share)
			}
			if x.tight(t, 4) {
				t.Errorf("with the term times 4 the attained %g is still a quarter of its %g: this witness holds nothing", attained, x.share(t, 4))
			}
		})
		seen[x.term] = true
	}
	for x := range numTerms {
		if why := unattained[x]; seen[x] == (why != "") {
			t.Errorf("term %s: %v witness, %q", x, seen[x], why)
		}
		if terms[x].name == "" || terms[x].cause == "" || !(terms[x].coef > 0) {
			t.Errorf("term %d: %+v", x, terms[x])
		}
	}
}

// TestUnattainedTerms holds the terms without a witness from above: an error just beyond the bound is caught, and would not
// be with the term times 4.
func TestUnattainedTerms(t *testing.T) {
	for x := range unattained {
		r, loose := rulesFor(t, nil, nil), rulesFor(t, only(x, 4), nil)
		ref, pre := 1.25, 1e-4
		bound := r.round[attn.StepU].bound(ref, pre)
		if want := (pre + 0x1p-24) * (1 + 0x1p-16); math.Abs(bound-want) > 1e-18 {
			t.Errorf("%s: bound %g, want %g", x, bound, want)
		}
		if off := bound * (1 + 0x1p-17); off > loose.round[attn.StepU].bound(ref, pre) {
			t.Errorf("%s: an error of %g is above the bound with the term times 4", x, off)
		}
	}
}

// rulesFor resolves stage2's small plan, changed, with weighted terms.
func rulesFor(t *testing.T, w weights, change func(p *probes.Plan)) *rules {
	t.Helper()
	p := configstest.Plan(t, "stage2", "small", probes.GateNone)
	if change != nil {
		change(p)
	}
	return newRules(reference(t, p, 0, attn.Options{}), w)
}

// with sets a stage's dtype and how it sums.
func with(s attn.Step, dtype probes.DType, c probes.Compute) func(p *probes.Plan) {
	return func(p *probes.Plan) {
		sp := p.Stage(s.Stage())
		sp.DType, sp.Compute = dtype, c
	}
}

var (
	tensor32 = probes.Compute{Unit: probes.UnitTensor, Acc: probes.F32, Block: 16, Split: 1}
	tensor16 = probes.Compute{Unit: probes.UnitTensor, Acc: probes.F16, Block: 16, Split: 1}
	fma32    = probes.Compute{Unit: probes.UnitFMA, Acc: probes.F32, Split: 1}
)

// pair is the two operands of a sum of n products: a first pair, then pairs of one kind.
func pair(n int, first, a, b float64) (x, y []float64) {
	x, y = make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = a, b
	}
	x[0], y[0] = first, first
	return x, y
}

// dot is the exact sum of products.
func dot(x, y []float64) float64 {
	s := 0.0
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// tensorDot is the tensor core's chain over blocks of 16, onto acc.
func tensorDot(form fp.MMA, x, y []float64, acc float64) float64 {
	bits := func(v []float64) []uint16 {
		out := make([]uint16, len(v))
		for i, f := range v {
			out[i] = uint16(attn.Round(probes.F16, f))
		}
		return out
	}
	wide := func(c uint32) float64 { return fp.F32ToFloat64(c) }
	c := uint32(attn.Round(probes.F32, acc))
	if form.C == fp.F16 {
		c = uint32(attn.Round(probes.F16, acc))
		wide = func(c uint32) float64 { return fp.F16ToFloat64(uint16(c)) }
	}
	for lo := 0; lo < len(x); lo += 16 {
		c = fp.SM90().Dot(form, bits(x[lo:lo+16]), bits(y[lo:lo+16]), c)
	}
	return wide(c)
}

// fmaDot is a chain of fused multiply-adds in float32, onto acc.
func fmaDot(x, y []float64, acc float64) float64 {
	c := fp.Bits32(float32(acc))
	for i, v := range x {
		c = fp.Fma32(fp.Bits32(float32(v)), fp.Bits32(float32(y[i])), c)
	}
	return fp.F32ToFloat64(c)
}

// firstRow is a matrix with one row given.
func firstRow(rows, cols int, v []float64) attn.Matrix {
	m := attn.NewMatrix(rows, cols)
	copy(m.Row(0), v)
	return m
}

// scoreBound is the local bound of S(0,0), of a row of Q and a row of K.
func scoreBound(r *rules, x, y []float64) float64 {
	e := newEstimate(r.ref.TileM(), r.ref.TileN())
	var q, k operand
	r.rowOperand(&q, firstRow(r.ref.TileM(), r.ref.Dim(), x), nil, 1, r.scores)
	r.rowOperand(&k, firstRow(r.ref.TileN(), r.ref.Dim(), y), nil, 1, r.scores)
	r.scoresOf(e, &q, &k, 1, 1, nil)
	return e.bound.Data[0]
}

// weightBound is the local bound of U(0,0), of a row of P, a column of V, and U_old with its carry and that
// one's relative error.
func weightBound(r *rules, p, v []float64, old, carry, carryErr float64) float64 {
	e, n := newEstimate(r.ref.TileM(), r.ref.Dim()), r.ref.TileN()
	var a, b operand
	r.rowOperand(&a, firstRow(r.ref.TileM(), n, p), nil, 1, r.output)
	right := attn.NewMatrix(n, r.ref.Dim())
	for i, x := range v {
		right.Row(i)[0] = x
	}
	r.columnOperand(&b, right, nil, n, r.output)
	before := attn.NewMatrix(r.ref.TileM(), r.ref.Dim())
	before.Data[0] = old
	work := newSumWork(r.ref.TileM(), r.ref.Dim())
	r.weightedOf(e, &a, &b, before, []float64{carry}, []float64{carryErr}, 1, n, &work)
	return e.bound.Data[0]
}

// probBound is the local bound of P(0,0) from a score in S's unit and m in its domain, and what the row's errors add up to.
func probBound(r *rules, score, m float64) (bound, errs float64) {
	b := r.ref.Compute(probes.Dim3{})
	e := newEstimate(r.ref.TileM(), r.ref.TileN())
	s := attn.NewMatrix(r.ref.TileM(), r.ref.TileN())
	ms, sums, all := make([]float64, b.Rows), make([]float64, b.Rows), make([]float64, b.Rows)
	for i := range s.Data {
		s.Data[i] = score
	}
	for i := range ms {
		ms[i] = m
	}
	r.probabilitiesOf(e, s, ms, sums, all, b, 0)
	return e.bound.Data[0], all[0]
}

// sumBound is the local bound of l(0).
func sumBound(r *rules, old, carry, carryErr, sum, errs float64, keys int) float64 {
	e := newEstimate(r.ref.TileM(), 1)
	r.sumsOf(e, []float64{old}, []float64{carry}, []float64{carryErr}, []float64{sum}, []float64{errs}, 1, keys)
	return e.bound.Data[0]
}

// worstEx2 is an argument at which ex2.approx is off by 0.6 of its 2^-22, the most between 0 and −1 on the
// chip that fp models.
const worstEx2 = -0x1.f60018p-01

func ex2(x float64) float64 {
	return fp.F32ToFloat64(fp.SM90().Ex232(fp.Bits32(float32(x)), false))
}

// most searches n random arguments for the largest error.
func most(n int, f func(rnd *rand.Rand) float64) float64 {
	rnd, top := rand.New(rand.NewPCG(3, 4)), 0.0
	for range n {
		top = max(top, f(rnd))
	}
	return top
}

// rawLog2 is a kernel with raw scores and m in the log2 domain, at a scale that no dtype holds.
func rawLog2(log2 bool, scale float64) func(p *probes.Plan) {
	return func(p *probes.Plan) {
		p.Scale = scale
		p.Stage("S").Meaning.Scaled = false
		p.Stage("S").DType = probes.F32
		p.Stage("m").Meaning.Log2 = log2
		p.Stage("P").DType = probes.F32
	}
}
