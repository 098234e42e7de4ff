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

// asyncOperand is the elements of 32 bytes, as DotAsync takes them.
func asyncOperand(k int, words []uint32) []uint32 {
	out := make([]uint32, k)
	for i := range out {
		size := 32 / k
		out[i] = words[i*size/4] >> (8 * (i * size % 4))
		if size < 4 {
			out[i] &= 1<<(8*size) - 1
		}
	}
	return out
}

// TestMultiplyAsync: the registers of a warp hold what DotAsync and DotInt give, cell by cell.
func TestMultiplyAsync(t *testing.T) {
	m := SM90()
	g := rand.New(rand.NewPCG(3, 4))
	forms := []AsyncMMA{
		{F16, F16, F32}, {F16, F16, F16}, {BF16, BF16, F32}, {TF32, TF32, F32}, {E4M3, E5M2, F32},
		{E5M2, E5M2, F16}, {E4M3, E4M3, F16}, {},
	}
	for round := range 400 {
		f := forms[round%len(forms)]
		integer := f == AsyncMMA{}
		n := 1 + g.IntN(5)
		var rows [16][8]uint32
		cols := make([][8]uint32, 8*n)
		word := func() uint32 {
			v := g.Uint32()
			if round/len(forms)%2 == 1 && !integer { // exponents near each other, and few specials
				switch {
				case f.K() == 32:
					v = v&0x8f8f8f8f | 0x30303030
				case f.K() == 8:
					v = v&0x83ffffff | 0x3c000000
				default:
					v = v&0x8fff8fff | 0x30003000
				}
			}
			return v
		}
		for i := range rows {
			for j := range rows[i] {
				rows[i][j] = word()
			}
		}
		for i := range cols {
			for j := range cols[i] {
				cols[i][j] = word()
			}
		}
		x := AsyncWarp{B: make([][2][32]uint32, n), Fresh: round%7 == 0}
		var a [4][32]uint32
		for i := range a {
			x.A[i] = &a[i]
			for lane := range 32 {
				a[i][lane] = rows[lane>>2+8*(i&1)][4*(i>>1)+lane&3]
			}
		}
		for i := range x.B {
			for half := range 2 {
				for lane := range 32 {
					x.B[i][half][lane] = cols[8*i+lane>>2][4*half+lane&3]
				}
			}
		}
		each := 4
		if f.D == F16 && !integer {
			each = 2
		}
		before := make([][32]uint32, each*n)
		for i := range before {
			r := new([32]uint32)
			for lane := range r {
				r[lane] = word()
			}
			before[i] = *r
			x.D = append(x.D, r)
		}
		signed, sat := round%3 == 0, round%2 == 0
		if integer {
			MultiplyAsyncInt(&x, signed, sat)
		} else {
			m.MultiplyAsync(f, &x)
		}
		for row := range 16 {
			for col := range 8 * n {
				reg, lane, shift := col/8*4+row/8*2+col%2, row%8*4+col%8/2, 0
				mask := ^uint32(0)
				if each == 2 {
					reg, shift, mask = reg/2, col%2*16, 0xffff
				}
				c := before[reg][lane] >> shift & mask
				if x.Fresh {
					c = 0
				}
				var want uint32
				if integer {
					var p, q [32]int32
					for i, v := range asyncOperand(32, rows[row][:]) {
						p[i], q[i] = int32(v), int32(asyncOperand(32, cols[col][:])[i])
						if signed {
							p[i], q[i] = int32(int8(p[i])), int32(int8(q[i]))
						}
					}
					want = uint32(DotInt(p[:], q[:], int32(c), sat))
				} else {
					p, q := asyncOperand(f.K(), rows[row][:]), asyncOperand(f.K(), cols[col][:])
					want = m.DotAsync(f, p, q, c)
				}
				if got := x.D[reg][lane] >> shift & mask; got != want {
					t.Fatalf("%v round %d: row %d column %d is %x, want %x", f, round, row, col, got, want)
				}
			}
		}
	}
}
