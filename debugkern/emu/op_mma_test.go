package emu

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
)

// TestMultiplicationKnowsTheLayouts: fp multiplies registers in the layouts of the instruction table.
func TestMultiplicationKnowsTheLayouts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	m := fp.SM90()
	for opcode, form := range map[string]fp.MMA{
		"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32":     fp.MMAF32F16,
		"wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16":     fp.MMAF16F16,
		"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16":     fp.MMAF32F16C,
		"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32":     fp.MMAF16F32C,
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":   fp.MMAF32F16,
		"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16":   fp.MMAF16F16,
		"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32":  fp.MMAF32BF16,
		"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16":    fp.MMAF16F16,
		"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": fp.MMAF32BF16,
	} {
		words := strings.Split(opcode, ".")
		op, mods := words[0], words[1:]
		table := isa.Lookup(op, mods)
		var f [4]*isa.Fragment
		for i, class := range []isa.ArgClass{isa.ClassA, isa.ClassB, isa.ClassC, isa.ClassD} {
			if f[i] = table.Fragment(class, mods); f[i] == nil {
				t.Fatalf("%s: operand %c has no fragment", opcode, class)
			}
		}
		a, b, c, d := f[0], f[1], f[2], f[3]
		var x fp.WarpMMA
		element := func(format fp.Format) func() uint32 {
			return func() uint32 {
				v := fp.Bits32(float32(rng.NormFloat64()))
				switch format {
				case fp.F16:
					return uint32(fp.F32ToF16(v))
				case fp.BF16:
					return v >> 16
				}
				return v
			}
		}
		ma, mb := dealt(a, x.A[:], element(form.AB)), dealt(b, x.B[:], element(form.AB))
		mc := dealt(c, x.C[:], element(form.C))
		m.MultiplyWarp(form, d.Cols, a.Cols, &x)
		for e := range d.Elements {
			reg, part := d.Register(e)
			for lane := range 32 {
				row, col := d.Cell(lane, e)
				want := m.Dot(form, narrowed(ma[row*a.Cols:][:a.Cols]), narrowed(mb[col*a.Cols:][:a.Cols]),
					mc[row*d.Cols+col])
				got := x.D[reg][lane] >> (16 * part)
				if form.D == fp.F16 {
					got &= 0xffff
				}
				if got != want {
					t.Fatalf("%s: element %d of lane %d, row %d, column %d: %#x, expected %#x", opcode, e,
						lane, row, col, got, want)
				}
			}
		}
	}
}

// dealt makes a matrix and the registers that hold it.
func dealt(f *isa.Fragment, regs []*[32]uint32, element func() uint32) []uint32 {
	matrix := make([]uint32, f.Rows*f.Cols)
	for i := range matrix {
		matrix[i] = element()
	}
	for i := range f.Distinct() {
		regs[i] = &[32]uint32{}
	}
	for e := range f.Elements {
		reg, part := f.Register(e)
		for lane := range 32 {
			row, col := f.Cell(lane, e)
			regs[reg][lane] |= matrix[row*f.Cols+col] << (16 * part)
		}
	}
	return matrix
}

func narrowed(v []uint32) []uint16 {
	out := make([]uint16, len(v))
	for i := range v {
		out[i] = uint16(v[i])
	}
	return out
}
