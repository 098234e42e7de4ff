package fp

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDotTF32: operands that are bf16 numbers give what the bf16 product gives, for every kind of number; the
// low 13 bits do not count.
func TestDotTF32(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	m := SM90()
	for range 20000 {
		var a, b [8]uint16
		var x, y [8]uint32
		near := rng.IntN(4) > 0
		for i := range a {
			a[i], b[i] = uint16(rng.Uint32()), uint16(rng.Uint32())
			if near { // exponents close to each other, so that the sum is more than one term
				a[i], b[i] = a[i]&0x83ff|0x3c00, b[i]&0x83ff|0x3c00
			}
			x[i], y[i] = uint32(a[i])<<16|rng.Uint32()&tf32Low, uint32(b[i])<<16|rng.Uint32()&tf32Low
		}
		c := rng.Uint32()
		if got, want := m.DotTF32(x[:], y[:], c), m.Dot(MMAF32BF16, a[:], b[:], c); got != want {
			t.Fatalf("%x · %x + %x: %#x, want %#x", a, b, c, got, want)
		}
	}
	one := Bits32(1)
	if got := m.DotTF32([]uint32{one | 1<<13}, []uint32{one | 1<<13}, 0); got != Bits32(1+0x1p-9+0x1p-20) {
		t.Errorf("%#x", got)
	}
	if got := m.DotTF32([]uint32{inf32}, []uint32{0}, one); got != NaN32 {
		t.Errorf("%#x", got)
	}
}

// TestDotF8: the lower halves of the registers from zero, then the upper ones, and the accumulator last.
func TestDotF8(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	m := SM90()
	for range 2000 {
		var a, b [32]uint8
		var x, y [2][]uint16
		for i := range a {
			a[i], b[i] = uint8(rng.Uint32()), uint8(rng.Uint32())
			half := i % 4 / 2
			x[half], y[half] = append(x[half], E4M3ToF16(a[i])), append(y[half], E5M2ToF16(b[i]))
		}
		c := Bits32(rng.Float32())
		want := Add32(c, m.Dot(MMAF32F16, x[1], y[1], m.Dot(MMAF32F16, x[0], y[0], 0)))
		if got := m.DotF8(MMAF32F16, E4M3, E5M2, a[:], b[:], c); got != want {
			t.Fatalf("%#x, want %#x", got, want)
		}
	}
}

// TestDotInt: a sum beyond 32 bits wraps around, or is the nearest number that has 32.
func TestDotInt(t *testing.T) {
	a, b := []int32{127, -128}, []int32{127, -128}
	for _, c := range []struct {
		c, wrapped, saturated int32
	}{{1, 32514, 32514}, {math.MaxInt32, math.MinInt32 + 32512, math.MaxInt32}} {
		if w, s := DotInt(a, b, c.c, false), DotInt(a, b, c.c, true); w != c.wrapped || s != c.saturated {
			t.Errorf("%d: %d and %d, want %d and %d", c.c, w, s, c.wrapped, c.saturated)
		}
	}
	if s := DotInt([]int32{-128}, []int32{127}, math.MinInt32, true); s != math.MinInt32 {
		t.Error(s)
	}
}

// TestDot64: one fused multiply-add after the other.
func TestDot64(t *testing.T) {
	f := math.Float64bits
	got := Dot64([]uint64{f(0x1p60), f(1), f(-0x1p60)}, []uint64{f(1), f(1), f(1)}, f(0))
	if Float64(got) != 0 { // the 1 is lost
		t.Errorf("%g", Float64(got))
	}
}
