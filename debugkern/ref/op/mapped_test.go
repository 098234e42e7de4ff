package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// unit32 evaluates a function by the chip's unit, as a kernel does.
func unit32(f func(a uint32, ftz bool) uint32, x float32) float32 {
	return float32(fp.F32ToFloat64(f(fp.Bits32(x), false)))
}

func erf32(x float32) float32 { return float32(math.Erf(float64(x))) }

// maps are expressions over a and b, exact, and computed by right kernels.
var maps = []struct {
	expr   string
	exact  func(a, b float64) float64
	kernel func(rnd *rand.Rand, a, b float32) float32
}{
	{"a + b", func(a, b float64) float64 { return a + b }, func(_ *rand.Rand, a, b float32) float32 { return a + b }},
	{"a * b - 3", func(a, b float64) float64 { return a*b - 3 }, func(rnd *rand.Rand, a, b float32) float32 {
		if rnd.IntN(2) == 0 {
			return float32(math.FMA(float64(a), float64(b), -3))
		}
		return float32(a*b) - 3
	}},
	{"a / (1 + b * b)", func(a, b float64) float64 { return a / (1 + b*b) }, func(rnd *rand.Rand, a, b float32) float32 {
		d := 1 + float32(b*b)
		if rnd.IntN(2) == 0 {
			return a * (1 / d)
		}
		return a / d
	}},
	{"max(a, -b)", func(a, b float64) float64 { return max(a, -b) }, func(_ *rand.Rand, a, b float32) float32 { return max(a, -b) }},
	{"min(a, 0.1) + b", func(a, b float64) float64 { return min(a, 0.1) + b }, func(_ *rand.Rand, a, b float32) float32 { return min(a, 0.1) + b }},
	{"relu(a) * b", func(a, b float64) float64 { return max(a, 0) * b }, func(_ *rand.Rand, a, b float32) float32 { return max(a, 0) * b }},
	{"exp(a - b)", func(a, b float64) float64 { return math.Exp(a - b) }, func(rnd *rand.Rand, a, b float32) float32 { return exp32(rnd, a-b) }},
	{"log(a * a + 0.5) + b", func(a, b float64) float64 { return math.Log(a*a+0.5) + b }, func(rnd *rand.Rand, a, b float32) float32 {
		x := float32(a*a) + 0.5
		if rnd.IntN(2) == 0 {
			return float32(unit32(fp.SM90().Lg232, x)*float32(math.Ln2)) + b
		}
		return float32(math.Log(float64(x))) + b
	}},
	{"sqrt(a * a + 1)", func(a, _ float64) float64 { return math.Sqrt(a*a + 1) }, func(_ *rand.Rand, a, _ float32) float32 {
		return unit32(fp.SM90().Sqrt32, float32(a*a)+1)
	}},
	{"b * rsqrt(a * a + 1)", func(a, b float64) float64 { return b / math.Sqrt(a*a+1) }, func(_ *rand.Rand, a, b float32) float32 {
		return b * unit32(fp.SM90().Rsqrt32, float32(a*a)+1)
	}},
	{"tanh(a)", func(a, _ float64) float64 { return math.Tanh(a) }, func(_ *rand.Rand, a, _ float32) float32 { return float32(math.Tanh(float64(a))) }},
	{"sigmoid(a)", func(a, _ float64) float64 { return 1 / (1 + math.Exp(-a)) }, func(rnd *rand.Rand, a, _ float32) float32 { return 1 / (1 + exp32(rnd, -a)) }},
	{"silu(a + b)", func(a, b float64) float64 { return (a + b) / (1 + math.Exp(-a-b)) }, func(rnd *rand.Rand, a, b float32) float32 {
		x := a + b
		if rnd.IntN(2) == 0 {
			return x * (1 / (1 + exp32(rnd, -x)))
		}
		return x / (1 + exp32(rnd, -x))
	}},
	{"gelu(a)", func(a, _ float64) float64 { return 0.5 * a * (1 + math.Erf(a/math.Sqrt2)) }, func(_ *rand.Rand, a, _ float32) float32 {
		return float32(0.5*a) * (1 + erf32(a*float32(1/math.Sqrt2)))
	}},
	{"gelu_tanh(a)", func(a, _ float64) float64 {
		return 0.5 * a * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(a+0.044715*a*a*a)))
	}, func(_ *rand.Rand, a, _ float32) float32 {
		x := float32(math.Sqrt(2/math.Pi)) * (a + float32(0.044715*a)*float32(a*a))
		return float32(0.5*a) * (1 + float32(math.Tanh(float64(x))))
	}},
}

// Every expression is what it is by definition, and no right kernel exceeds the bound; an operand of one row or one column counts for
// all.
func TestMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 1))
	for _, m := range maps {
		t.Run(m.expr, func(t *testing.T) {
			for n := range 100 {
				rows, cols := 1+rnd.IntN(4), 1+rnd.IntN(6)
				b := random(rnd, probes.F32, []int{rows, 1, rows}[n%3], []int{cols, cols, 1}[n%3])
				at := func(in []op.Matrix, r, c int) (x, y float64) {
					return in[0].At(r, c), in[1].At(min(r, in[1].Rows-1), min(c, in[1].Cols-1))
				}
				x := trial{rig: mapped(2, m.expr), in: []*op.Value{random(rnd, probes.F32, rows, cols), b}, moving: 2,
					exact: func(in []op.Matrix, r, c int) float64 { x, y := at(in, r, c); return m.exact(x, y) },
					kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
						x, y := at(in, r, c)
						return float64(m.kernel(rnd, float32(x), float32(y)))
					}}
				x.check(t, rnd)
			}
		})
	}
}

// exp loses by the size of its argument, and where the divisor is infinite in float32 the quotient is 0.
func TestMapFarOut(t *testing.T) {
	for _, c := range []struct {
		expr string
		a    float64
		got  float32
	}{
		{"exp(a)", -30, float32(ex2(float64(-30 * float32(math.Log2E))))},
		{"exp(a)", -80, float32(ex2(float64(-80 * float32(math.Log2E))))},
		{"silu(a)", -88.8, 0},
		{"sigmoid(a)", -100, 0},
		{"log(a)", 1.0001, unit32(fp.SM90().Lg232, 1.0001) * float32(math.Ln2)},
	} {
		out := mapped(1, c.expr).estimate(t, nil, tile(1, 1, float64(float32(c.a))))
		bound := mapped(1, c.expr).bound(t, nil, tile(1, 1, float64(float32(c.a))))
		if want := out.M.Data[0]; !(math.Abs(float64(c.got)-want) <= bound) || bound > math.Abs(want)*1.001+0x1p-149 {
			t.Errorf("%s of %g: a right kernel has %g, bound %g around %g", c.expr, c.a, c.got, bound, want)
		}
	}
	if b := mapped(2, "a / b").bound(t, nil, tile(1, 1, 1), off(tile(1, 1, 0.5), 0.5)); !math.IsInf(b, 1) {
		t.Errorf("the divisor may be 0, the bound is %g", b)
	}
}

// An operation computed in half is allowed half's roundings.
func TestMapInHalf(t *testing.T) {
	g := mapped(2, "a + b")
	full := g.estimate(t, nil, tile(1, 1, 1), tile(1, 1, 1)).Err.Data[0]
	g.c.Acc = probes.F16
	if half := g.estimate(t, nil, tile(1, 1, 1), tile(1, 1, 1)).Err.Data[0]; full != 2*0x1p-24 || half != 2*0x1p-11 {
		t.Errorf("a sum of 2 in f32 may be off by %g, in f16 by %g", full, half)
	}
}

func TestMapBinds(t *testing.T) {
	one := []op.Extent{{2, 3}}
	checkBindErrors(t, []bindError{
		{node("map", 1, "expr", "a +", "names", "a"), one, `map "a +"`},
		{node("map", 1, "expr", "a + z", "names", "a"), one, `no operand "z"; it has a`},
		{node("map", 1, "expr", "a % 2", "names", "a"), one, "unknown operator %"},
		{node("map", 1, "expr", "fold(a)", "names", "a"), one, "no function fold of 1 arguments"},
		{node("map", 1, "expr", "exp(a, a)", "names", "a"), one, "no function exp of 2 arguments"},
		{node("map", 1, "expr", "\"a\"", "names", "a"), one, "is not arithmetic"},
		{node("map", 1, "expr", "a", "names", "a,b"), one, "map has 1 operands and 2 names"},
		{node("map", 2, "expr", "a + b", "names", "a,b"), []op.Extent{{2, 3}, {2, 2}}, "map: b is 2×2, which does not fit 2×3"},
	})
	a, b := tile(2, 3), tile(1, 3)
	g := mapped(2, "a + b")
	checkNeeds(t, g, []*op.Value{a, b}, op.SameCell, op.SameCell)
	checkReads(t, g, []*op.Value{a, b}, nil, 0, 0, 3, true, false)
	a.Rows, a.Cols, b.Cols = 1, 3, 2
	k, _, _ := g.bind(t, nil, []*op.Value{a, b})
	if rows, cols := k.Valid(nil, []*op.Value{a, b}); rows != 1 || cols != 2 {
		t.Errorf("%d×%d cells hold numbers, want 1×2", rows, cols)
	}
}
