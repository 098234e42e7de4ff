package emu

import (
	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// multiply decodes wmma.mma and mma of 16-bit operands: d, a, b, c. Of wmma the layouts only say how the
// operands were loaded.
func (d *decoder) multiply() {
	ts := d.in.Types()
	m := &mmaOp{}
	d.out.mma = m
	d.aligned()
	frags := [4]*isa.Fragment{}
	for i, c := range []isa.ArgClass{isa.ClassD, isa.ClassA, isa.ClassB, isa.ClassC} {
		if frags[i] = d.in.Fragment(c); frags[i] == nil || !frags[i].Known {
			d.unmodelled()
		}
	}
	if d.has("sp") || d.has("satfinite") {
		d.unmodelled()
	}
	m.form = fp.MMA{AB: fp.F16, C: formatOf(ts[len(ts)-1]), D: formatOf(ts[0])}
	if len(ts) == 4 {
		m.form.AB = formatOf(ts[1])
		switch m.form {
		case fp.MMAF32F16, fp.MMAF32BF16, fp.MMAF16F16:
		default:
			d.unmodelled()
		}
	}
	m.frag, m.k = frags[0], frags[1].Cols
	m.cellsA, m.cellsB = &frags[1].Cells, &frags[2].Cells
	m.d, m.a = d.fragment(0, frags[0].Registers, true), d.fragment(1, frags[1].Registers, false)
	m.b, m.c = d.fragment(2, frags[2].Registers, false), d.fragment(3, frags[3].Registers, false)
	m.pairsA, m.pairsB = frags[1].Elements/2, frags[2].Elements/2
	d.out.class, d.out.run = target.ClassMMA, runMultiply
}

func formatOf(t ptx.Type) fp.Format {
	switch t {
	case ptx.F16:
		return fp.F16
	case ptx.BF16:
		return fp.BF16
	}
	return fp.F32
}

// runMultiply makes whole matrices of the fragments; fp multiplies them, and the result goes back.
func runMultiply(w *warp, in *inst, mask uint32) {
	m := in.mma
	var a, b [256]uint16
	var c, d [256]uint32
	w.halves(&a, m.a[:m.pairsA], m.cellsA, mask)
	w.halves(&b, m.b[:m.pairsB], m.cellsB, mask)
	w.accumulator(&c, m.c, m.frag, m.form.C == fp.F16, mask)
	model := w.blk.p.model
	if m.frag.Cols == 16 {
		model.MMA16x16x16(m.form, &d, &c, &a, &b)
		w.blk.counts.MMAOutputs += 256
	} else {
		model.MMA16x8(m.form, m.k, (*[128]uint32)(d[:]), (*[128]uint32)(c[:]), a[:16*m.k], b[:8*m.k])
		w.blk.counts.MMAOutputs += 128
	}
	w.setAccumulator(&d, m, mask)
}

// halves gathers an operand fragment into a matrix, two elements a register.
func (w *warp) halves(t *[256]uint16, regs []int32, cells *[8][32]uint8, mask uint32) {
	for k, s := range regs {
		lo, hi := &cells[2*k&7], &cells[(2*k+1)&7]
		for lane, v := range w.present(s, mask) {
			t[lo[lane]], t[hi[lane]] = uint16(v), uint16(v>>16)
		}
	}
}

// accumulator gathers an accumulator, whose elements are halves in pairs or whole registers.
func (w *warp) accumulator(t *[256]uint32, regs [8]int32, f *isa.Fragment, halves bool, mask uint32) {
	if halves {
		for k := range f.Elements / 2 {
			lo, hi := &f.Cells[2*k&7], &f.Cells[(2*k+1)&7]
			for lane, v := range w.present(regs[k&7], mask) {
				t[lo[lane]], t[hi[lane]] = v&0xffff, v>>16
			}
		}
		return
	}
	for k := range f.Elements {
		at := &f.Cells[k&7]
		for lane, v := range w.present(regs[k&7], mask) {
			t[at[lane]] = v
		}
	}
}

func (w *warp) setAccumulator(t *[256]uint32, m *mmaOp, mask uint32) {
	cells, halves := &m.frag.Cells, m.form.D == fp.F16
	for k := range m.frag.Registers {
		var v row32
		if halves {
			lo, hi := &cells[2*k&7], &cells[(2*k+1)&7]
			for lane := range v {
				v[lane] = t[lo[lane]]&0xffff | t[hi[lane]]<<16
			}
		} else {
			for lane, c := range &cells[k&7] {
				v[lane] = t[c]
			}
		}
		w.store32(m.d[k&7], &v, mask)
	}
}
