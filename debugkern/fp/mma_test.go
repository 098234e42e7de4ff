package fp

import (
	"math/rand/v2"
	"testing"
)

// drawer makes 16-bit operands of one of the input classes on which the models
// were told apart on hardware.
type drawer struct {
	*rand.Rand
	f     Format
	class int
}

const classes = 14

func (d drawer) bits(field, frac uint16) uint16 {
	l := &layouts[d.f]
	return uint16(d.IntN(2))<<15 | field<<l.frac | frac&(1<<l.frac-1)
}

func (d drawer) operand(i int) uint16 {
	l := &layouts[d.f]
	frac := uint16(d.Uint32())
	top := int(l.inf >> l.frac) // the field of infinity
	field := uint16(d.IntN(top))
	switch d.class {
	case 0: // uniform over finite encodings
		return d.bits(field, frac)
	case 1: // normal-like
		return uint16(narrow(d.NormFloat64(), d.f, RN, false))
	case 2: // few-bit mantissas
		return d.bits(uint16(l.bias-4+d.IntN(8)), frac&(3<<(l.frac-2)))
	case 3: // subnormal times any
		if i&1 == 0 {
			return d.bits(0, frac)
		}
		return d.bits(field, frac)
	case 4: // specials sprinkled in
		switch d.IntN(24) {
		case 0:
			return d.bits(uint16(top), 0)
		case 1:
			return d.bits(uint16(top), frac|1)
		case 2, 3:
			return d.bits(0, 0)
		}
		return d.bits(uint16(l.bias-2+d.IntN(4)), frac)
	case 5: // three quarters signed zeros
		if d.IntN(4) != 0 {
			return d.bits(0, 0)
		}
		return d.bits(field, frac)
	case 6: // one dominant product over tails
		if i%16 == 3 {
			return d.bits(uint16(l.bias+10), frac)
		}
		return d.bits(uint16(l.bias-d.IntN(12)), frac)
	case 7: // all-ones and single-bit mantissas
		return d.bits(field, uint16(1)<<d.IntN(l.frac+1)-uint16(d.IntN(2)))
	case 8: // largest exponents
		return d.bits(uint16(top-1-d.IntN(2)), frac)
	case 9: // subnormal operands
		return d.bits(0, frac)
	case 10: // a single product
		if i%16 == 5 {
			return d.bits(field, frac)
		}
		return d.bits(0, 0)
	case 11: // products around and below the smallest normal f32
		return d.bits(uint16(max(1, l.bias-60-d.IntN(14))), frac)
	case 12: // two exponent groups
		return d.bits(uint16(l.bias-7+14*d.IntN(2)), frac)
	}
	// zeros beside large operands
	if d.IntN(2) == 0 {
		return d.bits(0, 0)
	}
	return d.bits(uint16(top-1-d.IntN(3)), frac)
}

// addend makes a C: zero, random, near minus the product sum, large or special.
func (d drawer) addend(m *Model, t MMA, a, b []uint16) uint32 {
	mask, l := uint32(0xffffffff), &layouts[F32]
	if t.C == F16 {
		mask, l = 0xffff, &layouts[F16]
	}
	sign := uint32(l.sign())
	switch d.IntN(6) {
	case 0:
		return d.Uint32() & sign
	case 1:
		return d.Uint32() & mask
	case 2, 3: // cancels the sum, or half of it, up to a few units
		sum := m.Dot(MMA{t.AB, t.C, t.C}, a[:len(a)/(1+d.IntN(2))], b, 0)
		return (sum ^ sign + uint32(d.IntN(9)) - 4) & mask
	case 4:
		return d.Uint32() & mask & (sign | 1<<l.frac - 1)
	}
	return uint32(narrow(d.NormFloat64(), t.C, RN, false))
}

// TestMMAMatchesDot compares the fast tiles with the plain dot product on every
// class of inputs, every form and shape.
func TestMMAMatchesDot(t *testing.T) {
	m := SM90()
	forms := []MMA{MMAF32F16, MMAF16F16, MMAF32BF16, MMAF32F16C, MMAF16F32C}
	for _, form := range forms {
		for class := range classes {
			d := drawer{rand.New(rand.NewPCG(uint64(class), 7)), form.AB, class}
			for round := range 6 {
				k := 16 - 8*(round&1)
				if !compareTile(t, m, form, d, k) {
					t.Fatalf("form %v class %d", form, class)
				}
			}
		}
	}
}

func compareTile(t *testing.T, m *Model, form MMA, d drawer, k int) bool {
	t.Helper()
	var a, b [256]uint16
	var c, out [256]uint32
	for i := range a {
		a[i], b[i] = d.operand(i), d.operand(i+1)
	}
	n := 16
	if k == 8 {
		n = 8
	}
	for i := range n * 16 {
		row, col := i/n, i%n
		c[i] = d.addend(m, form, a[row*k:][:k], b[col*k:][:k])
	}
	if k == 8 {
		m.multiply(form, 8, 8, out[:128], c[:128], a[:128], b[:64])
	} else {
		m.MMA16x16x16(form, &out, &c, &a, &b)
	}
	for i := range n * 16 {
		row, col := i/n, i%n
		if want := m.Dot(form, a[row*k:][:k], b[col*k:][:k], c[i]); out[i] != want {
			t.Errorf("row %d col %d c %#x: %#x, Dot %#x", row, col, c[i], out[i], want)
			return false
		}
	}
	return true
}

// TestMMAInPlace holds that D may be C.
func TestMMAInPlace(t *testing.T) {
	d := drawer{rand.New(rand.NewPCG(9, 9)), F16, 1}
	var a, b [256]uint16
	var c, out [256]uint32
	for i := range a {
		a[i], b[i], c[i] = d.operand(i), d.operand(i), Bits32(float32(d.NormFloat64()))
	}
	m := SM90()
	m.MMA16x16x16(MMAF32F16, &out, &c, &a, &b)
	m.MMA16x16x16(MMAF32F16, &c, &c, &a, &b)
	if out != c {
		t.Error("in place differs")
	}
}

// TestDotSpecials holds the special cases of the tensor core.
func TestDotSpecials(t *testing.T) {
	const one, inf, negInf, nan, zero, top = 0x3c00, 0x7c00, 0xfc00, 0x7e01, 0x8000, 0x7bff
	m := SM90()
	for _, c := range []struct {
		a, b []uint16
		c    uint32
		want uint32
	}{
		{[]uint16{one}, []uint16{nan}, 0, NaN32},
		{[]uint16{inf}, []uint16{zero}, 0, NaN32},
		{[]uint16{inf, negInf}, []uint16{one, one}, 0, NaN32},
		{[]uint16{inf}, []uint16{one}, sign32 | inf32, NaN32},
		{[]uint16{negInf}, []uint16{top}, one32, sign32 | inf32},
		{[]uint16{one}, []uint16{one}, inf32, inf32},
		{[]uint16{one}, []uint16{one}, 0xffc12345, NaN32},
		{[]uint16{top, top}, []uint16{top, top}, 0x7f7fffff, 0x7f7fffff}, // never rounded up to infinity
		{[]uint16{zero}, []uint16{one}, sign32, 0},                       // a zero is +0
	} {
		if got := m.Dot(MMAF32F16, c.a, c.b, c.c); got != c.want {
			t.Errorf("%x*%x + %08x = %08x, want %08x", c.a, c.b, c.c, got, c.want)
		}
	}
}
