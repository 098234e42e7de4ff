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
	switch {
	case isa.Sparse(d.in.Mods):
		d.multiplySparse()
		return
	case !d.fastProduct():
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
	if d.has("satfinite") || !d.has("m16n16k16") && !d.has("m16n8k16") && !d.has("m16n8k8") {
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

// runMultiply multiplies the matrices where they lie, in the registers of the warp.
func runMultiply(w *warp, in *inst, mask uint32) {
	m, b := in.mma, w.blk
	x := &b.multiply
	for i := range m.a.Distinct() {
		x.A[i&3] = w.present(m.a.regs[i&7], mask)
	}
	for i := range m.b.Distinct() {
		x.B[i&3] = w.present(m.b.regs[i&7], mask)
	}
	for i := range m.c.Registers {
		x.C[i&7] = w.present(m.c.regs[i&7], mask)
	}
	b.p.model.MultiplyWarp(m.form, m.frag.Cols, m.a.Cols, x)
	for i := range m.frag.Registers {
		w.store32(m.frag.regs[i&7], &x.D[i&7], mask)
	}
	b.counts.MMAOutputs += 16 * uint64(m.frag.Cols)
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
