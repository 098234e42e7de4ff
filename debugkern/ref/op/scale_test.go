package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// times is a product with a number.
func times(factor float64) rig {
	g := rig{node: node("scale", 1, "factor", "f")}
	g.node.Params.Number["factor"] = factor
	return g
}

func TestScaleByNumber(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 1))
	for n := range 200 {
		factor := []float64{0.3, -0.125, 1 / math.Sqrt(96)}[n%3]
		g := times(factor)
		g.c.Acc, g.dtype = probes.F32, []probes.DType{probes.F32, probes.F16}[n/3%2]
		x := trial{rig: g, in: []*op.Value{random(rnd, probes.F32, 3, 4)}, moving: 1,
			exact: func(in []op.Matrix, r, c int) float64 { return in[0].At(r, c) * factor },
			kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 {
				return float64(float32(in[0].At(r, c)) * float32(factor))
			}}
		x.check(t, rnd)
	}
}

// A factor counts for a cell, a row, a column, the tile, or a block of cells.
func TestScaleByBlock(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 2))
	const rows, cols = 4, 6
	for _, f := range []op.Extent{{4, 6}, {4, 1}, {1, 6}, {1, 1}, {2, 3}, {4, 2}, {2, 1}} {
		at := func(in []op.Matrix, r, c int) (x, y float64) {
			return in[0].At(r, c), in[1].At(r*f[0]/rows, c*f[1]/cols)
		}
		for n := range 100 {
			g := rig{node: node("scale", 2), dtype: []probes.DType{probes.F32, probes.F16}[n%2]}
			g.c.Acc = probes.F32
			in := []*op.Value{random(rnd, probes.F32, rows, cols), random(rnd, probes.F32, f[0], f[1])}
			x := trial{rig: g, in: in, moving: 2,
				exact: func(in []op.Matrix, r, c int) float64 { x, y := at(in, r, c); return x * y },
				kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 {
					x, y := at(in, r, c)
					return float64(float32(x) * float32(y))
				}}
			x.check(t, rnd)
		}
	}
}

func TestAccumulateScaled(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 3))
	for n := range 300 {
		rows, cols, missing, by := 1+rnd.IntN(3), 1+rnd.IntN(4), n%5 == 0, n%2 == 0
		in := append([]*op.Value{random(rnd, probes.F32, rows, cols), random(rnd, probes.F32, rows, 1)},
			before(rnd, rows, cols, missing, by)...)
		x := trial{rig: rig{node: onto(node("scale", 2), by), c: fma32}, in: in, moving: 3,
			exact: func(in []op.Matrix, r, c int) float64 {
				return in[0].At(r, c)*in[1].Data[r] + carriedOver(in, 2, r, c, missing, by)
			},
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
				old := carriedOver32(rnd, in, 2, r, c, missing, by)
				x, y := float32(in[0].At(r, c)), float32(in[1].Data[r])
				if rnd.IntN(2) == 0 {
					return fmaDot([]float64{float64(x)}, []float64{float64(y)}, float64(old))
				}
				return float64(float32(x*y) + old)
			}}
		x.check(t, rnd)
	}
}

// Times a power of two nothing is rounded, where the type is the operand's; what the rows of a factor share,
// the rows of the product share.
func TestScaleIsExact(t *testing.T) {
	g := times(0.25)
	g.c.Acc, g.dtype, g.dtypes = probes.F16, probes.F16, []probes.DType{probes.F16}
	if b := g.bound(t, nil, tile(1, 1, 1.0009765625)); b != 0 {
		t.Errorf("a quarter of a half: bound %g", b)
	}
	if g.dtypes[0] = probes.F32; g.bound(t, nil, tile(1, 1, 1.0001)) == 0 {
		t.Error("a quarter of a float, stored as half: nothing is rounded")
	}
	weight := off(tile(2, 1, 0.5, 0.25), 0x1p-20)
	weight.Factor, weight.Origin = []float64{0.1, 0}, 5
	out := rig{node: node("scale", 2)}.estimate(t, nil, tile(2, 2, 1, 2, 3, 4), weight)
	if out.Factor == nil || out.Origin != 5 || out.Err.Data[0] > 0x1p-18 {
		t.Errorf("factor %v of %d, off by %g", out.Factor, out.Origin, out.Err.Data[0])
	}
	single := rig{node: node("scale", 2)}.estimate(t, nil, tile(4, 2, 1, 2, 3, 4, 5, 6, 7, 8), weight)
	if single.Factor != nil || !(single.Err.Data[0] >= 0.5*math.Expm1(0.1)) {
		t.Errorf("a factor by two rows has no row of its own: %v, off by %g", single.Factor,
			single.Err.Data[0])
	}
}

func TestScaleSuspects(t *testing.T) {
	in := []*op.Value{tile(2, 4, 1, 1, 1, 1, 1, 1, 1, 1), tile(2, 2, 2, 3, 5, 7)}
	got := predictions(t, rig{node: node("scale", 2)}, in)
	nan := math.NaN()
	for value, want := range map[string][]float64{
		"the scale left out":                                            {1, 1, 1, 1, 1, 1, 1, 1},
		"the scale applied twice":                                       {4, 4, 9, 9, 25, 25, 49, 49},
		"the scale of the first block":                                  {2, 2, 2, 2, 2, 2, 2, 2},
		"the scale of the next block of rows":                           {5, 5, 7, 7, nan, nan, nan, nan},
		"the scale of the previous block of columns":                    {nan, nan, 2, 2, nan, nan, 5, 5},
		"the scale of the block transposed: rows and columns exchanged": {2, 2, 5, 5, 3, 3, 7, 7},
	} {
		p := got[value]
		for i, x := range want {
			if len(p) != len(want) || p[i] != x && !(math.IsNaN(p[i]) && math.IsNaN(x)) {
				t.Errorf("%s: predicted %v, want %v", value, p, want)
				break
			}
		}
	}
}

func TestScaleBinds(t *testing.T) {
	both := node("scale", 2)
	both.Params.Number["factor"] = 2
	checkBindErrors(t, []bindError{
		{node("scale", 1), []op.Extent{{2, 3}}, "scale has no factor"},
		{both, []op.Extent{{2, 3}, {2, 1}}, "scale has a factor and a second operand"},
		{node("scale", 2), []op.Extent{{4, 6}, {3, 1}}, "scale of 4×6 by 3×1: rows and columns"},
		{node("scale", 3), []op.Extent{{2, 3}, {2, 3}, {2, 3}}, "scale has 3 operands"},
	})
	for _, c := range []struct {
		factor op.Extent
		needs  op.Need
	}{{op.Extent{4, 6}, op.SameCell}, {op.Extent{4, 1}, op.SameCell}, {op.Extent{1, 6}, op.SameCell},
		{op.Extent{2, 3}, op.WholeTile}, {op.Extent{4, 3}, op.WholeTile}, {op.Extent{1, 1}, op.WholeTile}} {
		in := []*op.Value{tile(4, 6), tile(c.factor[0], c.factor[1])}
		checkNeeds(t, rig{node: node("scale", 2)}, in, op.SameCell, c.needs)
	}
	checkReads(t, times(2), []*op.Value{tile(2, 3)}, nil, 0, 0, 3, true, false)
}
