package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// lowerTriangle hides what lies right of the diagonal: r − c >= 0.
var lowerTriangle = probes.Mask{{{Base: probes.Fixed(0), Row: 1, Col: -1}}}

// exp32 is exp(x) of a float32 by ex2.approx or to within half an ulp.
func exp32(rnd *rand.Rand, x float32) float32 {
	if math.IsInf(float64(x), -1) {
		return 0
	}
	if rnd.IntN(2) == 0 {
		return float32(ex2(float64(x * float32(math.Log2E))))
	}
	return float32(math.Exp(float64(x)))
}

func TestRowmax(t *testing.T) {
	rnd := rand.New(rand.NewPCG(12, 1))
	for n := range 200 {
		rows, cols := 1+rnd.IntN(5), 1+rnd.IntN(8)
		masked, running, unit, own := n%2 == 0, n%3 > 0, []float64{1, 0.3}[n%5/3],
			[]float64{1, math.Ln2}[n%7/4]
		g := rig{node: node("rowmax", 1), unit: own}
		s := inUnit(random(rnd, probes.F32, rows, cols), unit)
		in := []*op.Value{s}
		if masked {
			g.node.Params.Mask = lowerTriangle
		}
		if running {
			in = append(in, inUnit(random(rnd, probes.F32, rows, 1), own))
		}
		x := trial{rig: g, in: in, moving: 1,
			exact: func(in []op.Matrix, r, _ int) float64 {
				top := math.Inf(-1)
				if running {
					top = in[1].Data[r] * own
				}
				for c := range cols {
					if !masked || c <= r {
						top = max(top, in[0].At(r, c)*unit)
					}
				}
				return top / own
			},
			kernel: func(_ *rand.Rand, in []op.Matrix, r, _ int) float64 {
				top := float32(math.Inf(-1))
				for c := range cols {
					if v := float32(in[0].At(r, c)); !masked || c <= r {
						if unit != 1 {
							v *= float32(unit)
						}
						if own != 1 {
							v *= float32(math.Log2E)
						}
						top = max(top, v)
					}
				}
				if running {
					top = max(top, float32(in[1].Data[r]))
				}
				return float64(top)
			}}
		x.check(t, rnd)
	}
}

// A row that nothing takes part in has no maximum, and NaN is not one; the interval of a right kernel's
// maximum is that of the scores plus and minus their errors.
func TestRowmaxOfNothing(t *testing.T) {
	g := rig{node: node("rowmax", 1)}
	g.node.Params.Mask = probes.Mask{{{Base: probes.Fixed(-1), Row: 1}}} // r >= 1
	v := off(tile(2, 3, 1, 2, 3, math.NaN(), 5, 4.5), 0.75)
	out := g.estimate(t, nil, v)
	if !math.IsInf(out.M.Data[0], -1) || out.Shift[0] != 0 || out.M.Data[1] != 5 {
		t.Errorf("maxima %v, shifts %v", out.M.Data, out.Shift)
	}
	if out.Lo[1] != 4.25 || out.Hi[1] != 5.75 || out.Shift[1] != 0.75 {
		t.Errorf("between %g and %g, off by %g", out.Lo[1], out.Hi[1], out.Shift[1])
	}
}

func TestExpBelow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(12, 2))
	for n := range 200 {
		rows, cols, unit := 1+rnd.IntN(5), 1+rnd.IntN(8), []float64{1, 0.3}[n%3/2]
		masked := n%2 == 0
		g := rig{node: node("exp_below", 2), c: probes.Compute{Exp: []string{"ex2.approx", "expf", ""}[n%3]}}
		if masked {
			g.node.Params.Mask = lowerTriangle
		}
		s, m := inUnit(random(rnd, probes.F32, rows, cols), unit), tile(rows, 1)
		for r := range rows {
			m.M.Data[r] = float64(float32(s.M.At(r, 0)*unit + 3*rnd.Float64()))
		}
		if n%10 == 0 {
			m.M.Data[0] = math.Inf(-1)
		}
		x := trial{rig: g, in: []*op.Value{s, m}, moving: 1,
			exact: func(in []op.Matrix, r, c int) float64 {
				if masked && c > r || math.IsInf(in[1].Data[r], -1) {
					return 0
				}
				return math.Exp(in[0].At(r, c)*unit - in[1].Data[r])
			},
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
				if masked && c > r || math.IsInf(in[1].Data[r], -1) {
					return 0
				}
				v := float32(in[0].At(r, c))
				if unit != 1 {
					v *= float32(unit)
				}
				return float64(exp32(rnd, v-float32(in[1].Data[r])))
			}}
		x.check(t, rnd)
	}
}

func TestRowsum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(12, 3))
	for n := range 200 {
		rows, cols := 1+rnd.IntN(3), 1+rnd.IntN(64)
		g := rig{
			node: node("rowsum", 1),
			c:    probes.Compute{Unit: []probes.Unit{probes.UnitShuffle, probes.UnitNone}[n%2]},
		}
		x := trial{
			rig: g, in: []*op.Value{random(rnd, probes.F32, rows, cols)}, moving: 1, exact: plainSum(1),
			kernel: shuffledRow(1),
		}
		x.check(t, rnd)
	}
}

// plainSum is the sum of a row, divided.
func plainSum(by float64) func(in []op.Matrix, r, c int) float64 {
	return func(in []op.Matrix, r, _ int) float64 {
		sum := 0.0
		for _, v := range in[0].Row(r) {
			sum += v
		}
		return sum / by
	}
}

// shuffledRow is the same in float32, in a random order.
func shuffledRow(by float64) func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
	return func(rnd *rand.Rand, in []op.Matrix, r, _ int) float64 {
		var v []float32
		for _, x := range in[0].Row(r) {
			v = append(v, float32(x))
		}
		sum := float32(shuffledSum(rnd, v))
		if by == 1 {
			return float64(sum)
		}
		if rnd.IntN(2) == 0 {
			return float64(sum * (1 / float32(by)))
		}
		return float64(sum / float32(by))
	}
}

func TestSoftmaxBinds(t *testing.T) {
	checkBindErrors(t, []bindError{
		{node("rowmax", 3), []op.Extent{{2, 3}, {2, 1}, {2, 1}},
			"rowmax has 3 operands, 1 or 2 are expected"},
		{node("exp_below", 2), []op.Extent{{2, 3}, {3, 1}},
			"its second operand is 3×1, a column of 2 is expected"},
		{node("exp_below", 1), []op.Extent{{2, 3}}, "exp_below has 1 operands"},
		{node("rowsum", 2), []op.Extent{{2, 3}, {2, 3}}, "rowsum has 2 operands"},
	})
	s, m := tile(2, 3), tile(2, 1)
	checkNeeds(t, rig{node: node("rowmax", 2)}, []*op.Value{s, m}, op.WholeRow, op.SameCell)
	checkNeeds(t, rig{node: node("exp_below", 2)}, []*op.Value{s, m}, op.SameCell, op.SameCell)
	checkNeeds(t, rig{node: node("rowsum", 1)}, []*op.Value{s}, op.WholeRow)
	out := tile(2, 3, 0, 0, 0.5)
	checkReads(t, rig{node: node("exp_below", 2)}, []*op.Value{s, m}, out, 0, 0, 2, false, true)
	checkReads(t, rig{node: node("exp_below", 2)}, []*op.Value{s, m}, out, 0, 0, 1, true, false)
	checkReads(t, rig{node: node("rowmax", 1)}, []*op.Value{s}, out, 0, 0, 2, true, false)
	checkReads(t, rig{node: node("rowsum", 1)}, []*op.Value{s}, out, 0, 0, 2, true, false)
}

// Where a gate injects uniform values, softmax gives 1/n for what takes part and nothing is rescaled.
func TestUniform(t *testing.T) {
	g := rig{node: node("exp_below", 2)}
	g.node.Params.Mask = lowerTriangle
	in := []*op.Value{tile(2, 4), tile(2, 1)}
	in[0].Cols = 3
	k, _, _ := g.bind(t, nil, in)
	out := tile(2, 4, 9, 9, 9, 9, 9, 9, 9, 9)
	k.(op.Uniform).Uniform(&op.Tile{Rows: 2, Cols: 4}, in, out)
	for i, want := range []float64{0.25, 0, 0, 0, 0.25, 0.25, 0, 0} {
		if out.M.Data[i] != want {
			t.Fatalf("uniform %v", out.M.Data)
		}
	}
	k, _, _ = rig{node: node("rowmax", 1)}.bind(t, nil, in[:1])
	column := tile(2, 1, 5, 5)
	if k.(op.Uniform).Uniform(&op.Tile{Rows: 2, Cols: 1}, in[:1], column); column.M.Data[0] != 0 ||
		column.M.Data[1] != 0 {
		t.Errorf("uniform maxima %v", column.M.Data)
	}
}
