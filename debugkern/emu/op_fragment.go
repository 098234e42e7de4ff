package emu

import (
	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// fragment is a matrix in a warp's registers: the layout, and the registers' slots.
type fragment struct {
	*isa.Fragment
	regs [8]int32
}

// wide reports whether an element fills a register.
func (f *fragment) wide() bool { return f.PerRegister == 1 }

// mmaOp is the fragment side of a matrix instruction.
type mmaOp struct {
	frag fragment // that of a load or store, D of a multiplication, of ldmatrix the layout of one matrix

	// Of a load or store.

	size   int   // bytes of an element in memory
	align  int   // what the starting address must be a multiple of
	rows   int   // what the bytes between rows must be a multiple of
	swap   bool  // a cell's row and column change places in memory
	stride int32 // slot, in elements
	fixed  bool  // no stride operand: rows lie one behind the other

	// Of a multiplication.

	form    fp.MMA
	a, b, c fragment
	dot     dotProduct // of one without a fast form
	sparse  *sparseOp  // of one with a sparse A

	matrix int // ldmatrix: number of matrices
}

// aligned makes an instruction wait for the whole warp.
func (d *decoder) aligned() {
	d.out.flow, d.out.c, d.out.aligned = flowSync, d.constant(bank32, uint64(allLanes)), true
}

// fragment decodes operand i, the vector of registers that hold a matrix.
func (d *decoder) fragment(i int) (f fragment) {
	form := d.in.Form()
	if f.Fragment = d.in.Fragment(form.Args[i].Class); f.Fragment == nil {
		d.unmodelled()
	}
	op := d.arg(i)
	if op.Kind != ptx.OpVec || len(op.Elems) != f.Registers {
		d.fail("%s: a fragment of %d registers is expected", d.in.Opcode(), f.Registers)
	}
	for j := range op.Elems {
		b, bits := bank32, 32
		if f.Bits == 64 {
			b, bits = bank64, 64
		}
		if i == 0 && form.Dest {
			f.regs[j] = d.dest(&op.Elems[j], b)
		} else {
			f.regs[j] = d.source(&op.Elems[j], b, bits)
		}
	}
	return f
}

// fragmentAccess decodes wmma.load and wmma.store. The starting address must be a multiple of the bytes of a
// lane's fragment (PTX ISA, "Matrix Storage"). Of the rows the ISA asks for the same, but CUDA allows,
// hardware takes, and padded kernels use strides that are any multiple of what the chip asks for.
func (d *decoder) fragmentAccess(addr, data int) {
	m := &mmaOp{}
	d.out.mma = m
	d.aligned()
	m.frag = d.fragment(data)
	_, m.size = m.frag.Moved()
	m.align, m.rows = max(m.frag.Bits/8, 4)*m.frag.Registers, d.p.chip.FragmentRows
	m.swap = d.has("col") != (m.frag.Role == isa.ClassB) // cells of B are [n][k], memory has [k][n]
	x := d.access(d.arg(addr), spaceOf(d.in.Space()))
	x.size, x.n = m.size, 1
	d.out.mem = x
	if m.frag.Bits < 8 && m.swap { // elements of a register do not lie side by side
		d.unmodelled()
	}
	if m.fixed = len(d.in.Args) < 3; !m.fixed {
		m.stride = d.src32(2, 32)
	}
}

func (d *decoder) loadFragment() {
	d.fragmentAccess(1, 0)
	d.out.class, d.out.run = target.ClassLoad, runLoadFragment
	if !d.out.mma.frag.square() {
		d.out.run = runLoadAny
	}
}

func (d *decoder) storeFragment() {
	d.fragmentAccess(0, 1)
	d.out.class, d.out.run = target.ClassStore, runStoreFragment
	if !d.out.mma.frag.square() {
		d.out.run = runStoreAny
	}
}
