package fp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestHalfWideningExhaustive checks all 65536 patterns of f16 and bf16 against
// the definition of the formats.
func TestHalfWideningExhaustive(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		for _, f := range []Format{F16, BF16} {
			got, finite := wide(f, h), h&0x7fff < inf16(f)
			if finite {
				if want, _ := valueOf(f, uint64(h)).Float64(); got != want ||
					math.Signbit(got) != (h >= 0x8000) {
					t.Fatalf("%s %04x = %v, want %v", f, h, got, want)
				}
			} else if nan := h&0x7fff != inf16(f); nan != (got != got) ||
				!nan && math.IsInf(got, 0) == false {
				t.Fatalf("%s %04x = %v", f, h, got)
			}
		}
		want := h
		if IsNaN16(h) {
			want = NaN16
		}
		if got := F32ToF16(F16ToF32(h)); got != want {
			t.Fatalf("f16 %04x comes back as %04x", h, got)
		}
		if got := RoundF16(F16ToFloat64(h)); got != want {
			t.Fatalf("f16 %04x comes back through float64 as %04x", h, got)
		}
	}
}

// TestNarrowingAroundHalves checks every f16 and bf16 value's neighbourhood:
// the value, the middle to the next one and the f32 on either side of both.
func TestNarrowingAroundHalves(t *testing.T) {
	for i := range 0x7f80 / 3 {
		i = 3*i + i%3
		for _, f := range []Format{F16, BF16} {
			if i >= int(layouts[f].inf) {
				continue
			}
			lo := float32(wide(f, uint16(i)))
			mid := float32((wide(f, uint16(i)) + wide(f, uint16(i+1))) / 2)
			for _, b := range []uint32{
				Bits32(lo), Bits32(lo) + 1, Bits32(mid) - 1, Bits32(mid), Bits32(mid) + 1,
			} {
				b |= uint32(i&1) << 31
				narrowsLikeOracle(t, f, b)
			}
		}
		if t.Failed() {
			return
		}
	}
}

func narrowsLikeOracle(t *testing.T, f Format, b uint32) {
	t.Helper()
	if b&^sign32 >= inf32 || b&^sign32 == 0 {
		return
	}
	fast, rounded, op := F32ToF16, RoundF16, F32ToF16M
	if f == BF16 {
		fast, rounded, op = F32ToBF16, RoundBF16, F32ToBF16M
	}
	x := valueOf(F32, uint64(b))
	rn := uint16(oracle(x, f, RN, false))
	if got := fast(b); got != rn {
		t.Errorf("cvt.rn.%s.f32(%08x) = %04x, want %04x", f, b, got, rn)
	}
	if got := rounded(float64(Float32(b))); got != rn {
		t.Errorf("%s of %08x as float64 = %04x, want %04x", f, b, got, rn)
	}
	if rnd := Round(b % 5); true {
		want := uint16(oracle(x, f, rnd, false))
		if got := op(b, Mode{Rnd: rnd}); got != want {
			t.Errorf("cvt.%s.%s.f32(%08x) = %04x, want %04x", rnd, f, b, got, want)
		}
	}
}

// TestFloat8Exhaustive checks all f16 values against a search for the nearest
// finite 8-bit value, ties to the even pattern, and all 8-bit patterns.
func TestFloat8Exhaustive(t *testing.T) {
	for _, c := range []struct {
		max  uint8
		to   func(uint16, bool) uint8
		from func(uint8) uint16
	}{{0x7e, F16ToE4M3, E4M3ToF16}, {0x7b, F16ToE5M2, E5M2ToF16}} {
		next := uint8(0) // the nearest pattern grows with the value
		for h := uint16(0); h <= 0x7c00; h++ {
			x := F16ToFloat64(h)
			for next < c.max {
				lo, hi := F16ToFloat64(c.from(next)), F16ToFloat64(c.from(next+1))
				if mid := (lo + hi) / 2; x < mid || x == mid && next&1 == 0 {
					break
				}
				next++
			}
			if got := c.to(h, false); got != next {
				t.Fatalf("%04x = %02x, want %02x", h, got, next)
			}
			if got := c.to(h|0x8000, false); got != next|0x80 {
				t.Fatalf("-%04x = %02x, want %02x", h, got, next|0x80)
			}
			if got := c.to(h|0x8000, true); got != 0 {
				t.Fatalf("relu -%04x = %02x", h, got)
			}
		}
		for b := range uint8(c.max + 1) {
			if got := c.to(c.from(b), false); got != b {
				t.Fatalf("%02x comes back as %02x", b, got)
			}
		}
		if got := c.from(c.to(0x7e00, false)); got != NaN16 {
			t.Fatalf("NaN comes back as %04x", got)
		}
	}
	for b := range 0x7f {
		want, _ := valueOf(E4M3, uint64(b)).Float64()
		if got := E4M3ToFloat64(uint8(b)); got != want {
			t.Fatalf("e4m3 %02x = %v, want %v", b, got, want)
		}
	}
}

// TestNarrowingAgainstOracle rounds random float64 and integers to every format.
func TestNarrowingAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 20000 {
		exp := uint64(1023 + rng.IntN(320) - 165)
		x := math.Float64frombits(
			rng.Uint64()&(sign64|1<<52-1)>>uint(rng.IntN(2)*30)<<uint(rng.IntN(2)*30)&^(0x7ff<<52) | exp<<52)
		r := new(big.Rat)
		r.SetFloat64(x)
		rnd := Round(rng.IntN(5))
		for _, f := range []Format{F16, BF16, TF32, E5M2, F32} {
			if got, want := RoundTo(f, x, rnd), oracle(r, f, rnd, false); got != want {
				t.Fatalf("%s %s(%v) = %#x, want %#x", f, rnd, x, got, want)
			}
		}
		if got, want := F64ToF32(math.Float64bits(x), Mode{Rnd: rnd, Ftz: true}),
			uint32(oracle(r, F32, rnd, true)); got != want {
			t.Fatalf("cvt.%s.ftz.f32.f64(%v) = %08x, want %08x", rnd, x, got, want)
		}
	}
}

func TestTF32(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 20000 {
		b := rng.Uint32()
		if b&^sign32 >= inf32 || b&^sign32 == 0 {
			continue
		}
		for _, rnd := range []Round{RNA, RN, RZ} {
			want := uint32(oracle(valueOf(F32, uint64(b)), TF32, rnd, false) << 13)
			if got := F32ToTF32(b, Mode{Rnd: rnd}); got != want {
				t.Fatalf("cvt.%s.tf32(%08x) = %08x, want %08x", rnd, b, got, want)
			}
		}
	}
}

var intTypes = []Int{
	{8, true}, {8, false}, {16, true}, {16, false}, {32, true}, {32, false}, {64, true}, {64, false},
}

// bigInt returns the value of pattern v of type i.
func bigInt(v uint64, i Int) *big.Int {
	n := new(big.Int).SetUint64(v & i.mask())
	if i.Signed && n.Bit(int(i.Bits)-1) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(i.Bits)))
	}
	return n
}

// saturated returns n clamped to i, as a pattern.
func saturated(n *big.Int, i Int) uint64 {
	lo, hi := bigInt(i.min(), i), bigInt(i.max(), i)
	if n.Cmp(lo) < 0 {
		n = lo
	} else if n.Cmp(hi) > 0 {
		n = hi
	}
	return new(big.Int).And(n, new(big.Int).SetUint64(i.mask())).Uint64()
}

// wantInt rounds a float64 to an integer of type i with big arithmetic.
func wantInt(x float64, i Int, rnd Round) uint64 {
	r := new(big.Rat)
	r.SetFloat64(x)
	n := toMultiple(r, 0, rnd)
	if r.Sign() < 0 {
		n.Neg(n)
	}
	return saturated(n, i)
}

func TestIntegerConversions(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 1000 {
		x := math.Ldexp(float64(int64(rng.Uint64()>>uint(rng.IntN(64))))*0.5, -rng.IntN(12))
		if rng.IntN(4) == 0 {
			x = float64(rng.IntN(520)-260) / 2 // halves around the 8-bit limits
		}
		v := rng.Uint64() >> uint(rng.IntN(64))
		for _, it := range intTypes {
			for _, rnd := range []Round{RN, RZ, RM, RP} {
				m := Mode{Rnd: rnd}
				checkInt(t, "f64", rnd, it, F64ToInt(math.Float64bits(x), it, m), wantInt(x, it, rnd), x)
				f := float64(float32(x))
				checkInt(t, "f32", rnd, it, uint64(F32ToInt(Bits32(float32(x)), it, m)),
					wantInt(f, it, rnd), f)
				h := F16ToFloat64(RoundF16(math.Mod(x, 60000)))
				checkInt(t, "f16", rnd, it, F16ToInt(RoundF16(h), it, m), wantInt(h, it, rnd), h)
				b := BF16ToFloat64(RoundBF16(x))
				checkInt(t, "bf16", rnd, it, BF16ToInt(RoundBF16(x), it, m), wantInt(b, it, rnd), b)
				fromIntegers(t, v, it, m)
			}
			for _, to := range intTypes {
				if got, want := IntToInt(v&it.mask(), it, to, true),
					saturated(bigInt(v, it), to); got != want {
					t.Errorf("cvt.sat %v->%v (%#x) = %#x, want %#x", it, to, v, got, want)
				}
				want := new(big.Int).And(bigInt(v, it), new(big.Int).SetUint64(to.mask())).Uint64()
				if got := IntToInt(v&it.mask(), it, to, false); got != want {
					t.Errorf("cvt %v->%v (%#x) = %#x, want %#x", it, to, v, got, want)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

func checkInt(t *testing.T, from string, rnd Round, it Int, got, want uint64, x float64) {
	t.Helper()
	if got != want {
		t.Errorf("cvt.%s.%v.%s(%v) = %#x, want %#x", rnd, it, from, x, got, want)
	}
}

func fromIntegers(t *testing.T, v uint64, it Int, m Mode) {
	t.Helper()
	n := bigInt(v, it)
	if n.Sign() == 0 {
		return
	}
	r := new(big.Rat).SetInt(n)
	got := map[Format]uint64{
		F16: uint64(IntToF16(v&it.mask(), it, m)), BF16: uint64(IntToBF16(v&it.mask(), it, m)),
		F32: uint64(IntToF32(v&it.mask(), it, m)), F64: IntToF64(v&it.mask(), it, m),
	}
	for f, g := range got {
		if want := oracle(r, f, m.Rnd, false); g != want {
			t.Errorf("cvt.%s.%s.%v(%#x) = %#x, want %#x", m.Rnd, f, it, v, g, want)
		}
	}
}

func TestIntegerNaN(t *testing.T) {
	for _, it := range intTypes {
		want := uint64(0)
		if it.Bits == 64 {
			want = 1 << 63
		}
		if got := F32ToInt(0xffc00000, it, Mode{}); got != want {
			t.Errorf("NaN to %v = %#x, want %#x", it, got, want)
		}
	}
}

// TestCompare checks the fourteen comparisons on every pair of a set with both
// zeros, infinities and NaN, by Go's operators.
func TestCompare(t *testing.T) {
	values := []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 0x1p-130, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()),
	}
	for _, a := range values {
		for _, b := range values {
			un := a != a || b != b
			want := map[string]bool{
				"eq": a == b, "ne": !un && a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
				"equ": un || a == b, "neu": a != b || un, "ltu": un || a < b, "leu": un || a <= b,
				"gtu": un || a > b, "geu": un || a >= b, "num": !un, "nan": un,
			}
			for name, w := range want {
				op, ok := ParseCmp(name)
				if !ok {
					t.Fatalf("%s is unknown", name)
				}
				if Cmp32(op, math.Float32bits(a), math.Float32bits(b)) != w ||
					Cmp64(op, math.Float64bits(float64(a)), math.Float64bits(float64(b))) != w ||
					CmpBF16(op, RoundBF16(float64(a)), RoundBF16(float64(b))) != w {
					t.Errorf("%s(%v, %v) is not %v", name, a, b, w)
				}
			}
		}
	}
	if _, ok := ParseCmp("lo"); ok {
		t.Error("an integer comparison is taken for a floating-point one")
	}
}

// TestOrdered holds that neighbours differ by one and order is kept, for all
// finite f16 values in ascending order.
func TestOrdered(t *testing.T) {
	last, lastX := Ordered16(0xfbff), F16ToFloat64(0xfbff)
	for i := -0x7bfe; i <= 0x7bff; i++ {
		b := uint16(i)
		if i < 0 {
			b = uint16(-i) | 0x8000
		}
		o, x := Ordered16(b), F16ToFloat64(b)
		if o != last+1 || x <= lastX {
			t.Fatalf("%04x: order %d after %d, value %v after %v", b, o, last, x, lastX)
		}
		last, lastX = o, x
	}
	if Ordered16(0x8000) != 0 || Ordered32(sign32) != 0 || Ordered32(sign32|1) != -1 ||
		Ordered32(one32)-Ordered32(one32-1) != 1 {
		t.Error("zeros or neighbours of f32")
	}
}

// TestMinMaxHalfExhaustive compares with the f32 forms on all f16 values
// against a spread of others; f32 forms are fixed by the hardware's values.
func TestMinMaxHalfExhaustive(t *testing.T) {
	for i := range 1 << 16 {
		for j := range 64 {
			a, b := uint16(i), uint16(j*1023+i*7)
			for _, m := range []Mode{{}, {NaN: true}} {
				x, y := F16ToF32(a), F16ToF32(b)
				if got, want := Max16(a, b, m), F32ToF16(Max32M(x, y, m)); got != want {
					t.Fatalf("max(%04x, %04x) = %04x, want %04x", a, b, got, want)
				}
				if got, want := Min16(a, b, m), F32ToF16(Min32M(x, y, m)); got != want {
					t.Fatalf("min(%04x, %04x) = %04x, want %04x", a, b, got, want)
				}
			}
		}
	}
}

// TestNaN64 holds NaN results of f64 instructions as an H200 gave them.
func TestNaN64(t *testing.T) {
	const zero, inf, one = 0, 0x7ff << 52, 0x3ff << 52
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"add", Add64(0xfff1000000000965, 0xfff20000000005f9, RN), 0xfffa0000000005f9},
		{"add inf-inf", Add64(inf, inf|sign64, RZ), 0xfff8000000000000},
		{"sub", Sub64(0x3ff0000000000000, 0xfff2000000000edf, RP), 0xfffa000000000edf},
		{"mul", Mul64(0x7ff90000000004c3, 0xfff20000000009fb, RN), 0xfffa0000000009fb},
		{"mul 0*inf", Mul64(zero, inf, RM), 0xfff8000000000000},
		{"fma b c", Fma64(0xfff900000000076d, 0x7ff2000000000ad3, 0xfff3000000000d3d, RN),
			0x7ffa000000000ad3},
		{"fma a c", Fma64(0xfff90000000000bd, 0x40db68b524f98000, 0x7ff3000000000e1b, RN),
			0x7ffb000000000e1b},
		{"div", Div64(0x6b41460000000000, 0x7ffba1444c0ffe6b, RM), 0x7ffba1444c0ffe6b},
		{"sqrt", Sqrt64(0xbff0000000000000, RN), 0xfff8000000000000},
		{"rni", RoundInt64(0xfff5880424eac453, RM), 0xfffd880424eac453},
		{"min", Min64(0x7ffced0c5bf3cb79, 0x7ff361b45858a75f), 0x7ffb61b45858a75f},
		{"max", Max64(0x7ffffcb5b2f1aa9f, 0xfff6bb2536565c19), 0xfffebb2536565c19},
		{"min one", Min64(one, 0x7ff361b45858a75f), one},
		{"neg", Neg64(0x7ff78c6d0f5363c3), 0x7fff8c6d0f5363c3},
		{"abs", Abs64(0xfff51dd259a05aeb), 0xfffd1dd259a05aeb},
		{"f64.f32", F32ToF64(0xffe6d773, false), 0xfffcdaee60000000},
		{"ftz.f64.f32", F32ToF64(0xffc51733, true), 0x7fffffffe0000000},
		{"f64.f16", F16ToF64(0xfcdd), 0xfffb740000000000},
		{"f32.f64", uint64(F64ToF32(0x7ff361f0fe0a522b, Mode{Rnd: RP})), 0x7fdb0f87},
		{"f16.f64", uint64(F64ToF16(0xfff72eb007f144a5, Mode{Rnd: RP})), 0xffcb},
		{"tf32", uint64(F32ToTF32(0xffdac0a9, Mode{})), 0x7fffe000},
	} {
		if c.got != c.want {
			t.Errorf("%s = %#x, want %#x", c.name, c.got, c.want)
		}
	}
}
