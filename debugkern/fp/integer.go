package fp

import "math"

// Int is an integer type of the ISA: .s8 to .u64. Values travel as uint64, zero
// extended from Bits.
type Int struct {
	Bits   uint8 // 8, 16, 32 or 64
	Signed bool
}

// limits returns the range of t as exact float64s: lo <= v < hi.
func (t Int) limits() (lo, hi float64) {
	if t.Signed {
		hi = math.Float64frombits(uint64(1022+int(t.Bits)) << 52)
		return -hi, hi
	}
	return 0, math.Float64frombits(uint64(1023+int(t.Bits)) << 52)
}

func (t Int) mask() uint64 { return ^uint64(0) >> (64 - t.Bits) }

// max and min return the extreme values as patterns of t.
func (t Int) max() uint64 {
	if t.Signed {
		return t.mask() >> 1
	}
	return t.mask()
}

func (t Int) min() uint64 {
	if t.Signed {
		return t.mask()>>1 + 1
	}
	return 0
}

// F32ToInt is cvt{.rni,.rzi,.rmi,.rpi}{.ftz}.<t>.f32: saturating. NaN gives 0,
// or 2^63 for a 64-bit t.
func F32ToInt(a uint32, t Int, m Mode) uint64 {
	if m.Ftz {
		a = Flush32(a)
	}
	return toInt(float64(Float32(a)), t, m.Rnd, t.Bits == 64)
}

// F16ToInt is cvt.<t>.f16; see F32ToInt.
func F16ToInt(a uint16, t Int, m Mode) uint64 {
	if m.Ftz {
		a = Flush16(a)
	}
	return toInt(F16ToFloat64(a), t, m.Rnd, t.Bits == 64)
}

// BF16ToInt is cvt.<t>.bf16; see F32ToInt.
func BF16ToInt(a uint16, t Int, m Mode) uint64 {
	return toInt(BF16ToFloat64(a), t, m.Rnd, t.Bits == 64)
}

// F64ToInt is cvt.<t>.f64: saturating. NaN gives the pattern of the top bit.
func F64ToInt(a uint64, t Int, m Mode) uint64 {
	return toInt(math.Float64frombits(a), t, m.Rnd, true)
}

func toInt(x float64, t Int, rnd Round, nanTop bool) uint64 {
	if x != x {
		if nanTop {
			return 1 << (t.Bits - 1)
		}
		return 0
	}
	x = integral(x, rnd)
	lo, hi := t.limits()
	switch {
	case x < lo:
		return t.min()
	case x >= hi:
		return t.max()
	case x < 0:
		return uint64(int64(x)) & t.mask()
	case x >= 0x1p63:
		return uint64(int64(x-0x1p63)) | 1<<63
	}
	return uint64(int64(x))
}

// IntToF32 is cvt{.rn,.rz,.rm,.rp}{.sat}.f32.<t>.
func IntToF32(v uint64, t Int, m Mode) uint32 { return finish32(uint32(fromInt(v, t, F32, m.Rnd)), m) }

// IntToF16 is cvt{.rn,.rz,.rm,.rp}.f16.<t>.
func IntToF16(v uint64, t Int, m Mode) uint16 {
	return finishHalf(F16, uint16(fromInt(v, t, F16, m.Rnd)), m)
}

// IntToBF16 is cvt{.rn,.rz,.rm,.rp}.bf16.<t>.
func IntToBF16(v uint64, t Int, m Mode) uint16 {
	return finishHalf(BF16, uint16(fromInt(v, t, BF16, m.Rnd)), m)
}

// IntToF64 is cvt{.rn,.rz,.rm,.rp}.f64.<t>.
func IntToF64(v uint64, t Int, m Mode) uint64 { return fromInt(v, t, F64, m.Rnd) }

func fromInt(v uint64, t Int, f Format, rnd Round) uint64 {
	s := t.extend(v)
	neg := t.Signed && int64(s) < 0
	if neg {
		s = -s
	}
	if s == 0 {
		return 0
	}
	return roundParts(neg, s, 0, f, rnd, false)
}

// extend returns the low bits of v as t, sign or zero extended to 64 bits.
func (t Int) extend(v uint64) uint64 {
	up := 64 - t.Bits
	if t.Signed {
		return uint64(int64(v<<up) >> up)
	}
	return v << up >> up
}

// IntToInt is cvt{.sat}.<to>.<from>: without sat the low bits of the extended
// value, with sat the nearest value of to.
func IntToInt(v uint64, from, to Int, sat bool) uint64 {
	s := from.extend(v)
	if !sat {
		return s & to.mask()
	}
	neg := from.Signed && int64(s) < 0
	switch {
	case neg && !to.Signed:
		return 0
	case neg && int64(s) < int64(to.extend(to.min())):
		return to.min()
	case !neg && s > to.max():
		return to.max()
	}
	return s & to.mask()
}
