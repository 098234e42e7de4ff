package fp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestRsqrt64: results are the nearest number or the one next to it where the quotient lies almost in the middle of two, and special
// values have the ISA's results.
func TestRsqrt64(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		x := math.Ldexp(1+rng.Float64(), rng.IntN(2090)-1073)
		exact := new(big.Float).SetPrec(200).SetFloat64(x)
		exact.Quo(big.NewFloat(1).SetPrec(200), exact.Sqrt(exact))
		got := Float64(Rsqrt64(math.Float64bits(x)))
		ulp := math.Nextafter(got, math.Inf(1)) - got
		off, _ := new(big.Float).Sub(exact, big.NewFloat(got)).Float64()
		if math.Abs(off) > 0.5001*ulp {
			t.Fatalf("%g: %g is off by %g ulp", x, got, off/ulp)
		}
	}
	inf, nan := math.Inf(1), uint64(NaN64)
	for a, want := range map[uint64]uint64{0: math.Float64bits(inf), sign64: math.Float64bits(-inf), math.Float64bits(inf): 0, math.Float64bits(-1): nan,
		math.Float64bits(-inf): nan, math.Float64bits(4): math.Float64bits(0.5)} {
		if got := Rsqrt64(a); got != want {
			t.Errorf("%#x: %#x, want %#x", a, got, want)
		}
	}
}
