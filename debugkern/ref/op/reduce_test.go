package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

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
		trial{
			rig: how("mean"), in: in(), moving: 1, exact: plainSum(float64(cols)),
			kernel: shuffledRow(float64(cols)),
		}.check(t, rnd)
		trial{
			rig: how("max"), in: in(), moving: 1, exact: top,
			kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 { return top(in, r, c) },
		}.check(t, rnd)
	}
}

// By column it is what it is by row of the transposed tile.
func TestReduceColumns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 4))
	for n := range 200 {
		rows, cols, how := 1+rnd.IntN(40), 1+rnd.IntN(3), []string{"sum", "mean", "max"}[n%3]
		x := random(rnd, probes.F32, rows, cols)
		off(x, 0x1p-12)
		turned := off(tile(cols, rows), 0x1p-12)
		for r := range rows {
			for c := range cols {
				turned.M.Row(c)[r] = x.M.At(r, c)
			}
		}
		byColumn := rig{node: node("reduce", 1, "how", how, "each", "column")}
		byRow := rig{node: node("reduce", 1, "how", how)}
		a, b := byColumn.estimate(t, nil, x), byRow.estimate(t, nil, turned)
		m, w := mirrored(t, byColumn, x), mirrored(t, byRow, turned)
		for c := range cols {
			if a.M.At(0, c) != b.M.At(c, 0) || a.Err.At(0, c) != b.Err.At(c, 0) || m.At(0, c) != w.At(c, 0) {
				t.Fatalf("%s of column %d: %g ± %g, of the row %g ± %g", how, c,
					a.M.At(0, c), a.Err.At(0, c), b.M.At(c, 0), b.Err.At(c, 0))
			}
		}
		checkNeeds(t, byColumn, []*op.Value{x}, op.WholeColumn)
		k, _, _ := byColumn.bind(t, nil, []*op.Value{x})
		if r, c := k.Valid(nil, []*op.Value{x}); r != 1 || c != cols {
			t.Fatalf("%d×%d cells hold numbers", r, c)
		}
	}
}

// The halves of a sum add up to it, by row and by column, of an odd number of cells too.
func TestHalves(t *testing.T) {
	for _, each := range []string{"row", "column"} {
		for _, e := range []op.Extent{{5, 4}, {4, 5}, {2, 2}, {1, 1}} {
			in := tile(e[0], e[1])
			for i := range in.M.Data {
				in.M.Data[i] = float64(int(1) << i)
			}
			g := rig{node: node("reduce", 1, "how", "sum", "each", each)}
			k, ext, _ := g.bind(t, nil, []*op.Value{in})
			sc := &op.Scene{
				Tile: op.Tile{Rows: ext[0], Cols: ext[1]}, Kernel: k, In: []*op.Value{in}, Out: tile(1, 1),
			}
			lo, hi := op.NewMatrix(ext[0], ext[1]), op.NewMatrix(ext[0], ext[1])
			sc.Half(false, lo)
			sc.Half(true, hi)
			whole := g.estimate(t, nil, in)
			for i, x := range whole.M.Data {
				last := in.M.At(e[0]-1, min(i, e[1]-1))
				if each == "row" {
					last = in.M.At(i, e[1]-1)
				}
				if lo.Data[i]+hi.Data[i] != x || lo.Data[i] == 0 ||
					e != (op.Extent{1, 1}) && hi.Data[i] < last {
					t.Errorf("%s %d of %v: %g and %g, together %g", each, i, e, lo.Data[i], hi.Data[i], x)
				}
			}
		}
	}
}

func TestCast(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 3))
	for _, d := range []probes.DType{probes.F16, probes.BF16, probes.F32, probes.E5M2} {
		same := func(in []op.Matrix, r, c int) float64 { return in[0].At(r, c) }
		x := trial{
			rig: rig{node: node("cast", 1), dtype: d}, in: []*op.Value{random(rnd, probes.F32, 7, 9)},
			moving: 1,
			exact:  same,
			kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 { return same(in, r, c) },
		}
		x.check(t, rnd)
	}
}

// What is cast in place is rounded there: the exact number stays, and its error grows.
func TestCastTo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 4))
	for _, d := range []probes.DType{probes.F16, probes.BF16, probes.E4M3} {
		g := rig{node: node("cast", 1, "to", d.String()), dtype: probes.F64}
		x := trial{rig: g, in: []*op.Value{random(rnd, probes.F32, 7, 9)}, moving: 1,
			exact: func(in []op.Matrix, r, c int) float64 { return in[0].At(r, c) },
			kernel: func(_ *rand.Rand, in []op.Matrix, r, c int) float64 {
				return op.RoundTo(d, in[0].At(r, c))
			}}
		x.check(t, rnd)
	}
	g := rig{node: node("cast", 1, "to", "f32"), dtypes: []probes.DType{probes.F16}, dtype: probes.F64}
	if e := g.estimate(t, nil, tile(1, 1, 3)).Err.Data[0]; e != 0 {
		t.Errorf("a half as f32 is off by %g", e)
	}
	checkBindErrors(t, []bindError{
		{node("cast", 1, "to", "f15"), []op.Extent{{1, 1}}, "cast: to:"},
		{node("cast", 1, "to", "i32"), []op.Extent{{1, 1}}, "i32 is an integer type"},
	})
}
