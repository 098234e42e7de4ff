package fp

import "math"

// Conversions from and to f64 keep the sign and the leading payload bits of a
// NaN and make it quiet, as all f64 instructions do (measured on an H200).

// F32ToF64 is cvt{.ftz}.f64.f32; ftz makes a NaN canonical first.
func F32ToF64(a uint32, ftz bool) uint64 {
	if IsNaN32(a) {
		if ftz {
			a = NaN32
		}
		return widenNaN(uint64(a), F32)
	}
	if ftz {
		a = Flush32(a)
	}
	return math.Float64bits(float64(Float32(a)))
}

// F16ToF64 is cvt.f64.f16.
func F16ToF64(a uint16) uint64 {
	if IsNaN16(a) {
		return widenNaN(uint64(a), F16)
	}
	return math.Float64bits(F16ToFloat64(a))
}

// BF16ToF64 is cvt.f64.bf16.
func BF16ToF64(a uint16) uint64 {
	if IsNaNBF16(a) {
		return widenNaN(uint64(a), BF16)
	}
	return math.Float64bits(BF16ToFloat64(a))
}

// F64ToF32 is cvt{.rn,.rz,.rm,.rp}{.ftz}{.sat}.f32.f64; ftz flushes the result.
func F64ToF32(a uint64, m Mode) uint32 {
	if isNaN64(a) {
		return finish32(uint32(narrowNaN(a, F32)), m)
	}
	return finish32(uint32(narrow(math.Float64frombits(a), F32, m.Rnd, m.Ftz)), m)
}

// F64ToF16 is cvt{.rn,.rz,.rm,.rp}.f16.f64.
func F64ToF16(a uint64, m Mode) uint16 { return f64ToHalf(a, F16, m) }

// F64ToBF16 is cvt{.rn,.rz,.rm,.rp}.bf16.f64.
func F64ToBF16(a uint64, m Mode) uint16 { return f64ToHalf(a, BF16, m) }

func f64ToHalf(a uint64, f Format, m Mode) uint16 {
	if isNaN64(a) {
		return finishHalf(f, uint16(narrowNaN(a, f)), m)
	}
	return finishHalf(f, uint16(narrow(math.Float64frombits(a), f, m.Rnd, false)), m)
}

// narrowNaN returns the NaN a in format f, quiet.
func narrowNaN(a uint64, f Format) uint64 {
	l := &layouts[f]
	r := l.inf | a&(1<<52-1)>>uint(52-l.frac) | 1<<uint(l.frac-1)
	if a >= sign64 {
		r |= l.sign()
	}
	return r
}

// widenNaN returns the NaN a of format f as an f64, quiet.
func widenNaN(a uint64, f Format) uint64 {
	l := &layouts[f]
	r := layouts[F64].inf | a&(1<<uint(l.frac)-1)<<uint(52-l.frac) | quiet64
	if a&l.sign() != 0 {
		r |= sign64
	}
	return r
}
