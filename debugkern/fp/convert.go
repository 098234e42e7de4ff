package fp

import "math"

// F16ToF32 is cvt.f32.f16: exact, NaN canonical.
func F16ToF32(h uint16) uint32 {
	m := uint32(h & 0x7fff)
	if m >= 0x7c00 {
		return f16Special(h)
	}
	// The scaling by 2^112 rebias the exponent, subnormals included.
	return math.Float32bits(math.Float32frombits(m<<13)*0x1p112) | uint32(h&0x8000)<<16
}

func f16Special(h uint16) uint32 {
	if h&0x3ff != 0 {
		return NaN32
	}
	return uint32(h&0x8000)<<16 | inf32
}

// BF16ToF32 is cvt.f32.bf16: a shift, NaN payload kept.
func BF16ToF32(h uint16) uint32 { return uint32(h) << 16 }

// F16ToFloat64 returns the value of f16 bits.
func F16ToFloat64(h uint16) float64 { return float64(Float32(F16ToF32(h))) }

// BF16ToFloat64 returns the value of bf16 bits.
func BF16ToFloat64(h uint16) float64 { return float64(Float32(uint32(h) << 16)) }

// F32ToFloat64 returns the value of f32 bits.
func F32ToFloat64(b uint32) float64 { return float64(Float32(b)) }

// F32ToF16 is cvt.rn.f16.f32.
func F32ToF16(a uint32) uint16 {
	s, m := uint16(a>>16&0x8000), a&^sign32
	switch {
	case m < 0x38800000: // below the smallest normal: adding 0.5 rounds at 2^-24
		return s | uint16(math.Float32bits(math.Float32frombits(m)+0.5)-half32)
	case m < 0x47800000:
		return s | uint16((m+0xfff+m>>13&1-0x38000000)>>13)
	case m <= inf32:
		return s | 0x7c00
	}
	return NaN16
}

// F32ToBF16 is cvt.rn.bf16.f32.
func F32ToBF16(a uint32) uint16 {
	if IsNaN32(a) {
		return NaN16
	}
	return uint16((a + 0x7fff + a>>16&1) >> 16)
}

// F32ToF16M is cvt.f16.f32 with modifiers; ftz flushes only a subnormal input.
func F32ToF16M(a uint32, m Mode) uint16 { return f32ToHalf(F16, a, m) }

// F32ToBF16M is cvt.bf16.f32 with modifiers; ftz flushes only a subnormal input.
func F32ToBF16M(a uint32, m Mode) uint16 { return f32ToHalf(BF16, a, m) }

func f32ToHalf(f Format, a uint32, m Mode) uint16 {
	if m.Ftz {
		a = Flush32(a)
		m.Ftz = false
	}
	return finishHalf(f, uint16(narrow(float64(Float32(a)), f, m.Rnd, false)), m)
}

// F32ToF16x2 is cvt.f16x2.f32 d, a, b: a in the high half.
func F32ToF16x2(a, b uint32, m Mode) uint32 {
	return uint32(F32ToF16M(a, m))<<16 | uint32(F32ToF16M(b, m))
}

// F32ToBF16x2 is cvt.bf16x2.f32 d, a, b: a in the high half.
func F32ToBF16x2(a, b uint32, m Mode) uint32 {
	return uint32(F32ToBF16M(a, m))<<16 | uint32(F32ToBF16M(b, m))
}

// F32ToTF32 is cvt{.rna,.rn,.rz}{.relu}.tf32.f32: an f32 with the low 13 bits
// clear. The .rna form works on the bits, so NaN and infinity are kept and the
// largest values overflow to infinity; the others make NaN 0x7fffe000.
func F32ToTF32(a uint32, m Mode) uint32 {
	mag := a &^ sign32
	switch {
	case m.Rnd == RNA && mag >= inf32:
		a &^= 0x1fff
	case m.Rnd == RNA:
		a = (a + 0x1000) &^ 0x1fff
	case mag > inf32:
		return NaN32 &^ 0x1fff
	default:
		a = uint32(narrow(float64(Float32(a)), TF32, m.Rnd, false) << 13)
	}
	if m.Relu && a >= sign32 {
		return 0
	}
	return a
}

// Cvt32 is cvt{.ftz}{.sat}.f32.f32: NaN becomes canonical.
func Cvt32(a uint32, m Mode) uint32 { return finish32(Bits32(Float32(a)), m) }

// RoundInt32 is cvt{.rni,.rzi,.rmi,.rpi}.f32.f32, keeping the sign of zero. A
// flushed input is a zero whichever way the mode rounds.
func RoundInt32(a uint32, m Mode) uint32 {
	if m.Ftz {
		a = Flush32(a)
	}
	return finish32(RoundF32(integral(float64(Float32(a)), m.Rnd)), m)
}

// RoundInt16 is cvt{.rni,.rzi,.rmi,.rpi}.f16.f16.
func RoundInt16(a uint16, m Mode) uint16 { return roundIntHalf(F16, a, m) }

// RoundIntBF16 is RoundInt16 for bf16.
func RoundIntBF16(a uint16, m Mode) uint16 { return roundIntHalf(BF16, a, m) }

func roundIntHalf(f Format, a uint16, m Mode) uint16 {
	if m.Ftz {
		a = flushHalf(f, a)
	}
	return finishHalf(f, uint16(narrow(integral(wide(f, a), m.Rnd), f, RN, false)), m)
}

// integral rounds x to an integer, keeping the sign of zero.
func integral(x float64, rnd Round) float64 {
	switch rnd {
	case RZ:
		return math.Trunc(x)
	case RM:
		return math.Floor(x)
	case RP:
		return math.Ceil(x)
	case RNA:
		return math.Round(x)
	}
	return math.RoundToEven(x)
}
