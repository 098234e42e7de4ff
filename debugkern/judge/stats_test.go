package judge

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Cells are passed over without being numbered; the largest distance is that of numbering all.
func TestULPs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, dtype := range []probes.DType{probes.F16, probes.BF16, probes.F32} {
		number := ordering(dtype)
		for n := range 300 {
			const rows, cols = 7, 5
			own, e := op.NewMatrix(rows, cols), ref.NewEstimate(rows, cols)
			spread := math.Ldexp(1, n%40-20)
			for i := range own.Data {
				x := rnd.NormFloat64() * math.Exp(3*rnd.NormFloat64())
				g := x
				switch rnd.IntN(5) {
				case 0:
					g = x + spread*rnd.NormFloat64()
				case 1:
					g = -x * rnd.Float64()
				case 2:
					g = 0
				}
				if rnd.IntN(50) == 0 {
					g = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rnd.IntN(3)]
				}
				own.Data[i], e.Ref.Data[i] = op.RoundTo(dtype, g), x
			}
			v := &view{got: &tile{m: own}, rows: rows, cols: cols, dtype: dtype}
			most := int64(rnd.IntN(3) * rnd.IntN(40000))
			got := (&tally{Stats: Stats{MaxULP: most}}).ulps(v, e)
			for i, g := range own.Data {
				x := e.Ref.Data[i]
				if d := number(dtype, g) - number(dtype, x); g == g {
					most = max(most, d, -d)
				}
			}
			if got != most {
				t.Fatalf("%s, %d: %d, numbering all gives %d", dtype, n, got, most)
			}
		}
	}
}

// An infinity that an operator is certain of is what a right kernel has: any other value is wrong by the
// kernel's own tiles too. Where any other reference is not finite, a value of another kind is bad from the
// inputs alone.
func TestCertainInfinities(t *testing.T) {
	minus, plus := math.Inf(-1), math.Inf(1)
	for _, c := range []struct {
		got, ref, bound        float64
		certain, local, global bool
	}{
		{minus, minus, 0, true, false, false}, {3, minus, 0, true, true, true},
		{math.NaN(), minus, 0, true, true, true}, {3, minus, 0, false, false, true},
		{minus, plus, 0, true, true, true}, {plus, plus, 0, true, false, false},
		{3, minus, plus, true, false, true},
	} {
		for _, local := range []bool{true, false} {
			want := c.global
			if local {
				want = c.local
			}
			v := &view{dtype: probes.F32, local: local, certain: c.certain}
			if bad, _ := judgeOdd(v, c.got, c.ref, c.bound); bad != want {
				t.Errorf("%g where %g ± %g is right (certain %v), locally %v: bad %v",
					c.got, c.ref, c.bound, c.certain, local, bad)
			}
		}
	}
}
