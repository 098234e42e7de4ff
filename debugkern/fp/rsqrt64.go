package fp

import "math"

// Rsqrt64 is rsqrt.approx.f64, which chips make in software: 1/sqrt(a), here within half an ulp and very little more.
func Rsqrt64(a uint64) uint64 {
	x := Float64(a)
	switch {
	case x != x || x < 0:
		return settle64(math.NaN(), a)
	case x == 0:
		return math.Float64bits(math.Copysign(math.Inf(1), x))
	case math.IsInf(x, 1):
		return 0
	}
	y := float64(1 / math.Sqrt(x))
	p := float64(x * y)
	left := float64(math.FMA(-p, y, 1) - float64(math.FMA(x, y, -p)*y)) // 1 - x·y²
	return math.Float64bits(math.FMA(y, left/2, y))
}
