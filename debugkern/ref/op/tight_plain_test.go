package op_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// mapped is an expression over n operands a, b, ….
func mapped(n int, expr string) rig {
	return rig{
		node: node("map", n, "expr", expr, "names", strings.Join(strings.Split("abcdef"[:n], ""), ",")),
	}
}

// plainWitnesses are the worst cases of map, reduce and divide.
func plainWitnesses() []witness {
	const u, l = float32(1.999), float32(1.9327254)
	divided := math.Abs(fp.F32ToFloat64(fp.SM90().DivFull32(fp.Bits32(u), fp.Bits32(l), false)) -
		float64(u)/float64(l))
	quotient := func(name string, g rig) witness {
		return witness{op.TermDivide, name, func(t *testing.T, w ref.Weights) (float64, float64) {
			return divided, g.bound(t, w, tile(1, 1, float64(u)), tile(1, 1, float64(l)))
		}}
	}
	const d = 0x1p-12
	moved := func(x op.Term, dx, dy float64) witness {
		return witness{x, "alone", func(t *testing.T, w ref.Weights) (float64, float64) {
			a, b := tile(1, 1, 3), tile(1, 1, 2)
			return math.Abs((3+dx)/(2-dy) - 1.5), rig{node: node("divide", 2)}.bound(t, w,
				off(a, dx), off(b, dy))
		}}
	}
	return []witness{
		quotient("div.full", rig{node: node("divide", 2)}),
		quotient("map", mapped(2, "a / b")),
		moved(op.TermNumerator, d, 0),
		moved(op.TermDenominator, 0, d),
		{op.TermRound, "map, sums of one sign", func(t *testing.T, w ref.Weights) (float64, float64) {
			const x = float32(0x1p-24 * (1 + 0x1p-10))
			sum := float32(1) + x + x + x + x + x
			exact := 1 + 5*float64(x)
			in := []*op.Value{tile(1, 1, 1)}
			for range 5 {
				in = append(in, tile(1, 1, float64(x)))
			}
			return math.Abs(float64(sum) - exact), mapped(6, "a + b + c + d + e + f").bound(t, w, in...)
		}},
		{op.TermRound, "map, a product", func(t *testing.T, w ref.Weights) (float64, float64) {
			a, b, worst := worstProduct()
			return worst, mapped(2, "a * b").bound(t, w, tile(1, 1, a), tile(1, 1, b))
		}},
		{op.TermRound, "reduce, sum", func(t *testing.T, w ref.Weights) (float64, float64) {
			e, p, _ := oneByOne(0)
			return e, rig{node: node("reduce", 1, "how", "sum")}.bound(t, w, p)
		}},
		{op.TermRound, "reduce, mean", func(t *testing.T, w ref.Weights) (float64, float64) {
			e, p, _ := oneByOne(0)
			return e / keys, rig{node: node("reduce", 1, "how", "mean")}.bound(t, w, p)
		}},
		{op.TermUnit, "x·rsqrt.approx(x) for sqrt", func(t *testing.T, w ref.Weights) (float64, float64) {
			worst, at := worstOf(20000, func(rnd *rand.Rand) (float64, float64) {
				x := float32(1 + 3*rnd.Float64())
				got := x * float32(fp.F32ToFloat64(fp.SM90().Rsqrt32(fp.Bits32(x), false)))
				return math.Abs(float64(got)/math.Sqrt(float64(x)) - 1), float64(x)
			})
			return worst * math.Sqrt(at), mapped(1, "sqrt(a)").bound(t, w, tile(1, 1, at))
		}},
		{op.TermProduct, "scale, stored as f16", func(t *testing.T, w ref.Weights) (float64, float64) {
			a, b, worst := worstProduct()
			g := rig{node: node("scale", 2), dtype: probes.F16}
			g.c.Acc = probes.F32
			return worst, g.bound(t, w, tile(1, 1, a), tile(1, 1, b))
		}},
		{op.TermProduct, "scale, carried over", func(t *testing.T, w ref.Weights) (float64, float64) {
			a, b, worst := worstProduct()
			g := rig{node: onto(node("scale", 2), false), c: fma32}
			return worst, g.bound(t, w, tile(1, 1, a), tile(1, 1, b), tile(1, 1, 0))
		}},
		{op.TermScale, "scale, 1/sqrt(96)", func(t *testing.T, w ref.Weights) (float64, float64) {
			factor := 1 / math.Sqrt(96)
			return math.Abs(float64(float32(factor)) - factor), times(factor).bound(t, w, tile(1, 1, 1))
		}},
		{op.TermScale, "dropout", func(t *testing.T, w ref.Weights) (float64, float64) {
			keep := 0.83
			divided := math.Abs(1/float64(float32(keep)) - 1/keep)
			attained := max(divided, math.Abs(float64(float32(1/keep))-1/keep))
			g := dropping(keep, [4]string{"0", "0", "0", "0"})
			return attained, g.bound(t, w, tile(1, 1, 1))
		}},
		{op.TermProduct, "dropout, stored as f16", func(t *testing.T, w ref.Weights) (float64, float64) {
			keep, worst, at := 0.83, 0.0, 1.0
			for i := range 4000 {
				x := 0.84 + float32(i)/1048576
				f := float32(1 / keep)
				if e := math.Abs(float64(x*f) - float64(x)*float64(f)); e > worst {
					worst, at = e, float64(x)
				}
			}
			g := dropping(keep, [4]string{"0", "0", "0", "0"})
			g.c.Acc, g.dtype = probes.F32, probes.F16
			return worst, g.bound(t, w, tile(1, 1, at))
		}},
		{op.TermOperands, "scale", func(t *testing.T, w ref.Weights) (float64, float64) {
			const d = 0x1p-12
			return 2*d + d*d, rig{node: node("scale", 2)}.bound(t, w, off(tile(1, 1, 1), d),
				off(tile(1, 1, 1), d))
		}},
		{op.TermTanh, "tanh.approx", func(t *testing.T, w ref.Weights) (float64, float64) {
			worst, at := worstOf(200000, func(rnd *rand.Rand) (float64, float64) {
				x := float32(2 * rnd.Float64())
				want := math.Tanh(float64(x))
				return math.Abs(fp.F32ToFloat64(fp.SM90().Tanh32(fp.Bits32(x)))/want - 1), float64(x)
			})
			g := mapped(1, "tanh(a)")
			g.c.By = map[string]string{"tanh": "tanh.approx"}
			return worst * math.Tanh(at), g.bound(t, w, tile(1, 1, at))
		}},
		{op.TermLog, "log2 by lg2.approx near 1", func(t *testing.T, w ref.Weights) (float64, float64) {
			worst, at := worstLog(math.Log2, 1)
			return worst, mapped(1, "log2(a)").bound(t, w, tile(1, 1, at))
		}},
		{op.TermLog, "lg2.approx near 1", func(t *testing.T, w ref.Weights) (float64, float64) {
			worst, at := worstLog(math.Log, math.Ln2)
			return worst, mapped(1, "log(a)").bound(t, w, tile(1, 1, at))
		}},
	}
}
