package fp

import "math"

// Dot products of the tensor core for operands that are not of 16 bits. Each returns one element of D = A·B + C.

// DotTF32 is a product of tf32 operands, f32 numbers whose low 13 bits are ignored, as one block: what Dot is for operands of 16 bits,
// with the same alignment.
func (m *Model) DotTF32(a, b []uint32, c uint32) uint32 {
	if r, ok := settleTF32(a, b, c); ok {
		return r
	}
	mc, ec, nc := termC(F32, c)
	emax := m.mma.floor
	if mc != 0 {
		emax = max(emax, ec)
	}
	for i := range a {
		ma, ea := operandTF32(a[i])
		mb, eb := operandTF32(b[i])
		if ma != 0 && mb != 0 {
			emax = max(emax, ea+eb)
		}
	}
	sum := signed(align(mc, m.mma.frac-23+ec-emax), nc)
	for i := range a {
		ma, ea := operandTF32(a[i])
		mb, eb := operandTF32(b[i])
		sum += signed(align(ma*mb, m.mma.frac-20+ea+eb-emax), (a[i]^b[i])&sign32 != 0)
	}
	return roundSum(sum, emax-m.mma.frac, F32)
}

const tf32Low = 1<<13 - 1

// operandTF32 splits a tf32 operand into a mantissa with 10 fraction bits and an exponent.
func operandTF32(x uint32) (m uint64, e int) {
	field := int(x >> 23 & 0xff)
	m = uint64(x >> 13 & 0x3ff)
	if field != 0 {
		m |= 1 << 10
	}
	return m, max(field, 1) - 127
}

// settleTF32 returns the result that a NaN or infinity settles, as dotSpecial does.
func settleTF32(a, b []uint32, c uint32) (uint32, bool) {
	s := 0.0 // float arithmetic has the same rule; finite terms add 0
	add := func(v float64) {
		if math.IsInf(v, 0) || v != v {
			s += v
		}
	}
	add(float64(Float32(c)))
	for i := range a {
		if a[i]&inf32 == inf32 || b[i]&inf32 == inf32 {
			add(float64(float64(Float32(a[i]&^tf32Low)) * float64(Float32(b[i]&^tf32Low))))
		}
	}
	switch {
	case s != s:
		return NaN32, true
	case s > 0:
		return inf32, true
	case s < 0:
		return sign32 | inf32, true
	}
	return 0, false
}

// DotF8 is a product of E4M3 or E5M2 operands: each is widened to f16, which is exact, and products are added 16 at a time by Dot, from
// the first on. That is how a chip does it that has no fp8 multiplier behind mma.sync; t names the accumulators.
func (m *Model) DotF8(t MMA, fa, fb Format, a, b []uint8, c uint32) uint32 {
	var x, y [16]uint16
	for len(a) > 0 {
		n := min(16, len(a))
		for i := range n {
			x[i], y[i] = widenF8(fa, a[i]), widenF8(fb, b[i])
		}
		c = m.Dot(t, x[:n], y[:n], c)
		a, b = a[n:], b[n:]
	}
	return c
}

func widenF8(f Format, v uint8) uint16 {
	if f == E4M3 {
		return E4M3ToF16(v)
	}
	return E5M2ToF16(v)
}

// Dot64 is a product of f64 operands: fused multiply-adds from the first product on, each rounded to nearest even.
func Dot64(a, b []uint64, c uint64) uint64 {
	for i := range a {
		c = Fma64(a[i], b[i], c, RN)
	}
	return c
}

// DotInt is a product of integers added to a 32-bit integer, which wraps around, or with sat is the nearest that has 32 bits.
func DotInt(a, b []int32, c int32, sat bool) int32 {
	sum := int64(c)
	for i := range a {
		sum += int64(a[i]) * int64(b[i])
	}
	if sat {
		sum = min(max(sum, math.MinInt32), math.MaxInt32)
	}
	return int32(sum)
}
