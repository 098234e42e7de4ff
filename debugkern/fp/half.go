package fp

import "math"

// wide returns the value of f16 or bf16 bits.
func wide(f Format, a uint16) float64 {
	if f == F16 {
		return F16ToFloat64(a)
	}
	return BF16ToFloat64(a)
}

// inf16 returns the pattern of infinity, the mask of the exponent field.
func inf16(f Format) uint16 {
	if f == F16 {
		return 0x7c00
	}
	return 0x7f80
}

func isNaN16(f Format, a uint16) bool { return a&0x7fff > inf16(f) }

// IsNaN16 reports whether f16 bits are a NaN.
func IsNaN16(a uint16) bool { return a&0x7fff > 0x7c00 }

// IsNaNBF16 reports whether bf16 bits are a NaN.
func IsNaNBF16(a uint16) bool { return a&0x7fff > 0x7f80 }

func flushHalf(f Format, a uint16) uint16 {
	if a&inf16(f) == 0 {
		return a & 0x8000
	}
	return a
}

// Flush16 returns f16 bits with a subnormal replaced by the zero of its sign.
func Flush16(a uint16) uint16 { return flushHalf(F16, a) }

// finishHalf applies relu and saturation to a rounded result.
func finishHalf(f Format, r uint16, m Mode) uint16 {
	if !m.Relu && !m.Sat {
		return r
	}
	nan := isNaN16(f, r)
	one := uint16(0x3c00)
	if f == BF16 {
		one = one32 >> 16
	}
	switch {
	case m.Sat && nan:
		return 0
	case nan:
		return NaN16
	case r >= 0x8000:
		return 0
	case m.Sat && r > one:
		return one
	}
	return r
}

func addHalf(f Format, a, b uint16, m Mode) uint16 {
	if m.Ftz {
		a, b = flushHalf(f, a), flushHalf(f, b)
	}
	x, y := wide(f, a), wide(f, b)
	s := zeroSum(oddAdd(x, y), x, y, m.Rnd)
	return finishHalf(f, uint16(narrow(s, f, m.Rnd, m.Ftz)), m)
}

func mulHalf(f Format, a, b uint16, m Mode) uint16 {
	if m.Ftz {
		a, b = flushHalf(f, a), flushHalf(f, b)
	}
	return finishHalf(f, uint16(narrow(wide(f, a)*wide(f, b), f, m.Rnd, m.Ftz)), m)
}

func fmaHalf(f Format, a, b, c uint16, m Mode) uint16 {
	if m.Ftz {
		a, b, c = flushHalf(f, a), flushHalf(f, b), flushHalf(f, c)
	}
	p, z := float64(wide(f, a)*wide(f, b)), wide(f, c)
	s := zeroSum(oddAdd(p, z), p, z, m.Rnd)
	return finishHalf(f, uint16(narrow(s, f, m.Rnd, m.Ftz)), m)
}

// minMaxHalf picks the operand whose order, times dir, is larger.
func minMaxHalf(f Format, a, b uint16, m Mode, dir int32) uint16 {
	if m.Ftz {
		a, b = flushHalf(f, a), flushHalf(f, b)
	}
	sign := uint16(0)
	if m.XorSign {
		sign = (a ^ b) & 0x8000
		a, b = a&0x7fff, b&0x7fff
	}
	na, nb := isNaN16(f, a), isNaN16(f, b)
	r := b
	switch {
	case m.NaN && (na || nb), na && nb:
		r = NaN16
	case na:
	case nb || dir*key16(a) > dir*key16(b):
		r = a
	}
	if r != NaN16 {
		r |= sign
	}
	return finishHalf(f, r, m)
}

// key16 orders non-NaN bits by value with -0 below +0.
func key16(b uint16) int32 {
	s := int32(int16(b))
	return s ^ (s >> 31 & 0x7fff)
}

// Add16 is add.rn.f16. Rounding through f32 is safe: it has more than twice the
// bits of f16 plus two (Figueroa 1995), and subnormal f16 sums are exact.
func Add16(a, b uint16) uint16 {
	return F32ToF16(math.Float32bits(Float32(F16ToF32(a)) + Float32(F16ToF32(b))))
}

// Sub16 is sub.rn.f16.
func Sub16(a, b uint16) uint16 {
	return F32ToF16(math.Float32bits(Float32(F16ToF32(a)) - Float32(F16ToF32(b))))
}

// Mul16 is mul.rn.f16; the f32 product is exact.
func Mul16(a, b uint16) uint16 {
	return F32ToF16(math.Float32bits(Float32(F16ToF32(a)) * Float32(F16ToF32(b))))
}

// Fma16 is fma.rn.f16, rounded once.
func Fma16(a, b, c uint16) uint16 {
	p := float64(F16ToFloat64(a) * F16ToFloat64(b))
	return RoundF16(oddAdd(p, F16ToFloat64(c)))
}

// AddBF16 is add.rn.bf16; see Add16.
func AddBF16(a, b uint16) uint16 {
	return F32ToBF16(math.Float32bits(Float32(uint32(a)<<16) + Float32(uint32(b)<<16)))
}

// SubBF16 is sub.rn.bf16; see Add16.
func SubBF16(a, b uint16) uint16 {
	return F32ToBF16(math.Float32bits(Float32(uint32(a)<<16) - Float32(uint32(b)<<16)))
}

// MulBF16 is mul.rn.bf16, rounded once: an f32 product could be subnormal and
// inexact.
func MulBF16(a, b uint16) uint16 { return RoundBF16(BF16ToFloat64(a) * BF16ToFloat64(b)) }

// FmaBF16 is fma.rn.bf16, rounded once.
func FmaBF16(a, b, c uint16) uint16 {
	p := float64(BF16ToFloat64(a) * BF16ToFloat64(b))
	return RoundBF16(oddAdd(p, BF16ToFloat64(c)))
}

// Add16M, Sub16M, Mul16M and Fma16M are the f16 operations with modifiers.
func Add16M(a, b uint16, m Mode) uint16    { return addHalf(F16, a, b, m) }
func Sub16M(a, b uint16, m Mode) uint16    { return addHalf(F16, a, b^0x8000, m) }
func Mul16M(a, b uint16, m Mode) uint16    { return mulHalf(F16, a, b, m) }
func Fma16M(a, b, c uint16, m Mode) uint16 { return fmaHalf(F16, a, b, c, m) }

// AddBF16M, SubBF16M, MulBF16M and FmaBF16M are the bf16 operations with modifiers.
func AddBF16M(a, b uint16, m Mode) uint16    { return addHalf(BF16, a, b, m) }
func SubBF16M(a, b uint16, m Mode) uint16    { return addHalf(BF16, a, b^0x8000, m) }
func MulBF16M(a, b uint16, m Mode) uint16    { return mulHalf(BF16, a, b, m) }
func FmaBF16M(a, b, c uint16, m Mode) uint16 { return fmaHalf(BF16, a, b, c, m) }

// Min16 and its kin follow min.f32: the other operand for one NaN (or NaN with
// Mode.NaN), -0 below +0.
func Min16(a, b uint16, m Mode) uint16   { return minMaxHalf(F16, a, b, m, -1) }
func Max16(a, b uint16, m Mode) uint16   { return minMaxHalf(F16, a, b, m, 1) }
func MinBF16(a, b uint16, m Mode) uint16 { return minMaxHalf(BF16, a, b, m, -1) }
func MaxBF16(a, b uint16, m Mode) uint16 { return minMaxHalf(BF16, a, b, m, 1) }

// Neg16, Abs16, NegBF16 and AbsBF16 make NaN canonical.
func Neg16(a uint16) uint16   { return signHalf(F16, a, a^0x8000) }
func Abs16(a uint16) uint16   { return signHalf(F16, a, a&0x7fff) }
func NegBF16(a uint16) uint16 { return signHalf(BF16, a, a^0x8000) }
func AbsBF16(a uint16) uint16 { return signHalf(BF16, a, a&0x7fff) }

func signHalf(f Format, a, r uint16) uint16 {
	if isNaN16(f, a) {
		return NaN16
	}
	return r
}

// Each1x2, Each2x2 and Each3x2 apply a scalar 16-bit operation to both halves
// of packed words, as the .f16x2 and .bf16x2 instructions do.
func Each1x2(op func(a uint16) uint16, a uint32) uint32 {
	return uint32(op(uint16(a>>16)))<<16 | uint32(op(uint16(a)))
}

// Each2x2 is described at Each1x2.
func Each2x2(op func(a, b uint16, m Mode) uint16, a, b uint32, m Mode) uint32 {
	return uint32(op(uint16(a>>16), uint16(b>>16), m))<<16 | uint32(op(uint16(a), uint16(b), m))
}

// Each3x2 is described at Each1x2.
func Each3x2(op func(a, b, c uint16, m Mode) uint16, a, b, c uint32, m Mode) uint32 {
	return uint32(op(uint16(a>>16), uint16(b>>16), uint16(c>>16), m))<<16 |
		uint32(op(uint16(a), uint16(b), uint16(c), m))
}
