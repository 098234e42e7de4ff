package ptx

// HasDest reports whether the first operand is what the instruction writes.
func (in *Instr) HasDest() bool {
	switch in.Op {
	case "st", "red", "bra", "brx", "call", "cp", "stmatrix", "membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent",
		"discard", "applypriority", "ret", "exit", "trap", "brkpt":
		return false
	case "bar", "barrier":
		return in.Has("red")
	case "wmma":
		return !in.Has("store")
	}
	return len(in.Args) > 0
}

// Registers appends the registers that an operand names (indices in Func.Regs), the base of an address among them.
func (op *Operand) Registers(to []int32) []int32 {
	if op.Kind == OpReg || op.Kind == OpAddr && op.Base == BaseReg {
		to = append(to, op.Reg)
	}
	for i := range op.Elems {
		to = op.Elems[i].Registers(to)
	}
	return to
}
