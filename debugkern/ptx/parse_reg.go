package ptx

// regDecl parses `.reg .type name, name<count>, ...;`.
func (p *parser) regDecl() {
	p.advance()
	vec, ty := 0, TypeNone
	for p.tok.kind == tokDot {
		t := p.tok
		p.advance()
		if n := vecLen(t.text); n != 0 {
			vec = n
			continue
		}
		if t.text == "align" {
			p.alignment()
			continue
		}
		var ok bool
		if ty, ok = TypeOf(t.text); !ok {
			p.errorAt(t, "unknown type ."+t.text)
		}
	}
	if ty == TypeNone {
		p.errorAt(p.tok, "expected a register type, found "+p.tok.describe())
	}
	for !p.bad {
		pos := p.here()
		name := p.ident("a register name")
		count := 0
		if p.accept('<') {
			count = p.integer("a register count", maxRegCount)
			p.expect('>', "after the register count")
			if count == 0 {
				count = -1 // declares none, which is legal
			}
		}
		if !p.bad {
			p.declareReg(name, ty, vec, count, pos)
			p.item(Item{Kind: ItemReg, Index: len(p.fn.Decls) - 1, Pos: pos})
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', "after the register declaration")
}

func (p *parser) declareReg(name string, ty Type, vec, count int, pos Pos) {
	r := &regRange{decl: int32(len(p.fn.Decls)), count: count}
	p.fn.Decls = append(p.fn.Decls, &RegDecl{Name: name, Type: ty, Vec: vec, Count: count, Pos: pos})
	if count != 0 {
		if p.scope.counted == nil {
			p.scope.counted = map[string]*regRange{}
		}
		if p.scope.counted[name] != nil {
			p.semantic(pos, "registers %s<> are declared twice", name)
		}
		p.scope.counted[name] = r
		return
	}
	if old, ok := p.scope.declare(name, symbol{reg: r, decl: pos}); !ok {
		p.semantic(pos, "%s is declared twice (first at line %d)", name, old.Line)
	}
}

// useReg returns the dense index of register num of r, giving it one on first use.
func (p *parser) useReg(r *regRange, num int) int32 {
	i := max(num, 0)
	if i >= len(r.dense) {
		r.dense = append(r.dense, make([]int32, max(i+1, min(2*i, r.count))-len(r.dense))...)
	}
	if r.dense[i] == 0 {
		d := p.fn.Decls[r.decl]
		p.fn.Regs = append(p.fn.Regs, Reg{Type: d.Type, Vec: int8(d.Vec), Decl: r.decl, Num: int32(num)})
		r.dense[i] = int32(len(p.fn.Regs))
	}
	return r.dense[i] - 1
}
