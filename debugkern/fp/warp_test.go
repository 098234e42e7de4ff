package fp

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// warpShapes are the multiplications that a warp executes: columns and k.
var warpShapes = [][2]int{{16, 16}, {8, 16}, {8, 8}}

var warpForms = []MMA{MMAF32F16, MMAF16F16, MMAF32BF16, MMAF32F16C, MMAF16F32C}

// inRegisters puts a as [16][k], b as [n][k] and c as [16][n] into registers of a warp; D has what an earlier
// multiplication left.
func inRegisters(t MMA, n, k int, a, b []uint16, c []uint32) *WarpMMA {
	x, regs := &WarpMMA{}, new([16][32]uint32)
	for i := range x.A {
		x.A[i], x.B[i] = &regs[i], &regs[4+i]
	}
	for i := range x.C {
		x.C[i] = &regs[8+i]
	}
	for i := range 16 * k {
		reg, lane := elementA(i/k, i%k)
		x.A[reg][lane] |= uint32(a[i]) << (i & 1 * 16)
	}
	for i := range n * k {
		reg, lane := elementB(i/k, i%k, k)
		x.B[reg][lane] |= uint32(b[i]) << (i & 1 * 16)
	}
	for i := range 16 * n {
		reg, lane := elementC(i/n, i%n)
		if t.C == F16 {
			x.C[reg][lane] |= c[i] << (i & 1 * 16)
		} else {
			x.C[2*reg+i&1][lane] = c[i]
		}
	}
	for i := range x.D {
		for lane := range x.D[i] {
			x.D[i][lane] = 0xdeadbeef
		}
	}
	return x
}

// result is an output.
func (x *WarpMMA) result(t MMA, row, col int) uint32 {
	reg, lane := elementC(row, col)
	if t.D == F16 {
		return x.D[reg][lane] >> (col & 1 * 16) & 0xffff
	}
	return x.D[2*reg+col&1][lane]
}

// compareWarp multiplies in vectors, where the processor has them, through matrices, and term by term.
func compareWarp(m *Model, t MMA, n, k int, a, b []uint16, c []uint32, dot bool) error {
	x := inRegisters(t, n, k, a, b, c)
	y := *x
	m.MultiplyWarp(t, n, k, x)
	m.multiplyWarp(t, n, k, &y)
	for i := range 16 * n {
		row, col := i/n, i%n
		vector, matrix := x.result(t, row, col), y.result(t, row, col)
		want := matrix
		if dot || vector != matrix {
			want = m.Dot(t, a[row*k:][:k], b[col*k:][:k], c[i])
		}
		if vector != want || matrix != want {
			return fmt.Errorf(
				"form %v, n %d, k %d, row %d, column %d, c %#x: %#x in vectors, %#x through matrices, Dot %#x\na %04x\nb %04x",
				t, n, k, row, col, c[i], vector, matrix, want, a[row*k:][:k], b[col*k:][:k])
		}
	}
	return nil
}

// draw makes matrices of a class of inputs.
func (d drawer) draw(m *Model, t MMA, n, k int) (a, b []uint16, c []uint32) {
	a, b, c = make([]uint16, 16*k), make([]uint16, n*k), make([]uint32, 16*n)
	for i := range a {
		a[i] = d.operand(i)
	}
	for i := range b {
		b[i] = d.operand(i + 1)
	}
	for i := range c {
		c[i] = d.addend(m, t, a[i/n*k:][:k], b[i%n*k:][:k])
	}
	return a, b, c
}

// TestWarpsMultiplyAsDot compares the multiplication of registers with the dot product that follows the
// description, on every class of inputs, form and shape. TILESCOPE_LONG compares two million multiplications.
func TestWarpsMultiplyAsDot(t *testing.T) {
	m, rounds, dot := SM90(), 12, true
	if os.Getenv("TILESCOPE_LONG") != "" {
		// through matrices: TestMMAMatchesDot compares those
		rounds, dot = 2_000_000/(len(warpForms)*len(warpShapes)*classes), false
	}
	for _, form := range warpForms {
		for _, shape := range warpShapes {
			for class := range classes {
				d := drawer{rand.New(rand.NewPCG(uint64(class), 11)), form.AB, class}
				for range rounds {
					a, b, c := d.draw(m, form, shape[0], shape[1])
					if err := compareWarp(m, form, shape[0], shape[1], a, b, c, dot); err != nil {
						t.Fatalf("class %d: %v", class, err)
					}
				}
			}
		}
	}
}

// TestVectorsMultiply: on ordinary numbers no output is left to the portable code, so that what is compared
// and measured is the assembly.
func TestVectorsMultiply(t *testing.T) {
	if !vectors {
		t.Skip("this processor has no AVX2 and F16C, or is no amd64")
	}
	m := SM90()
	for _, form := range warpForms {
		for _, shape := range warpShapes {
			d := drawer{rand.New(rand.NewPCG(3, 11)), form.AB, 1}
			a, b, c := d.draw(m, form, shape[0], shape[1])
			for i := range c {
				c[i] = uint32(narrow(d.NormFloat64(), form.C, RN, false))
			}
			x := inRegisters(form, shape[0], shape[1], a, b, c)
			if !m.multiplyVectors(form, shape[0], shape[1], x) {
				t.Fatalf("form %v: no vectors", form)
			}
			if x.bad != [16]uint16{} {
				t.Errorf("form %v, shape %v: not computed in vectors: %x", form, shape, x.bad)
			}
		}
	}
}

// TestWhatVectorsLeaveIsRepaired plants what vectors cannot compute in each place in turn: that output alone
// is computed otherwise.
func TestWhatVectorsLeaveIsRepaired(t *testing.T) {
	m := SM90()
	for _, shape := range warpShapes {
		n, k := shape[0], shape[1]
		for i := range 16 * n {
			d := drawer{rand.New(rand.NewPCG(uint64(i), 5)), F16, 1}
			a, b, c := d.draw(m, MMAF32F16, n, k)
			c[i] = 0x7f800000 | uint32(i&1)
			if err := compareWarp(m, MMAF32F16, n, k, a, b, c, true); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSumsOf32Bits adds C to the largest sum of products, so that it ends around 2^31 units: the vectors'
// integers have no more, and the last ones below it have no f32 that is an integer of 32 bits.
func TestSumsOf32Bits(t *testing.T) {
	m := SM90()
	for _, form := range []MMA{MMAF32F16, MMAF16F32C} {
		for _, sign := range []uint16{0, 0x8000} {
			for delta := -320; delta < 320; delta++ {
				var a, b [256]uint16
				var c [256]uint32
				for i := range a {
					a[i], b[i] = 0x3fff|sign, 0x3fff // 2047·2^-10 each
					c[i] = Bits32(float32(1<<31-16*(2047*2047<<5)+delta*(1+i)) / (1 << 25))
					if sign != 0 {
						c[i] ^= 1 << 31
					}
				}
				if err := compareWarp(m, form, 16, 16, a[:], b[:], c[:], true); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestSubnormalAddendsAlign: the terms of a sum of f16 with a subnormal C are aligned to the exponent of the
// subnormals of f16, not to that of C's value: 2^-23 + 2^-25 + 2^-45 loses the last term and is a tie.
func TestSubnormalAddendsAlign(t *testing.T) {
	m := SM90()
	for _, shape := range warpShapes {
		n, k := shape[0], shape[1]
		a, b, c := make([]uint16, 16*k), make([]uint16, n*k), make([]uint32, 16*n)
		for i := range 16 {
			a[i*k], a[i*k+1] = 0x0c00, 0x0008 // 2^-12, 2^-21
		}
		for i := range n {
			b[i*k], b[i*k+1] = 0x0800, 0x0001 // 2^-13, 2^-24
		}
		for i := range c {
			c[i] = 0x0002
		}
		if err := compareWarp(m, MMAF16F16, n, k, a, b, c, true); err != nil {
			t.Fatal(err)
		}
		if got := m.Dot(MMAF16F16, a[:k], b[:k], 2); got != 2 {
			t.Errorf("Dot %#x", got)
		}
	}
}

// FuzzMultiplyWarp compares the multiplication of registers with the portable one: numbers of a class, over
// which raw bits are put where the input has them.
func FuzzMultiplyWarp(f *testing.F) {
	for form := range warpForms {
		for class := range classes {
			f.Add(uint64(class), uint8(form), uint8(class), uint8(form), []byte{
				0, 0x7c, 1, 0, 0xff, 0x7f, 0, 0x80,
			})
		}
	}
	m := SM90()
	f.Fuzz(func(t *testing.T, seed uint64, form, class, shape uint8, raw []byte) {
		x, s := warpForms[int(form)%len(warpForms)], warpShapes[int(shape)%len(warpShapes)]
		d := drawer{rand.New(rand.NewPCG(seed, 13)), x.AB, int(class) % classes}
		a, b, c := d.draw(m, x, s[0], s[1])
		for ; len(raw) >= 8; raw = raw[8:] {
			v := binary.LittleEndian.Uint64(raw)
			a[int(v>>16)%len(a)] = uint16(v)
			b[int(v>>32)%len(b)] = uint16(v)
			c[int(v>>48)%len(c)] = uint32(v >> 8)
			if x.C == F16 {
				c[int(v>>48)%len(c)] = uint32(uint16(v >> 8))
			}
		}
		if err := compareWarp(m, x, s[0], s[1], a, b, c, false); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNaNSettlesRowsAndColumns: a NaN in A, in B, or in both makes the outputs of its row and column NaN and
// leaves the others, next to infinities too.
func TestNaNSettlesRowsAndColumns(t *testing.T) {
	m := SM90()
	for _, form := range warpForms {
		for _, shape := range warpShapes {
			n, k := shape[0], shape[1]
			for i := range 64 {
				d := drawer{rand.New(rand.NewPCG(uint64(i), 7)), form.AB, 1}
				a, b, c := d.draw(m, form, n, k)
				nan, inf := inf16(form.AB)|uint16(1+i), inf16(form.AB)
				if i%3 != 0 {
					a[d.IntN(len(a))] = nan
				}
				if i%3 != 1 {
					b[d.IntN(len(b))], b[d.IntN(len(b))] = nan|0x8000, inf
				}
				a[d.IntN(len(a))] = inf
				if err := compareWarp(m, form, n, k, a, b, c, true); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
