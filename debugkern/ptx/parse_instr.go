package ptx

import "tilescope/debugkern/isa"

// instruction parses one instruction from its opcode to the ';'.
func (p *parser) instruction(g *Guard) {
	t := p.tok
	op := p.ident("an opcode")
	if p.bad {
		return
	}
	if op[0] == '%' {
		p.errorAt(t, "expected an opcode, found "+t.describe())
		return
	}
	in := p.newInstr()
	*in = Instr{Pos: p.pos(t), Loc: p.loc, Guard: g, Op: op, Index: len(p.fn.Body), Asm: p.tokAsm}
	in.Mods, in.form = p.modifiers(op, t)
	p.unresolved = false
	if op == "call" {
		in.Args = p.callOperands()
	} else {
		in.Args = p.operands()
	}
	p.expect(';', "after the instruction")
	if p.bad {
		return
	}
	if p.unresolved {
		p.deferLabels(in)
	}
	in.Labels, p.labels = p.labels, nil
	p.item(Item{Kind: ItemInstr, Index: in.Index, Pos: in.Pos})
	p.fn.Body = append(p.fn.Body, in)
}

// newInstr hands out instructions from chunks.
func (p *parser) newInstr() *Instr {
	if len(p.instrs) == 0 {
		p.instrs = make([]Instr, 128)
	}
	in := &p.instrs[0]
	p.instrs = p.instrs[1:]
	return in
}

// opcode is what instructions with one dotted name share.
type opcode struct {
	mods []string
	form *isa.Form
}

// modifiers parses the dotted components after an opcode, and finds its form in the instruction table.
func (p *parser) modifiers(op string, t token) ([]string, *isa.Form) {
	var buf [24]string
	mods := buf[:0]
	end := t.end
	for p.tok.kind == tokDot {
		mods = append(mods, p.tok.text)
		end = p.tok.end
		p.advance()
	}
	key := p.scan.src[t.end-len(op) : end]
	if shared, ok := p.intern[key]; ok {
		return shared.mods, shared.form
	}
	own := append([]string(nil), mods...)
	form := isa.Lookup(op, own)
	if p.intern == nil {
		p.intern = map[string]opcode{}
	}
	p.intern[key] = opcode{own, form}
	return own, form
}

// guard parses @p or @!p.
func (p *parser) guard() *Guard {
	p.advance()
	g := &Guard{Neg: p.accept('!')}
	t := p.tok
	name := p.ident("a predicate register")
	if p.bad {
		return nil
	}
	r, num, _ := p.scope.register(name)
	if r == nil {
		p.semantic(p.pos(t), "predicate %s is not declared", name)
		return nil
	}
	g.Reg = p.useReg(r, num)
	if ty := p.fn.Regs[g.Reg].Type; ty != Pred {
		p.semantic(p.pos(t), "guard %s is a .%s register, not a predicate", name, ty)
	}
	if p.tok.kind != tokIdent {
		p.errorAt(p.tok, "expected an instruction after the guard, found "+p.tok.describe())
	}
	return g
}

// operands parses a comma-separated list up to the ';'.
func (p *parser) operands() []Operand {
	if p.is(';') {
		return nil
	}
	var buf [8]Operand
	ops := buf[:0]
	for {
		ops = append(ops, p.operand())
		if !p.accept(',') {
			break
		}
	}
	return p.keep(ops)
}

// keep copies operands into the parser's slab, where their addresses stay valid.
func (p *parser) keep(ops []Operand) []Operand {
	if len(ops) == 0 {
		return nil
	}
	if len(p.slab) < len(ops) {
		p.slab = make([]Operand, max(512, len(ops)))
	}
	out := p.slab[:len(ops):len(ops)]
	p.slab = p.slab[len(ops):]
	copy(out, ops)
	return out
}

// callOperands parses `(returns), callee, (arguments), prototype`: always three operands or four.
func (p *parser) callOperands() []Operand {
	ops := []Operand{
		{Kind: OpList, Reg: -1, Comp: -1, Pos: p.here()}, {},
		{Kind: OpList, Reg: -1, Comp: -1, Pos: p.here()},
	}
	if p.is('(') {
		ops[0].Elems = p.list()
		p.expect(',', "after the return list")
	}
	ops[1] = p.operand()
	if p.accept(',') {
		if p.is('(') {
			ops[2].Pos = p.here()
			ops[2].Elems = p.list()
			if p.accept(',') {
				ops = append(ops, p.operand())
			}
		} else {
			ops = append(ops, p.operand())
		}
	}
	return ops
}

// list parses ( a, b, ... ).
func (p *parser) list() []Operand {
	p.advance()
	var ops []Operand
	for !p.is(')') && !p.bad {
		ops = append(ops, p.operand())
		if !p.accept(',') {
			break
		}
	}
	p.expect(')', "after the list")
	return p.keep(ops)
}

// operand parses one operand, pairs (a|b) included.
func (p *parser) operand() Operand {
	p.enter()
	defer p.leave()
	pos := p.here()
	a := p.single()
	if !p.is('|') {
		return a
	}
	p.advance()
	b := p.single()
	return Operand{Kind: OpPair, Elems: p.keep([]Operand{a, b}), Reg: -1, Comp: -1, Pos: pos}
}

func (p *parser) single() Operand {
	t := p.tok
	op := Operand{Reg: -1, Comp: -1, Pos: p.pos(t)}
	switch {
	case t.kind == tokIdent && t.text != "WARP_SZ":
		p.advance()
		if t.text == "_" {
			op.Kind = OpSink
			return op
		}
		p.name(&op, t)
		if op.Kind == OpSym || op.Kind == OpLabel {
			op.Off = p.addend()
		}
		return op
	case p.is('!'):
		if n := p.peek(); n.kind == tokIdent {
			p.advance()
			n = p.tok
			p.advance()
			p.name(&op, n)
			op.Neg = true
			if op.Kind != OpReg {
				p.errorAt(n, "'!' wants a predicate register")
			}
			return op
		}
	case p.is('['):
		return p.address()
	case p.is('{'):
		return p.vector()
	}
	c := p.constExpr(1)
	op.Kind, op.Imm, op.Unsigned = c.kind, c.bits, c.unsigned
	return op
}

// name resolves an identifier in operand position, with its component.
func (p *parser) name(op *Operand, t token) {
	r, num, sym := p.scope.register(t.text)
	special := false
	switch {
	case r != nil:
		op.Kind, op.Reg = OpReg, p.useReg(r, num)
	case sym.vr != nil:
		op.Kind, op.Name, op.Var = OpSym, t.text, sym.vr
	case sym.fn != nil:
		op.Kind, op.Name, op.Func = OpSym, t.text, sym.fn
	default:
		if _, special = specialNames[t.text]; special {
			op.Kind, op.Name = OpSpecial, t.text
			break
		}
		if t.text[0] == '%' {
			p.semantic(op.Pos, "register %s is not declared", t.text)
			op.Kind = OpSink
			break
		}
		op.Kind, op.Name, op.Target = OpLabel, t.text, -1
		p.unresolved = true
	}
	if p.tok.kind != tokDot {
		if special && specialNames[t.text] {
			p.semantic(op.Pos, "%s needs a component, %s.x", t.text, t.text)
		}
		return
	}
	c := component(p.tok.text)
	switch {
	case c < 0:
		p.errorAt(p.tok, "unknown component ."+p.tok.text)
	case op.Kind == OpReg && int(c) >= int(p.fn.Regs[op.Reg].Vec):
		p.errorAt(p.tok, t.text+" has no component ."+p.tok.text)
	case op.Kind == OpSpecial && !specialNames[t.text]:
		p.errorAt(p.tok, t.text+" has no component ."+p.tok.text)
	case op.Kind != OpReg && op.Kind != OpSpecial && op.Kind != OpSink:
		p.errorAt(p.tok, t.text+" has no components")
	}
	if op.Kind != OpSink {
		op.Comp = c
	}
	p.advance()
}

func component(s string) int8 {
	if len(s) == 1 {
		switch s[0] {
		case 'x', 'r':
			return 0
		case 'y', 'g':
			return 1
		case 'z', 'b':
			return 2
		case 'w', 'a':
			return 3
		}
	}
	return -1
}

// address parses [base+offset] or, for tensor and texture forms, [base, {coordinates}].
func (p *parser) address() Operand {
	op := Operand{Kind: OpAddr, Reg: -1, Comp: -1, Pos: p.here()}
	p.advance()
	t := p.tok
	if t.kind == tokIdent && t.text != "WARP_SZ" {
		p.advance()
		base := Operand{Reg: -1, Comp: -1, Pos: p.pos(t)}
		unresolved := p.unresolved
		p.name(&base, t)
		switch base.Kind {
		case OpReg:
			op.Base, op.Reg, op.Comp = BaseReg, base.Reg, base.Comp
		case OpSym:
			op.Base, op.Name, op.Var, op.Func = BaseSym, base.Name, base.Var, base.Func
		case OpLabel:
			p.unresolved = unresolved
			p.semantic(base.Pos, "%s is not declared", t.text)
		case OpSpecial:
			p.errorAt(t, "special register "+t.text+" cannot be an address")
		}
		op.Off = p.addend()
	} else {
		c := p.constExpr(1)
		if c.kind != OpInt {
			p.errorAt(t, "an address cannot be a float")
		}
		op.Base, op.Off = BaseImm, int64(c.bits)
	}
	for p.accept(',') {
		op.Elems = append(op.Elems, p.operand())
	}
	op.Elems = p.keep(op.Elems)
	p.expect(']', "after the address")
	return op
}

// vector parses {a, b, ...}.
func (p *parser) vector() Operand {
	op := Operand{Kind: OpVec, Reg: -1, Comp: -1, Pos: p.here()}
	p.advance()
	p.braces++
	var buf [8]Operand
	elems := buf[:0]
	for !p.is('}') && !p.bad {
		elems = append(elems, p.operand())
		if !p.accept(',') {
			break
		}
	}
	p.expect('}', "after the vector")
	if !p.bad {
		p.braces--
	}
	op.Elems = p.keep(elems)
	return op
}

// deferLabels queues the operands of in that name something not yet seen, once they no longer move.
func (p *parser) deferLabels(in *Instr) {
	branch := in.Kind() == isa.Branch || in.Kind() == isa.BranchIndexed
	var walk func(ops []Operand)
	walk = func(ops []Operand) {
		for i := range ops {
			op := &ops[i]
			walk(op.Elems)
			if op.Kind != OpLabel {
				continue
			}
			if sym := p.scope.lookup(op.Name); sym.list != nil {
				sym.list.users = append(sym.list.users, op)
				op.Target = 0
				continue
			} else if sym.set { // a .callprototype
				op.Target = 0
				continue
			}
			p.scope.pending = append(p.scope.pending, pendingLabel{op, branch})
		}
	}
	walk(in.Args)
}
