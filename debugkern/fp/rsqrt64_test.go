package fp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestRsqrt64: results are the nearest number or the one next to it where the quotient lies almost in the
// middle of two, and special values have the ISA's results.
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
	for a, want := range map[uint64]uint64{
		0: math.Float64bits(inf), sign64: math.Float64bits(-inf), math.Float64bits(inf): 0,
		math.Float64bits(-1):   nan,
		math.Float64bits(-inf): nan, math.Float64bits(4): math.Float64bits(0.5),
	} {
		if got := Rsqrt64(a); got != want {
			t.Errorf("%#x: %#x, want %#x", a, got, want)
		}
	}
}

// TestHigh64: the seeds of Newton's method have the upper 32 bits of the result, and special
// values the ISA's results.
func TestHigh64(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		x := math.Ldexp(1+rng.Float64(), rng.IntN(2000)-1000)
		for got, want := range map[uint64]float64{
			RcpHigh64(math.Float64bits(x)): 1 / x, RsqrtHigh64(math.Float64bits(x)): 1 / math.Sqrt(x),
		} {
			if off := math.Abs(Float64(got)/want - 1); off > 0x1.9p-20 || got&low32 != 0 {
				t.Fatalf("%g: %#x, want %g", x, got, want)
			}
		}
	}
	f := math.Float64bits
	inf := math.Inf(1)
	for a, want := range map[uint64]uint64{
		f(2): f(0.5), f(-4): f(-0.25), f(inf): 0, f(-inf): sign64, 0: f(inf), sign64: f(-inf), 5: f(inf),
		f(0x1p1023): 0,
	} {
		if got := RcpHigh64(a); got != want {
			t.Errorf("1/%#x: %#x, want %#x", a, got, want)
		}
	}
	for a, want := range map[uint64]uint64{f(4): f(0.5), f(inf): 0, 0: f(inf), sign64: f(-inf), 7: f(inf)} {
		if got := RsqrtHigh64(a); got != want {
			t.Errorf("1/sqrt(%#x): %#x, want %#x", a, got, want)
		}
	}
	if v := Float64(RsqrtHigh64(f(-1))); v == v {
		t.Error(v)
	}
}
