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
		at := func(in []op.Matrix, r, c int) (x, y float64) { return in[0].At(r, c), in[1].At(r, min(c, under-1)) }
		x := trial{rig: rig{node: node("divide", 2)}, in: []*op.Value{random(rnd, probes.F32, rows, cols), random(rnd, probes.F32, rows, under)}, moving: 2,
			exact: func(in []op.Matrix, r, c int) float64 { x, y := at(in, r, c); return x / y },
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
				x, y := at(in, r, c)
				if rnd.IntN(2) == 0 {
					return float64(float32(x) * (1 / float32(y)))
				}
				return float64(float32(x) / float32(y))
			}}
		x.check(t, rnd)
	}
}

// A divisor that may be 0 leaves the quotient open; a factor that both share cancels, and one that they do not share stays.
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

func TestReduce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 2))
	for range 200 {
		rows, cols := 1+rnd.IntN(3), 1+rnd.IntN(40)
		in := func() []*op.Value { return []*op.Value{random(rnd, probes.F32, rows, cols)} }
		top := func(in []op.Matrix, r, _ int) float64 {
			v := math.Inf(-1)
			for _, x := range in[0].Row(r) {
				v = max(v, x)
			}
			return v
		}
		how := func(s string) rig { return rig{node: node("reduce", 1, "how", s)} }
		trial{rig: how("sum"), in: in(), moving: 1, exact: plainSum(1), kernel: shuffledRow(1)}.check(t, rnd)
		trial{rig: how("mean"), in: in(), moving: 1, exact: plainSum(float64(cols)), kernel: shuffledRow(float64(cols))}.check(t, rnd)
		trial{rig: how("max"), in: in(), moving: 1, exact: top, kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 { return top(in, r, c) }}.check(t, rnd)
	}
}

func TestCast(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 3))
	for _, d := range []probes.DType{probes.F16, probes.BF16, probes.F32, probes.E5M2} {
		same := func(in []op.Matrix, r, c int) float64 { return in[0].At(r, c) }
		x := trial{rig: rig{node: node("cast", 1), dtype: d}, in: []*op.Value{random(rnd, probes.F32, 7, 9)}, moving: 1,
			exact: same, kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 { return same(in, r, c) }}
		x.check(t, rnd)
	}
}

// matrix is an input of the numbers 0, 1, 2, ….
type matrix [2]int

func (m matrix) Dims() []int                      { return m[:] }
func (matrix) Coded() bool                        { return false }
func (m matrix) Rounded(dst []float64, first int) { m.Decode(dst, first) }

func (matrix) Decode(dst []float64, first int) {
	for i := range dst {
		dst[i] = float64(first + i)
	}
}

// loading reads a tile of an input at (2, 3), its rows and columns along given dimensions.
func loading(height, width, rows, cols int) *probes.Node {
	n := node("load", 0)
	n.Args = []probes.Operand{{Tensor: "X"}}
	n.Params.Number = map[string]float64{"height": float64(height), "width": float64(width)}
	for name, d := range map[string]int{"rows": rows, "cols": cols} {
		if d >= 0 {
			n.Params.Number[name] = float64(d)
		}
	}
	n.Params.Index["at"] = []probes.Extent{probes.Fixed(2), probes.Fixed(3)}
	return n
}

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		rows, cols int
		step       [2]int // elements from row to row, from column to column
	}{{0, 1, [2]int{10, 1}}, {1, 0, [2]int{1, 10}}, {0, -1, [2]int{10, 0}}, {-1, 1, [2]int{0, 1}}} {
		x := trial{rig: rig{node: loading(4, 5, c.rows, c.cols), tensor: matrix{9, 10}},
			exact: func(_ []op.Matrix, r, col int) float64 { return float64(23 + r*c.step[0] + col*c.step[1]) },
			kernel: func(_ *rand.Rand, _ []op.Matrix, r, col int) float64 {
				return float64(23 + r*c.step[0] + col*c.step[1])
			}}
		x.check(t, nil)
		if b := x.bounds(t, nil); b.Data[3] != 0 {
			t.Errorf("rows %d, cols %d: a copy may be off by %g", c.rows, c.cols, b.Data[3])
		}
	}
	x := rig{node: loading(2, 2, -1, -1), tensor: coded(3)}
	x.node.Params.Index["at"] = x.node.Params.Index["at"][:1]
	if b := x.bound(t, nil); !(b > 3*0x1p-24) {
		t.Errorf("what is decoded may be off by %g", b)
	}
}

func TestPlainBinds(t *testing.T) {
	far := loading(4, 5, 2, 1)
	checkBindErrors(t, []bindError{
		{node("divide", 2), []op.Extent{{2, 3}, {3, 1}}, "divide 2×3 by 3×1: a column of 2 rows or a tile of the same extent is expected"},
		{node("divide", 2), []op.Extent{{2, 3}, {2, 2}}, "divide 2×3 by 2×2"},
		{node("divide", 1), []op.Extent{{2, 3}}, "divide has 1 operands"},
		{node("reduce", 1, "how", "median"), []op.Extent{{2, 3}}, `how is "median"; expected sum, mean or max`},
		{node("reduce", 2, "how", "sum"), []op.Extent{{2, 3}, {2, 3}}, "reduce has 2 operands"},
		{node("cast", 0), nil, "cast has 0 operands"},
		{node("load", 0), nil, "load reads one input"},
		{far, nil, "load: no input X"},
	})
	o, _ := op.Lookup("load")
	env := &op.Env{Coefs: op.NewCoefs(nil), Tensor: func(string) op.Tensor { return matrix{9, 10} }}
	if _, _, err := o.Bind(far, nil, env); err == nil || !strings.Contains(err.Error(), "rows along dimension 2, X has 2") {
		t.Errorf("rows along dimension 2: %v", err)
	}
	far.Params.Index["at"] = far.Params.Index["at"][:1]
	if _, _, err := o.Bind(far, nil, env); err == nil || !strings.Contains(err.Error(), "position of 1 dimensions, X has 2") {
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
