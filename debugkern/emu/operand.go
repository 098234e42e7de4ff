package emu

import (
	"math"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// arg returns operand i.
func (d *decoder) arg(i int) *ptx.Operand {
	if i >= len(d.in.Args) {
		d.fail("%s: operand %d is missing", d.in.Opcode(), i+1)
	}
	return &d.in.Args[i]
}

// reg returns where a register operand lives.
func (d *decoder) reg(op *ptx.Operand) regSlot {
	if op.Kind != ptx.OpReg || op.Comp >= 0 {
		d.fail("%s: this operand form is not modelled", d.in.Opcode())
	}
	s := d.p.regs[d.fn][op.Reg]
	if s.bank == bankNone {
		d.fail("%s: a register of type %s is not modelled", d.in.Opcode(), d.fn.Regs[op.Reg].Type)
	}
	return s
}

// constant returns a slot that always holds v.
func (d *decoder) constant(b bank, v uint64) int32 {
	if v == 0 {
		return 0
	}
	k := constKey{b, v}
	s, ok := d.consts[k]
	if !ok {
		s = d.slot(b)
		d.consts[k] = s
		d.p.consts = append(d.p.consts, constSlot{b, s, v})
	}
	return s
}

func (d *decoder) slot(b bank) int32 {
	if b == bank64 {
		d.p.n64++
		return int32(d.p.n64 - 1)
	}
	d.p.n32++
	return int32(d.p.n32 - 1)
}

// value returns the value of a constant operand.
func (d *decoder) value(op *ptx.Operand) (uint64, bool) {
	switch op.Kind {
	case ptx.OpInt, ptx.OpF32, ptx.OpF64:
		return op.Imm, true
	case ptx.OpSym:
		if d.stackOf(op.Var) != nil {
			return 0, false // a frame on the stack has no fixed place
		}
		return d.address(op), true
	case ptx.OpSpecial:
		if op.Name == "WARP_SZ" {
			return 32, true
		}
	}
	return 0, false
}

// src32 returns the slot of a source of at most 32 bits; bits masks immediates.
func (d *decoder) src32(i, bits int) int32 { return d.source(d.arg(i), bank32, bits) }

func (d *decoder) src64(i int) int32 { return d.source(d.arg(i), bank64, 64) }

// srcOf is an operand of the instruction's type, in the bank of its width.
func (d *decoder) srcOf(i int, t ptx.Type) int32 {
	if t.Bits() == 64 {
		return d.src64(i)
	}
	return d.src32(i, t.Bits())
}

// source returns the slot of a source operand in a bank.
func (d *decoder) source(op *ptx.Operand, b bank, bits int) int32 {
	if v, ok := d.value(op); ok {
		if op.Kind == ptx.OpF64 && bits == 32 {
			v = uint64(math.Float32bits(float32(math.Float64frombits(v))))
		}
		if bits < 64 {
			v &= 1<<bits - 1
		}
		return d.constant(b, v)
	}
	if op.Kind == ptx.OpSpecial {
		return d.special(op, b)
	}
	s := d.reg(op)
	if s.bank != b {
		d.fail("%s: a %s register is not modelled here", d.in.Opcode(), d.fn.Regs[op.Reg].Type)
	}
	return s.slot
}

// special returns the slot of a special register.
func (d *decoder) special(op *ptx.Operand, b bank) int32 {
	if !knownSreg(op.Name, b) {
		d.fail("special register %s is not modelled", op.Name)
	}
	k := sregKey{op.Name, op.Comp, b}
	s, ok := d.sregs[k]
	if !ok {
		s = d.slot(b)
		d.sregs[k] = s
		d.p.sregs = append(d.p.sregs, sregSlot{s, op.Name, op.Comp, b == bank64})
	}
	return s
}

// dst32 returns the slot of the destination; a sink gets a slot nobody reads.
func (d *decoder) dst32(i int) int32 { return d.dest(d.arg(i), bank32) }

func (d *decoder) dst64(i int) int32 { return d.dest(d.arg(i), bank64) }

func (d *decoder) dest(op *ptx.Operand, b bank) int32 {
	if op.Kind == ptx.OpSink {
		return d.scratch(b)
	}
	s := d.reg(op)
	if s.bank != b {
		d.fail("%s: a %s register is not modelled as its destination", d.in.Opcode(), d.fn.Regs[op.Reg].Type)
	}
	return s.slot
}

// scratch is a slot for results that nobody wants.
func (d *decoder) scratch(b bank) int32 {
	k := constKey{b + 100, 0}
	s, ok := d.consts[k]
	if !ok {
		s = d.slot(b)
		d.consts[k] = s
	}
	return s
}

// dstPred sets the predicate destination from a plain operand or a pair.
func (d *decoder) dstPred(op *ptx.Operand) int32 {
	if op.Kind == ptx.OpSink {
		return -1
	}
	s := d.reg(op)
	if s.bank != bankPred {
		d.fail("%s: a predicate is expected", d.in.Opcode())
	}
	return s.slot
}

// srcPred sets the predicate source.
func (d *decoder) srcPred(i int) {
	op := d.arg(i)
	if op.Kind == ptx.OpInt { // a constant predicate: slot -1 reads as true
		d.out.pc, d.out.negC = -1, op.Imm == 0
		return
	}
	s := d.reg(op)
	if s.bank != bankPred {
		d.fail("%s: a predicate is expected", d.in.Opcode())
	}
	d.out.pc, d.out.negC = s.slot, op.Neg
}

// address is the value of a symbol operand: its address in its own space.
func (d *decoder) address(op *ptx.Operand) uint64 {
	if op.Func != nil && !op.Func.Entry {
		return d.functionAddress(op.Func)
	}
	if op.Func != nil || op.Var == nil {
		d.fail("the address of %s is not modelled", op.Name)
	}
	_, addr := d.place(op.Var)
	return addr + uint64(op.Off)
}

// place returns space and address of a variable.
func (d *decoder) place(v *ptx.Var) (target.Space, uint64) {
	switch v.Space {
	case ptx.SpaceShared:
		return target.SpaceShared, uint64(d.shared[v])
	case ptx.SpaceLocal:
		return target.SpaceLocal, uint64(d.localAddr(v))
	case ptx.SpaceParam:
		if v.Func != nil && v.Func.Entry && isParam(v) {
			return target.SpaceParam, uint64(v.Offset)
		}
		return target.SpaceLocal, uint64(d.localAddr(v))
	case ptx.SpaceGlobal, ptx.SpaceConst:
		i, ok := d.glob[v]
		if !ok {
			i = len(d.p.globals)
			d.glob[v] = i
			d.p.globals = append(d.p.globals, v)
		}
		return spaceOf(v.Space), allocBase(i)
	}
	d.fail("%s variables are not modelled", v.Space)
	return 0, 0
}

// isParam reports whether v is one of its entry's own parameters, rather than the argument of
// a call in its body.
func isParam(v *ptx.Var) bool {
	for _, p := range v.Func.Params {
		if p == v {
			return true
		}
	}
	return false
}
