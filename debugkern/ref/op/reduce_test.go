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
