package fp

// F32ToE4M3 is one half of cvt.rn.satfinite{.relu}.e4m3x2.f32: beyond 448, and
// for infinities, the largest finite value of that sign; NaN is 0x7f.
func F32ToE4M3(a uint32, relu bool) uint8 { return float8(E4M3, float64(Float32(a)), relu) }

// F32ToE5M2 is one half of cvt.rn.satfinite{.relu}.e5m2x2.f32.
func F32ToE5M2(a uint32, relu bool) uint8 { return float8(E5M2, float64(Float32(a)), relu) }

// F16ToE4M3 is one half of cvt.rn.satfinite{.relu}.e4m3x2.f16x2.
func F16ToE4M3(a uint16, relu bool) uint8 { return float8(E4M3, F16ToFloat64(a), relu) }

// F16ToE5M2 is one half of cvt.rn.satfinite{.relu}.e5m2x2.f16x2.
func F16ToE5M2(a uint16, relu bool) uint8 { return float8(E5M2, F16ToFloat64(a), relu) }

func float8(f Format, x float64, relu bool) uint8 {
	if x != x {
		return NaN8
	}
	r := uint8(narrow(x, f, RN, false))
	if relu && r >= 0x80 {
		return 0
	}
	if r&0x7f > uint8(layouts[f].max) {
		r = r&0x80 | uint8(layouts[f].max)
	}
	return r
}

// F32ToE4M3x2 is cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b: a in the high byte.
func F32ToE4M3x2(a, b uint32, relu bool) uint16 {
	return uint16(F32ToE4M3(a, relu))<<8 | uint16(F32ToE4M3(b, relu))
}

// F32ToE5M2x2 is cvt.rn.satfinite{.relu}.e5m2x2.f32 d, a, b: a in the high byte.
func F32ToE5M2x2(a, b uint32, relu bool) uint16 {
	return uint16(F32ToE5M2(a, relu))<<8 | uint16(F32ToE5M2(b, relu))
}

// F16x2ToE4M3x2 is cvt.rn.satfinite{.relu}.e4m3x2.f16x2.
func F16x2ToE4M3x2(a uint32, relu bool) uint16 {
	return uint16(F16ToE4M3(uint16(a>>16), relu))<<8 | uint16(F16ToE4M3(uint16(a), relu))
}

// F16x2ToE5M2x2 is cvt.rn.satfinite{.relu}.e5m2x2.f16x2.
func F16x2ToE5M2x2(a uint32, relu bool) uint16 {
	return uint16(F16ToE5M2(uint16(a>>16), relu))<<8 | uint16(F16ToE5M2(uint16(a), relu))
}

// E4M3ToF16 widens exactly; NaN is 0x7fff. There is no infinity.
func E4M3ToF16(a uint8) uint16 {
	s, m := uint16(a&0x80)<<8, uint16(a&0x7f)
	switch {
	case m == 0x7f:
		return NaN16
	case m >= 8:
		return s | (m<<7 + 8<<10)
	}
	return s | F32ToF16(Bits32(float32(m)*0x1p-9))
}

// E5M2ToF16 widens exactly: the high byte of an f16; NaN is 0x7fff.
func E5M2ToF16(a uint8) uint16 {
	if a&0x7f > 0x7c {
		return NaN16
	}
	return uint16(a) << 8
}

// E4M3x2ToF16x2 is cvt.rn.f16x2.e4m3x2{.relu}.
func E4M3x2ToF16x2(a uint16, relu bool) uint32 {
	m := Mode{Relu: relu}
	return uint32(finishHalf(F16, E4M3ToF16(uint8(a>>8)), m))<<16 |
		uint32(finishHalf(F16, E4M3ToF16(uint8(a)), m))
}

// E5M2x2ToF16x2 is cvt.rn.f16x2.e5m2x2{.relu}.
func E5M2x2ToF16x2(a uint16, relu bool) uint32 {
	m := Mode{Relu: relu}
	return uint32(finishHalf(F16, E5M2ToF16(uint8(a>>8)), m))<<16 |
		uint32(finishHalf(F16, E5M2ToF16(uint8(a)), m))
}

// E4M3ToFloat64 returns the value of e4m3 bits.
func E4M3ToFloat64(a uint8) float64 { return F16ToFloat64(E4M3ToF16(a)) }
