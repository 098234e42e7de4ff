package emu

import (
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// access decodes the address operand of a load or store.
func (d *decoder) access(op *ptx.Operand, space target.Space) *access {
	x := &access{space: space, base: -1}
	if op.Kind != ptx.OpAddr {
		d.fail("%s: an address is expected", d.in.Opcode())
	}
	switch op.Base {
	case ptx.BaseReg:
		s := d.reg(&ptx.Operand{Kind: ptx.OpReg, Reg: op.Reg, Comp: -1})
		if s.bank == bankPred {
			d.fail("%s: an address is expected", d.in.Opcode())
		}
		x.base, x.wide, x.off = s.slot, s.bank == bank64, uint64(op.Off)
	case ptx.BaseSym:
		if op.Var == nil {
			d.fail("%s: the address of %s is not modelled", d.in.Opcode(), op.Name)
		}
		sp, addr := d.place(op.Var)
		if x.space == target.SpaceParam || x.space == target.SpaceNone {
			x.space = sp // a .param variable of a call lies in the lane's frame
		}
		x.off = addr + uint64(op.Off)
		if fr := d.stackOf(op.Var); fr != nil {
			x.base, x.wide = fr.base, true
		}
	default:
		x.off = uint64(op.Off)
	}
	if x.space == target.SpaceParam && !d.fn.Entry {
		x.space = target.SpaceLocal
	}
	return x
}

// elements sets what a load or store moves.
func (d *decoder) elements(x *access, op *ptx.Operand, dest bool) {
	t := d.typ()
	x.size, x.n, x.signed = t.Bytes(), d.in.Vec(), t.Signed()
	if x.size == 0 || x.size > 8 {
		d.unmodelled()
	}
	elems := []ptx.Operand{*op}
	if op.Kind == ptx.OpVec {
		elems = op.Elems
	}
	if len(elems) != x.n || x.n > len(x.regs) {
		d.fail("%s: %d registers for %d elements", d.in.Opcode(), len(elems), x.n)
	}
	for i := range elems {
		x.regs[i], x.banks[i] = d.element(&elems[i], x.size, dest)
		x.short[i] = elems[i].Kind == ptx.OpReg && d.regBits(&elems[i]) == 16
	}
}

// element returns the slot of one register of a load or store: of any width for a load's destination, as
// constants go too for a store's source.
func (d *decoder) element(op *ptx.Operand, size int, dest bool) (int32, bank) {
	b := bank32
	if size == 8 {
		b = bank64
	}
	switch {
	case op.Kind == ptx.OpReg:
		s := d.reg(op)
		if s.bank == bankPred || s.bank == bank32 && size == 8 {
			d.fail("%s: the register is too narrow", d.in.Opcode())
		}
		return s.slot, s.bank
	case dest && op.Kind == ptx.OpSink:
		return d.scratch(b), b
	case dest:
		d.fail("%s: a register is expected", d.in.Opcode())
	}
	return d.source(op, b, size*8), b
}

// checkSemantics refuses what has no meaning here.
func (d *decoder) checkSemantics() {
	for _, m := range d.in.Mods {
		switch m {
		case "async":
			d.unmodelled()
		}
	}
}

// strong reports whether a load from global memory may be meant to see what other blocks write while it
// executes: blocks may wait for each other with it.
func (d *decoder) strong(x *access) bool {
	if x.space != target.SpaceGlobal && x.space != target.SpaceNone {
		return false
	}
	for _, m := range d.in.Mods {
		switch m {
		case "volatile", "relaxed", "acquire":
			return true
		}
	}
	return false
}

func (d *decoder) ld() {
	d.checkSemantics()
	x := d.access(d.arg(1), spaceOf(d.in.Space()))
	d.elements(x, d.arg(0), true)
	d.out.mem, d.out.class, d.out.run = x, target.ClassLoad, runLoad
	if d.strong(x) {
		d.p.waits, d.out.run = true, runStrongLoad
	}
	if x.base < 0 && x.space == target.SpaceParam && d.fn.Entry {
		d.out.run = runLoadParam
	}
}

func (d *decoder) st() {
	if d.has("async") {
		d.storeAsync()
		return
	}
	d.checkSemantics()
	x := d.access(d.arg(0), spaceOf(d.in.Space()))
	d.elements(x, d.arg(1), false)
	d.out.mem, d.out.class, d.out.run = x, target.ClassStore, runStore
}

// count notes a memory instruction.
func (b *block) count(s target.Space) {
	switch s {
	case target.SpaceShared:
		b.counts.SharedAccesses++
	case target.SpaceGlobal, target.SpaceNone:
		b.counts.GlobalAccesses++
	}
}
