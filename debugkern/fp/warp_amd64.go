package fp

import "golang.org/x/sys/cpu"

//go:generate go -C ../internal/asm run ./mma -pkg fp -out ../../fp/mma_amd64.s -stubs ../../fp/mma_stub_amd64.go

// Vectors reports whether the processor has AVX2 and F16C.
func Vectors() bool { return vectors }

var vectors = cpu.X86.HasAVX2 && hasF16C()

// multiplyVectors is MultiplyWarp where the processor has the instructions.
func (m *Model) multiplyVectors(t MMA, n, k int, x *WarpMMA) bool {
	if !vectors || m.mma != vectorModel {
		return false
	}
	if k == 8 {
		x.A[2], x.A[3], x.B[1] = &none, &none, &none
	}
	c, leastC, odd := &x.C, uint32(1), uint32(0)
	if t.C == F16 {
		for i := range x.wide {
			x.wides[i] = &x.wide[i]
		}
		c = &x.wides
		widenAVX2(&x.wide, (*[4]*[32]uint32)(x.C[:4]), n/4)
		// rounded once: the exponent of a subnormal C is that of its format, and the f32 is rounded to odd
		if t.D == F16 {
			leastC, odd = 127-14, 1
		}
	}
	var bad uint32
	switch {
	case t.AB == F16 && n == 16:
		bad = mma16x16F16AVX2(&x.D, c, &x.A, &x.B, &x.bad, leastC, odd)
	case t.AB == F16:
		bad = mma16x8F16AVX2(&x.D, c, &x.A, &x.B, &x.bad, leastC, odd)
	case n == 16:
		bad = mma16x16BF16AVX2(&x.D, c, &x.A, &x.B, &x.bad, leastC, odd)
	default:
		bad = mma16x8BF16AVX2(&x.D, c, &x.A, &x.B, &x.bad, leastC, odd)
	}
	if t.D == F16 {
		lost := uint32(0)
		if t.C == F16 {
			lost = 0x80008000
		}
		narrowAVX2(&x.D, n/4, lost)
	}
	if bad != 0 {
		m.repair(t, n, k, x)
	}
	return true
}

// vectorModel is what the assembly computes.
var vectorModel = accumulator{frac: 25, floor: -133, keep: 23}
