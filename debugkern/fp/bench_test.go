package fp

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkScalar measures the forms that emulated lanes call most.
func BenchmarkScalar(b *testing.B) {
	var x [1024]uint32
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = Bits32(float32(rng.NormFloat64()))
	}
	for _, c := range []struct {
		name string
		op   func(a, b, c uint32) uint32
	}{
		{"add.rn", func(a, b, c uint32) uint32 { return Add32(a, b) }},
		{"fma.rn", Fma32},
		{"fma.rn.ftz", func(a, b, c uint32) uint32 { return Fma32M(a, b, c, ftzMode) }},
		{"fma.rz", func(a, b, c uint32) uint32 { return Fma32M(a, b, c, Mode{Rnd: RZ}) }},
		{"max", func(a, b, c uint32) uint32 { return Max32(a, b) }},
		{"cvt.rn.f16", func(a, b, c uint32) uint32 { return uint32(F32ToF16(a)) }},
		{"cvt.f32.f16", func(a, b, c uint32) uint32 { return F16ToF32(uint16(a) &^ 0x4000) }},
		{"fma.rn.f16", func(a, b, c uint32) uint32 {
			return uint32(Fma16(uint16(a)&^0x4000, uint16(b)&^0x4000, uint16(c)&^0x4000))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var i, r uint32
			for b.Loop() {
				r ^= c.op(x[i&1023], x[(i+1)&1023], x[(i+2)&1023])
				i++
			}
			sink = r
		})
	}
}
