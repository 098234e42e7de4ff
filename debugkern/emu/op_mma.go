package emu

import (
	"math/bits"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// mmaSync decodes mma.sync.aligned.m16n8k16 and m16n8k8 with 16-bit operands: A [16][k] row-major, B [k][8] column-major.
func (d *decoder) mmaSync() {
	o := d.out
	m := &mmaOp{k: 16}
	o.mma, o.class, o.run = m, target.ClassMMA, runMMA
	d.aligned()
	switch {
	case d.has("m16n8k8"):
		m.k = 8
	case !d.has("m16n8k16"):
		d.unmodelled()
	}
	ts := d.in.Types()
	if len(ts) != 4 || ts[1] != ts[2] || ts[1] != ptx.F16 && ts[1] != ptx.BF16 || d.has("sp") {
		d.unmodelled()
	}
	m.form = fp.MMA{AB: formatOf(ts[1]), C: formatOf(ts[3]), D: formatOf(ts[0])}
	switch m.form {
	case fp.MMAF32F16, fp.MMAF32BF16, fp.MMAF16F16:
	default:
		d.unmodelled()
	}
	n := 4
	if m.form.D == fp.F16 {
		n = 2
	}
	m.d, m.c = d.fragment(0, n, true), d.fragment(3, n, false)
	m.a, m.b = d.fragment(1, m.k/4, false), d.fragment(2, m.k/8, false)
}

func runMMA(w *warp, in *inst, mask uint32) {
	m := in.mma
	var a [256]uint16
	var b [128]uint16
	var c, d [128]uint32
	for j := range m.k / 4 { // register j: row half j&1, k half j>>1
		for lane, v := range w.present(m.a[j], mask) {
			at := (lane>>2+8*(j&1))*m.k + lane&3*2 + 8*(j>>1)
			a[at&255], a[(at+1)&255] = uint16(v), uint16(v>>16)
		}
	}
	for j := range m.k / 8 {
		for lane, v := range w.present(m.b[j], mask) {
			at := lane>>2*m.k + lane&3*2 + 8*j
			b[at&127], b[(at+1)&127] = uint16(v), uint16(v>>16)
		}
	}
	half := m.form.D == fp.F16
	cell := func(lane, e int) int { return (lane>>2+8*(e>>1))*8 + lane&3*2 + e&1 }
	for e := range 4 {
		if half {
			for lane, v := range w.present(m.c[e>>1], mask) {
				c[cell(lane, e)] = v >> (16 * (e & 1)) & 0xffff
			}
			continue
		}
		for lane, v := range w.present(m.c[e], mask) {
			c[cell(lane, e)] = v
		}
	}
	w.blk.p.model.MMA16x8(m.form, m.k, &d, &c, a[:16*m.k], b[:8*m.k])
	w.blk.counts.MMAOutputs += 128
	for e := range 4 {
		if half && e > 1 {
			break
		}
		var v row32
		for lane := range v {
			if half {
				v[lane] = d[cell(lane, 2*e)]&0xffff | d[cell(lane, 2*e+1)]<<16
			} else {
				v[lane] = d[cell(lane, e)]
			}
		}
		w.store32(m.d[e], &v, mask)
	}
}

// ldmatrix decodes ldmatrix and stmatrix: x1, x2 or x4 matrices of 8×8 halves, whose row r of matrix k lies where lane
// 8k + r says.
func (d *decoder) ldmatrix() {
	o := d.out
	m := &mmaOp{matrix: 1, trans: d.has("trans")}
	o.mma = m
	d.aligned()
	if !d.has("m8n8") || d.typ() != ptx.B16 {
		d.unmodelled()
	}
	switch {
	case d.has("x2"):
		m.matrix = 2
	case d.has("x4"):
		m.matrix = 4
	}
	addr, frag, load := 1, 0, d.in.Op == "ldmatrix"
	if !load {
		addr, frag = 0, 1
	}
	op := d.arg(frag)
	elems := []ptx.Operand{*op}
	if op.Kind == ptx.OpVec {
		elems = op.Elems
	}
	if len(elems) != m.matrix {
		d.fail("%s: %d registers for %d matrices", d.in.Opcode(), len(elems), m.matrix)
	}
	for i := range elems {
		if load {
			m.regs[i] = d.dest(&elems[i], bank32)
		} else {
			m.regs[i] = d.source(&elems[i], bank32, 32)
		}
	}
	x := d.access(d.arg(addr), spaceOf(d.in.Space()))
	x.size, x.n = 16, 1
	o.mem = x
	if load {
		o.class, o.run = target.ClassLoad, runLdmatrix
	} else {
		o.class, o.run = target.ClassStore, runStmatrix
	}
}

// matrixElement is row and column of half h of a lane's register.
func (m *mmaOp) matrixElement(lane, h int) (row, col int) {
	if m.trans {
		return lane&3*2 + h, lane >> 2
	}
	return lane >> 2, lane&3*2 + h
}

func runLdmatrix(w *warp, in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	b.count(target.SpaceShared)
	var vals [4]row32 // a destination may be the address register
	for k := range m.matrix {
		var rows [8][8]uint16
		for r := range rows {
			lane := 8*k + r
			p := b.locate(w, in, x, lane, w.address(x, lane), 16, 16)
			if p.data == nil {
				rows[r] = [8]uint16{0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff}
				continue
			}
			if p.written != nil && !allWritten(p.written) {
				b.uninitialised(w, in, x, lane, p)
			}
			for i := range 8 {
				rows[r][i] = le.Uint16(p.data[2*i:])
			}
		}
		v := &vals[k]
		for lane := range v {
			r0, c0 := m.matrixElement(lane, 0)
			r1, c1 := m.matrixElement(lane, 1)
			v[lane] = uint32(rows[r0][c0]) | uint32(rows[r1][c1])<<16
		}
	}
	for k := range m.matrix {
		w.store32(m.regs[k], &vals[k], mask)
	}
}

func runStmatrix(w *warp, in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	b.count(target.SpaceShared)
	b.wrote++
	for k := range m.matrix {
		var rows [8][8]uint16
		for l := mask; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			v := w.lane32(m.regs[k], lane)
			r0, c0 := m.matrixElement(lane, 0)
			r1, c1 := m.matrixElement(lane, 1)
			rows[r0][c0], rows[r1][c1] = uint16(v), uint16(v>>16)
		}
		for r := range rows {
			lane := 8*k + r
			p := b.locate(w, in, x, lane, w.address(x, lane), 16, 16)
			if p.data == nil {
				continue
			}
			for i, h := range rows[r] {
				le.PutUint16(p.data[2*i:], h)
			}
			p.wrote()
		}
	}
}
