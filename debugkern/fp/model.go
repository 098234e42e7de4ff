package fp

const (
	tiny32 = 0x00800000 // 2^-126
	huge32 = 0x7e800000 // 2^126
	up24   = 0x4b800000 // 2^24
	up12   = 0x45800000 // 2^12
	dn12   = 0x39800000 // 2^-12
	fourth = 0x3e800000 // 0.25
	half32 = 0x3f000000
)

// ftzMode is round to nearest even with flush.
var ftzMode = Mode{Ftz: true}

// Model is what a chip is free to choose: the approximations of its
// multi-function unit and how its tensor core accumulates. Another chip is
// another Model; everything else in this package is fixed by the PTX ISA.
// A Model is immutable and safe for concurrent use.
type Model struct {
	name string
	unit unit
	mma  accumulator
	mma8 accumulator // of wgmma with operands of 8 bits
}

// unit holds the single-instruction forms (.ftz), f32 bits to f32 bits.
type unit struct {
	ex2, rcp, rsqrt, sqrt, lg2, sin, cos, tanh func(uint32) uint32
}

// SM90 returns the model of the NVIDIA H200 (sm_90).
func SM90() *Model {
	return &Model{
		name: "sm_90",
		unit: unit{
			ex2: ex2SM90, rcp: rcpSM90, rsqrt: rsqrtSM90, sqrt: sqrtSM90,
			lg2: lg2SM90, sin: sinSM90, cos: cosSM90, tanh: tanhSM90,
		},
		mma:  accumulator{frac: 25, floor: -133, keep: 23},
		mma8: accumulator{frac: 13, floor: -133, keep: 13},
	}
}

// Name returns the architecture that the model describes.
func (m *Model) Name() string { return m.name }

// Ex232 is ex2.approx{.ftz}.f32.
func (m *Model) Ex232(a uint32, ftz bool) uint32 {
	if !ftz && a > 0xc2fc0000 && a <= sign32|inf32 { // below -126
		y := m.unit.ex2(Mul32(a, half32))
		return Mul32(y, y)
	}
	return m.unit.ex2(a)
}

// Rcp32 is rcp.approx{.ftz}.f32.
func (m *Model) Rcp32(a uint32, ftz bool) uint32 {
	mag := a &^ sign32
	switch {
	case ftz || mag > inf32:
		return m.unit.rcp(a)
	case mag < tiny32:
		return Mul32(m.unit.rcp(Mul32(a, up24)), up24)
	case mag > huge32:
		return Mul32(m.unit.rcp(Mul32(a, fourth)), fourth)
	}
	return m.unit.rcp(a)
}

// Rsqrt32 is rsqrt.approx{.ftz}.f32.
func (m *Model) Rsqrt32(a uint32, ftz bool) uint32 {
	if !ftz && a&^sign32 < tiny32 {
		return Mul32(m.unit.rsqrt(Mul32(a, up24)), up12)
	}
	return m.unit.rsqrt(a)
}

// Sqrt32 is sqrt.approx{.ftz}.f32.
func (m *Model) Sqrt32(a uint32, ftz bool) uint32 {
	if !ftz && a&^sign32 < tiny32 {
		return Mul32(m.unit.sqrt(Mul32(a, up24)), dn12)
	}
	return m.unit.sqrt(a)
}

// Lg232 is lg2.approx{.ftz}.f32.
func (m *Model) Lg232(a uint32, ftz bool) uint32 {
	if !ftz && a&^sign32 < tiny32 {
		const twentyFour = 0x41c00000
		return Sub32(m.unit.lg2(Mul32(a, up24)), twentyFour)
	}
	return m.unit.lg2(a)
}

// Sin32 is sin.approx{.ftz}.f32; the two forms agree.
func (m *Model) Sin32(a uint32) uint32 { return m.unit.sin(a) }

// Cos32 is cos.approx{.ftz}.f32; the two forms agree.
func (m *Model) Cos32(a uint32) uint32 { return m.unit.cos(a) }

// Tanh32 is tanh.approx.f32.
func (m *Model) Tanh32(a uint32) uint32 { return m.unit.tanh(a) }

// Ex216 is ex2.approx.f16.
func (m *Model) Ex216(a uint16) uint16 { return cutF16(m.unit.ex2(F16ToF32(a))) }

// Ex2BF16 is ex2.approx.ftz.bf16.
func (m *Model) Ex2BF16(a uint16) uint16 { return cutBF16(m.unit.ex2(uint32(a) << 16)) }

// Tanh16 is tanh.approx.f16.
func (m *Model) Tanh16(a uint16) uint16 { return cutF16(m.unit.tanh(F16ToF32(a))) }

// TanhBF16 is tanh.approx.bf16.
func (m *Model) TanhBF16(a uint16) uint16 { return cutBF16(m.unit.tanh(uint32(a) << 16)) }

// cutF16 truncates an f32 result to f16; 2^16 and beyond is infinity.
func cutF16(r uint32) uint16 {
	if mag := r &^ sign32; mag >= 0x47800000 && mag <= inf32 {
		return uint16(r>>16&0x8000) | 0x7c00
	}
	return F32ToF16M(r, Mode{Rnd: RZ})
}

// cutBF16 truncates an f32 result to bf16.
func cutBF16(r uint32) uint16 {
	if IsNaN32(r) {
		return NaN16
	}
	return uint16(r >> 16)
}

// DivFull32 is div.full{.ftz}.f32: the reciprocal times a, with the divisor
// scaled out of the ranges in which the reciprocal would flush.
func (m *Model) DivFull32(a, b uint32, ftz bool) uint32 {
	mag := b &^ sign32
	if ftz {
		if mag > huge32 && mag <= inf32 {
			a, b = Mul32M(a, fourth, ftzMode), Mul32M(b, fourth, ftzMode)
		}
		return Mul32M(m.unit.rcp(b), a, ftzMode)
	}
	switch {
	case mag > huge32 && mag <= inf32:
		a, b = Mul32(a, fourth), Mul32(b, fourth)
	case mag < tiny32:
		a, b = Mul32(a, up24), Mul32(b, up24)
	}
	return Mul32(m.unit.rcp(b), a)
}

// DivApprox32 is div.approx{.ftz}.f32.
func (m *Model) DivApprox32(a, b uint32, ftz bool) uint32 {
	if ftz {
		return Mul32M(a, m.unit.rcp(b), ftzMode)
	}
	if b&^sign32 < tiny32 {
		a, b = Mul32(a, up24), Mul32(b, up24)
	}
	return Mul32(m.unit.rcp(b), a)
}
