package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// none is what there is before the first iteration.
func none(rows, cols int) *op.Value {
	return &op.Value{M: op.Matrix{Rows: rows, Cols: cols}, Unit: 1, Missing: true}
}

// carriedOver is x_old·exp(m_old − m) in float64, from the operands after the first n: 0 where
// there is none before.
func carriedOver(in []op.Matrix, n, r, c int, missing, by bool) float64 {
	switch {
	case missing:
		return 0
	case !by:
		return in[n].At(r, c)
	}
	return in[n].At(r, c) * op.Below(in[n+1].Data[r], in[n+2].Data[r])
}

// carriedOver32 is the same in float32.
func carriedOver32(rnd *rand.Rand, in []op.Matrix, n, r, c int, missing, by bool) float32 {
	switch {
	case missing:
		return 0
	case !by:
		return float32(in[n].At(r, c))
	}
	return float32(in[n].At(r, c)) * exp32(rnd, float32(in[n+1].Data[r])-float32(in[n+2].Data[r]))
}

// before are the operands that accumulate has after its operation's own.
func before(rnd *rand.Rand, rows, cols int, missing, by bool) []*op.Value {
	old := random(rnd, probes.F32, rows, cols)
	was, now := random(rnd, probes.F32, rows, 1), tile(rows, 1)
	for r := range rows {
		now.M.Data[r] = float64(float32(was.M.Data[r] + 4*rnd.Float64()))
	}
	if rows > 1 {
		was.M.Data[1] = math.Inf(-1) // a row that has seen nothing
		for c := range cols {
			old.M.Row(1)[c] = 0
		}
	}
	if missing {
		old, was = none(rows, cols), none(rows, 1)
	}
	if by {
		return []*op.Value{old, was, now}
	}
	return []*op.Value{old}
}

func TestAccumulateSums(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 1))
	for n := range 300 {
		rows, cols, missing, by := 1+rnd.IntN(3), 1+rnd.IntN(40), n%5 == 0, n%2 == 0
		in := append([]*op.Value{random(rnd, probes.F32, rows, cols)}, before(rnd, rows, 1, missing, by)...)
		x := trial{rig: rig{node: onto(node("rowsum", 1), by)}, in: in, moving: 2,
			exact: func(in []op.Matrix, r, c int) float64 {
				return plainSum(1)(in, r, c) + carriedOver(in, 1, r, c, missing, by)
			},
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
				old := carriedOver32(rnd, in, 1, r, c, missing, by)
				if rnd.IntN(2) == 0 {
					return float64(float32(shuffledRow(1)(rnd, in, r, c)) + old)
				}
				v := []float32{old}
				for _, x := range in[0].Row(r) {
					v = append(v, float32(x))
				}
				return shuffledSum(rnd, v)
			}}
		x.check(t, rnd)
	}
}

func TestAccumulateProducts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 2))
	for n := range 300 {
		rows, k, cols, missing, by := 1+rnd.IntN(3), 1+rnd.IntN(40), 1+rnd.IntN(4), n%5 == 0, n%2 == 0
		transposed := []string{"right", "", "left"}[n%3]
		product, a, b := node("matmul", 2), random(rnd, probes.F32, rows, k), random(rnd, probes.F32, k, cols)
		switch product.Params.Word["transpose"] = transposed; transposed {
		case "right":
			b = random(rnd, probes.F32, cols, k)
		case "left":
			a = random(rnd, probes.F32, k, rows)
		}
		in := append([]*op.Value{a, b}, before(rnd, rows, cols, missing, by)...)
		x := trial{rig: rig{node: onto(product, by), c: fma32}, in: in, moving: 3,
			exact: func(in []op.Matrix, r, c int) float64 {
				return products(transposed, 1)(in, r, c) + carriedOver(in, 2, r, c, missing, by)
			},
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, c int) float64 {
				old := carriedOver32(rnd, in, 2, r, c, missing, by)
				x, y := lines(in, transposed, r, c)
				x, y = shuffled(rnd, x, y)
				if rnd.IntN(2) == 0 {
					return fmaDot(x, y, float64(old))
				}
				return float64(float32(fmaDot(x, y, 0)) + old)
			}}
		x.check(t, rnd)
	}
}

func TestAccumulateBinds(t *testing.T) {
	column := op.Extent{2, 1}
	checkBindErrors(t, []bindError{
		{node("accumulate", 2), []op.Extent{{2, 3}, {2, 3}}, "accumulate adds up an operation"},
		{onto(node("fold", 1), false), []op.Extent{{2, 3}, column}, `no operator "fold"`},
		{onto(node("rowmax", 1), false), []op.Extent{{2, 3}, column}, "accumulate cannot add up rowmax"},
		{onto(node("matmul", 2), true), []op.Extent{{2, 3}, {3, 4}, {2, 4}, {5, 1}, {5, 1}},
			"a column of 5 rows, the tile has 2"},
		{onto(node("matmul", 2), false), []op.Extent{{2, 3}, {4, 4}, {2, 4}},
			"3 products on the left, 4 on the right"},
	})
	in := []*op.Value{tile(2, 3, 1, 1, 1, 1, 1, 1), tile(3, 4), tile(2, 4), tile(2, 1), tile(2, 1)}
	g := rig{node: onto(node("matmul", 2), true)}
	checkNeeds(t, g, in, op.WholeRow, op.WholeColumn, op.SameCell, op.SameCell, op.SameCell)
	checkReads(t, g, in, nil, 1, 2, 0, false, true)
	checkReads(t, g, in, nil, 2, 0, 0, true, false) // of what is carried over, a cell stays a cell
	sum := []*op.Value{tile(2, 3), tile(2, 1)}
	checkNeeds(t, rig{node: onto(node("rowsum", 1), false)}, sum, op.WholeRow, op.SameCell)
}
