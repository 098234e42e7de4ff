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
