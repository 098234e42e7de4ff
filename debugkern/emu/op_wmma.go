package emu

import (
	"tilescope/debugkern/fp"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Fragments of wmma m16n16k16, as an H200 lays them out where that can be seen. With r = lane/4 and c = 2·(lane%4), element
// pairs (0,1) (2,3) (4,5) (6,7) of the accumulator are the cells
//
//	(r,c) (r,c+1)   (r+8,c) (r+8,c+1)   (r,c+8) (r,c+9)   (r+8,c+8) (r+8,c+9)
//
// as read back on the hardware; f16 accumulators pack a pair into a register. Operands are opaque to PTX (a kernel must
// not look at their elements), but loading an index shows them: A has the accumulator's cells in registers 0 to 3; B, written
// as [n][k], has them with registers 1 and 2 exchanged; registers 4 to 7 repeat them, so that 16 halves hold each cell twice.

// fragKind is what a fragment holds.
type fragKind uint8

const (
	fragA fragKind = iota
	fragB
	fragAcc32
	fragAcc16
)

// regs is the number of 32-bit registers of a lane.
func (k fragKind) regs() int {
	if k == fragAcc16 {
		return 4
	}
	return 8
}

// size is the bytes of an element in memory, align what the starting address must be a multiple of: the bytes of a lane's
// fragment (PTX ISA, "Matrix Storage"). Rows need 16 bytes: the ISA asks for the fragment's size there too, but CUDA allows,
// hardware takes, and padded kernels use strides of any multiple of 16 bytes.
func (k fragKind) size() int {
	if k == fragAcc32 {
		return 4
	}
	return 2
}

func (k fragKind) align() int {
	if k == fragAcc16 {
		return 16
	}
	return 32
}

const wmmaRowAlign = 16

// cells[lane][e] is the cell as 16·row + col.
type cellMap [32][8]uint8

func fragCells(of func(lane, e int) (row, col int), transposed bool) (m cellMap) {
	for lane := range 32 {
		for e := range 8 {
			r, c := of(lane, e)
			if transposed {
				r, c = c, r
			}
			m[lane][e] = uint8(16*r + c)
		}
	}
	return m
}

var (
	cellsRC = fragCells(target.WMMACell, false)  // [m][k] of A, [m][n] of the accumulator
	cellsNK = fragCells(target.WMMACellB, false) // [n][k] of B
	cellsKN = fragCells(target.WMMACellB, true)  // [k][n] of B
)

// mmaOp is the fragment side of a wmma or mma instruction.
type mmaOp struct {
	kind    fragKind
	col     bool  // column-major in memory
	stride  int32 // slot, in elements
	fixed   bool  // no stride operand: 16
	regs    [8]int32
	form    fp.MMA
	a, b, c [8]int32
	d       [8]int32
	k       int
	matrix  int // ldmatrix: number of matrices
	trans   bool
}

func (d *decoder) wmma() {
	if !d.has("m16n16k16") {
		d.unmodelled()
	}
	d.out.mma = &mmaOp{}
	d.aligned()
	switch d.in.Mods[0] {
	case "load":
		d.wmmaLoad()
	case "store":
		d.wmmaStore()
	case "mma":
		d.wmmaMMA()
	default:
		d.unmodelled()
	}
}

// aligned makes an instruction wait for the whole warp.
func (d *decoder) aligned() {
	d.out.flow, d.out.c = flowSync, d.constant(bank32, uint64(allLanes))
}

// fragment decodes a vector of registers.
func (d *decoder) fragment(i, n int, dest bool) (regs [8]int32) {
	op := d.arg(i)
	if op.Kind != ptx.OpVec || len(op.Elems) != n {
		d.fail("%s: a fragment of %d registers is expected", d.in.Opcode(), n)
	}
	for j := range op.Elems {
		if dest {
			regs[j] = d.dest(&op.Elems[j], bank32)
		} else {
			regs[j] = d.source(&op.Elems[j], bank32, 32)
		}
	}
	return regs
}

// fragKind reads what a load or store moves.
func (d *decoder) fragKind() fragKind {
	t := d.typ()
	switch {
	case d.has("a") && t == ptx.F16:
		return fragA
	case d.has("b") && t == ptx.F16:
		return fragB
	case (d.has("c") || d.has("d")) && t == ptx.F32:
		return fragAcc32
	case (d.has("c") || d.has("d")) && t == ptx.F16:
		return fragAcc16
	}
	d.unmodelled()
	return 0
}

func (d *decoder) matrix(addr, frag int, dest bool) {
	o, m := d.out, d.out.mma
	m.kind, m.col = d.fragKind(), d.has("col")
	x := d.access(d.arg(addr), spaceOf(d.in.Space()))
	x.size, x.n = m.kind.size(), 1
	o.mem = x
	m.regs = d.fragment(frag, m.kind.regs(), dest)
	if m.fixed = len(d.in.Args) < 3; !m.fixed {
		m.stride = d.src32(2, 32)
	}
}

func (d *decoder) wmmaLoad() {
	d.matrix(1, 0, true)
	d.out.class, d.out.run = target.ClassLoad, runWmmaLoad
}

func (d *decoder) wmmaStore() {
	d.matrix(0, 1, false)
	d.out.class, d.out.run = target.ClassStore, runWmmaStore
}

// wmmaMMA decodes wmma.mma.sync.aligned.alayout.blayout.m16n16k16.dtype.ctype: the layouts only say how the operands were
// loaded.
func (d *decoder) wmmaMMA() {
	ts := d.in.Types()
	if len(ts) != 2 || d.has("satfinite") {
		d.unmodelled()
	}
	m := d.out.mma
	kind := map[ptx.Type]fragKind{ptx.F32: fragAcc32, ptx.F16: fragAcc16}
	dk, ok1 := kind[ts[0]]
	ck, ok2 := kind[ts[1]]
	if !ok1 || !ok2 {
		d.unmodelled()
	}
	m.form = fp.MMA{AB: fp.F16, C: formatOf(ts[1]), D: formatOf(ts[0])}
	m.d, m.a, m.b = d.fragment(0, dk.regs(), true), d.fragment(1, 8, false), d.fragment(2, 8, false)
	m.c = d.fragment(3, ck.regs(), false)
	d.out.class, d.out.run = target.ClassMMA, runWmma
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

// cells is the fragment's map from elements to cells of the matrix as it is written down: A as [m][k], B as [k][n].
func (m *mmaOp) cells() *cellMap {
	if m.kind == fragB {
		return &cellsKN
	}
	return &cellsRC
}

// runWmma multiplies: the fragments become whole matrices, fp multiplies them, the result goes back.
func runWmma(w *warp, in *inst, mask uint32) {
	m := in.mma
	var a, b [256]uint16
	var c, d [256]uint32
	w.halves(&a, m.a, &cellsRC, mask)
	w.halves(&b, m.b, &cellsNK, mask)
	w.accumulator(&c, m.c, m.form.C, mask)
	w.blk.p.model.MMA16x16x16(m.form, &d, &c, &a, &b)
	w.blk.counts.MMAOutputs += 256
	w.setAccumulator(&d, m.d, m.form.D, mask)
}

// halves gathers an operand fragment into a matrix.
func (w *warp) halves(t *[256]uint16, regs [8]int32, cells *cellMap, mask uint32) {
	for k := range 4 {
		r := w.present(regs[k], mask)
		for lane, v := range r {
			c := &cells[lane]
			t[c[2*k]], t[c[2*k+1]] = uint16(v), uint16(v>>16)
		}
	}
}

func (w *warp) accumulator(t *[256]uint32, regs [8]int32, f fp.Format, mask uint32) {
	if f == fp.F16 {
		for k := range 4 {
			for lane, v := range w.present(regs[k], mask) {
				c := &cellsRC[lane]
				t[c[2*k]], t[c[2*k+1]] = v&0xffff, v>>16
			}
		}
		return
	}
	for k := range 8 {
		for lane, v := range w.present(regs[k], mask) {
			t[cellsRC[lane][k]] = v
		}
	}
}

func (w *warp) setAccumulator(t *[256]uint32, regs [8]int32, f fp.Format, mask uint32) {
	n := 8
	if f == fp.F16 {
		n = 4
	}
	for k := range n {
		var v row32
		for lane := range v {
			c := &cellsRC[lane]
			if n == 4 {
				v[lane] = t[c[2*k&7]]&0xffff | t[c[(2*k+1)&7]]<<16
			} else {
				v[lane] = t[c[k&7]]
			}
		}
		w.store32(regs[k], &v, mask)
	}
}
