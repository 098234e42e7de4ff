package fp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// valueOf returns the exact value of finite bits of f, from the definition of
// the format alone.
func valueOf(f Format, b uint64) *big.Rat {
	l := &layouts[f]
	field := int64(b &^ l.sign() >> uint(l.frac))
	m := new(big.Int).SetUint64(b & (1<<uint(l.frac) - 1))
	if field != 0 {
		m.SetBit(m, l.frac, 1)
	} else {
		field = 1
	}
	r := new(big.Rat).SetInt(m)
	if b&l.sign() != 0 {
		r.Neg(r)
	}
	return r.Mul(r, power(int(field)-l.bias-l.frac))
}

// power returns 2^e.
func power(e int) *big.Rat {
	if e < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), uint(-e)))
	}
	return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(e)))
}

// exponent returns floor(log2 x) for x > 0.
func exponent(x *big.Rat) int {
	e := x.Num().BitLen() - x.Denom().BitLen()
	if x.Cmp(power(e)) < 0 {
		e--
	}
	return e
}

// toMultiple returns |x|/2^q rounded to an integer.
func toMultiple(x *big.Rat, q int, rnd Round) *big.Int {
	v := new(big.Rat).Abs(x)
	v.Mul(v, power(-q))
	n, rem := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	if rem.Sign() == 0 {
		return n
	}
	half := rem.Lsh(rem, 1).Cmp(v.Denom())
	var up bool
	switch rnd {
	case RN:
		up = half > 0 || half == 0 && n.Bit(0) == 1
	case RNA:
		up = half >= 0
	case RM:
		up = x.Sign() < 0
	case RP:
		up = x.Sign() > 0
	}
	if up {
		n.Add(n, big.NewInt(1))
	}
	return n
}

// oracle rounds x, not zero, to f; it shares nothing with roundParts.
func oracle(x *big.Rat, f Format, rnd Round, ftz bool) uint64 {
	l := &layouts[f]
	neg := x.Sign() < 0
	sign := uint64(0)
	if neg {
		sign = l.sign()
	}
	e := exponent(new(big.Rat).Abs(x))
	emin := 1 - l.bias
	if ftz {
		unbounded := new(big.Rat).SetInt(toMultiple(x, e-l.frac, rnd))
		if unbounded.Mul(unbounded, power(e-l.frac)).Cmp(power(emin)) < 0 {
			return sign
		}
	}
	q := max(e, emin) - l.frac
	n := toMultiple(x, q, rnd)
	value := new(big.Rat).SetInt(n)
	value.Mul(value, power(q))
	switch {
	case n.Sign() == 0:
		return sign
	case value.Cmp(valueOf(f, l.max)) > 0:
		toward := rnd == RZ || rnd == RM && !neg || rnd == RP && neg
		if toward {
			return sign | l.max
		}
		return sign | l.inf
	}
	if e = exponent(value); e < emin {
		return sign | n.Uint64()
	}
	value.Mul(value, power(l.frac-e))
	m := value.Num().Uint64() - 1<<uint(l.frac)
	return sign | uint64(e+l.bias)<<uint(l.frac) | m
}

// exactZero is the sign rule of a sum that is exactly zero.
func exactZero(f Format, sameSign, neg bool, rnd Round) uint64 {
	if sameSign && neg || !sameSign && rnd == RM {
		return layouts[f].sign()
	}
	return 0
}

// operands draws finite bit patterns of the classes that rounding errors hide in.
type operands struct {
	*rand.Rand
	f Format
}

func (o operands) draw() uint64 {
	l := &layouts[o.f]
	for {
		b := o.Uint64() & (l.sign()<<1 - 1)
		frac := uint64(1)<<uint(l.frac) - 1
		field := b &^ l.sign() >> uint(l.frac)
		switch o.IntN(8) {
		case 0: // near one
			field = uint64(l.bias + o.IntN(5) - 2)
		case 1: // subnormal or just above
			field = uint64(o.IntN(3))
		case 2: // few bits: ties
			b &^= frac
			b |= frac + 1 - 1<<uint(o.IntN(l.frac+1))&frac
		case 3: // products near the smallest normal
			field = uint64(l.bias/2 + o.IntN(3))
		case 4: // all ones, or a single bit
			b = b&^frac | (uint64(1)<<uint(o.IntN(l.frac+1))-1)&frac
		case 5:
			b &= l.sign() // zero
			field = 0
		}
		b = b&(l.sign()|frac) | field<<uint(l.frac)
		if b&^l.sign() <= l.max {
			return b
		}
	}
}

var allModes = []Mode{
	{Rnd: RN}, {Rnd: RZ}, {Rnd: RM}, {Rnd: RP},
	{Rnd: RN, Ftz: true}, {Rnd: RZ, Ftz: true}, {Rnd: RM, Ftz: true}, {Rnd: RP, Ftz: true},
}

// flushBits flushes a subnormal input.
func flushBits(f Format, b uint64) uint64 {
	if l := &layouts[f]; b&^l.sign()>>uint(l.frac) == 0 {
		return b & l.sign()
	}
	return b
}

// wantFma is a*b + c by the oracle.
func wantFma(f Format, a, b, c uint64, m Mode) uint64 {
	if m.Ftz {
		a, b, c = flushBits(f, a), flushBits(f, b), flushBits(f, c)
	}
	x := new(big.Rat).Mul(valueOf(f, a), valueOf(f, b))
	negProduct := (a^b)&layouts[f].sign() != 0
	negC := c&layouts[f].sign() != 0
	x.Add(x, valueOf(f, c))
	if x.Sign() == 0 {
		return exactZero(f, negProduct == negC, negC, m.Rnd)
	}
	return oracle(x, f, m.Rnd, m.Ftz)
}

func oneOf(f Format) uint64 { return uint64(layouts[f].bias) << uint(layouts[f].frac) }

// wantMul is a*b by the oracle.
func wantMul(f Format, a, b uint64, m Mode) uint64 {
	if m.Ftz {
		a, b = flushBits(f, a), flushBits(f, b)
	}
	x := new(big.Rat).Mul(valueOf(f, a), valueOf(f, b))
	if x.Sign() == 0 {
		return (a ^ b) & layouts[f].sign()
	}
	return oracle(x, f, m.Rnd, m.Ftz)
}

// arithmetic is a format's operations on patterns widened to uint64.
type arithmetic struct {
	add, sub, mul func(a, b uint64, m Mode) uint64
	fma           func(a, b, c uint64, m Mode) uint64
}

func of16(two func(a, b uint16, m Mode) uint16) func(a, b uint64, m Mode) uint64 {
	return func(a, b uint64, m Mode) uint64 { return uint64(two(uint16(a), uint16(b), m)) }
}

func of32(two func(a, b uint32, m Mode) uint32) func(a, b uint64, m Mode) uint64 {
	return func(a, b uint64, m Mode) uint64 { return uint64(two(uint32(a), uint32(b), m)) }
}

func of64(two func(a, b uint64, rnd Round) uint64) func(a, b uint64, m Mode) uint64 {
	return func(a, b uint64, m Mode) uint64 { return two(a, b, m.Rnd) }
}

var formats = map[Format]arithmetic{
	F16: {of16(Add16M), of16(Sub16M), of16(Mul16M), func(a, b, c uint64, m Mode) uint64 {
		return uint64(Fma16M(uint16(a), uint16(b), uint16(c), m))
	}},
	BF16: {of16(AddBF16M), of16(SubBF16M), of16(MulBF16M), func(a, b, c uint64, m Mode) uint64 {
		return uint64(FmaBF16M(uint16(a), uint16(b), uint16(c), m))
	}},
	F32: {of32(Add32M), of32(Sub32M), of32(Mul32M), func(a, b, c uint64, m Mode) uint64 {
		return uint64(Fma32M(uint32(a), uint32(b), uint32(c), m))
	}},
	F64: {of64(Add64), of64(Sub64), of64(Mul64), func(a, b, c uint64, m Mode) uint64 {
		return Fma64(a, b, c, m.Rnd)
	}},
}

func TestArithmeticAgainstOracle(t *testing.T) {
	for f, op := range formats {
		o := operands{rand.New(rand.NewPCG(1, uint64(f))), f}
		sign := layouts[f].sign()
		for range 1500 {
			a, b, c := o.draw(), o.draw(), o.draw()
			switch o.IntN(6) {
			case 0: // c cancels the product up to its last bits
				if p := op.mul(a, b, Mode{}); p&^sign <= layouts[f].max-2 && p&^sign > 2 {
					c = p ^ sign + uint64(o.IntN(3))
				}
			case 1: // the product lies around the smallest normal
				if f != F64 && a&^sign != 0 {
					x, _ := valueOf(f, a).Float64()
					b = RoundTo(f,
						math.Ldexp(1, 1-layouts[f].bias)/x*(1+
							math.Ldexp(float64(o.IntN(5)-2), -layouts[f].frac)), RN)
					b = min(b&^sign, layouts[f].max) | b&sign
				}
			case 2: // c is a half unit or so below the product
				c = op.mul(op.mul(a, b, Mode{}), oneOf(f)-
					uint64(layouts[f].frac+o.IntN(3))<<uint(layouts[f].frac), Mode{})
				if c&^sign > layouts[f].max {
					c = sign
				}
			}
			for _, m := range allModes {
				if m.Ftz && f == F64 {
					continue
				}
				check(t, f, m, "add", op.add(a, c, m), wantFma(f, a, oneOf(f), c, m), a, c)
				check(t, f, m, "sub", op.sub(a, c, m), wantFma(f, a, oneOf(f), c^sign, m), a, c)
				check(t, f, m, "mul", op.mul(a, b, m), wantMul(f, a, b, m), a, b)
				check(t, f, m, "fma", op.fma(a, b, c, m), wantFma(f, a, b, c, m), a, b, c)
			}
			if t.Failed() {
				return
			}
		}
	}
}

func check(t *testing.T, f Format, m Mode, name string, got, want uint64, args ...uint64) {
	t.Helper()
	if got != want {
		t.Errorf("%s.%s ftz=%v %s%x = %#x, want %#x", name, m.Rnd, m.Ftz, f, args, got, want)
	}
}

// TestFastForms compares the small forms with the oracle.
func TestFastForms(t *testing.T) {
	o := operands{rand.New(rand.NewPCG(2, 0)), F32}
	for range 12000 {
		a, b, c := o.draw(), o.draw(), o.draw()
		if o.IntN(3) == 0 { // the sum lies near the middle of two f32 values
			p := Mul32(uint32(a), uint32(b))
			c = uint64(Mul32(p, 0x33000000|o.Uint32()&(sign32|1<<23)))
			if c&^sign32 > layouts[F32].max {
				c = 0
			}
		}
		x, y, z := uint32(a), uint32(b), uint32(c)
		m := Mode{}
		check(t, F32, m, "add", uint64(Add32(x, z)), wantFma(F32, a, one32, c, m), a, c)
		check(t, F32, m, "sub", uint64(Sub32(x, z)), wantFma(F32, a, one32, c^sign32, m), a, c)
		check(t, F32, m, "mul", uint64(Mul32(x, y)), wantMul(F32, a, b, m), a, b)
		check(t, F32, m, "fma", uint64(Fma32(x, y, z)), wantFma(F32, a, b, c, m), a, b, c)
		if t.Failed() {
			return
		}
	}
	for _, f := range []Format{F16, BF16} {
		testFastHalf(t, f)
	}
}

func testFastHalf(t *testing.T, f Format) {
	o := operands{rand.New(rand.NewPCG(3, uint64(f))), f}
	add, sub, mul, fma := Add16, Sub16, Mul16, Fma16
	if f == BF16 {
		add, sub, mul, fma = AddBF16, SubBF16, MulBF16, FmaBF16
	}
	for range 12000 {
		a, b, c := o.draw(), o.draw(), o.draw()
		x, y, z := uint16(a), uint16(b), uint16(c)
		m := Mode{}
		check(t, f, m, "add", uint64(add(x, y)), wantFma(f, a, oneOf(f), b, m), a, b)
		check(t, f, m, "sub", uint64(sub(x, y)), wantFma(f, a, oneOf(f), b^0x8000, m), a, b)
		check(t, f, m, "mul", uint64(mul(x, y)), wantMul(f, a, b, m), a, b)
		check(t, f, m, "fma", uint64(fma(x, y, z)), wantFma(f, a, b, c, m), a, b, c)
		if t.Failed() {
			return
		}
	}
}

// TestFmaRoundsOnce holds an operand set that a float64 sum rounds twice.
func TestFmaRoundsOnce(t *testing.T) {
	a, b, c := math.Float32bits(1+0x1p-12), math.Float32bits(1+0x1p-12), math.Float32bits(0x1p-60)
	want := uint32(oracle(new(big.Rat).Add(new(big.Rat).Mul(valueOf(F32, uint64(a)), valueOf(F32, uint64(b))),
		valueOf(F32, uint64(c))), F32, RN, false))
	naive := math.Float32bits(float32(float64(Float32(a))*float64(Float32(b)) + float64(Float32(c))))
	if naive == want {
		t.Fatal("the operands do not tell one rounding from two")
	}
	if got := Fma32(a, b, c); got != want {
		t.Errorf("fma = %08x, want %08x", got, want)
	}
}

// TestFlushBoundary holds the ftz rule where it differs from flushing the IEEE
// result: products between 2^-126*(1-2^-24) and 2^-126.
func TestFlushBoundary(t *testing.T) {
	for _, c := range []struct{ a, b, ieee, ftz uint32 }{
		{0x3f7fffff, 0x00800000, 0x00800000, 0},          // (1-2^-24) * 2^-126: a tie to even for IEEE
		{0x3f7fffff, 0x00800001, 0x00800000, 0x00800000}, // 2^-126 * (1 + 2^-24 - 2^-47)
		{0xbf7fffff, 0x00800000, 0x80800000, sign32},
	} {
		if got := Mul32(c.a, c.b); got != c.ieee {
			t.Errorf("mul.rn(%08x, %08x) = %08x, want %08x", c.a, c.b, got, c.ieee)
		}
		if got := Mul32M(c.a, c.b, ftzMode); got != c.ftz {
			t.Errorf("mul.rn.ftz(%08x, %08x) = %08x, want %08x", c.a, c.b, got, c.ftz)
		}
	}
	// 18631 * 1801 = 2^25 - 1: the exact tie 2^-126 * (1 - 2^-25) rounds up.
	a, b := math.Float32bits(18631*0x1p-75), math.Float32bits(1801*0x1p-76)
	if got := Fma32M(a, b, 0, ftzMode); got != tiny32 {
		t.Errorf("fma.rn.ftz at the tie = %08x, want %08x", got, tiny32)
	}
}

func TestDivideAndRootAgainstOracle(t *testing.T) {
	o := operands{rand.New(rand.NewPCG(4, 0)), F32}
	d := operands{rand.New(rand.NewPCG(5, 0)), F64}
	for range 1500 {
		a, b := o.draw(), o.draw()
		x, y := d.draw(), d.draw()
		for _, m := range allModes {
			divides(t, F32, a, b, m, uint64(Div32(uint32(a), uint32(b), m)))
			roots(t, F32, a, m, uint64(Sqrt32(uint32(a), m)))
			divides(t, F32, one32, a, m, uint64(Rcp32(uint32(a), m)))
			if !m.Ftz {
				divides(t, F64, x, y, m, Div64(x, y, m.Rnd))
				roots(t, F64, x, m, Sqrt64(x, m.Rnd))
			}
		}
		if t.Failed() {
			return
		}
	}
}

func divides(t *testing.T, f Format, a, b uint64, m Mode, got uint64) {
	t.Helper()
	l := &layouts[f]
	x, y := a, b
	if m.Ftz {
		a, b = flushBits(f, a), flushBits(f, b)
	}
	sign := (a ^ b) & l.sign()
	want := sign
	switch {
	case a&^l.sign() == 0 && b&^l.sign() == 0:
		want = l.nan
	case b&^l.sign() == 0:
		want |= l.inf
	case a&^l.sign() != 0:
		want = oracle(new(big.Rat).Quo(valueOf(f, a), valueOf(f, b)), f, m.Rnd, m.Ftz)
	}
	check(t, f, m, "div", got, want, x, y)
}

func roots(t *testing.T, f Format, a uint64, m Mode, got uint64) {
	t.Helper()
	x := a
	if m.Ftz {
		a = flushBits(f, a)
	}
	want := a
	switch v := valueOf(f, a); v.Sign() {
	case -1:
		want = layouts[f].nan
	case 1:
		r, _ := new(big.Float).SetPrec(400).SetRat(v).Rat(nil)
		if r.Cmp(v) != 0 {
			t.Fatal("400 bits do not hold the operand")
		}
		s, _ := new(big.Float).Sqrt(new(big.Float).SetPrec(400).SetRat(v)).Rat(nil)
		want = oracle(s, f, m.Rnd, false)
	}
	check(t, f, m, "sqrt", got, want, x)
}
