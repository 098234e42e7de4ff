package fp

import "math"

// Dot products of the tensor core for operands that are not of 16 bits. Each returns one
// element of D = A·B + C.

// DotTF32 is a product of tf32 operands, f32 numbers whose low 13 bits are ignored, as one block: what Dot is
// for operands of 16 bits, with the same alignment.
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
	return settled(F32, s)
}

// DotF8 is a product of E4M3 or E5M2 operands by mma.sync, as sm_90 has it, which has no fp8 multiplier
// behind that instruction (its compiled code shows it): operands are widened to f16, which is exact. The
// products of the elements in the lower half of each register, the first two of every four, are added from
// zero by Dot, then those of the upper halves, and c last, rounded to nearest even. t names the accumulators,
// which have one format. Other chips compute it in one step.
func (m *Model) DotF8(t MMA, fa, fb Format, a, b []uint8, c uint32) uint32 {
	sum := uint32(0)
	for half := 0; half < 4; half += 2 {
		var x, y [16]uint16
		n := 0
		for i := half; i+1 < len(a); i += 4 {
			for k := i; k < i+2; k++ {
				x[n&15], y[n&15] = widenF8(fa, a[k]), widenF8(fb, b[k])
				n++
			}
		}
		sum = m.Dot(t, x[:n], y[:n], sum)
	}
	if t.D == F16 {
		return uint32(Add16(uint16(c), uint16(sum)))
	}
	return Add32(c, sum)
}

func widenF8(f Format, v uint8) uint16 {
	if f == E4M3 {
		return E4M3ToF16(v)
	}
	return E5M2ToF16(v)
}

// Dot64 is a product of f64 operands: fused multiply-adds from the first product on, each
// rounded to nearest even.
func Dot64(a, b []uint64, c uint64) uint64 {
	for i := range a {
		c = Fma64(a[i], b[i], c, RN)
	}
	return c
}

// DotInt is a product of integers added to a 32-bit integer, which wraps around, or with sat is the
// nearest that has 32 bits.
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
