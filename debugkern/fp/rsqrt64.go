package fp

import "math"

// Rsqrt64 is rsqrt.approx.f64, which chips make in software: 1/sqrt(a), here within half an ulp
// and very little more.
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

// RcpHigh64 is rcp.approx.ftz.f64, from which libraries begin Newton's method: the reciprocal of the upper 32
// bits of a, in 32 bits. The ISA leaves the last of its 20 fraction bits open; here it is rounded to nearest.
func RcpHigh64(a uint64) uint64 {
	x := Float64(high64(a))
	return settleHigh64(1/x, a)
}

// RsqrtHigh64 is rsqrt.approx.ftz.f64: the same for 1/sqrt(a).
func RsqrtHigh64(a uint64) uint64 {
	x := Float64(high64(a))
	if x == 0 {
		return math.Float64bits(math.Copysign(math.Inf(1), x))
	}
	return settleHigh64(1/math.Sqrt(x), a)
}

const low32 = 1<<32 - 1

// high64 is the upper half of a number; a subnormal one is zero.
func high64(a uint64) uint64 {
	if a>>52&0x7ff == 0 {
		return a & sign64
	}
	return a &^ low32
}

// settleHigh64 rounds a result to its upper half.
func settleHigh64(r float64, a uint64) uint64 {
	b := settle64(r, a)
	if r != r || math.IsInf(r, 0) {
		return b &^ low32
	}
	if b>>52&0x7ff == 0 {
		return b & sign64
	}
	return (b + 1<<31) &^ low32
}
