package emu

import (
	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// mmaOp is the fragment side of a matrix instruction.
type mmaOp struct {
	frag *isa.Fragment // that of a load or store, D of a multiplication, one matrix of ldmatrix
	regs [8]int32

	// Of a load or store.

	size   int   // bytes of an element in memory
	align  int   // what the starting address must be a multiple of
	rows   int   // what the bytes between rows must be a multiple of
	acc    bool  // an accumulator
	swap   bool  // a cell's row and column change places in memory
	stride int32 // slot, in elements
	fixed  bool  // no stride operand: 16

	// Of a multiplication: as many registers as elements in pairs.

	form           fp.MMA
	d, a, b, c     [8]int32
	k              int
	pairsA, pairsB int
	cellsA, cellsB *[8][32]uint8

	matrix int // ldmatrix: number of matrices
}

// wide reports whether an element fills a register.
func (m *mmaOp) wide() bool { return m.size == 4 }

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

// fragmentAccess decodes wmma.load and wmma.store. The starting address must be a multiple of the bytes of a
// lane's fragment (PTX ISA, "Matrix Storage"). Of the rows the ISA asks for the same, but CUDA allows,
// hardware takes, and padded kernels use strides that are any multiple of what the chip asks for.
func (d *decoder) fragmentAccess(addr, data int) {
	m := &mmaOp{}
	d.out.mma = m
	d.aligned()
	if m.frag = d.in.Fragment(d.in.Form().Args[data].Class); m.frag == nil || !m.frag.Known {
		d.unmodelled()
	}
	m.size, m.align = m.frag.ElementBytes(), 4*m.frag.Registers
	m.rows, m.acc = d.p.chip.FragmentRows, m.frag.Role == isa.ClassC
	m.swap = d.has("col") != (m.frag.Role == isa.ClassB) // cells of B are [n][k], memory has [k][n]
	x := d.access(d.arg(addr), spaceOf(d.in.Space()))
	x.size, x.n = m.size, 1
	d.out.mem = x
	m.regs = d.fragment(data, m.frag.Registers, data == 0)
	if m.fixed = len(d.in.Args) < 3; !m.fixed {
		m.stride = d.src32(2, 32)
	}
}

func (d *decoder) loadFragment() {
	d.fragmentAccess(1, 0)
	d.out.class, d.out.run = target.ClassLoad, runLoadFragment
}

func (d *decoder) storeFragment() {
	d.fragmentAccess(0, 1)
	d.out.class, d.out.run = target.ClassStore, runStoreFragment
}
