package diff

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// localWitnesses are the worst cases of the roundings that are made in a stage.
func localWitnesses() []witness {
	all := []witness{{termDecode, "f32 tile", decodeWitness}}
	all = append(all, storeWitnesses()...)
	all = append(all, scoreWitnesses()...)
	all = append(all, softmaxWitnesses()...)
	all = append(all, weightWitnesses()...)
	return append(all, witness{termOutDivide, "div.full", func(t *testing.T, w weights) (float64, float64) {
		r := rulesFor(t, w, with(attn.StepO, probes.F32, probes.Compute{Acc: probes.F32, Split: 1}))
		const u, l = float32(1.999), float32(1.9327254)
		e := newEstimate(r.ref.TileM(), r.ref.Dim())
		m := attn.NewMatrix(r.ref.TileM(), r.ref.Dim())
		m.Data[0] = float64(u)
		ls := make([]float64, r.ref.TileM())
		ls[0] = float64(l)
		r.outputOf(e, m, ls, 1)
		got := fp.F32ToFloat64(fp.SM90().DivFull32(fp.Bits32(u), fp.Bits32(l), false))
		return math.Abs(got - float64(u)/float64(l)), e.bound.Data[0]
	}})
}

// decodeWitness searches scales at which the three float32 roundings go one way.
func decodeWitness(t *testing.T, w weights) (float64, float64) {
	r := rulesFor(t, w, with(attn.StepQ, probes.F32, probes.Compute{Acc: probes.F32, Split: 1}))
	q := r.ref.Inputs().Quant
	at := 0.0
	rel := most(20000, func(rnd *rand.Rand) float64 {
		scale, code := float32(0.001+0.01*rnd.Float64()), float64(1+rnd.IntN(127))
		exact := code * (q.Max / q.Levels * float64(scale))
		k := float32(float32(q.Max)/float32(q.Levels)) * scale
		at = exact
		return math.Abs(float64(float32(code)*k)-exact) / exact
	})
	e := newEstimate(r.ref.TileM(), r.ref.Dim())
	r.decode(e, attn.StepQ, firstRow(r.ref.TileM(), r.ref.Dim(), []float64{at}), 1)
	return rel * at, e.bound.Data[0]
}

// storeWitnesses are values in the middle between two of each stage's dtype.
func storeWitnesses() []witness {
	var all []witness
	for s := range attn.NumSteps {
		if s == attn.StepM {
			continue // a maximum of stored scores is stored as it is
		}
		all = append(all, witness{termStore, s.String(), func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, nil)
			rnd := r.round[s]
			rnd.pow2 = false
			_, frac := rnd.dtype.Format()
			x := 1 + math.Ldexp(1, -frac-1)
			return math.Abs(attn.RoundTo(rnd.dtype, x) - x), rnd.bound(x, 0)
		}})
	}
	return all
}

// scoreWitnesses are sums whose roundings all have one sign.
func scoreWitnesses() []witness {
	s := attn.StepS
	tiny := 0x1p-13 * (2 - 0x1p-10) // times 2^-13: just below 2^-25, lost when added to a product of 1
	form := func(name string, x term, c probes.Compute, dtype probes.DType, a, b float64, kernel func(x, y []float64) float64) witness {
		return witness{x, name, func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(s, dtype, c))
			q, k := pair(r.ref.Dim(), 1, a, b)
			return math.Abs(kernel(q, k)-dot(q, k)) * r.scale, scoreBound(r, q, k)
		}}
	}
	t32 := func(x, y []float64) float64 { return tensorDot(fp.MMAF32F16, x, y, 0) }
	t16 := func(x, y []float64) float64 { return tensorDot(fp.MMAF16F16, x, y, 0) }
	chain := func(x, y []float64) float64 { return fmaDot(x, y, 0) }
	cut := func(x, y []float64) ([]float64, []float64) { // one product a block in addition to the first, of three quarters of an ulp
		for i := range x {
			if i%16 != 1 && i != 0 {
				x[i] = 0
			}
		}
		return x, y
	}
	return []witness{
		form("f32", termScoreAlign, tensor32, probes.F32, 0x1p-13, tiny, t32),
		form("fma", termScoreChain, fma32, probes.F32, 0x1p-12, 0x1p-12*(1+0x1p-10), chain),
		{termScoreCut, "f32", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(s, probes.F32, tensor32))
			q, k := cut(pair(r.ref.Dim(), 1, 1.5*0x1p-12, 0x1p-12))
			return math.Abs(t32(q, k)-dot(q, k)) * r.scale, scoreBound(r, q, k)
		}},
		{termScoreCut, "f16", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(s, probes.F16, tensor16))
			q, k := cut(pair(r.ref.Dim(), 1, 0x1p-5, 0x1p-6*(1-0x1p-9)))
			return math.Abs(t16(q, k)-dot(q, k)) * r.scale, scoreBound(r, q, k)
		}},
		{termScoreScale, "1/sqrt(96)", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, scaledBy(1/math.Sqrt(96), probes.F32))
			q, k := pair(r.ref.Dim(), 1, 0, 0)
			return math.Abs(float64(float32(r.scale)) - r.scale), scoreBound(r, q, k)
		}},
		{termScoreProduct, "1/sqrt(96)", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, scaledBy(1/math.Sqrt(96), probes.F16))
			c, top, at := float32(r.scale), 0.0, 1.0
			for i := range 512 { // sums that are exact, whose product with the scale is not
				x := 1 + float32(i)/512
				if e := math.Abs(float64(x*c) - float64(x)*float64(c)); e > top {
					top, at = e, float64(x)
				}
			}
			q, k := pair(r.ref.Dim(), 1, 0, 0)
			q[0] = at
			return top, scoreBound(r, q, k)
		}},
		{termScoreOperands, "aligned", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(s, probes.F32, fma32))
			n, off := r.ref.Dim(), 0x1p-12
			x, dx := attn.NewMatrix(r.ref.TileM(), n), attn.NewMatrix(r.ref.TileM(), n)
			for i := range x.Data {
				x.Data[i], dx.Data[i] = 1, off
			}
			e := newEstimate(r.ref.TileM(), r.ref.TileN())
			var q, k operand
			r.rowOperand(&q, x, &dx, 1, r.scores)
			r.rowOperand(&k, x, &dx, 1, r.scores)
			r.scoresOf(e, &q, &k, 1, 1, nil)
			return float64(n) * ((1+off)*(1+off) - 1) * r.scale, e.bound.Data[0]
		}},
	}
}

// scaledBy is an accumulator in f32, times a scale that it cannot hold.
func scaledBy(scale float64, dtype probes.DType) func(p *probes.Plan) {
	return func(p *probes.Plan) {
		p.Scale = scale
		with(attn.StepS, dtype, tensor32)(p)
	}
}

// softmaxWitnesses are the worst cases of m, P and l.
func softmaxWitnesses() []witness {
	const ln2 = math.Ln2
	natural := func(p *probes.Plan) { p.Stage("P").DType = probes.F32 }
	unit := math.Abs(ex2(worstEx2)/math.Exp2(float64(float32(worstEx2))) - 1) // relative
	at := ln2 * float64(float32(worstEx2))
	return []witness{
		{termMaxScale, "log2", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, rawLog2(true, 1/math.Sqrt(96)))
			worst, s := 0.0, 0.0
			most(20000, func(rnd *rand.Rand) float64 {
				x := float32(8 + 56*rnd.Float64())
				got := float64(float32(float32(x*float32(r.unit)) * float32(math.Log2E)))
				if e := math.Abs(got/(float64(x)*r.unit*math.Log2E) - 1); e > worst {
					worst, s = e, float64(x)
				}
				return 0
			})
			b, e := r.ref.Compute(probes.Dim3{}), newEstimate(r.ref.TileM(), 1)
			scores := attn.NewMatrix(r.ref.TileM(), r.ref.TileN())
			scores.Data[0] = s
			r.maxOf(e, scores, []float64{math.Inf(-1), math.Inf(-1)}, &attn.Block{Rows: 1, Tiles: b.Tiles}, 0)
			return worst * s * r.unit * math.Log2E, e.bound.Data[0]
		}},
		{termExpUnit, "ex2.approx", func(t *testing.T, w weights) (float64, float64) {
			bound, _ := probBound(rulesFor(t, w, natural), at, 0)
			return unit * math.Exp(at), bound
		}},
		{termExpArgument, "natural", expArgumentWitness},
		{termExpSplit, "log2", expSplitWitness},
		{termExpFlush, "ftz", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, func(p *probes.Plan) { natural(p); p.Stage("P").Compute.Exp = "ex2.approx.ftz" })
			x := ln2 * (-126 - 0x1p-10)
			bound, _ := probBound(r, x, 0)
			return math.Exp(x), bound
		}},
		{termExpFlush, "subnormal", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, func(p *probes.Plan) { natural(p); p.Stage("P").Compute.Exp = "ex2.approx" })
			worst, x := 0.0, 0.0
			for i := range 2000 {
				v := -147.5 + float64(i)/1024
				if e := math.Abs(ex2(v) - math.Exp2(v)); e > worst {
					worst, x = e, v
				}
			}
			bound, _ := probBound(r, ln2*x, 0)
			return worst, bound
		}},
		{termSumAdd, "one by one", func(t *testing.T, w weights) (float64, float64) { return sumAddWitness(t, w, 0) }},
		{termSumAdd, "onto l", func(t *testing.T, w weights) (float64, float64) { return sumAddWitness(t, w, 1) }},
		{termSumCarry, "product", func(t *testing.T, w weights) (float64, float64) {
			old, carry, worst := worstProduct()
			return worst, sumBound(rulesFor(t, w, nil), old, carry, 0, 0, 0, 0)
		}},
		{termSumCarryExp, "ex2.approx", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, nil)
			carry, rel := make([]float64, 1), make([]float64, 1)
			r.carryOf(carry, rel, []float64{at}, []float64{0}, 1)
			return 16 * carry[0] * unit, sumBound(r, 16, carry[0], rel[0], 0, 0, 0)
		}},
		{termSumProbs, "one sign", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, natural)
			n := r.ref.TileN()
			_, errs := probBound(r, at, 0)
			return float64(n) * unit * math.Exp(at), sumBound(r, 0, 0, 0, float64(n)*math.Exp(at), errs, 0)
		}},
	}
}

// worstProduct searches a product of two float32 whose rounding is off by nearly half an ulp of a small significand.
func worstProduct() (a, b, err float64) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 100000 {
		x, y := 1+float32(rnd.Float64())*0.01, 0.995+float32(rnd.Float64())*0.005
		if p := float64(x) * float64(y); p > 1 {
			if e := math.Abs(float64(x*y) - p); e > err {
				a, b, err = float64(x), float64(y), e
			}
		}
	}
	return a, b, err
}

// sumAddWitness adds 32 terms of just over half an ulp of 1 one after the other, onto the first of them or onto the carried l.
func sumAddWitness(t *testing.T, w weights, old float32) (float64, float64) {
	r := rulesFor(t, w, nil)
	sum, n := old, r.ref.TileN()
	const p = float32(0x1p-24 * (1 + 0x1p-10))
	exact, first := float64(old), 0
	if old == 0 {
		sum, exact, first = 1, 1, 1
	}
	for range n - first {
		sum += p
		exact += float64(p)
	}
	return math.Abs(float64(sum) - exact), sumBound(r, float64(old), 1, 0, exact-float64(old), 0, n)
}

// expArgumentWitness searches scores whose argument is rounded one way, twice.
func expArgumentWitness(t *testing.T, w weights) (float64, float64) {
	worst, s, m := 0.0, 0.0, 0.0
	most(100000, func(rnd *rand.Rand) float64 {
		x, y := float32(-8-rnd.Float64()*0.2), float32(rnd.Float64()*0.1)
		arg := float64(float32((x-y)*float32(math.Log2E))) * math.Ln2
		exact := float64(x) - float64(y)
		if e := math.Abs(math.Expm1(arg - exact)); e > worst {
			worst, s, m = e, float64(x), float64(y)
		}
		return 0
	})
	bound, _ := probBound(rulesFor(t, w, func(p *probes.Plan) { p.Stage("P").DType = probes.F32 }), s, m)
	return worst * math.Exp(s-m), bound
}

// expSplitWitness is exp2(s·c − m_raw·c), c = softmax_scale·log2 e, judged from an m that was stored as
// m_raw·softmax_scale.
func expSplitWitness(t *testing.T, w weights) (float64, float64) {
	worst, s, m, scale := 0.0, 0.0, 0.0, 1.0
	most(200000, func(rnd *rand.Rand) float64 {
		sc := 0.0884 * (1 + 0.5*rnd.Float64())
		c := float32(float32(sc) * float32(math.Log2E))
		top := float32(64 + 128*rnd.Float64())
		x := top - float32(rnd.Float64())
		kept := float64(float32(top * float32(sc)))
		arg := float64(float32(x*c)-float32(top*c)) * math.Ln2
		exact := float64(x)*sc - kept
		if e := math.Abs(arg-exact) / (math.Abs(float64(x)*sc) + math.Abs(kept)); e > worst {
			worst, s, m, scale = e, float64(x), kept, sc
		}
		return 0
	})
	r := rulesFor(t, w, rawLog2(false, scale))
	bound, _ := probBound(r, s, m)
	v := s * scale
	return math.Exp(v-m) * math.Expm1(worst*(math.Abs(v)+math.Abs(m))), bound
}

// weightWitnesses are the worst cases of U: P·V apart from the carried U, and onto it.
func weightWitnesses() []witness {
	u := attn.StepU
	tiny := 0x1p-13 * (2 - 0x1p-10)
	t32 := func(x, y []float64, acc float64) float64 { return tensorDot(fp.MMAF32F16, x, y, acc) }
	form := func(x term, name string, c probes.Compute, first, a, b, old float64, kernel func(x, y []float64, acc float64) float64) witness {
		return witness{x, name, func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(u, probes.F32, c))
			p, v := pair(r.ref.TileN(), first, a, b)
			if x == termWeightCut {
				for i := range p {
					if i%16 != 1 && i != 0 {
						p[i] = 0
					}
				}
			}
			return math.Abs(kernel(p, v, old) - dot(p, v) - old), weightBound(r, p, v, old, 1, 0)
		}}
	}
	return []witness{
		form(termWeightAlign, "apart", tensor32, 1, 0x1p-13, tiny, 0, t32),
		form(termWeightAlign, "onto U", tensor32, 0, 0x1p-13, tiny, 1, t32),
		form(termWeightCut, "apart", tensor32, 1, 1.5*0x1p-12, 0x1p-12, 0, t32),
		form(termWeightCut, "onto U", tensor32, 0, 1.5*0x1p-12, 0x1p-12, 1, t32),
		form(termWeightChain, "apart", fma32, 1, 0x1p-12, 0x1p-12*(1+0x1p-10), 0, fmaDot),
		form(termWeightChain, "onto U", fma32, 0, 0x1p-12, 0x1p-12*(1+0x1p-10), 1, fmaDot),
		{termWeightMerge, "two halves", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(u, probes.F32, probes.Compute{Unit: probes.UnitTensor, Acc: probes.F32, Block: 16, Split: 2}))
			p, v := pair(r.ref.TileN(), 1, 0, 0)
			p[16], v[16] = 0x1p-12, 0x1p-12
			return math.Abs(float64(float32(1)+float32(0x1p-24)) - dot(p, v)), weightBound(r, p, v, 0, 0, 0)
		}},
		{termWeightCarry, "product", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(u, probes.F32, fma32))
			old, carry, worst := worstProduct()
			p, v := pair(r.ref.TileN(), 0, 0, 0)
			return worst, weightBound(r, p, v, old, carry, 0)
		}},
		{termWeightCarryExp, "ex2.approx", func(t *testing.T, w weights) (float64, float64) {
			r := rulesFor(t, w, with(u, probes.F32, fma32))
			carry, rel := make([]float64, 1), make([]float64, 1)
			x := math.Ln2 * float64(float32(worstEx2))
			r.carryOf(carry, rel, []float64{x}, []float64{0}, 1)
			p, v := pair(r.ref.TileN(), 0, 0, 0)
			return 16 * math.Abs(ex2(worstEx2)-carry[0]), weightBound(r, p, v, 16, carry[0], rel[0])
		}},
	}
}
