package emu

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Provenance. Each register carries the set of symbols that its value can have been computed from, by the
// instructions that hand an address on; the sets are grown until nothing changes. They do not depend on
// the flow: a register that is assigned twice has the union. What is loaded from memory starts from
// nowhere, which is also what an index is made of, so the sum of a symbol and a loaded number still
// belongs to the symbol.
//
// The parts that a manifest names inside one dynamic shared array are one symbol: an access from one part
// into another is named after the part it lies in, and is not out of bounds.

// provenance gives every access of f its set of symbols.
func (d *decoder) provenance(f *ptx.Func) {
	sets := make([]symSet, len(f.Regs))
	for changed := true; changed; {
		changed = false
		for _, in := range f.Body {
			d.step(1)
			d.in = in
			s, to := d.flowsTo(f, in, sets)
			if s == 0 {
				continue
			}
			for _, r := range to {
				if sets[r]|s != sets[r] {
					sets[r] |= s
					changed = true
				}
			}
		}
	}
	for i, in := range f.Body {
		d.step(1)
		out := &d.p.code[d.base+i]
		d.in = in
		for x := out.mem; x != nil; x = x.second {
			x.set = d.setIndex(d.addressSet(in, x, sets), x.space)
		}
	}
}

// setIndex interns a set as it is used by instructions of one space.
func (d *decoder) setIndex(s symSet, space target.Space) int {
	for i, t := range d.p.sets {
		if t == s && d.p.spaces[i] == space {
			return i
		}
	}
	d.p.sets = append(d.p.sets, s)
	d.p.spaces = append(d.p.spaces, space)
	return len(d.p.sets) - 1
}

// addressSet is the provenance of an access's address operand.
func (d *decoder) addressSet(in *ptx.Instr, x *access, sets []symSet) symSet {
	var found symSet
	seen := 0
	for i := range in.Args {
		op := &in.Args[i]
		if op.Kind != ptx.OpAddr {
			continue
		}
		switch op.Base {
		case ptx.BaseReg:
			found = sets[op.Reg]
		case ptx.BaseSym:
			found = d.symbolOf(op.Var)
		default:
			found = 0
		}
		if seen++; seen > x.nth {
			return found
		}
	}
	return found
}

// flowsTo returns what an instruction hands on and to which registers.
func (d *decoder) flowsTo(f *ptx.Func, in *ptx.Instr, sets []symSet) (symSet, []int32) {
	if len(in.Args) == 0 {
		return 0, nil
	}
	var s symSet
	form := in.Form()
	if form.Kind == isa.Load {
		s = d.loadedParam(f, in)
	}
	for i := range in.Args {
		if i < len(form.Args) && form.Args[i].Address {
			s |= d.operandSet(&in.Args[i], sets)
		}
	}
	if s == 0 {
		return 0, nil
	}
	var to []int32
	collect(&in.Args[0], &to)
	return s, to
}

func collect(op *ptx.Operand, to *[]int32) {
	if op.Kind == ptx.OpReg {
		*to = append(*to, op.Reg)
	}
	for i := range op.Elems {
		collect(&op.Elems[i], to)
	}
}

func (d *decoder) operandSet(op *ptx.Operand, sets []symSet) symSet {
	switch op.Kind {
	case ptx.OpReg:
		return sets[op.Reg]
	case ptx.OpSym:
		if op.Var != nil {
			return d.symbolOf(op.Var)
		}
	case ptx.OpVec:
		var s symSet
		for i := range op.Elems {
			s |= d.operandSet(&op.Elems[i], sets)
		}
		return s
	}
	return 0
}

// loadedParam is the pointer in a kernel parameter that an ld.param reads whole.
func (d *decoder) loadedParam(f *ptx.Func, in *ptx.Instr) symSet {
	if !f.Entry || len(in.Args) < 2 || in.Space() != ptx.SpaceParam || in.Type().Bytes() != 8 {
		return 0
	}
	op := &in.Args[1]
	if op.Kind != ptx.OpAddr || op.Base != ptx.BaseSym || op.Var == nil || op.Var.Func == nil ||
		!isParam(op.Var) {
		return 0
	}
	off := op.Var.Offset + int(op.Off)
	return d.symbol(off, func() *symbol {
		return &symbol{name: op.Var.Name, space: target.SpaceGlobal, param: off, alloc: -1}
	})
}

// symbolOf is the set of one variable.
func (d *decoder) symbolOf(v *ptx.Var) symSet {
	if d.stackOf(v) != nil {
		return 0
	}
	return d.symbol(v, func() *symbol {
		space, addr := d.place(v)
		s := &symbol{name: v.Demangled, space: space, v: v, addr: addr, size: v.Size, param: -1, alloc: -1}
		if space == target.SpaceGlobal || space == target.SpaceConst {
			s.alloc = d.glob[v]
		}
		if space == target.SpaceParam && !mayBeMap(v) {
			return nil
		}
		return s
	})
}

// symbol numbers a symbol. Past the last number its provenance is not known.
func (d *decoder) symbol(key any, make func() *symbol) symSet {
	i, ok := d.symIdx[key]
	if !ok {
		s := make()
		if s == nil || len(d.p.syms) == maxSymbols {
			i = -1
		} else {
			i = len(d.p.syms)
			d.p.syms = append(d.p.syms, s)
		}
		d.symIdx[key] = i
	}
	if i < 0 {
		return 0
	}
	return 1 << i
}
