package fp

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDotAsyncIsDot: with operands of 16 bits a wgmma adds as mma.sync does, and of tf32 too.
func TestDotAsyncIsDot(t *testing.T) {
	m := SM90()
	g := rand.New(rand.NewPCG(1, 2))
	for _, f := range []MMA{MMAF32F16, MMAF32BF16, MMAF16F16} {
		for range 20000 {
			var a, b [16]uint16
			var x, y [16]uint32
			for i := range a {
				a[i], b[i] = uint16(g.Uint32()), uint16(g.Uint32())
				x[i], y[i] = uint32(a[i]), uint32(b[i])
			}
			c := g.Uint32()
			if f.C == F16 {
				c &= 0xffff
			}
			got := m.DotAsync(AsyncMMA{f.AB, f.AB, f.D}, x[:], y[:], c)
			if want := m.Dot(f, a[:], b[:], c); got != want {
				t.Fatalf("%v: %x, want %x", f, got, want)
			}
		}
	}
	for range 20000 {
		var x, y [8]uint32
		for i := range x {
			x[i], y[i] = g.Uint32(), g.Uint32()
		}
		c := g.Uint32()
		got := m.DotAsync(AsyncMMA{TF32, TF32, F32}, x[:], y[:], c)
		if want := m.DotTF32(x[:], y[:], c); got != want {
			t.Fatalf("tf32: %x, want %x", got, want)
		}
	}
}

// TestDotAsyncFP8 pins sums of FP8 products: what lies below the accumulator's fraction bits is cut from each
// product by itself.
func TestDotAsyncFP8(t *testing.T) {
	e4m3 := AsyncMMA{E4M3, E4M3, F32}
	one, least := uint32(0x38), uint32(0x01) // 1 and 2^-9
	for _, x := range []struct {
		name string
		form AsyncMMA
		a, b []uint32
		c    float32
		want float32
	}{
		{"exact", e4m3, []uint32{one, one, 0x40}, []uint32{one, 0xb8, 0x40}, 0.5, 4.5},
		{"kept", e4m3, []uint32{one, 0x08}, []uint32{one, 0x04}, 0, 1 + 0x1p-13},
		{"cut", e4m3, []uint32{one, least}, []uint32{one, 0x20}, 0, 1 + 0x1p-12},
		{"below", e4m3, []uint32{one, least, least}, []uint32{one, 0x04, 0x04}, 0, 1},
		{"addend", e4m3, []uint32{one}, []uint32{one}, 0x1p-14, 1},
		{"other format", AsyncMMA{E5M2, E4M3, F32}, []uint32{0x3c}, []uint32{0x44}, 0, 3},
	} {
		for len(x.a) < 32 {
			x.a, x.b = append(x.a, 0), append(x.b, 0)
		}
		got := SM90().DotAsync(x.form, x.a, x.b, math.Float32bits(x.c))
		if got != math.Float32bits(x.want) {
			t.Errorf("%s: %v, want %v", x.name, math.Float32frombits(got), x.want)
		}
	}
}
