package ptx

import "strconv"

// instr writes an instruction without its ';', gap between opcode and operands.
func (p *writer) instr(in *Instr, gap string) {
	if g := in.Guard; g != nil {
		p.s("@")
		if g.Neg {
			p.s("!")
		}
		p.s(p.fn.RegName(g.Reg) + " ")
	}
	p.s(in.Op)
	if p.pin && Unpinned(in) {
		p.s(".rn")
	}
	for _, m := range in.Mods {
		p.s("." + m)
	}
	if in.Op == "call" {
		p.s(" ")
		p.call(in.Args)
		return
	}
	for i := range in.Args {
		if i == 0 {
			p.s(gap)
		} else {
			p.s(", ")
		}
		p.operand(&in.Args[i])
	}
}

// Unpinned reports whether in is a floating-point add, sub or mul without a rounding modifier,
// which ptxas may fuse.
func Unpinned(in *Instr) bool {
	switch in.Op {
	case "add", "sub", "mul":
	default:
		return false
	}
	float := false
	for _, m := range in.Mods {
		switch m {
		case "rn", "rz", "rm", "rp", "rna", "rs":
			return false
		}
		if t, ok := TypeOf(m); ok && t.Float() {
			float = true
		}
	}
	return float
}

func (p *writer) call(args []Operand) {
	if len(args[0].Elems) > 0 {
		p.operand(&args[0])
		p.s(", ")
	}
	p.operand(&args[1])
	p.s(", ")
	p.operand(&args[2])
	for i := 3; i < len(args); i++ {
		p.s(", ")
		p.operand(&args[i])
	}
}

var components = [...]string{".x", ".y", ".z", ".w"}

func (p *writer) operand(op *Operand) {
	switch op.Kind {
	case OpReg:
		if op.Neg {
			p.s("!")
		}
		p.s(p.fn.RegName(op.Reg))
		p.comp(op.Comp)
	case OpSpecial:
		p.s(op.Name)
		p.comp(op.Comp)
	case OpInt:
		if op.Unsigned {
			p.s("0x" + strconv.FormatUint(op.Imm, 16) + "U")
		} else {
			p.int(int64(op.Imm))
		}
	case OpF32:
		p.f("0f%08X", op.Imm)
	case OpF64:
		p.f("0d%016X", op.Imm)
	case OpSym, OpLabel:
		p.s(op.Name)
		p.offset(op.Off)
	case OpAddr:
		p.address(op)
	case OpVec:
		p.elems("{", op.Elems, ", ", "}")
	case OpList:
		p.elems("(", op.Elems, ", ", ")")
	case OpPair:
		p.elems("", op.Elems, "|", "")
	case OpSink:
		p.s("_")
	}
}

func (p *writer) comp(c int8) {
	if c >= 0 {
		p.s(components[c])
	}
}

func (p *writer) elems(open string, ops []Operand, by, end string) {
	p.s(open)
	p.sep(len(ops), by, func(i int) { p.operand(&ops[i]) })
	p.s(end)
}

func (p *writer) address(op *Operand) {
	p.s("[")
	switch op.Base {
	case BaseReg:
		p.s(p.fn.RegName(op.Reg))
		p.comp(op.Comp)
		p.offset(op.Off)
	case BaseSym:
		p.s(op.Name)
		p.offset(op.Off)
	case BaseImm:
		p.int(op.Off)
	}
	for i := range op.Elems {
		p.s(", ")
		p.operand(&op.Elems[i])
	}
	p.s("]")
}
