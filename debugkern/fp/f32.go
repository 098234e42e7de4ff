package fp

import "math"

const (
	sign32 = 0x80000000
	inf32  = 0x7f800000
	one32  = 0x3f800000
)

// Float32 returns the value of f32 bits.
func Float32(b uint32) float32 { return math.Float32frombits(b) }

// Bits32 returns the bits of f, with any NaN made canonical.
func Bits32(f float32) uint32 {
	if f != f {
		return NaN32
	}
	return math.Float32bits(f)
}

// IsNaN32 reports whether b is a NaN.
func IsNaN32(b uint32) bool { return b&0x7fffffff > inf32 }

// Flush32 returns b with a subnormal replaced by the zero of its sign.
func Flush32(b uint32) uint32 {
	if b&inf32 == 0 {
		return b & sign32
	}
	return b
}

// Add32 is add.rn.f32.
func Add32(a, b uint32) uint32 {
	r := float32(math.Float32frombits(a) + math.Float32frombits(b))
	if r != r {
		return NaN32
	}
	return math.Float32bits(r)
}

// Sub32 is sub.rn.f32.
func Sub32(a, b uint32) uint32 {
	r := float32(math.Float32frombits(a) - math.Float32frombits(b))
	if r != r {
		return NaN32
	}
	return math.Float32bits(r)
}

// Mul32 is mul.rn.f32.
func Mul32(a, b uint32) uint32 {
	r := float32(math.Float32frombits(a) * math.Float32frombits(b))
	if r != r {
		return NaN32
	}
	return math.Float32bits(r)
}

// Fma32 is fma.rn.f32: a*b + c, rounded once.
func Fma32(a, b, c uint32) uint32 {
	p := float64(float64(math.Float32frombits(a)) * float64(math.Float32frombits(b)))
	z := float64(math.Float32frombits(c))
	s := p + z
	// The product is exact. Rounding the sum to float64 first is harmless unless
	// it lands on the middle between two f32 values, which are 2^29 float64 steps
	// apart in the normal range.
	sb := math.Float64bits(s)
	if sb&0x1fffffff == 0x10000000 || sb<<1 < (1023-126)<<53 {
		s = oddAdd(p, z)
	}
	r := float32(s)
	if r != r {
		return NaN32
	}
	return math.Float32bits(r)
}

// Add32M is add.f32 with modifiers.
func Add32M(a, b uint32, m Mode) uint32 {
	if m.Ftz {
		a, b = Flush32(a), Flush32(b)
	}
	if m.Rnd == RN {
		return finish32(Add32(a, b), m) // a subnormal sum is exact: flush it after
	}
	x, y := float64(Float32(a)), float64(Float32(b))
	return narrow32(zeroSum(oddAdd(x, y), x, y, m.Rnd), m)
}

// Sub32M is sub.f32 with modifiers.
func Sub32M(a, b uint32, m Mode) uint32 { return Add32M(a, b^sign32, m) }

// Mul32M is mul.f32 with modifiers.
func Mul32M(a, b uint32, m Mode) uint32 {
	if m.Ftz {
		a, b = Flush32(a), Flush32(b)
	}
	if m.Rnd == RN {
		if r := Mul32(a, b); !m.Ftz || r&inf32 > tiny32 {
			return finish32(r, m) // clear of the flush boundary
		}
	}
	return narrow32(float64(Float32(a))*float64(Float32(b)), m)
}

// Fma32M is fma.f32 with modifiers.
func Fma32M(a, b, c uint32, m Mode) uint32 {
	if m.Ftz {
		a, b, c = Flush32(a), Flush32(b), Flush32(c)
	}
	if m.Rnd == RN {
		if r := Fma32(a, b, c); !m.Ftz || r&inf32 > tiny32 {
			return finish32(r, m) // clear of the flush boundary
		}
	}
	p := float64(float64(Float32(a)) * float64(Float32(b)))
	z := float64(Float32(c))
	return narrow32(zeroSum(oddAdd(p, z), p, z, m.Rnd), m)
}

// ftzLimit is the smallest magnitude that rounds, with unbounded exponent and
// to nearest, to the smallest normal f32: 2^-126 * (1 - 2^-25).
const ftzLimit = 0x1p-126 - 0x1p-151

// narrow32 rounds x, exact or rounded to odd, as m says.
func narrow32(x float64, m Mode) uint32 {
	if m.Rnd != RN {
		return finish32(uint32(narrow(x, F32, m.Rnd, m.Ftz)), m)
	}
	r := RoundF32(x)
	if m.Ftz && x < ftzLimit && x > -ftzLimit {
		r &= sign32
	}
	return finish32(r, m)
}

// finish32 applies flush, relu and saturation to a rounded result.
func finish32(r uint32, m Mode) uint32 {
	if m.Ftz {
		r = Flush32(r)
	}
	if m.Relu {
		r = Relu32(r)
	}
	if m.Sat {
		r = Sat32(r)
	}
	return r
}

// Sat32 clamps to [0, 1]; NaN and -0 give +0.
func Sat32(r uint32) uint32 {
	switch {
	case r >= sign32, r > inf32:
		return 0
	case r > one32:
		return one32
	}
	return r
}

// Relu32 maps negative values and -0 to +0 and NaN to the canonical NaN.
func Relu32(r uint32) uint32 {
	switch {
	case IsNaN32(r):
		return NaN32
	case r >= sign32:
		return 0
	}
	return r
}

// Min32 is min.f32: the other operand for one NaN, -0 below +0.
func Min32(a, b uint32) uint32 {
	if IsNaN32(a) || IsNaN32(b) {
		return oneNaN32(a, b)
	}
	if key32(a) < key32(b) {
		return a
	}
	return b
}

// Max32 is max.f32; see Min32.
func Max32(a, b uint32) uint32 {
	if IsNaN32(a) || IsNaN32(b) {
		return oneNaN32(a, b)
	}
	if key32(a) > key32(b) {
		return a
	}
	return b
}

// key32 orders non-NaN bits by value with -0 below +0.
func key32(b uint32) int32 {
	s := int32(b)
	return s ^ int32(uint32(s>>31)>>1)
}

func oneNaN32(a, b uint32) uint32 {
	switch {
	case !IsNaN32(a):
		return a
	case !IsNaN32(b):
		return b
	}
	return NaN32
}

// Min32M is min.f32 with .ftz, .NaN, .xorsign.abs (and .relu, .sat after it).
func Min32M(a, b uint32, m Mode) uint32 { return minMax32(a, b, m, Min32) }

// Max32M is max.f32; see Min32M.
func Max32M(a, b uint32, m Mode) uint32 { return minMax32(a, b, m, Max32) }

func minMax32(a, b uint32, m Mode, pick func(a, b uint32) uint32) uint32 {
	if m.Ftz {
		a, b = Flush32(a), Flush32(b)
	}
	if m.NaN && (IsNaN32(a) || IsNaN32(b)) {
		return finish32(NaN32, m)
	}
	if !m.XorSign {
		return finish32(pick(a, b), m)
	}
	r := pick(a&^sign32, b&^sign32)
	if !IsNaN32(r) {
		r |= (a ^ b) & sign32
	}
	return finish32(r, m)
}

// Neg32 is neg.f32: NaN becomes canonical.
func Neg32(a uint32) uint32 {
	if IsNaN32(a) {
		return NaN32
	}
	return a ^ sign32
}

// Abs32 is abs.f32: NaN becomes canonical.
func Abs32(a uint32) uint32 {
	if IsNaN32(a) {
		return NaN32
	}
	return a &^ sign32
}
