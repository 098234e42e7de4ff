package op_test

import (
	"math"
	"math/rand/v2"
	"strings"
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
	{"a + b", func(a, b float64) float64 { return a + b },
		func(_ *rand.Rand, a, b float32) float32 { return a + b }},
	{"a * b - 3", func(a, b float64) float64 { return a*b - 3 }, func(rnd *rand.Rand, a, b float32) float32 {
		if rnd.IntN(2) == 0 {
			return float32(math.FMA(float64(a), float64(b), -3))
		}
		return float32(a*b) - 3
	}},
	{
		"a / (1 + b * b)", func(a, b float64) float64 { return a / (1 + b*b) },
		func(rnd *rand.Rand, a, b float32) float32 {
			d := 1 + float32(b*b)
			if rnd.IntN(2) == 0 {
				return a * (1 / d)
			}
			return a / d
		},
	},
	{"max(a, -b)", func(a, b float64) float64 { return max(a, -b) },
		func(_ *rand.Rand, a, b float32) float32 { return max(a, -b) }},
	{"min(a, 0.1) + b", func(a, b float64) float64 { return min(a, 0.1) + b },
		func(_ *rand.Rand, a, b float32) float32 { return min(a, 0.1) + b }},
	{"relu(a) * b", func(a, b float64) float64 { return max(a, 0) * b },
		func(_ *rand.Rand, a, b float32) float32 { return max(a, 0) * b }},
	{"exp(a - b)", func(a, b float64) float64 { return math.Exp(a - b) },
		func(rnd *rand.Rand, a, b float32) float32 { return exp32(rnd, a-b) }},
	{
		"log(a * a + 0.5) + b", func(a, b float64) float64 { return math.Log(a*a+0.5) + b },
		func(rnd *rand.Rand, a, b float32) float32 {
			x := float32(a*a) + 0.5
			if rnd.IntN(2) == 0 {
				return float32(unit32(fp.SM90().Lg232, x)*float32(math.Ln2)) + b
			}
			return float32(math.Log(float64(x))) + b
		},
	},
	{
		"sqrt(a * a + 1)", func(a, _ float64) float64 { return math.Sqrt(a*a + 1) },
		func(_ *rand.Rand, a, _ float32) float32 {
			return unit32(fp.SM90().Sqrt32, float32(a*a)+1)
		},
	},
	{
		"b * rsqrt(a * a + 1)", func(a, b float64) float64 { return b / math.Sqrt(a*a+1) },
		func(_ *rand.Rand, a, b float32) float32 {
			return b * unit32(fp.SM90().Rsqrt32, float32(a*a)+1)
		},
	},
	{"log2(a * a + 0.5) + b", func(a, b float64) float64 { return math.Log2(a*a+0.5) + b },
		func(rnd *rand.Rand, a, b float32) float32 {
			x := float32(a*a) + 0.5
			if rnd.IntN(2) == 0 {
				return unit32(fp.SM90().Lg232, x) + b
			}
			return float32(math.Log2(float64(x))) + b
		}},
	{"exp2(a - b)", func(a, b float64) float64 { return math.Exp2(a - b) },
		func(rnd *rand.Rand, a, b float32) float32 {
			if rnd.IntN(2) == 0 {
				return float32(ex2(float64(a - b)))
			}
			return float32(math.Exp2(float64(a - b)))
		}},
	{"erf(a) * b", func(a, b float64) float64 { return math.Erf(a) * b },
		func(_ *rand.Rand, a, b float32) float32 { return erf32(a) * b }},
	{"abs(a - b) * b", func(a, b float64) float64 { return math.Abs(a-b) * b },
		func(_ *rand.Rand, a, b float32) float32 {
			return float32(math.Abs(float64(a-b))) * b
		}},
	{"clamp(a + b, -0.5, 1)", func(a, b float64) float64 { return min(max(a+b, -0.5), 1) },
		func(_ *rand.Rand, a, b float32) float32 {
			return min(max(a+b, -0.5), 1)
		}},
	{"softcap(a * b, 3)", func(a, b float64) float64 { return 3 * math.Tanh(a*b/3) },
		func(rnd *rand.Rand, a, b float32) float32 {
			x := float32(a*b) / 3
			if rnd.IntN(2) == 0 {
				x = float32(a*b) * float32(1.0/3)
			}
			return 3 * float32(math.Tanh(float64(x)))
		}},
	{"tanh(a)", func(a, _ float64) float64 { return math.Tanh(a) },
		func(_ *rand.Rand, a, _ float32) float32 { return float32(math.Tanh(float64(a))) }},
	{"sigmoid(a)", func(a, _ float64) float64 { return 1 / (1 + math.Exp(-a)) },
		func(rnd *rand.Rand, a, _ float32) float32 { return 1 / (1 + exp32(rnd, -a)) }},
	{
		"silu(a + b)", func(a, b float64) float64 { return (a + b) / (1 + math.Exp(-a-b)) },
		func(rnd *rand.Rand, a, b float32) float32 {
			x := a + b
			if rnd.IntN(2) == 0 {
				return x * (1 / (1 + exp32(rnd, -x)))
			}
			return x / (1 + exp32(rnd, -x))
		},
	},
	{
		"gelu(a)", func(a, _ float64) float64 { return 0.5 * a * (1 + math.Erf(a/math.Sqrt2)) },
		func(_ *rand.Rand, a, _ float32) float32 {
			return float32(0.5*a) * (1 + erf32(a*float32(1/math.Sqrt2)))
		},
	},
	{"gelu_tanh(a)", func(a, _ float64) float64 {
		return 0.5 * a * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(a+0.044715*a*a*a)))
	}, func(_ *rand.Rand, a, _ float32) float32 {
		x := float32(math.Sqrt(2/math.Pi)) * (a + float32(0.044715*a)*float32(a*a))
		return float32(0.5*a) * (1 + float32(math.Tanh(float64(x))))
	}},
}

// Every expression is what it is by definition, and no right kernel exceeds the bound; an operand of one row
// or one column counts for all.
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
				x := trial{
					rig: mapped(2, m.expr), in: []*op.Value{random(rnd, probes.F32, rows, cols), b},
					moving: 2,
					exact: func(in []op.Matrix, r, c int) float64 {
						x, y := at(in, r, c)
						return m.exact(x, y)
					},
					kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
						x, y := at(in, r, c)
						return float64(m.kernel(rnd, float32(x), float32(y)))
					},
				}
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
		if want := out.M.Data[0]; !(math.Abs(float64(c.got)-want) <= bound) ||
			bound > math.Abs(want)*1.001+0x1p-149 {
			t.Errorf("%s of %g: a right kernel has %g, bound %g around %g", c.expr, c.a, c.got, bound, want)
		}
	}
	if b := mapped(2, "a / b").bound(t, nil, tile(1, 1, 1), off(tile(1, 1, 0.5), 0.5)); !math.IsInf(b, 1) {
		t.Errorf("the divisor may be 0, the bound is %g", b)
	}
}

// By the instruction that the stage's compute names a function has the chip's own bits, and its own bound.
func TestMapByInstruction(t *testing.T) {
	chip := fp.SM90()
	tanh := func(x uint32, _ bool) uint32 { return chip.Tanh32(x) }
	rnd := rand.New(rand.NewPCG(15, 2))
	for _, c := range []struct {
		function, by string
		f            func(x float32) float32
		exact        func(float64) float64
	}{
		{"tanh", "tanh.approx", func(x float32) float32 { return unit32(tanh, x) }, math.Tanh},
		{"log", "lg2.approx", func(x float32) float32 { return unit32(chip.Lg232, x) * math.Ln2 }, math.Log},
		{"log", "logf", func(x float32) float32 { return float32(math.Log(float64(x))) }, math.Log},
		{"log2", "lg2.approx", func(x float32) float32 { return unit32(chip.Lg232, x) }, math.Log2},
		{"exp2", "ex2.approx", func(x float32) float32 { return unit32(chip.Ex232, x) }, math.Exp2},
	} {
		for range 500 {
			x := float32(min(math.Exp(2*rnd.NormFloat64()), 100))
			g := mapped(1, c.function+"(a)")
			g.c.By = map[string]string{c.function: c.by}
			in := tile(1, 1, float64(x))
			got, want := float64(c.f(x)), c.exact(float64(x))
			if e, b := math.Abs(got-want), g.bound(t, nil, in); !(e <= b) {
				t.Fatalf("%s by %s of %g: off by %g, bound %g", c.function, c.by, x, e, b)
			}
			if m := mirrored(t, g, in).Data[0]; m != got {
				t.Fatalf("%s by %s of %g: mirrored %g, the chip gives %g", c.function, c.by, x, m, got)
			}
		}
	}
	near := tile(1, 1, 1.0001)
	lg2, logf := mapped(1, "log(a)"), mapped(1, "log(a)")
	logf.c.By = map[string]string{"log": "logf"}
	if a, b := lg2.bound(t, nil, near), logf.bound(t, nil, near); !(b < a/100) {
		t.Errorf("near 1 the bound of lg2.approx is %g, of logf %g", a, b)
	}
	approx := mapped(1, "gelu_tanh(a)")
	plain := approx.bound(t, nil, near)
	approx.c.By = map[string]string{"tanh": "tanh.approx"}
	k, _, _ := approx.bind(t, nil, []*op.Value{near})
	said := strings.Contains(k.Reason(), "tanh.approx to 2^-16")
	if b := approx.bound(t, nil, near); !(b > 5*plain) || !said {
		t.Errorf("gelu by tanh.approx: bound %g, %g by tanhf; %s", b, plain, k.Reason())
	}
}

// Where a function is flat the error of its argument moves it little.
func TestMapSaturates(t *testing.T) {
	for _, f := range []string{"tanh(a)", "erf(a)", "clamp(a, -1, 1)", "relu(-a)"} {
		if b := mapped(1, f).bound(t, nil, off(tile(1, 1, 20), 1)); b > 0x1p-20 {
			t.Errorf("%s of 20±1 may be off by %g", f, b)
		}
	}
}

// Positions and constants of the launch stand for numbers of the cell's block and iteration, and whole
// numbers are exact: a bias that is linear in the distance costs the roundings of its slope, of the product
// and of the sum.
func TestMapIndices(t *testing.T) {
	g := mapped(1, "a + slope * (key + c - query - r)")
	g.node.Params.Number["slope"] = 0.25
	g.node.Params.Index["key"] = []probes.Extent{{Dims: [4]int{1, 1, 1, 2}, Values: []int{0, 16}}}
	g.node.Params.Index["query"] = []probes.Extent{{Dims: [4]int{2, 1, 1, 1}, Values: []int{0, 64}}}
	in := []*op.Value{tile(3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)}
	k, ext, _ := g.bind(t, nil, in)
	at := &op.Tile{Block: probes.Dim3{1, 0, 0}, Iter: 1, Rows: 3, Cols: 4}
	for _, f := range []func(*op.Tile, []*op.Value, *op.Value){k.Exact, k.Estimate, k.Mirror} {
		out := &op.Value{M: op.NewMatrix(ext[0], ext[1]), Err: op.NewMatrix(ext[0], ext[1]), Unit: 1}
		f(at, in, out)
		for r := range 3 {
			for c := range 4 {
				if want := in[0].M.At(r, c) + 0.25*float64(16+c-64-r); out.M.At(r, c) != want {
					t.Fatalf("(%d,%d) is %g, want %g", r, c, out.M.At(r, c), want)
				}
			}
		}
		if e := out.Err.At(0, 0); e > 0x1p-24*(12+11)*1.001 {
			t.Errorf("(0,0) may be off by %g", e)
		}
	}
	for c, want := range map[probes.DType]float64{probes.F32: 0, probes.F16: 0x1p-11 * 4095} {
		whole := mapped(1, "4095 * (c + 1)")
		whole.c.Acc = c
		if e := whole.estimate(t, nil, tile(1, 1, 0)).Err.Data[0]; e < want || e > 3*want {
			t.Errorf("the whole number 4095 in %s may be off by %g", c, e)
		}
	}
}

// An expression's suspects predict what a kernel with that mistake has.
func TestMapSuspects(t *testing.T) {
	g := mapped(2, "a + b * (query + c)")
	g.node.Params.Index["query"] = []probes.Extent{probes.Fixed(8)}
	in := []*op.Value{tile(1, 2, 1, 2), tile(1, 2, 0.5, 0.25)}
	got := predictions(t, g, in)
	for value, want := range map[string][2]float64{
		"b left out: taken as 0": {1, 2}, "b left out: taken as 1": {9, 11},
		"query left out: taken as 0": {1, 2.25},
		"c counted from 1":           {5.5, 4.5}, "c counted from -1": {4.5, 4},
	} {
		if p := got[value]; len(p) != 2 || p[0] != want[0] || p[1] != want[1] {
			t.Errorf("%s: predicted %v, want %v", value, p, want)
		}
	}
}

// predictions are what an operation's suspects say of all cells, by their values.
func predictions(t *testing.T, g rig, in []*op.Value) map[string][]float64 {
	t.Helper()
	k, ext, env := g.bind(t, nil, in)
	made := func() op.Matrix { return op.NewMatrix(ext[0], ext[1]) }
	e := &op.Value{M: made(), Err: made(), Unit: env.Unit}
	at := op.Tile{Rows: ext[0], Cols: ext[1]}
	k.Estimate(&at, in, e)
	sc := &op.Scene{Tile: at, Kernel: k, In: in, Out: e, Ref: e.M, Pre: e.Err, Stride: ext[1],
		Coefs: env.Coefs}
	for i := range e.M.Data {
		sc.Cells = append(sc.Cells, i)
	}
	out := map[string][]float64{}
	for _, s := range k.(op.Suspicious).Suspects(nil) {
		sc.Wrong = len(sc.Cells)
		v, pre := make([]float64, len(sc.Cells)), make([]float64, len(sc.Cells))
		if s.Name == "" {
			t.Errorf("%s has no name", s.Value)
		}
		if s.Predict(sc, v, pre) {
			out[s.Value] = v
		}
	}
	return out
}

// An operation computed in half is allowed half's roundings.
func TestMapInHalf(t *testing.T) {
	g := mapped(2, "a + b")
	full := g.estimate(t, nil, tile(1, 1, 1), tile(1, 1, 1)).Err.Data[0]
	g.c.Acc = probes.F16
	if half := g.estimate(t, nil, tile(1, 1, 1), tile(1, 1, 1)).Err.Data[0]; full != 2*0x1p-24 ||
		half != 2*0x1p-11 {
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
		{node("map", 1, "expr", "clamp(a, 1)", "names", "a"), one, "no function clamp of 2 arguments"},
		{node("map", 1, "expr", "a + key", "names", "a"), one, `no operand "key"`},
		{node("map", 1, "expr", "\"a\"", "names", "a"), one, "is not arithmetic"},
		{node("map", 1, "expr", "a", "names", "a,b"), one, "map has 1 operands and 2 names"},
		{node("map", 2, "expr", "a + b", "names", "a,b"), []op.Extent{{2, 3}, {2, 2}},
			"map: b is 2×2, which does not fit 2×3"},
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
