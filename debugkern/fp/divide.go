package fp

// Div32 is div{.rn,.rz,.rm,.rp}{.ftz}.f32, correctly rounded. The flush of the
// result follows the rule of mul and fma, rounding with unbounded exponent
// (measured on an H200: 0x017fffff / 4 is 0 under ftz).
func Div32(a, b uint32, m Mode) uint32 {
	if m.Ftz {
		a, b = Flush32(a), Flush32(b)
	}
	if m.Rnd == RN && !m.Ftz {
		return finish32(Bits32(Float32(a)/Float32(b)), m)
	}
	return narrow32(oddDiv(float64(Float32(a)), float64(Float32(b))), m)
}

// Rcp32 is rcp{.rn,.rz,.rm,.rp}{.ftz}.f32, correctly rounded.
func Rcp32(a uint32, m Mode) uint32 { return Div32(one32, a, m) }

// Sqrt32 is sqrt{.rn,.rz,.rm,.rp}{.ftz}.f32, correctly rounded.
func Sqrt32(a uint32, m Mode) uint32 {
	if m.Ftz {
		a = Flush32(a)
	}
	return finish32(uint32(narrow(oddSqrt(float64(Float32(a))), F32, m.Rnd, false)), m)
}
