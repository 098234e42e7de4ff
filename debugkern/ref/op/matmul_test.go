package op_test

import (
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// products is A·B, or with one of them transposed, in float64.
func products(transposed string, scale float64) func(in []op.Matrix, r, c int) float64 {
	return func(in []op.Matrix, r, c int) float64 {
		x, y := lines(in, transposed, r, c)
		return dot(x, y) * scale
	}
}

// lines are the two operands of one sum.
func lines(in []op.Matrix, transposed string, r, c int) (x, y []float64) {
	column := func(m op.Matrix, c int) (out []float64) {
		for k := range m.Rows {
			out = append(out, m.At(k, c))
		}
		return out
	}
	switch transposed {
	case "right":
		return in[0].Row(r), in[1].Row(c)
	case "left":
		return column(in[0], r), column(in[1], c)
	}
	return in[0].Row(r), column(in[1], c)
}

// shuffled puts two lines into one random order.
func shuffled(rnd *rand.Rand, x, y []float64) (a, b []float64) {
	for _, i := range rnd.Perm(len(x)) {
		a, b = append(a, x[i]), append(b, y[i])
	}
	return a, b
}

// summed is a right kernel's sum of products, in a random order and in as many parts as c says. One chain of
// tensor-core instructions goes through its blocks in order: only within a block there is none.
func summed(rnd *rand.Rand, c probes.Compute, x, y []float64) float64 {
	n := max(1, c.Split)
	if c.Unit == probes.UnitTensor && n == 1 {
		var a, b []float64
		for lo := 0; lo < len(x); lo += 16 {
			hi := min(len(x), lo+16)
			u, v := shuffled(rnd, x[lo:hi], y[lo:hi])
			a, b = append(a, u...), append(b, v...)
		}
		x, y = a, b
	} else {
		x, y = shuffled(rnd, x, y)
	}
	var parts []float32
	for p := range n {
		lo, hi := p*len(x)/n, (p+1)*len(x)/n
		a, b := x[lo:hi], y[lo:hi]
		switch {
		case c.Unit == probes.UnitTensor && c.Acc == probes.F16:
			parts = append(parts, float32(tensorDot(fp.MMAF16F16, a, b, 0)))
		case c.Unit == probes.UnitTensor:
			parts = append(parts, float32(tensorDot(fp.MMAF32F16, a, b, 0)))
		case c.Unit == probes.UnitFMA:
			parts = append(parts, float32(fmaDot(a, b, 0)))
		default:
			var all []float32
			for i, v := range a {
				all = append(all, float32(v)*float32(b[i]))
			}
			parts = append(parts, float32(shuffledSum(rnd, append(all, 0))))
		}
	}
	return shuffledSum(rnd, parts)
}

func TestMatmul(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 1))
	split := func(c probes.Compute, n int) probes.Compute { c.Split = n; return c }
	separate := probes.Compute{Unit: probes.UnitMulAdd, Acc: probes.F32, Split: 1}
	for _, c := range []struct {
		name  string
		c     probes.Compute
		dtype probes.DType // of the operands
		store probes.DType
	}{
		{"fma", fma32, probes.F32, probes.F32}, {"fma, three parts", split(fma32, 3), probes.F32, probes.F32},
		{"mul and add", separate, probes.F32, probes.F32}, {"tensor", tensor32, probes.F16, probes.F32},
		{"tensor, four parts", split(tensor32, 4), probes.F16, probes.F32},
		{"tensor, f16", tensor16, probes.F16, probes.F16},
		{"tensor, stored as f16", tensor32, probes.F16, probes.F16},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := range 150 {
				m, k, cols, transposed := 1+rnd.IntN(4), 1+rnd.IntN(70), 1+rnd.IntN(5),
					[]string{"right", "", "left"}[n%3]
				node, a, b := node("matmul", 2), random(rnd, c.dtype, m, k), random(rnd, c.dtype, k, cols)
				switch node.Params.Word["transpose"] = transposed; transposed {
				case "right":
					b = random(rnd, c.dtype, cols, k)
				case "left":
					a = random(rnd, c.dtype, k, m)
				}
				scale := []float64{1, 0.125, 0.3}[n/3%3]
				x := trial{rig: rig{node: scaled(node, scale), c: c.c, dtype: c.store}, in: []*op.Value{a, b},
					exact: products(transposed, scale), moving: map[probes.DType]int{probes.F32: 2}[c.dtype],
					kernel: func(rnd *rand.Rand, in []op.Matrix, r, col int) float64 {
						x, y := lines(in, transposed, r, col)
						sum := summed(rnd, c.c, x, y)
						if scale == 1 {
							return sum
						}
						return op.RoundTo(c.c.Acc, sum*op.RoundTo(c.c.Acc, scale))
					}}
				x.check(t, rnd)
			}
		})
	}
}

// The mirrored product by whole tensor-core tiles is the one output by output.
func TestTilesAreDots(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 2))
	for _, c := range []probes.Compute{tensor16, tensor32} {
		a, b := random(rnd, probes.F16, 32, 64), random(rnd, probes.F16, 23, 64)
		whole := mirrored(t, rig{node: dots(1), c: c}, a, b)
		for r := range 32 {
			row := mirrored(t, rig{node: dots(1), c: c}, tile(1, 64, a.M.Row(r)...), b)
			for j := range 23 {
				form := fp.MMAF32F16
				if c.Acc == probes.F16 {
					form = fp.MMAF16F16
				}
				want := tensorDot(form, a.M.Row(r), b.M.Row(j), 0)
				if whole.At(r, j) != row.At(0, j) || row.At(0, j) != want {
					t.Fatalf("%s (%d,%d): %g by tiles, %g alone, the chip gives %g", c.Acc, r, j,
						whole.At(r, j), row.At(0, j), want)
				}
			}
		}
	}
}

// mirrored computes an operation as a kernel rounds.
func mirrored(t *testing.T, g rig, in ...*op.Value) op.Matrix {
	t.Helper()
	k, ext, env := g.bind(t, nil, in)
	out := &op.Value{M: op.NewMatrix(ext[0], ext[1]), Unit: env.Unit}
	k.Mirror(&op.Tile{Rows: ext[0], Cols: ext[1]}, in, out)
	return out.M
}

// The mirrored chain is that of the stage's unit, bit for bit.
func TestMirroredChain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 3))
	a, b := random(rnd, probes.F32, 1, 40), random(rnd, probes.F32, 40, 1)
	if got, want := mirrored(t, rig{node: node("matmul", 2), c: fma32}, a, b).Data[0],
		fmaDot(a.M.Data, b.M.Data, 0); got != want {
		t.Errorf("fma: %g, want %g", got, want)
	}
	sum := float32(0)
	for i, x := range a.M.Data {
		sum += float32(float32(x) * float32(b.M.Data[i]))
	}
	c := probes.Compute{Unit: probes.UnitMulAdd, Acc: probes.F32}
	if got := mirrored(t, rig{node: node("matmul", 2), c: c}, a, b).Data[0]; got != float64(sum) {
		t.Errorf("mul and add: %g, want %g", got, sum)
	}
}

// What lies beyond the valid keys adds nothing, unless the kernel's own tile is whole.
func TestMatmulAddsUpWhatThereIs(t *testing.T) {
	a, b := tile(1, 4, 1, 1, 1, 1), tile(4, 1, 1, 10, 100, 1000)
	b.Rows = 2
	for whole, want := range map[bool]float64{false: 11, true: 1111} {
		b.Whole = whole
		if got := (rig{node: node("matmul", 2), c: fma32}).estimate(t, nil, a, b).M.Data[0]; got != want {
			t.Errorf("whole %v: %g, want %g", whole, got, want)
		}
	}
}

func TestMatmulBinds(t *testing.T) {
	checkBindErrors(t, []bindError{
		{node("matmul", 2), []op.Extent{{2, 3}, {4, 5}}, "3 products on the left, 4 on the right"},
		{dots(1), []op.Extent{{2, 3}, {3, 5}}, "3 products on the left, 5 on the right"},
		{node("matmul", 1), []op.Extent{{2, 3}}, "matmul has 1 operands, 2 are expected"},
	})
	left := node("matmul", 2, "transpose", "left")
	checkBindErrors(t, []bindError{
		{left, []op.Extent{{2, 3}, {3, 5}}, "2 products on the left, 3 on the right"},
	})
	a, b := tile(2, 3), tile(3, 4)
	checkNeeds(t, rig{node: left}, []*op.Value{a, tile(2, 4)}, op.ColumnOfRow, op.WholeColumn)
	checkNeeds(t, rig{node: node("matmul", 2)}, []*op.Value{a, b}, op.WholeRow, op.WholeColumn)
	checkNeeds(t, rig{node: dots(1)}, []*op.Value{a, tile(4, 3)}, op.WholeRow, op.RowOfColumn)
}

func TestMatmulReads(t *testing.T) {
	g := rig{node: node("matmul", 2)}
	a, b := tile(2, 3, 1, 1, 0, 1, 1, 0), tile(3, 2, 1, 1, 1, 1, 7, 0) // column 2 of A is 0
	in := []*op.Value{a, b}
	checkReads(t, g, in, nil, 1, 2, 0, false, false)
	checkReads(t, g, in, nil, 1, 2, 0, true, true)
	checkReads(t, g, in, nil, 1, 1, 0, false, true)
	checkReads(t, g, in, nil, 0, 0, 2, false, true)  // meets row 2 of B
	checkReads(t, g, in, nil, 0, 0, 3, false, false) // B has no row 3
	turned := []*op.Value{tile(3, 1, 0, 1, 1), tile(3, 1, 1, 0, 1)}
	left := rig{node: node("matmul", 2, "transpose", "left")}
	checkReads(t, left, turned, nil, 0, 1, 0, false, false) // row 1 of B is 0
	checkReads(t, left, turned, nil, 0, 2, 0, false, true)
	checkReads(t, left, turned, nil, 1, 0, 0, false, false)
	checkReads(t, left, turned, nil, 1, 2, 0, false, true)
	right := []*op.Value{a, tile(2, 3, 1, 0, 1, 1, 0, 1)}
	checkReads(t, rig{node: dots(1)}, right, nil, 0, 0, 1, false, false)
	checkReads(t, rig{node: dots(1)}, right, nil, 0, 0, 2, false, true)
	checkReads(t, rig{node: dots(1)}, right, nil, 1, 0, 2, false, false)
}
