package fp

import "math"

// accumulator describes how a tensor core adds a block of products: every term
// is aligned to the largest exponent, cut toward zero to frac fraction bits,
// and the cut terms are summed exactly. floor is the least exponent that the
// alignment uses, and keep the fraction bits of an f32 result.
type accumulator struct {
	frac  int
	floor int
	keep  int
}

// MMA names the formats of a matrix multiplication D = A*B + C: AB is F16 or
// BF16; C and D are F32 or F16.
type MMA struct{ AB, C, D Format }

// The forms of mma.sync and wmma.mma that exist for 16-bit operands.
var (
	MMAF32F16  = MMA{AB: F16, C: F32, D: F32}
	MMAF32BF16 = MMA{AB: BF16, C: F32, D: F32}
	MMAF16F16  = MMA{AB: F16, C: F16, D: F16}
	MMAF32F16C = MMA{AB: F16, C: F16, D: F32} // wmma: f32 D from f16 C
	MMAF16F32C = MMA{AB: F16, C: F32, D: F16} // wmma: f16 D from f32 C, rounded twice
)

// Dot returns a[0]*b[0] + a[1]*b[1] + ... + c as one block of the tensor core,
// in a plain form that follows the measured description term by term. C and D
// sit in the low 16 bits when they are f16. MMA16x16x16 and MultiplyWarp are its fast equals.
func (m *Model) Dot(t MMA, a, b []uint16, c uint32) uint32 {
	if t.C == F16 && t.D == F32 {
		c = F16ToF32(uint16(c))
	}
	if t.C == F32 && t.D == F16 {
		return uint32(F32ToF16(m.Dot(MMA{t.AB, F32, F32}, a, b, c)))
	}
	form := t.D
	if r, ok := m.dotSpecial(t.AB, form, a, b, c); ok {
		return r
	}
	emax := m.mma.floor
	mc, ec, nc := termC(form, c)
	if mc != 0 {
		emax = max(emax, ec)
	}
	for i := range a {
		ma, ea, _ := operand(t.AB, a[i])
		mb, eb, _ := operand(t.AB, b[i])
		if ma != 0 && mb != 0 {
			emax = max(emax, ea+eb)
		}
	}
	sum := signed(align(mc, m.mma.frac-23+ec-emax), nc)
	for i := range a {
		ma, ea, na := operand(t.AB, a[i])
		mb, eb, nb := operand(t.AB, b[i])
		sum += signed(align(ma*mb, m.mma.frac-20+ea+eb-emax), na != nb)
	}
	return roundSum(sum, emax-m.mma.frac, form)
}

// operand splits a 16-bit operand into a mantissa with 10 fraction bits, an
// exponent and a sign. Subnormals are not normalised.
func operand(f Format, x uint16) (m uint64, e int, neg bool) {
	l := &layouts[f]
	field := int(x&0x7fff) >> l.frac
	m = uint64(x & (1<<l.frac - 1))
	if field != 0 {
		m |= 1 << l.frac
	}
	return m << (10 - l.frac), max(field, 1) - l.bias, x >= 0x8000
}

// termC splits C into a significand with 23 fraction bits, exponent and sign.
func termC(f Format, c uint32) (m uint64, e int, neg bool) {
	if f == F16 {
		m, e, neg = operand(F16, uint16(c))
		return m << 13, e, neg
	}
	field := int(c >> 23 & 0xff)
	m = uint64(c & 0x7fffff)
	if field != 0 {
		m |= 1 << 23
	}
	return m, max(field, 1) - 127, c >= sign32
}

// align returns m * 2^shift truncated.
func align(m uint64, shift int) int64 {
	if shift >= 0 {
		return int64(m << uint(shift))
	}
	return int64(m >> uint(-shift))
}

func signed(v int64, neg bool) int64 {
	if neg {
		return -v
	}
	return v
}

// roundSum converts sum * 2^e: truncated to f32, with overflow to infinity, or
// rounded to nearest even to f16. A zero is always +0.
func roundSum(sum int64, e int, form Format) uint32 {
	if sum == 0 {
		return 0
	}
	neg := sum < 0
	if neg {
		sum = -sum
	}
	if form == F16 {
		r := uint32(roundParts(neg, uint64(sum), e, F16, RN, false))
		if r == 0x8000 {
			return 0
		}
		return r
	}
	r := uint32(roundParts(neg, uint64(sum), e, F32, RZ, false))
	switch r &^ sign32 {
	case 0:
		return 0
	case inf32 - 1:
		if float64(sum)*exp2(e) >= 0x1p128 {
			r++
		}
	}
	return r
}

// exp2 returns 2^e for -1022 <= e <= 1023.
func exp2(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// dotSpecial returns the result that a NaN or infinity settles: NaN for any
// NaN, 0*inf or infinities of both signs, else the infinity.
func (m *Model) dotSpecial(ab, form Format, a, b []uint16, c uint32) (uint32, bool) {
	x := accumulated(form, c)
	// Float arithmetic has the same rule; finite terms add 0.
	s := x * 0
	if math.IsInf(x, 0) {
		s = x
	}
	for i := range a {
		y, z := wide(ab, a[i]), wide(ab, b[i])
		if inf := inf16(ab); a[i]&inf == inf || b[i]&inf == inf {
			s += float64(y * z)
		}
	}
	return settled(form, s)
}

// accumulated is the value of an accumulator, in F32 or F16.
func accumulated(form Format, c uint32) float64 {
	if form == F16 {
		return F16ToFloat64(uint16(c))
	}
	return float64(Float32(c))
}

// settled is the accumulator, in F32 or F16, that a sum of NaN and infinities settles; ok is false where the
// sum has none.
func settled(form Format, s float64) (r uint32, ok bool) {
	nan, pos, neg := uint32(NaN32), uint32(inf32), uint32(sign32|inf32)
	if form == F16 {
		nan, pos, neg = uint32(NaN16), 0x7c00, 0xfc00
	}
	switch {
	case s != s:
		return nan, true
	case s > 0:
		return pos, true
	case s < 0:
		return neg, true
	}
	return 0, false
}
