package ptx

import (
	"strings"
)

// function parses .entry or .func with its body, or a prototype.
func (p *parser) function(link Linkage) {
	f := &Func{Pos: p.here(), Entry: p.isDot("entry"), Linkage: link, Module: p.mod, Labels: map[string]int{}}
	p.advance()
	p.fn = f
	p.scope = &scope{up: p.module}
	p.latest, p.loc, p.labels = map[locKey]*Loc{}, nil, nil
	defer func() { p.fn, p.scope = nil, p.module }()
	p.attributes(f)
	if p.is('(') {
		f.Return = p.params()
	}
	nameTok := p.tok
	f.Name = p.ident("a function name")
	f.Demangled, _ = sourceName(f.Name)
	if p.is('(') {
		f.Params = p.params()
	}
	if p.bad {
		return
	}
	if f.Entry {
		off := 0
		for _, v := range f.Params {
			v.Offset = alignUp(off, v.Align)
			off = v.Offset + v.Size
		}
	}
	p.directives(f)
	p.declareFunc(f, nameTok)
	if p.accept(';') {
		f.Proto = true
	} else {
		p.body(f)
	}
	p.mod.Funcs = append(p.mod.Funcs, f)
	p.mod.Items = append(p.mod.Items, TopItem{Kind: TopFunc, Func: f})
}

// declareFunc enters f at module scope, in place of an earlier prototype.
func (p *parser) declareFunc(f *Func, at token) {
	if old, ok := p.module.names[f.Name]; ok {
		if old.fn == nil || !old.fn.Proto {
			p.semantic(p.pos(at), "%s is declared twice (first at line %d)", f.Name, old.decl.Line)
			return
		}
		delete(p.module.names, f.Name)
	}
	p.module.declare(f.Name, symbol{fn: f, decl: f.Pos})
}

// attributes passes over .attribute(...) in a function header, keeping its text.
func (p *parser) attributes(f *Func) {
	for p.isDot("attribute") {
		p.advance()
		f.Directives = append(f.Directives, Directive{Name: "attribute", Text: p.parenText()})
	}
}

// parenText returns the text of a balanced ( ... ), parentheses excluded.
func (p *parser) parenText() string {
	open := p.tok
	p.expect('(', "after .attribute")
	start, depth := open.end, 1
	for !p.bad {
		switch {
		case p.tok.kind == tokEOF:
			p.errorAt(open, "'(' is not closed")
		case p.is('('):
			depth++
		case p.is(')'):
			if depth--; depth == 0 {
				text := p.scan.src[start : p.tok.end-1]
				p.advance()
				return text
			}
		}
		p.advance()
	}
	return ""
}

// directives parses what stands between a function's parameters and its body.
func (p *parser) directives(f *Func) {
	for p.tok.kind == tokDot {
		d := Directive{Name: p.tok.text}
		p.advance()
		switch d.Name {
		case "noreturn":
			f.NoReturn = true
			continue
		case "attribute":
			d.Text = p.parenText()
		case "pragma":
			d.Text = p.stringLit()
			p.expect(';', "after .pragma")
		default:
			for p.tok.kind == tokInt {
				d.Args = append(d.Args, uint64(p.integer("a number", 1<<31-1)))
				if !p.accept(',') {
					break
				}
			}
		}
		f.Directives = append(f.Directives, d)
	}
}

// params parses a parenthesised list of .param or .reg declarations.
func (p *parser) params() []*Var {
	var vs []*Var
	p.advance()
	for !p.is(')') && !p.bad {
		sp := SpaceParam
		switch {
		case p.isDot("param"):
			vs = append(vs, p.oneVar(LinkNone, sp))
		case p.isDot("reg"):
			v := p.oneVar(LinkNone, SpaceReg)
			vs = append(vs, v)
			p.declareReg(v.Name, v.Type, v.Vec, 0, v.Pos)
		default:
			p.errorAt(p.tok, "expected .param, found "+p.tok.describe())
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(')', "after the parameters")
	return vs
}

// body parses { ... } of a function.
func (p *parser) body(f *Func) {
	open := p.here()
	p.expect('{', "before the function body")
	if p.bad {
		return
	}
	p.inBody = true
	defer func() { p.inBody = false }()
	nest := []*scope{p.scope}
	for {
		switch {
		case p.tok.kind == tokEOF:
			p.inBody = false
			p.semantic(open, "the body of %s is not closed before the file ends in line %d",
				f.Name, p.tok.line)
			return
		case p.isDot("entry"), p.isDot("visible"), p.isDot("section"):
			p.semantic(open, "the body of %s is not closed before line %d", f.Name, p.tok.line)
			return
		case p.is('}'):
			p.closeScope()
			if len(nest) == 1 {
				f.End = p.here()
				p.advance()
				p.endBody(f)
				return
			}
			p.item(Item{Kind: ItemClose, Pos: p.here()})
			p.advance()
			nest = nest[:len(nest)-1]
			p.scope = nest[len(nest)-1]
		case p.is('{'):
			p.item(Item{Kind: ItemOpen, Pos: p.here()})
			p.advance()
			p.scope = &scope{up: p.scope}
			nest = append(nest, p.scope)
		default:
			before := p.tok
			p.statement()
			p.resume(before.line)
			if p.tok.line == before.line && p.tok.col == before.col && p.tok.kind != tokEOF {
				p.advance()
			}
		}
	}
}

func (p *parser) item(it Item) { p.fn.Items = append(p.fn.Items, it) }

// endBody attaches what only the whole body shows: labels at the very end belong to no instruction.
func (p *parser) endBody(f *Func) {
	for i, in := range f.Body {
		in.Index = i
	}
	for _, l := range p.lists {
		ts := make([]int32, len(l.labels))
		for i, op := range l.labels {
			ts[i] = op.Target
		}
		for _, op := range l.users {
			op.Targets = ts
		}
	}
	p.labels, p.lists = nil, nil
}

// closeScope resolves the labels named in the scope that ends; what it does not define passes to
// the scope around it.
func (p *parser) closeScope() {
	s := p.scope
	for _, pl := range s.pending {
		op := pl.op
		if at, ok := s.labels[op.Name]; ok {
			op.Kind, op.Target = OpLabel, at
			continue
		}
		if s.up != p.module {
			s.up.pending = append(s.up.pending, pl)
			continue
		}
		switch sym := p.module.lookup(op.Name); {
		case !pl.branch && sym.fn != nil:
			op.Kind, op.Func = OpSym, sym.fn
		case pl.branch:
			p.semantic(op.Pos, "label %s is not defined in %s", op.Name, p.fn.Name)
		default:
			p.semantic(op.Pos, "%s is not declared", op.Name)
		}
	}
	s.pending = nil
}

// statement parses one statement of a body, labels before it included.
func (p *parser) statement() {
	t := p.tok
	switch {
	case t.kind == tokIdent:
		if n := p.peek(); n.kind == tokPunct && n.text == ":" {
			p.label(t)
			return
		}
		p.instruction(nil)
	case p.is('@'):
		p.instruction(p.guard())
	case t.kind == tokDot:
		p.bodyDirective()
	case p.is(';'):
		p.advance() // an empty statement
	default:
		p.errorAt(t, "expected an instruction, found "+t.describe())
	}
}

func (p *parser) bodyDirective() {
	t := p.tok
	switch t.text {
	case "reg":
		p.regDecl()
	case "loc":
		p.locDirective()
	case "pragma":
		p.advance()
		p.item(Item{Kind: ItemPragma, Text: p.stringLit(), Pos: p.pos(t)})
		p.expect(';', "after .pragma")
	case "file":
		p.fileDirective()
	case "extern", "weak", "visible", "common":
		p.errorAt(t, "."+t.text+" does not belong in a function body")
	default:
		sp, ok := SpaceOf(t.text)
		if !ok {
			p.errorAt(t, "unknown directive ."+t.text)
			return
		}
		for _, v := range p.variable(LinkNone, sp) {
			p.item(Item{Kind: ItemVar, Index: len(p.fn.Vars), Pos: v.Pos})
			p.fn.Vars = append(p.fn.Vars, v)
		}
	}
}

// label parses `name:` and, where one follows, the .branchtargets or .callprototype that it names.
func (p *parser) label(t token) {
	p.advance()
	p.advance()
	switch {
	case p.isDot("branchtargets"), p.isDot("calltargets"):
		it := Item{Kind: ItemTargets, Text: t.text, Pos: p.pos(t)}
		p.advance()
		p.targets(&it)
		return
	case p.isDot("callprototype"):
		start := p.tok.end
		for !p.is(';') && p.tok.kind != tokEOF {
			p.advance()
		}
		raw := strings.TrimSpace(p.scan.src[start : p.tok.end-len(p.tok.text)])
		p.item(Item{Kind: ItemProto, Text: t.text, Names: []string{raw}, Pos: p.pos(t)})
		p.expect(';', "after .callprototype")
		p.scope.declare(t.text, symbol{decl: p.pos(t)})
		return
	}
	at := int32(len(p.fn.Body))
	if p.scope.labels == nil {
		p.scope.labels = map[string]int32{}
	}
	if _, dup := p.scope.labels[t.text]; dup {
		p.semantic(p.pos(t), "label %s is defined twice", t.text)
		return
	}
	p.scope.labels[t.text] = at
	if _, dup := p.fn.Labels[t.text]; !dup {
		p.fn.Labels[t.text] = int(at)
	}
	p.labels = append(p.labels, t.text)
	p.item(Item{Kind: ItemLabel, Text: t.text, Pos: p.pos(t)})
}

// targets parses the label list of a .branchtargets; the operands that name it get its labels' indices at the
// end of the function.
func (p *parser) targets(it *Item) {
	list := &branchList{}
	for {
		t := p.tok
		name := p.ident("a label")
		it.Names = append(it.Names, name)
		op := &Operand{Kind: OpLabel, Name: name, Pos: p.pos(t), Reg: -1, Comp: -1}
		list.labels = append(list.labels, op)
		p.scope.pending = append(p.scope.pending, pendingLabel{op, true})
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', "after the branch targets")
	p.item(*it)
	p.lists = append(p.lists, list)
	if _, ok := p.scope.declare(it.Text, symbol{list: list, decl: it.Pos}); !ok {
		p.semantic(it.Pos, "%s is declared twice", it.Text)
	}
}
