package ptx

import "tilescope/debugkern/isa"

// Form returns what the instruction table says of the instruction. For an opcode that the table does not
// have, the form is of kind Other and says that the first operand is written.
func (in *Instr) Form() *isa.Form {
	if in.form != nil {
		return in.form
	}
	return isa.Lookup(in.Op, in.Mods)
}

// Kind returns the kind of the instruction.
func (in *Instr) Kind() isa.Kind { return in.Form().Kind }

// Fragment returns the layout of the matrix that an operand of class c holds, nil where it is not known, or
// where the operand lies in shared memory: isa.Form.Fragment.
func (in *Instr) Fragment(c isa.ArgClass) *isa.Fragment {
	if in.Kind() == isa.WgmmaMultiply && in.FragmentRegs(c) == nil {
		return nil
	}
	return in.Form().Fragment(c, in.Mods)
}

// FragmentRegs are the registers of the operand of class c of a product, or of an instruction that moves a
// fragment; nil where it has none in registers.
func (in *Instr) FragmentRegs(c isa.ArgClass) []int32 {
	f := in.Form()
	if f.Kind == isa.WgmmaMultiply {
		at := 0
		if c == isa.ClassA {
			at = 1
		}
		if c == isa.ClassB || at >= len(in.Args) || in.Args[at].Kind != OpVec {
			return nil
		}
		return in.Args[at].Registers(nil)
	}
	for i, a := range f.Args {
		if a.Class == c && i < len(in.Args) {
			return in.Args[i].Registers(nil)
		}
	}
	return nil
}

// HasDest reports whether the first operand is what the instruction writes.
func (in *Instr) HasDest() bool { return len(in.Args) > 0 && in.Form().Dest }

// Dests appends the registers that the instruction writes, in order: those of its first operand, or what a
// call returns.
func (in *Instr) Dests(to []int32) []int32 {
	if in.HasDest() || in.Kind() == isa.Call && len(in.Args) > 0 {
		return in.Args[0].Registers(to)
	}
	return to
}

// Registers appends the registers that an operand names (indices in Func.Regs), the base of an address among
// them.
func (op *Operand) Registers(to []int32) []int32 {
	if op.Kind == OpReg || op.Kind == OpAddr && op.Base == BaseReg {
		to = append(to, op.Reg)
	}
	for i := range op.Elems {
		to = op.Elems[i].Registers(to)
	}
	return to
}
