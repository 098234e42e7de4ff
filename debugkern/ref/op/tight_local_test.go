package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// localWitnesses are the worst cases of the roundings that an operation makes.
func localWitnesses() []witness {
	all := []witness{{op.TermDecode, "f32 tile", decodeWitness}}
	all = append(all, storeWitnesses()...)
	all = append(all, dotWitnesses()...)
	all = append(all, softmaxWitnesses()...)
	all = append(all, sumWitnesses()...)
	all = append(all, weightWitnesses()...)
	all = append(all, lseWitnesses()...)
	return append(all, plainWitnesses()...)
}

// coded is an input of codes: each decodes to the same number.
type coded float64

func (coded) Dims() []int { return []int{1} }
func (coded) Coded() bool { return true }

func (x coded) Decode(dst []float64, _ int) {
	for i := range dst {
		dst[i] = float64(x)
	}
}

func (x coded) Rounded(dst []float64, first int) { x.Decode(dst, first) }

// decodeWitness searches scales at which the three float32 roundings go one way.
func decodeWitness(t *testing.T, w ref.Weights) (float64, float64) {
	const levels, top = 127, 448
	rel, at := worstOf(20000, func(rnd *rand.Rand) (float64, float64) {
		scale, code := float32(0.001+0.01*rnd.Float64()), float64(1+rnd.IntN(127))
		exact := code * (float64(top) / levels * float64(scale))
		k := float32(float32(top)/float32(levels)) * scale
		return math.Abs(float64(float32(code)*k)-exact) / exact, exact
	})
	n := node("load", 0)
	n.Args = []probes.Operand{{Tensor: "X"}}
	n.Params.Number["height"], n.Params.Index["at"] = 1, []probes.Extent{probes.Fixed(0)}
	return rel * at, rig{node: n, tensor: coded(at)}.bound(t, w)
}

// storeWitnesses are numbers in the middle between two of a dtype.
func storeWitnesses() []witness {
	var all []witness
	for _, d := range []probes.DType{probes.F32, probes.F16, probes.BF16, probes.E4M3, probes.E5M2} {
		all = append(all, witness{
			op.TermStore, d.String(), func(t *testing.T, w ref.Weights) (float64, float64) {
				_, frac := d.Format()
				x := 1 + math.Ldexp(1, -frac-1)
				return math.Abs(op.RoundTo(d, x) - x), rig{node: node("cast", 1), dtype: d}.bound(t, w,
					tile(1, 1, x))
			},
		})
	}
	return all
}

// dotWitnesses are sums A·Bᵀ whose roundings all have one sign.
func dotWitnesses() []witness {
	const n, scale = 64, 0.125
	tiny := 0x1p-13 * (2 - 0x1p-10) // times 2^-13: just below 2^-25, lost when added to a product of 1
	form := func(
		name string, x op.Term, c probes.Compute, dtype probes.DType, a, b []float64,
		kernel func(x, y []float64) float64,
	) witness {
		return witness{x, name, func(t *testing.T, w ref.Weights) (float64, float64) {
			g := rig{node: dots(scale), c: c, dtype: dtype}
			return math.Abs(kernel(a, b)-dot(a, b)) * scale, g.bound(t, w, tile(1, n, a...), tile(1, n, b...))
		}}
	}
	t32 := func(x, y []float64) float64 { return tensorDot(fp.MMAF32F16, x, y, 0) }
	t16 := func(x, y []float64) float64 { return tensorDot(fp.MMAF16F16, x, y, 0) }
	chain := func(x, y []float64) float64 { return fmaDot(x, y, 0) }
	alignA, alignB := pair(n, 1, 0x1p-13, tiny)
	chainA, chainB := pair(n, 1, 0x1p-12, 0x1p-12*(1+0x1p-10))
	cutA, cutB := sparse(pair(n, 1, 1.5*0x1p-12, 0x1p-12))
	halfA, halfB := sparse(pair(n, 1, 0x1p-5, 0x1p-6*(1-0x1p-9)))
	split := tensor32
	split.Split = 2
	mergeA, mergeB := pair(n, 1, 0, 0)
	mergeA[32], mergeB[32] = 0x1p-12, 0x1p-12
	return []witness{
		form("A·Bᵀ, f32", op.TermAlign, tensor32, probes.F32, alignA, alignB, t32),
		form("A·Bᵀ, fma", op.TermChain, fma32, probes.F32, chainA, chainB, chain),
		form("A·Bᵀ, f32", op.TermCut, tensor32, probes.F32, cutA, cutB, t32),
		form("A·Bᵀ, f16", op.TermCut, tensor16, probes.F16, halfA, halfB, t16),
		form("A·Bᵀ, two halves", op.TermMerge, split, probes.F32, mergeA, mergeB,
			func(x, y []float64) float64 {
				return float64(float32(t32(x[:32], y[:32])) + float32(t32(x[32:], y[32:])))
			}),
		{op.TermScale, "1/sqrt(96)", func(t *testing.T, w ref.Weights) (float64, float64) {
			scale := 1 / math.Sqrt(96)
			g := rig{node: dots(scale), c: tensor32}
			return math.Abs(float64(float32(scale)) - scale), g.bound(t, w, tile(1, n, 1), tile(1, n, 1))
		}},
		{op.TermProduct, "1/sqrt(96)", func(t *testing.T, w ref.Weights) (float64, float64) {
			scale := 1 / math.Sqrt(96)
			c, top, at := float32(scale), 0.0, 1.0
			for i := range 512 { // sums that are exact, whose product with the scale is not
				x := 1 + float32(i)/512
				if e := math.Abs(float64(x*c) - float64(x)*float64(c)); e > top {
					top, at = e, float64(x)
				}
			}
			g := rig{node: dots(scale), c: tensor32, dtype: probes.F16}
			return top, g.bound(t, w, tile(1, n, at), tile(1, n, 1))
		}},
		{op.TermOperands, "A·Bᵀ, aligned", func(t *testing.T, w ref.Weights) (float64, float64) {
			const d = 0x1p-12
			ones, _ := pair(n, 1, 1, 1)
			g := rig{node: dots(scale), c: fma32}
			return n * ((1+d)*(1+d) - 1) * scale, g.bound(t, w, off(tile(1, n, ones...), d),
				off(tile(1, n, ones...), d))
		}},
	}
}

// sparse leaves one product a block in addition to the first.
func sparse(x, y []float64) ([]float64, []float64) {
	for i := range x {
		if i%16 != 1 && i != 0 {
			x[i] = 0
		}
	}
	return x, y
}

// expBelow is the bound of exp(s − m), by the unit that exp names.
func expBelow(t *testing.T, w ref.Weights, exp string, s, m *op.Value) float64 {
	return rig{node: node("exp_below", 2), c: probes.Compute{Exp: exp}}.bound(t, w, s, m)
}

// unitError is the relative error of ex2.approx at worstEx2, and atWorst that argument, natural.
var (
	unitError = math.Abs(ex2(worstEx2)/math.Exp2(float64(float32(worstEx2))) - 1)
	atWorst   = math.Ln2 * float64(float32(worstEx2))
)

// softmaxWitnesses are the worst cases of maxima and exponentials.
func softmaxWitnesses() []witness {
	return []witness{
		{op.TermMaxScale, "log2", func(t *testing.T, w ref.Weights) (float64, float64) {
			scale := 1 / math.Sqrt(96)
			worst, s := worstOf(20000, func(rnd *rand.Rand) (float64, float64) {
				x := float32(8 + 56*rnd.Float64())
				got := float64(float32(float32(x*float32(scale)) * float32(math.Log2E)))
				return math.Abs(got/(float64(x)*scale*math.Log2E) - 1), float64(x)
			})
			g := rig{node: node("rowmax", 1), unit: math.Ln2}
			return worst * s * scale * math.Log2E, g.bound(t, w, inUnit(tile(1, 1, s), scale))
		}},
		{op.TermExpUnit, "ex2.approx", func(t *testing.T, w ref.Weights) (float64, float64) {
			return unitError * math.Exp(atWorst), expBelow(t, w, "ex2.approx", tile(1, 1, atWorst),
				tile(1, 1, 0))
		}},
		{op.TermExpUnit, "map", func(t *testing.T, w ref.Weights) (float64, float64) {
			return unitError * math.Exp(atWorst), mapped(1, "exp(a)").bound(t, w, tile(1, 1, atWorst))
		}},
		{op.TermExpArgument, "natural", expArgumentWitness},
		{op.TermExpArgument, "map", mapArgumentWitness},
		{op.TermExpSplit, "log2", expSplitWitness},
		{op.TermExpFlush, "ftz", func(t *testing.T, w ref.Weights) (float64, float64) {
			x := math.Ln2 * (-126 - 0x1p-10)
			return math.Exp(x), expBelow(t, w, "ex2.approx.ftz", tile(1, 1, x), tile(1, 1, 0))
		}},
		{op.TermExpFlush, "subnormal", func(t *testing.T, w ref.Weights) (float64, float64) {
			worst, x := 0.0, 0.0
			for i := range 2000 {
				v := -147.5 + float64(i)/1024
				if e := math.Abs(ex2(v) - math.Exp2(v)); e > worst {
					worst, x = e, v
				}
			}
			return worst, expBelow(t, w, "ex2.approx", tile(1, 1, math.Ln2*x), tile(1, 1, 0))
		}},
		{op.TermExpFlush, "map", func(t *testing.T, w ref.Weights) (float64, float64) {
			x := math.Ln2 * (-126 - 0x1p-10)
			return math.Exp(x), mapped(1, "exp(a)").bound(t, w, tile(1, 1, x))
		}},
	}
}

// expArgumentWitness searches scores whose argument is rounded one way, twice.
func expArgumentWitness(t *testing.T, w ref.Weights) (float64, float64) {
	type scores struct{ s, m float64 }
	worst, at := worstOf(100000, func(rnd *rand.Rand) (float64, scores) {
		x, y := float32(-8-rnd.Float64()*0.2), float32(rnd.Float64()*0.1)
		arg := float64(float32((x-y)*float32(math.Log2E))) * math.Ln2
		exact := float64(x) - float64(y)
		return math.Abs(math.Expm1(arg - exact)), scores{float64(x), float64(y)}
	})
	return worst * math.Exp(at.s-at.m), expBelow(t, w, "ex2.approx", tile(1, 1, at.s), tile(1, 1, at.m))
}

// mapArgumentWitness is exp(a) as exp2(a·log2 e): the product is rounded, and so is log2 e.
func mapArgumentWitness(t *testing.T, w ref.Weights) (float64, float64) {
	worst, at := worstOf(100000, func(rnd *rand.Rand) (float64, float64) {
		x := float32(-11.2 - rnd.Float64()*0.2)
		arg := float64(float32(x*float32(math.Log2E))) * math.Ln2
		return math.Abs(math.Expm1(arg - float64(x))), float64(x)
	})
	return worst * math.Exp(at), mapped(1, "exp(a)").bound(t, w, tile(1, 1, at))
}

// expSplitWitness is exp2(s·c − m_raw·c), c = softmax_scale·log2 e, judged from an m that was stored as
// m_raw·softmax_scale.
func expSplitWitness(t *testing.T, w ref.Weights) (float64, float64) {
	type scores struct{ s, m, scale float64 }
	worst, at := worstOf(200000, func(rnd *rand.Rand) (float64, scores) {
		sc := 0.0884 * (1 + 0.5*rnd.Float64())
		c := float32(float32(sc) * float32(math.Log2E))
		top := float32(64 + 128*rnd.Float64())
		x := top - float32(rnd.Float64())
		kept := float64(float32(top * float32(sc)))
		arg := float64(float32(x*c)-float32(top*c)) * math.Ln2
		exact := float64(x)*sc - kept
		return math.Abs(arg-exact) / (math.Abs(float64(x)*sc) + math.Abs(kept)), scores{float64(x), kept, sc}
	})
	v := at.s * at.scale
	bound := expBelow(t, w, "ex2.approx", inUnit(tile(1, 1, at.s), at.scale), tile(1, 1, at.m))
	return math.Exp(v-at.m) * math.Expm1(worst*(math.Abs(v)+math.Abs(at.m))), bound
}

// keys is how many cells a row of the sums has.
const keys = 32

// sumWitnesses are the worst cases of sums over a row, with what is carried over.
func sumWitnesses() []witness {
	one, zero := func(x float64) *op.Value { return tile(1, 1, x) }, tile(1, 1, 0)
	rescaled := rig{node: onto(node("rowsum", 1), true)}
	return []witness{
		{op.TermSumAdd, "one by one", func(t *testing.T, w ref.Weights) (float64, float64) {
			e, p, _ := oneByOne(0)
			return e, rig{node: node("rowsum", 1)}.bound(t, w, p)
		}},
		{op.TermSumAdd, "onto l", func(t *testing.T, w ref.Weights) (float64, float64) {
			e, p, old := oneByOne(1)
			return e, rescaled.bound(t, w, p, old, zero, zero)
		}},
		{op.TermSumAdd, "onto, not rescaled", func(t *testing.T, w ref.Weights) (float64, float64) {
			e, p, old := oneByOne(1)
			return e, rig{node: onto(node("rowsum", 1), false)}.bound(t, w, p, old)
		}},
		{op.TermCarry, "l", func(t *testing.T, w ref.Weights) (float64, float64) {
			old, carry, worst := worstProduct()
			return worst, rescaled.bound(t, w, tile(1, keys), one(old), one(math.Log(carry)), zero)
		}},
		{op.TermCarryExp, "l, ex2.approx", func(t *testing.T, w ref.Weights) (float64, float64) {
			return 16 * math.Exp(atWorst) * unitError, rescaled.bound(t, w, tile(1, keys), one(16),
				one(atWorst), zero)
		}},
		{op.TermCarried, "l, not rescaled", func(t *testing.T, w ref.Weights) (float64, float64) {
			return 0x1p-10, rig{node: onto(node("rowsum", 1), false)}.bound(t, w, tile(1, keys),
				off(one(1), 0x1p-10))
		}},
		{op.TermSumOperands, "one sign", func(t *testing.T, w ref.Weights) (float64, float64) {
			s := tile(1, keys)
			for i := range s.M.Data {
				s.M.Data[i] = atWorst
			}
			p := rig{node: node("exp_below", 2), c: probes.Compute{Exp: "ex2.approx"}}.estimate(t, w, s, zero)
			return keys * unitError * math.Exp(atWorst), rig{node: node("rowsum", 1)}.bound(t, w, p)
		}},
	}
}

// worstProduct searches a product of two float32 whose rounding is off by nearly half an ulp
// of a small significand.
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

// oneByOne adds 32 terms of just over half an ulp of 1 one after the other, onto the first of them or onto
// what is carried over.
func oneByOne(old float32) (err float64, p, before *op.Value) {
	const x = float32(0x1p-24 * (1 + 0x1p-10))
	p, before = tile(1, keys), tile(1, 1, float64(old))
	sum, exact := old, float64(old)
	for i := range p.M.Data {
		v := x
		if i == 0 && old == 0 {
			v = 1
		}
		p.M.Data[i] = float64(v)
		sum, exact = sum+v, exact+float64(v)
	}
	return math.Abs(float64(sum) - exact), p, before
}

// weightWitnesses are the worst cases of A·B: apart from what is carried over, and onto it.
func weightWitnesses() []witness {
	tiny := 0x1p-13 * (2 - 0x1p-10)
	product := node("matmul", 2)
	t32 := func(x, y []float64, acc float64) float64 { return tensorDot(fp.MMAF32F16, x, y, acc) }
	zero := tile(1, 1, 0)
	form := func(
		x op.Term, c probes.Compute, first, a, b, old float64,
		kernel func(x, y []float64, acc float64) float64,
	) []witness {
		p, v := pair(keys, first, a, b)
		if x == op.TermCut {
			p, v = sparse(p, v)
		}
		at := func(name string, g rig, more ...*op.Value) witness {
			return witness{x, name, func(t *testing.T, w ref.Weights) (float64, float64) {
				in := append([]*op.Value{tile(1, keys, p...), tile(keys, 1, v...)}, more...)
				return math.Abs(kernel(p, v, old) - dot(p, v) - old), g.bound(t, w, in...)
			}}
		}
		if old == 0 {
			return []witness{
				at("A·B", rig{
					node: product, c: c,
				}), at("apart from U", rig{node: onto(product, true), c: c}, tile(1, 1, 0), zero, zero),
			}
		}
		return []witness{at("onto U", rig{node: onto(product, true), c: c}, tile(1, 1, old), zero, zero),
			at("onto, not rescaled", rig{node: onto(product, false), c: c}, tile(1, 1, old))}
	}
	var all []witness
	all = append(all, form(op.TermAlign, tensor32, 1, 0x1p-13, tiny, 0, t32)...)
	all = append(all, form(op.TermAlign, tensor32, 0, 0x1p-13, tiny, 1, t32)...)
	all = append(all, form(op.TermCut, tensor32, 1, 1.5*0x1p-12, 0x1p-12, 0, t32)...)
	all = append(all, form(op.TermCut, tensor32, 0, 1.5*0x1p-12, 0x1p-12, 1, t32)...)
	all = append(all, form(op.TermChain, fma32, 1, 0x1p-12, 0x1p-12*(1+0x1p-10), 0, fmaDot)...)
	all = append(all, form(op.TermChain, fma32, 0, 0x1p-12, 0x1p-12*(1+0x1p-10), 1, fmaDot)...)
	none, nothing := tile(1, keys), tile(keys, 1)
	rescaled := rig{node: onto(product, true), c: fma32}
	return append(all, []witness{
		{op.TermMerge, "two halves", func(t *testing.T, w ref.Weights) (float64, float64) {
			c := tensor32
			c.Split = 2
			p, v := pair(keys, 1, 0, 0)
			p[16], v[16] = 0x1p-12, 0x1p-12
			g := rig{node: onto(product, true), c: c}
			attained := math.Abs(float64(float32(1)+float32(0x1p-24)) - dot(p, v))
			return attained, g.bound(t, w, tile(1, keys, p...), tile(keys, 1, v...),
				tile(1, 1, 0), zero, zero)
		}},
		{op.TermCarry, "U", func(t *testing.T, w ref.Weights) (float64, float64) {
			old, carry, worst := worstProduct()
			return worst, rescaled.bound(t, w, none, nothing, tile(1, 1, old),
				tile(1, 1, math.Log(carry)), zero)
		}},
		{op.TermCarryExp, "U, ex2.approx", func(t *testing.T, w ref.Weights) (float64, float64) {
			attained := 16 * math.Exp(atWorst) * unitError
			return attained, rescaled.bound(t, w, none, nothing, tile(1, 1, 16), tile(1, 1, atWorst), zero)
		}},
		{op.TermCarried, "U, not rescaled", func(t *testing.T, w ref.Weights) (float64, float64) {
			return 0x1p-10, rig{node: onto(product, false), c: fma32}.bound(t, w, none, nothing,
				off(tile(1, 1, 1), 0x1p-10))
		}},
	}...)
}
