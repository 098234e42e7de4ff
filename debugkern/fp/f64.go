package fp

import (
	"math"
	"math/bits"
)

const sign64 = 1 << 63

// Float64 returns the value of f64 bits.
func Float64(b uint64) float64 { return math.Float64frombits(b) }

const quiet64 = 1 << 51

// settle64 returns the bits of r. If r is NaN it is the first NaN among the
// operands, made quiet, or the NaN of an invalid operation. An H200 prefers the
// second operand of add, sub and mul, then C of fma; the first of div.
func settle64(r float64, operands ...uint64) uint64 {
	if r == r {
		return math.Float64bits(r)
	}
	for _, a := range operands {
		if isNaN64(a) {
			return a | quiet64
		}
	}
	return NaN64
}

func isNaN64(b uint64) bool { return b&^sign64 > 0x7ff<<52 }

// Add64 is add{.rn,.rz,.rm,.rp}.f64.
func Add64(a, b uint64, rnd Round) uint64 {
	r := Float64(a) + Float64(b)
	if rnd == RN || special64(r, Float64(a), Float64(b)) {
		return settle64(r, b, a)
	}
	return fma64(a, 0x3ff<<52, b, rnd)
}

// Sub64 is sub{.rn,.rz,.rm,.rp}.f64.
func Sub64(a, b uint64, rnd Round) uint64 {
	if isNaN64(b) {
		return b | quiet64
	}
	return Add64(a, b^sign64, rnd)
}

// Mul64 is mul{.rn,.rz,.rm,.rp}.f64.
func Mul64(a, b uint64, rnd Round) uint64 {
	r := Float64(a) * Float64(b)
	if rnd == RN || special64(r, Float64(a), Float64(b)) || Float64(a) == 0 || Float64(b) == 0 {
		return settle64(r, b, a)
	}
	neg, hi, lo, e := product64(a, b)
	return round128(neg, hi, lo, e, rnd)
}

// Fma64 is fma{.rn,.rz,.rm,.rp}.f64: a*b + c, rounded once.
func Fma64(a, b, c uint64, rnd Round) uint64 {
	r := math.FMA(Float64(a), Float64(b), Float64(c))
	if rnd == RN || special64(r, Float64(a), Float64(b)) || special64(r, Float64(c), 0) {
		return settle64(r, b, c, a)
	}
	return fma64(a, b, c, rnd)
}

// special64 reports whether a NaN or infinite operand settles the result.
func special64(r, x, y float64) bool {
	return r != r || math.IsInf(x, 0) || math.IsInf(y, 0)
}

// parts64 splits finite bits into (-1)^neg * m * 2^e.
func parts64(b uint64) (neg bool, m uint64, e int) {
	field := int(b >> 52 & 0x7ff)
	m = b & (1<<52 - 1)
	if field == 0 {
		field = 1
	} else {
		m |= 1 << 52
	}
	return b>>63 != 0, m, field - 1075
}

// product64 returns a*b as (-1)^neg * (hi, lo) * 2^e, exactly.
func product64(a, b uint64) (neg bool, hi, lo uint64, e int) {
	na, ma, ea := parts64(a)
	nb, mb, eb := parts64(b)
	hi, lo = bits.Mul64(ma, mb)
	return na != nb, hi, lo, ea + eb
}

// fma64 rounds a*b + c for finite operands.
func fma64(a, b, c uint64, rnd Round) uint64 {
	np, ph, pl, pe := product64(a, b)
	nc, cl, ce := parts64(c)
	ch := uint64(0)
	zero := uint64(0)
	if np != nc && rnd == RM || np && nc {
		zero = sign64
	}
	switch {
	case ph|pl == 0 && cl == 0:
		return zero
	case ph|pl == 0:
		return c
	case cl == 0:
		return round128(np, ph, pl, pe, rnd)
	}
	ph, pl, pe = top126(ph, pl, pe)
	ch, cl, ce = top126(ch, cl, ce)
	// The smaller operand moves right, its lost bits sticking to bit 0.
	if pe >= ce {
		ch, cl = jam128(ch, cl, pe-ce)
	} else {
		ph, pl = jam128(ph, pl, ce-pe)
		pe = ce
	}
	if np == nc {
		lo, carry := bits.Add64(pl, cl, 0)
		hi, _ := bits.Add64(ph, ch, carry)
		return round128(np, hi, lo, pe, rnd)
	}
	lo, borrow := bits.Sub64(pl, cl, 0)
	hi, borrow := bits.Sub64(ph, ch, borrow)
	neg := np
	if borrow != 0 {
		neg = nc
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	if hi|lo == 0 {
		return zero
	}
	return round128(neg, hi, lo, pe, rnd)
}

// top126 shifts (hi, lo) so that its highest set bit is bit 126.
func top126(hi, lo uint64, e int) (uint64, uint64, int) {
	n := bits.LeadingZeros64(hi) - 1
	if hi == 0 {
		n = 63 + bits.LeadingZeros64(lo)
	}
	if n >= 64 {
		return lo << uint(n-64), 0, e - n
	}
	return hi<<uint(n) | lo>>uint(64-n), lo << uint(n), e - n
}

// jam128 shifts right by n, keeping in bit 0 whether anything was lost.
func jam128(hi, lo uint64, n int) (uint64, uint64) {
	switch {
	case n == 0:
		return hi, lo
	case n >= 128:
		return 0, 1
	case n >= 64:
		lost := lo | hi<<uint(128-n)
		if n == 64 {
			lost = lo
		}
		return 0, hi>>uint(n-64) | sticky(lost)
	}
	return hi >> uint(n), hi<<uint(64-n) | lo>>uint(n) | sticky(lo<<uint(64-n))
}

func sticky(lost uint64) uint64 {
	if lost != 0 {
		return 1
	}
	return 0
}

// round128 rounds (-1)^neg * (hi, lo) * 2^e, not zero, to f64.
func round128(neg bool, hi, lo uint64, e int, rnd Round) uint64 {
	if hi == 0 {
		return roundParts(neg, lo, e, F64, rnd, false)
	}
	n := bits.LeadingZeros64(hi)
	m := hi<<uint(n) | lo>>uint(64-n) | sticky(lo<<uint(n))
	return roundParts(neg, m, e+64-n, F64, rnd, false)
}

// Div64 is div{.rn,.rz,.rm,.rp}.f64.
func Div64(a, b uint64, rnd Round) uint64 {
	x, y := Float64(a), Float64(b)
	r := x / y
	if rnd == RN || special64(r, x, y) || x == 0 || y == 0 {
		return settle64(r, a, b)
	}
	na, ma, ea := parts64(a)
	nb, mb, eb := parts64(b)
	ma, ea = top63(ma, ea)
	mb, eb = top63(mb, eb)
	q, rem := bits.Div64(ma>>1, ma<<63, mb) // ma * 2^63 / mb, at least 2^62
	return roundParts(na != nb, q|sticky(rem), ea-63-eb, F64, rnd, false)
}

// top63 shifts m so that its highest set bit is bit 63.
func top63(m uint64, e int) (uint64, int) {
	n := bits.LeadingZeros64(m)
	return m << uint(n), e - n
}

// Sqrt64 is sqrt{.rn,.rz,.rm,.rp}.f64.
func Sqrt64(a uint64, rnd Round) uint64 {
	x := Float64(a)
	r := math.Sqrt(x)
	if rnd == RN || special64(r, x, 0) || x == 0 {
		return settle64(r, a)
	}
	// Scaled into [1, 4) the residual x - r*r is exact and cannot underflow.
	_, m, e := parts64(a)
	m, e = top63(m, e)
	odd := uint64(e+63) & 1
	half := (e + 63 - int(odd)) / 2
	x = Float64((0x3ff+odd)<<52 | m<<1>>12)
	r = math.Sqrt(x)
	_, mr, er := parts64(math.Float64bits(r))
	m, err := mr<<2, math.FMA(-r, r, x)
	switch {
	case err > 0:
		m++
	case err < 0:
		m--
	}
	return roundParts(false, m, er-2+half, F64, rnd, false)
}

// Min64 is min.f64: the other operand for one NaN, -0 below +0.
func Min64(a, b uint64) uint64 {
	switch {
	case isNaN64(a) && isNaN64(b):
		return b | quiet64
	case isNaN64(b) || !isNaN64(a) && key64(a) < key64(b):
		return a
	}
	return b
}

// Max64 is max.f64; see Min64.
func Max64(a, b uint64) uint64 {
	switch {
	case isNaN64(a) && isNaN64(b):
		return b | quiet64
	case isNaN64(b) || !isNaN64(a) && key64(a) > key64(b):
		return a
	}
	return b
}

func key64(b uint64) int64 {
	s := int64(b)
	return s ^ int64(uint64(s>>63)>>1)
}

// Neg64 is neg.f64; a NaN keeps its sign and becomes quiet.
func Neg64(a uint64) uint64 {
	if isNaN64(a) {
		return a | quiet64
	}
	return a ^ sign64
}

// Abs64 is abs.f64; a NaN keeps its sign and becomes quiet.
func Abs64(a uint64) uint64 {
	if isNaN64(a) {
		return a | quiet64
	}
	return a &^ sign64
}

// RoundInt64 is cvt{.rni,.rzi,.rmi,.rpi}.f64.f64.
func RoundInt64(a uint64, rnd Round) uint64 { return settle64(integral(Float64(a), rnd), a) }
