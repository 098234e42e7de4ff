package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// masking is a mask of rules, with a number in hidden cells where it is not −Inf.
func masking(rules probes.Mask, fill ...float64) rig {
	g := rig{node: node("mask", 1)}
	g.node.Params.Mask = rules
	if len(fill) > 0 {
		g.node.Params.Number["fill"] = fill[0]
	}
	return g
}

func TestMask(t *testing.T) {
	rnd := rand.New(rand.NewPCG(16, 1))
	for n := range 200 {
		rows, cols := 1+rnd.IntN(5), 1+rnd.IntN(8)
		fill := []float64{math.Inf(-1), 0, -1e9}[n%3]
		g := masking(lowerTriangle, fill)
		g.dtype = []probes.DType{probes.F32, probes.F16}[n%2]
		stored := op.RoundTo(g.dtype, fill) // -1e9 is −Inf in half
		at := func(in []op.Matrix, r, c int) float64 {
			if c > r {
				return stored
			}
			return in[0].At(r, c)
		}
		x := trial{rig: g, in: []*op.Value{random(rnd, probes.F32, rows, cols)}, moving: 1, exact: at,
			kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 { return at(in, r, c) }}
		x.check(t, rnd)
	}
}

// What a mask lets through has the error of its operand, and is rounded only where its type is the narrower
// one; what it hides is exact.
func TestMaskErrors(t *testing.T) {
	scores := off(tile(2, 2, 1, 2, 3, 4), 0x1p-10)
	for _, c := range []struct {
		operand, dtype probes.DType
		half           float64
	}{
		{probes.F32, probes.F32, 0}, {probes.F16, probes.F32, 0}, {probes.F16, probes.F16, 0},
		{probes.F32, probes.F16, 0x1p-11}, {probes.F64, probes.F32, 0x1p-24},
	} {
		g := masking(lowerTriangle)
		g.dtype, g.dtypes = c.dtype, []probes.DType{c.operand}
		b := g.bounds(t, nil, scores)
		want := (0x1p-10 + c.half) * (1 + 0x1p-16)
		if math.Abs(b.Data[0]-want) > 1e-15 || b.Data[1] != 0 {
			t.Errorf("%s from %s: bounds %g and %g, want %g and 0", c.dtype, c.operand, b.Data[0],
				b.Data[1], want)
		}
	}
	shared := tile(1, 2, 1, 2)
	shared.Factor, shared.Origin = []float64{0.5}, 7
	if out := masking(lowerTriangle, 0).estimate(t, nil, shared); out.Factor == nil || out.Origin != 7 {
		t.Error("zeros in hidden cells have any factor, but the operand's is lost")
	}
	out := masking(lowerTriangle).estimate(t, nil, shared)
	if out.Factor != nil || out.Err.Data[0] < math.Expm1(0.5) {
		t.Errorf("−Inf has no factor: the visible cell may be off by %g", out.Err.Data[0])
	}
}

// A row without any key has maximum −Inf, probabilities 0, sum 0, and an output of 0 or NaN as the manifest
// says; the other rows are what they are without it.
func TestRowWithoutKeys(t *testing.T) {
	second := probes.Mask{{{Base: probes.Fixed(-1), Row: 1}}} // r >= 1
	scores := off(tile(2, 3, 1, 2, 3, 1, 2, 3), 0x1p-12)
	hidden := masking(second).estimate(t, nil, scores)
	hidden.Rows, hidden.Cols = 2, 3
	m := rig{node: node("rowmax", 1)}.estimate(t, nil, hidden)
	p := rig{node: node("exp_below", 2)}.estimate(t, nil, hidden, m)
	p.Cols = 3
	l := rig{node: onto(node("rowsum", 1), true)}.estimate(t, nil, p, none(2, 1), none(2, 1), m)
	v := tile(3, 2, 1, 2, 3, 4, 5, 6)
	u := rig{node: onto(node("matmul", 2), true), c: fma32}.estimate(t, nil, p, v, none(2, 2), none(2, 1), m)
	if !math.IsInf(m.M.Data[0], -1) || p.M.Data[0] != 0 || l.M.Data[0] != 0 || u.M.Data[0] != 0 {
		t.Errorf("m %v, P %v, l %v, U %v", m.M.Data, p.M.Data, l.M.Data, u.M.Data)
	}
	if m.Err.Data[0] != 0 || p.Err.Data[0] != 0 || l.Err.Data[0] != 0 || u.Err.Data[0] != 0 {
		t.Errorf("they may be off by %g, %g, %g, %g", m.Err.Data[0], p.Err.Data[0], l.Err.Data[0],
			u.Err.Data[0])
	}
	for _, c := range []struct {
		empty string
		nan   bool
	}{{"zero", false}, {"nan", true}, {"", true}} {
		g := rig{node: node("divide", 2, "empty", c.empty)}
		o := g.estimate(t, nil, u, l)
		if math.IsNaN(o.M.Data[0]) != c.nan || !c.nan &&
			(o.M.Data[0] != 0 || g.bounds(t, nil, u, l).Data[0] != 0) {
			t.Errorf("empty: %q gives %g, off by up to %g", c.empty, o.M.Data[0], o.Err.Data[0])
		}
		whole := rig{node: node("divide", 2)}.estimate(t, nil, tile(1, 2, u.M.Row(1)...),
			tile(1, 1, l.M.Data[1]))
		if o.M.At(1, 0) != whole.M.Data[0] || !(o.Err.At(1, 0) < 1e-2) {
			t.Errorf("the next row is %g ± %g", o.M.At(1, 0), o.Err.At(1, 0))
		}
		if x := mirrored(t, g, u, l).Data[0]; math.IsNaN(x) != c.nan {
			t.Errorf("empty: %q gives %g, mirrored", c.empty, x)
		}
	}
	doubtful := rig{node: node("divide", 2, "empty", "zero")}
	if b := doubtful.bound(t, nil, tile(1, 1, 1), off(tile(1, 1, 0), 1)); !math.IsInf(b, 1) {
		t.Errorf("a divisor that is 0 by chance: bound %g", b)
	}
}

// A carried row that has seen nothing so far goes on from nothing.
func TestRowWithoutKeysSoFar(t *testing.T) {
	minus := math.Inf(-1)
	m := rig{node: node("rowmax", 2)}.estimate(t, nil, tile(2, 1, minus, 3), tile(2, 1, minus, minus))
	if !math.IsInf(m.M.Data[0], -1) || m.M.Data[1] != 3 {
		t.Errorf("maxima %v", m.M.Data)
	}
	p := rig{node: node("exp_below", 2)}.estimate(t, nil, tile(2, 1, minus, 3), m)
	sum := rig{node: onto(node("rowsum", 1), true)}
	l := sum.estimate(t, nil, p, tile(2, 1, 0, 0), tile(2, 1, minus, minus), m)
	if l.M.Data[0] != 0 || l.M.Data[1] != 1 || l.Err.Data[0] != 0 {
		t.Errorf("sums %v, off by %v", l.M.Data, l.Err.Data)
	}
}

// A uniform softmax gives nothing to what a mask hid before.
func TestUniformOfMasked(t *testing.T) {
	in := []*op.Value{tile(1, 4, 1, math.Inf(-1), 3, 0), tile(1, 1)}
	in[0].Cols = 3
	k, _, _ := rig{node: node("exp_below", 2)}.bind(t, nil, in)
	out := tile(1, 4)
	k.(op.Uniform).Uniform(&op.Tile{Rows: 1, Cols: 4}, in, out)
	for i, want := range []float64{0.25, 0, 0.25, 0} {
		if out.M.Data[i] != want {
			t.Fatalf("uniform %v", out.M.Data)
		}
	}
}

// mistaken is what an operation gives with each of its wrong masks, by their values.
func mistaken(t *testing.T, g rig, at op.Tile, in []*op.Value) map[string][]float64 {
	t.Helper()
	k, ext, env := g.bind(t, nil, in)
	out := map[string][]float64{}
	for _, m := range k.(op.Mistaken).Mistakes() {
		if m.Name != "" {
			continue // no mask's
		}
		v := &op.Value{M: op.NewMatrix(ext[0], ext[1]), Err: op.NewMatrix(ext[0], ext[1]), Unit: env.Unit}
		at.Rows, at.Cols = ext[0], ext[1]
		m.Kernel.Estimate(&at, in, v)
		if _, twice := out[m.Value]; twice {
			t.Errorf("two mistakes are called %s", m.Value)
		}
		out[m.Value] = v.M.Data
	}
	return out
}

func checkMistakes(t *testing.T, got, want map[string][]float64) {
	t.Helper()
	for value, want := range want {
		if !slices.Equal(got[value], want) {
			t.Errorf("%s: %v, want %v", value, got[value], want)
		}
	}
	for value := range got {
		if want[value] == nil {
			t.Errorf("a mistake called %s", value)
		}
	}
}

// Masks are left out, moved, and lose the tile's position or their offset; of several rules each does.
func TestMaskMistakes(t *testing.T) {
	x := []*op.Value{tile(2, 3, 1, 2, 3, 4, 5, 6)}
	// in iteration 1 c <= r + 1
	causal := probes.Linear{
		Base: probes.Extent{Dims: [4]int{1, 1, 1, 2}, Values: []int{0, 1}}, Row: 1, Col: -1,
	}
	checkMistakes(t, mistaken(t, masking(probes.Mask{{causal}}, -5), op.Tile{Iter: 1}, x),
		map[string][]float64{
			"moved by one column to the right": {1, 2, 3, 4, 5, 6},
			"moved by one column to the left":  {1, -5, -5, 4, 5, -5},
			"left out: hidden cells take part": {1, 2, 3, 4, 5, 6},
			"inverted":                         {-5, -5, 3, -5, -5, -5},
			"without the tile's position":      {1, -5, -5, 4, 5, -5},
		})
	offset := probes.Linear{Base: probes.Fixed(2), Row: 0, Col: -1} // c <= 2
	g := masking(probes.Mask{{causal}, {offset}}, -5)
	g.node.Params.Word = map[string]string{"mask.0": "key + c <= query + r", "mask.1": "c <= 2"}
	checkMistakes(t, mistaken(t, g, op.Tile{Iter: 0}, x), map[string][]float64{ // causal
		"moved by one column to the right": {1, 2, -5, 4, 5, 6},
		"moved by one column to the left":  {-5, -5, -5, 4, -5, -5},
		"left out: hidden cells take part": {1, 2, 3, 4, 5, 6},
		"inverted":                         {-5, 2, 3, -5, -5, 6},
		"without the tile's position":      {1, -5, -5, 4, 5, -5},

		"the rule key + c <= query + r left out":                         {1, 2, 3, 4, 5, 6},
		"the rule key + c <= query + r moved by one column to the right": {1, 2, -5, 4, 5, 6},
		"the rule key + c <= query + r moved by one column to the left":  {-5, -5, -5, 4, -5, -5},
		"the rule key + c <= query + r without the tile's position":      {1, -5, -5, 4, 5, -5},
		"the rule c <= 2 left out":                                       {1, -5, -5, 4, 5, -5},
		"the rule c <= 2 moved by one column to the right":               {1, -5, -5, 4, 5, -5},
		"the rule c <= 2 moved by one column to the left":                {1, -5, -5, 4, 5, -5},
		"the rule c <= 2 without its offset of 2":                        {1, -5, -5, 4, -5, -5},
	})
	if got := predictions(t, masking(probes.Mask{{causal}}, -5),
		x)["0 in hidden cells instead of -5"]; !slices.Equal(got, []float64{1, 0, 0, 4, 5, 0}) {
		t.Errorf("0 in hidden cells: %v", got)
	}
}

// A maximum, and what is computed below it, have the mistakes of their masks.
func TestMistakesBelowMaximum(t *testing.T) {
	scores := tile(2, 2, 1, 9, 2, 3)
	g := rig{node: node("rowmax", 1)}
	g.node.Params.Mask = lowerTriangle
	checkMistakes(t, mistaken(t, g, op.Tile{}, []*op.Value{scores}), map[string][]float64{
		"moved by one column to the right": {9, 3},
		"moved by one column to the left":  {math.Inf(-1), 2},
		"left out: hidden cells take part": {9, 3},
	})
	g = rig{node: node("exp_below", 2)}
	g.node.Params.Mask = lowerTriangle
	checkMistakes(t, mistaken(t, g, op.Tile{}, []*op.Value{tile(2, 2, 1, 1, 1, 1), tile(2, 1, 1, 1)}),
		map[string][]float64{
			"moved by one column to the right": {1, 1, 1, 1},
			"moved by one column to the left":  {0, 0, 1, 0},
			"left out: hidden cells take part": {1, 1, 1, 1},
		})
}

func TestMaskBinds(t *testing.T) {
	checkBindErrors(t, []bindError{
		{node("mask", 1), []op.Extent{{2, 3}}, "mask has no rules"},
		{node("mask", 2), []op.Extent{{2, 3}, {2, 3}}, "mask has 2 operands, 1 are expected"},
	})
	in := []*op.Value{tile(2, 3)}
	checkNeeds(t, masking(lowerTriangle), in, op.SameCell)
	checkReads(t, masking(lowerTriangle), in, nil, 0, 1, 0, false, true)
	checkReads(t, masking(lowerTriangle), in, nil, 0, 0, 1, true, false)
	checkReads(t, masking(lowerTriangle), in, nil, 0, 5, 1, true, false)
}
