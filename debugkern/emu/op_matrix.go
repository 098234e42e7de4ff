package emu

import (
	"math/bits"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// loadMatrix decodes ldmatrix: x1, x2 or x4 matrices of 8×8 halves, whose row r of matrix k lies where lane
// 8k + r says.
func (d *decoder) loadMatrix() {
	d.matrices(1, 0, d.dest)
	d.out.class, d.out.run = target.ClassLoad, runLdmatrix
}

// storeMatrix decodes stmatrix.
func (d *decoder) storeMatrix() {
	d.matrices(0, 1, func(op *ptx.Operand, b bank) int32 { return d.source(op, b, 32) })
	d.out.class, d.out.run = target.ClassStore, runStmatrix
}

// matrices decodes the operands of both; slot finds the slot of a register.
func (d *decoder) matrices(addr, data int, slot func(op *ptx.Operand, b bank) int32) {
	m := &mmaOp{
		frag: fragment{Fragment: isa.Matrix8(d.has("trans"))}, matrix: max(isa.Matrices(d.in.Mods), 1),
	}
	d.out.mma = m
	d.aligned()
	if !d.has("m8n8") || d.typ() != ptx.B16 {
		d.unmodelled()
	}
	op := d.arg(data)
	elems := []ptx.Operand{*op}
	if op.Kind == ptx.OpVec {
		elems = op.Elems
	}
	if len(elems) != m.matrix {
		d.fail("%s: %d registers for %d matrices", d.in.Opcode(), len(elems), m.matrix)
	}
	for i := range elems {
		m.frag.regs[i] = slot(&elems[i], bank32)
	}
	x := d.access(d.arg(addr), spaceOf(d.in.Space()))
	x.size, x.n = 16, 1
	d.out.mem = x
}

func runLdmatrix(w *warp, in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	lo, hi := &m.frag.Cells[0], &m.frag.Cells[1]
	b.count(target.SpaceShared)
	var vals [4]row32 // a destination may be the address register
	for k := range m.matrix {
		var rows [64]uint16
		for r := range 8 {
			lane, row := 8*k+r, rows[8*r:8*r+8]
			p := b.locate(w, in, x, lane, w.address(x, lane), 16, 16)
			if p.data == nil {
				for i := range row {
					row[i] = 0xffff
				}
				continue
			}
			if p.written != nil && !allWritten(p.written) {
				b.uninitialised(w, in, x, lane, p)
			}
			for i := range row {
				row[i] = le.Uint16(p.data[2*i:])
			}
		}
		v := &vals[k]
		for lane := range v {
			v[lane] = uint32(rows[lo[lane]&63]) | uint32(rows[hi[lane]&63])<<16
		}
	}
	for k := range m.matrix {
		w.store32(m.frag.regs[k], &vals[k], mask)
	}
}

func runStmatrix(w *warp, in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	lo, hi := &m.frag.Cells[0], &m.frag.Cells[1]
	b.count(target.SpaceShared)
	b.wrote++
	for k := range m.matrix {
		var rows [64]uint16
		for l := mask; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			v := w.lane32(m.frag.regs[k], lane)
			rows[lo[lane]&63], rows[hi[lane]&63] = uint16(v), uint16(v>>16)
		}
		for r := range 8 {
			lane := 8*k + r
			p := b.locate(w, in, x, lane, w.address(x, lane), 16, 16)
			if p.data == nil {
				continue
			}
			for i, h := range rows[8*r : 8*r+8] {
				le.PutUint16(p.data[2*i:], h)
			}
			p.wrote()
		}
	}
}

// moveMatrix decodes movmatrix: the matrix of 8×8 halves that the warp holds, transposed.
func (d *decoder) moveMatrix() {
	d.aligned()
	if !d.has("m8n8") || !d.has("trans") || d.typ() != ptx.B16 {
		d.unmodelled()
	}
	d.out.d, d.out.a, d.out.run = d.dst32(0), d.src32(1, 32), runMovmatrix
}

func runMovmatrix(w *warp, in *inst, mask uint32) {
	f := isa.Matrix8(false)
	var m [8][8]uint32
	for lane, v := range w.full32(in.a) {
		for e := range f.Elements {
			row, col := f.Cell(lane, e)
			m[row][col] = v >> (16 * e) & 0xffff
		}
	}
	var out row32
	for lane := range out {
		for e := range f.Elements {
			row, col := f.Cell(lane, e)
			out[lane] |= m[col][row] << (16 * e)
		}
	}
	w.store32(in.d, &out, mask)
}
