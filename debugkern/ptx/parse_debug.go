package ptx

// locKey identifies a source place for inlined_at, which names a place and not a directive.
type locKey struct{ file, line, col int }

// locDirective parses `.loc file line col [, function_name label[+n], inlined_at file line col]` and makes it
// the place of the instructions that follow. inlined_at gives one step outwards; the rest of the chain is
// that of the latest .loc of the function with the place it names, which compilers write before it.
func (p *parser) locDirective() {
	pos := p.here()
	p.advance()
	l := &Loc{}
	l.File, l.Line, l.Col = p.place()
	for p.accept(',') {
		switch word := p.ident("function_name or inlined_at"); word {
		case "function_name":
			l.FuncLabel = p.ident("a label in .debug_str")
			l.FuncOff = p.addend()
		case "inlined_at":
			at := locKey{}
			at.file, at.line, at.col = p.place()
			if l.InlinedAt = p.latest[at]; l.InlinedAt == nil {
				l.InlinedAt = &Loc{File: at.file, Line: at.line, Col: at.col}
				p.locs = append(p.locs, l.InlinedAt)
			}
		default:
			if !p.bad {
				p.errorPos(pos, "unknown attribute "+word+" of .loc")
			}
		}
	}
	if p.bad {
		return
	}
	p.latest[locKey{l.File, l.Line, l.Col}] = l
	p.loc = l
	p.locs = append(p.locs, l)
	p.item(Item{Kind: ItemLoc, Loc: l, Pos: pos})
}

func (p *parser) place() (file, line, col int) {
	return p.integer("a file index", 1<<31-1), p.integer("a line", 1<<31-1), p.integer("a column", 1<<31-1)
}

// section parses `.section .name { labels and data }`.
func (p *parser) section() {
	s := &Section{Pos: p.here()}
	p.advance()
	if p.tok.kind != tokDot {
		p.errorAt(p.tok, "expected a section name, found "+p.tok.describe())
		return
	}
	s.Name = "." + p.tok.text
	p.advance()
	open := p.tok
	p.expect('{', "before the section's data")
	for !p.is('}') && !p.bad {
		t := p.tok
		switch t.kind {
		case tokIdent:
			p.advance()
			p.expect(':', "after the label")
			s.Items = append(s.Items, SectionItem{Label: t.text})
		case tokDot:
			ty, ok := TypeOf(t.text)
			if !ok {
				p.errorAt(t, "unknown data directive ."+t.text)
				return
			}
			p.advance()
			s.Items = append(s.Items, SectionItem{Type: ty, Values: p.sectionData()})
		case tokEOF:
			p.errorAt(open, "section "+s.Name+" is not closed before the end of the file")
		default:
			p.errorAt(t, "unexpected "+t.describe()+" in a section")
		}
	}
	p.expect('}', "after the section's data")
	p.mod.Items = append(p.mod.Items, TopItem{Kind: TopSection, Index: len(p.mod.Sections)})
	p.mod.Sections = append(p.mod.Sections, s)
}

func (p *parser) sectionData() []SectionValue {
	vs := make([]SectionValue, 0, 20)
	for {
		t := p.tok
		var v SectionValue
		switch t.kind {
		case tokInt:
			c, msg := intLiteral(t.text)
			if msg != "" {
				p.errorAt(t, msg)
			}
			p.advance()
			v.Imm = int64(c.bits)
		case tokIdent, tokDot:
			p.advance()
			v.Sym = t.text
			if t.kind == tokDot {
				v.Sym = "." + t.text
			}
			if p.is('-') && (p.peek().kind == tokIdent || p.peek().kind == tokDot) {
				p.advance()
				v.Minus = p.tok.text
				if p.tok.kind == tokDot {
					v.Minus = "." + v.Minus
				}
				p.advance()
			}
			v.Imm = p.addend()
		default:
			v.Imm = int64(p.constExpr(1).bits)
		}
		vs = append(vs, v)
		if !p.accept(',') {
			p.accept(';')
			return vs
		}
	}
}

// finish resolves what needs the whole text: file names and inlined functions' names of every .loc.
func (p *parser) finish() {
	files := map[int]string{}
	for _, f := range p.mod.Files {
		files[f.Index] = f.Name
	}
	strs := p.debugStrings()
	type name struct{ mangled, own string }
	names := map[string]name{}
	for _, l := range p.locs {
		l.Name = files[l.File]
		if l.FuncLabel == "" {
			continue
		}
		raw, ok := strs.at(l.FuncLabel, l.FuncOff)
		if !ok {
			continue
		}
		n, ok := names[raw]
		if !ok {
			_, full := sourceName(raw)
			n = name{raw, full}
			names[raw] = n
		}
		l.Mangled, l.Func = n.mangled, n.own
	}
}

// debugStr is the content of .debug_str, with the offset of each label.
type debugStr struct {
	data   []byte
	labels map[string]int
}

func (p *parser) debugStrings() debugStr {
	d := debugStr{labels: map[string]int{}}
	for _, s := range p.mod.Sections {
		if s.Name != ".debug_str" {
			continue
		}
		for _, it := range s.Items {
			if it.Label != "" {
				d.labels[it.Label] = len(d.data)
				continue
			}
			for _, v := range it.Values {
				for n := 0; n < it.Type.Bytes(); n++ {
					d.data = append(d.data, byte(v.Imm>>(8*min(n, 7))))
				}
			}
		}
	}
	return d
}

// at returns the zero-terminated string at label+off.
func (d debugStr) at(label string, off int64) (string, bool) {
	start, ok := d.labels[label]
	if !ok || off < 0 || off > int64(len(d.data)-start) {
		return "", false
	}
	b := d.data[start+int(off):]
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), true
		}
	}
	return string(b), true
}
