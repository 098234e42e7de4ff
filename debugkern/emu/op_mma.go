package emu

import (
	"tilescope/debugkern/fp"
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
	if !d.fastProduct() {
		d.multiplyAny()
		return
	}
	m.frag, m.a, m.b, m.c = d.fragment(0), d.fragment(1), d.fragment(2), d.fragment(3)
	m.form = fp.MMA{AB: fp.F16, C: formatOf(ts[len(ts)-1]), D: formatOf(ts[0])}
	if len(ts) == 4 {
		m.form.AB = formatOf(ts[1])
	}
	d.out.class, d.out.run = target.ClassMMA, runMultiply
}

// fastProduct reports whether a product is one of those whose matrices fp multiplies as a whole.
func (d *decoder) fastProduct() bool {
	ts := d.in.Types()
	if d.has("sp") || d.has("satfinite") || !d.has("m16n16k16") && !d.has("m16n8k16") && !d.has("m16n8k8") {
		return false
	}
	if len(ts) == 2 {
		return true
	}
	if len(ts) != 4 || d.has("m16n16k16") {
		return false
	}
	switch (fp.MMA{AB: formatOf(ts[1]), C: formatOf(ts[3]), D: formatOf(ts[0])}) {
	case fp.MMAF32F16, fp.MMAF32BF16, fp.MMAF16F16:
		return ts[1].Bits() == 16
	}
	return false
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
	w.halves(&a, &m.a, mask)
	w.halves(&b, &m.b, mask)
	w.accumulator(&c, &m.c, mask)
	model := w.blk.p.model
	if m.frag.Cols == 16 {
		model.MMA16x16x16(m.form, &d, &c, &a, &b)
		w.blk.counts.MMAOutputs += 256
	} else {
		k := m.a.Cols
		model.MMA16x8(m.form, k, (*[128]uint32)(d[:]), (*[128]uint32)(c[:]), a[:16*k], b[:8*k])
		w.blk.counts.MMAOutputs += 128
	}
	w.setFragment(&m.frag, &d, mask)
}

// halves gathers an operand fragment into a matrix, two elements a register.
func (w *warp) halves(t *[256]uint16, f *fragment, mask uint32) {
	for k := range f.Distinct() {
		lo, hi := &f.Cells[2*k&7], &f.Cells[(2*k+1)&7]
		for lane, v := range w.present(f.regs[k&7], mask) {
			t[lo[lane]], t[hi[lane]] = uint16(v), uint16(v>>16)
		}
	}
}

// accumulator gathers an accumulator, whose elements are halves in pairs or whole registers.
func (w *warp) accumulator(t *[256]uint32, f *fragment, mask uint32) {
	for k := range f.Registers {
		r := w.present(f.regs[k&7], mask)
		if f.wide() {
			at := &f.Cells[k&7]
			for lane, v := range r {
				t[at[lane]] = v
			}
			continue
		}
		lo, hi := &f.Cells[2*k&7], &f.Cells[(2*k+1)&7]
		for lane, v := range r {
			t[lo[lane]], t[hi[lane]] = v&0xffff, v>>16
		}
	}
}

// setFragment distributes an accumulator to the lanes.
func (w *warp) setFragment(f *fragment, t *[256]uint32, mask uint32) {
	for k := range f.Registers {
		var v row32
		if f.wide() {
			for lane, c := range &f.Cells[k&7] {
				v[lane] = t[c]
			}
		} else {
			lo, hi := &f.Cells[2*k&7], &f.Cells[(2*k+1)&7]
			for lane := range v {
				v[lane] = t[lo[lane]]&0xffff | t[hi[lane]]<<16
			}
		}
		w.store32(f.regs[k&7], &v, mask)
	}
}
