package op_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

func TestDivide(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 1))
	for n := range 200 {
		rows, cols := 1+rnd.IntN(4), 1+rnd.IntN(6)
		under := cols
		if n%2 == 0 {
			under = 1
		}
		at := func(in []op.Matrix, r, c int) (x, y float64) {
			return in[0].At(r, c), in[1].At(r, min(c, under-1))
		}
		x := trial{
			rig:    rig{node: node("divide", 2)},
			in:     []*op.Value{random(rnd, probes.F32, rows, cols), random(rnd, probes.F32, rows, under)},
			moving: 2,
			exact:  func(in []op.Matrix, r, c int) float64 { x, y := at(in, r, c); return x / y },
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
				x, y := at(in, r, c)
				if rnd.IntN(2) == 0 {
					return float64(float32(x) * (1 / float32(y)))
				}
				return float64(float32(x) / float32(y))
			},
		}
		x.check(t, rnd)
	}
}

// A divisor that may be 0 leaves the quotient open; a factor that both share cancels, and one that they
// do not share stays.
func TestDivideByAlmostNothing(t *testing.T) {
	g := rig{node: node("divide", 2)}
	if b := g.bound(t, nil, tile(1, 1, 1), off(tile(1, 1, 0.5), 0.5)); !math.IsInf(b, 1) {
		t.Errorf("the divisor may be 0, the bound is %g", b)
	}
	for origin, want := range map[int]float64{3: 0, 4: 1.5 * (math.Exp(0.02) - 1)} {
		x, y := tile(1, 1, 3), tile(1, 1, 2)
		x.Factor, x.Origin, y.Factor, y.Origin = []float64{0.01}, 3, []float64{0.01}, origin
		b := g.bound(t, only(op.TermDivide, 0), x, y)
		if b < want || b > want*1.02+1e-6 {
			t.Errorf("origins 3 and %d: bound %g, want %g", origin, b, want)
		}
	}
}

func TestPlainBinds(t *testing.T) {
	far := loading(4, 5, 2, 1)
	checkBindErrors(t, []bindError{
		{node("divide", 2), []op.Extent{{2, 3}, {3, 1}},
			"divide 2×3 by 3×1: a column of 2 rows or a tile of the same extent is expected"},
		{node("divide", 2), []op.Extent{{2, 3}, {2, 2}}, "divide 2×3 by 2×2"},
		{node("divide", 1), []op.Extent{{2, 3}}, "divide has 1 operands"},
		{node("reduce", 1, "how", "median"), []op.Extent{{2, 3}},
			`how is "median"; expected sum, mean or max`},
		{node("reduce", 2, "how", "sum"), []op.Extent{{2, 3}, {2, 3}}, "reduce has 2 operands"},
		{node("cast", 0), nil, "cast has 0 operands"},
		{node("load", 0), nil, "load reads one input"},
		{far, nil, "load: no input X"},
	})
	o, _ := op.Lookup("load")
	env := &op.Env{Coefs: op.NewCoefs(nil), Tensor: func(string) op.Tensor { return counting(9, 10) }}
	if _, _, err := o.Bind(far, nil, env); err == nil ||
		!strings.Contains(err.Error(), "rows along dimension 2, X has 2") {
		t.Errorf("rows along dimension 2: %v", err)
	}
	far.Params.Index["at"] = far.Params.Index["at"][:1]
	if _, _, err := o.Bind(far, nil, env); err == nil ||
		!strings.Contains(err.Error(), "position of 1 dimensions, X has 2") {
		t.Errorf("a short position: %v", err)
	}
	in := []*op.Value{tile(2, 3), tile(2, 1)}
	checkNeeds(t, rig{node: node("divide", 2)}, in, op.SameCell, op.SameCell)
	checkNeeds(t, rig{node: node("reduce", 1, "how", "max")}, in[:1], op.WholeRow)
	checkNeeds(t, rig{node: node("cast", 1)}, in[:1], op.SameCell)
	for _, g := range []rig{{node: node("reduce", 1, "how", "sum")}, {node: node("cast", 1)}} {
		checkReads(t, g, in[:1], nil, 0, 0, 3, true, false)
	}
	k, _, _ := rig{node: node("divide", 2)}.bind(t, nil, in)
	if p := k.(op.Padded); p.Pad(0) != 0 || p.Pad(1) != 1 {
		t.Errorf("beyond the rows that there are stand %g and %g", p.Pad(0), p.Pad(1))
	}
}
