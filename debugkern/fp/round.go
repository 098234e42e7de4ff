package fp

import (
	"math"
	"math/bits"
)

// roundParts rounds (-1)^neg * m * 2^e, m != 0, into format f. The lowest bit
// of m may be sticky if m has at least two bits more than the format. With ftz
// a result that is subnormal after rounding with unbounded exponent becomes a
// zero of its sign (NUMERICS: not the same as flushing the IEEE result).
func roundParts(neg bool, m uint64, e int, f Format, rnd Round, ftz bool) uint64 {
	l := &layouts[f]
	lz := bits.LeadingZeros64(m)
	m <<= uint(lz)
	e += 63 - lz // m is 1.xxx * 2^e with 63 fraction bits
	emin := 1 - l.bias
	shift := 63 - l.frac
	full := m>>uint(shift) + roundUp(m, shift, neg, rnd)
	var out uint64
	switch {
	case e >= emin:
		out = uint64(e-emin)<<uint(l.frac) + full
	case ftz && (e < emin-1 || full>>uint(l.frac+1) == 0):
		out = 0
	default:
		shift += emin - e
		if shift > 64 {
			m, shift = 1, 64 // below half of the smallest subnormal
		}
		if shift < 64 {
			out = m >> uint(shift)
		}
		out += roundUp(m, shift, neg, rnd)
	}
	if e > l.bias+1 || out >= l.inf {
		out = overflow(l, neg, rnd)
	}
	if neg {
		out |= l.sign()
	}
	return out
}

// roundUp returns 1 if m, cut to its bits from shift up, must be incremented in
// magnitude. 1 <= shift <= 64.
func roundUp(m uint64, shift int, neg bool, rnd Round) uint64 {
	half := uint64(1) << uint(shift-1)
	rem := m & (half<<1 - 1)
	if rem == 0 {
		return 0
	}
	up := false
	switch rnd {
	case RN:
		odd := shift < 64 && m>>uint(shift)&1 == 1
		up = rem > half || rem == half && odd
	case RNA:
		up = rem >= half
	case RM:
		up = neg
	case RP:
		up = !neg
	}
	if up {
		return 1
	}
	return 0
}

// overflow returns the magnitude that a value beyond the largest finite one
// takes: infinity, or the largest finite value where the mode rounds toward it.
func overflow(l *layout, neg bool, rnd Round) uint64 {
	if rnd == RZ || rnd == RM && !neg || rnd == RP && neg {
		return l.max
	}
	return l.inf
}

// narrow rounds x, exact or rounded to odd, into format f. NaN becomes the
// format's canonical NaN.
func narrow(x float64, f Format, rnd Round, ftz bool) uint64 {
	b := math.Float64bits(x)
	neg := b>>63 != 0
	field := int(b >> 52 & 0x7ff)
	m := b & (1<<52 - 1)
	l := &layouts[f]
	switch field {
	case 0x7ff:
		if m != 0 {
			return l.nan
		}
		if neg {
			return l.inf | l.sign()
		}
		return l.inf
	case 0:
		if m == 0 {
			if neg {
				return l.sign()
			}
			return 0
		}
		field = 1
	default:
		m |= 1 << 52
	}
	return roundParts(neg, m, field-1075, f, rnd, ftz)
}

// oddAdd returns p + c rounded to odd; the sum must not overflow or be
// subnormal unless it is exact.
func oddAdd(p, c float64) float64 {
	s := p + c
	v := s - p
	err := (p - (s - v)) + (c - v) // Knuth's TwoSum
	return odd(s, err)
}

// odd returns s + err rounded to odd, where s is the nearest float64 and err
// has the sign of the error, or is zero or NaN if there is none.
func odd(s, err float64) float64 {
	b := math.Float64bits(s)
	if err != 0 && err == err && b&1 == 0 && b<<1 < 0xffe<<52 {
		if err > 0 == (s > 0) {
			return math.Float64frombits(b + 1)
		}
		return math.Float64frombits(b - 1)
	}
	return s
}

// oddDiv returns a/b rounded to odd for a and b that hold f32 values.
func oddDiv(a, b float64) float64 {
	q := a / b
	r := math.FMA(-q, b, a) // exact: its sign is that of the error times b
	if b < 0 {
		r = -r
	}
	return odd(q, r)
}

// oddSqrt returns the square root of a, which holds an f32 value, rounded to odd.
func oddSqrt(a float64) float64 {
	r := math.Sqrt(a)
	return odd(r, math.FMA(-r, r, a))
}

// zeroSum returns the sign rule of an exactly cancelling sum: -0 when rounding
// toward minus infinity, else +0. Two zeros of one sign keep it, which p + c
// already does.
func zeroSum(s, p, c float64, rnd Round) float64 {
	if s == 0 && rnd == RM && (math.Signbit(p) || math.Signbit(c)) {
		return math.Copysign(0, -1)
	}
	return s
}

// RoundF16 rounds x once to f16, to nearest even; NaN becomes 0x7fff.
func RoundF16(x float64) uint16 {
	b := math.Float64bits(x)
	e := b >> 52 & 0x7ff
	if e-(1023-14) < 29 { // normal and clear of overflow
		b += 1<<41 - 1 + b>>42&1
		return uint16(b>>48&0x8000) | uint16((b<<1>>1-(1023-15)<<52)>>42)
	}
	return uint16(narrow(x, F16, RN, false))
}

// RoundBF16 rounds x once to bf16, to nearest even; NaN becomes 0x7fff.
func RoundBF16(x float64) uint16 { return uint16(narrow(x, BF16, RN, false)) }

// RoundF32 rounds x once to f32, to nearest even; NaN becomes 0x7fffffff.
func RoundF32(x float64) uint32 {
	r := float32(x)
	if r != r {
		return NaN32
	}
	return math.Float32bits(r)
}

// RoundTo rounds x once to f with the given rounding; see Format for widths.
// Overflow goes to infinity or the largest finite value as the mode says
// (e4m3 has no infinity: 0x7f, its NaN, stands there).
func RoundTo(f Format, x float64, rnd Round) uint64 { return narrow(x, f, rnd, false) }

// Ordered16 maps the bits of an f16 or bf16 to integers in the order of their
// values, so that a distance in ULP is a difference. Both zeros map to 0.
func Ordered16(b uint16) int32 {
	if b&0x8000 != 0 {
		return -int32(b & 0x7fff)
	}
	return int32(b)
}

// Ordered32 is Ordered16 for f32.
func Ordered32(b uint32) int64 {
	if b&0x80000000 != 0 {
		return -int64(b & 0x7fffffff)
	}
	return int64(b)
}
