package ptx

import (
	"encoding/binary"
	"math"
)

// variable parses a variable declaration from its state space to the ';', which may declare several names.
func (p *parser) variable(link Linkage, sp Space) []*Var {
	first := p.oneVar(link, sp)
	vs := []*Var{first}
	for p.accept(',') {
		v := *first
		v.Dims, v.Init, v.Relocs = nil, nil, nil
		p.varName(&v)
		vs = append(vs, &v)
	}
	p.expect(';', "after the declaration")
	if p.bad {
		return nil
	}
	return vs
}

// oneVar parses `.space .align 8 .v2 .type name[dims] = init`.
func (p *parser) oneVar(link Linkage, sp Space) *Var {
	v := &Var{Space: sp, Linkage: link, Func: p.fn}
	p.advance()
	for p.tok.kind == tokDot && !p.bad {
		t := p.tok
		switch t.text {
		case "align":
			p.advance()
			v.Align, v.AlignSet = p.alignment(), true
			continue
		case "attribute":
			p.advance()
			v.Attr = append(v.Attr, p.parenText())
			continue
		case "ptr":
			p.pointer(v)
			continue
		}
		p.advance()
		if n := vecLen(t.text); n != 0 {
			v.Vec = n
			continue
		}
		ty, ok := TypeOf(t.text)
		if !ok {
			p.errorAt(t, "unknown type ."+t.text)
		}
		if v.Type != TypeNone {
			p.errorAt(t, "a second type ."+t.text)
		}
		v.Type = ty
	}
	if v.Type == TypeNone {
		p.errorAt(p.tok, "expected a type, found "+p.tok.describe())
	}
	if v.Type == Pred && sp != SpaceReg {
		p.errorAt(p.tok, "predicates live in registers only")
	}
	p.varName(v)
	return v
}

func vecLen(mod string) int {
	switch mod {
	case "v2":
		return 2
	case "v4":
		return 4
	case "v8":
		return 8
	}
	return 0
}

func (p *parser) alignment() int {
	t := p.tok
	n := p.integer("an alignment", 1<<20)
	if n == 0 || n&(n-1) != 0 {
		p.errorAt(t, "alignment "+t.text+" is not a power of two")
	}
	return n
}

// pointer parses `.ptr .space .align N` of a kernel parameter.
func (p *parser) pointer(v *Var) {
	v.Ptr = true
	p.advance()
	if p.tok.kind == tokDot {
		if sp, ok := SpaceOf(p.tok.text); ok {
			v.PtrSpace = sp
			p.advance()
		}
	}
	if p.isDot("align") {
		p.advance()
		v.PtrAlign = p.alignment()
	}
}

// varName parses a variable's name, dimensions and initial value, and declares it.
func (p *parser) varName(v *Var) {
	t := p.tok
	v.Pos = p.pos(t)
	v.Name = p.ident("a variable name")
	v.Demangled, v.Qualified = sourceName(v.Name)
	elem := v.Type.Bytes() * max(v.Vec, 1)
	if !v.AlignSet {
		v.Align = max(elem, 1)
	}
	size, known := elem, true
	for p.accept('[') {
		d := 0
		if !p.is(']') {
			c := p.constExpr(1)
			if c.kind != OpInt || c.bits > maxVarBytes {
				p.errorAt(t, "dimension of "+v.Name+" is too large")
			}
			d = int(c.bits)
		} else if len(v.Dims) > 0 {
			p.errorAt(p.tok, "only the first dimension may be left out")
		} else {
			known = false
		}
		p.expect(']', "after the dimension")
		v.Dims = append(v.Dims, d)
		if p.bad {
			return
		}
		if n, ok := times(size, d); len(v.Dims) > 1 || known {
			if size = n; !ok {
				p.errorAt(t, "variable "+v.Name+" is too large: more than 1 TiB")
				return
			}
		}
	}
	v.Size = size
	if !known {
		v.Size = 0
	}
	if p.is('=') {
		p.initializer(v, elem)
	}
	if p.bad || v.Space == SpaceReg {
		return
	}
	p.declareVar(v)
}

// times is the product of a size and a dimension, both from 0 on; false where it is more than
// a variable may have.
func times(size, d int) (int, bool) {
	if d > 0 && size > maxVarBytes/d {
		return 0, false
	}
	return size * d, true
}

func (p *parser) declareVar(v *Var) {
	old, ok := p.scope.declare(v.Name, symbol{vr: v, decl: v.Pos})
	if ok {
		return
	}
	if sym := p.scope.names[v.Name]; p.fn == nil && sym.vr != nil && sym.vr.Linkage == LinkExtern {
		p.scope.names[v.Name] = symbol{vr: v, set: true, decl: v.Pos}
		return
	}
	p.semantic(v.Pos, "%s is declared twice (first at line %d)", v.Name, old.Line)
}

// initializer parses `= value`, filling v.Init row by row.
func (p *parser) initializer(v *Var, elem int) {
	at := p.tok
	p.advance()
	if len(v.Dims) > 0 && v.Dims[0] == 0 {
		v.Dims[0] = p.countInit()
		v.Size = elem
		for _, d := range v.Dims {
			var ok bool
			if v.Size, ok = times(v.Size, d); !ok {
				p.errorAt(at, "initialised variable "+v.Name+" is larger than 64 MiB")
				return
			}
		}
	}
	if v.Size > maxInitBytes {
		p.errorAt(at, "initialised variable "+v.Name+" is larger than 64 MiB")
		return
	}
	v.Init = make([]byte, v.Size)
	dims := v.Dims
	if v.Vec > 1 {
		dims = append(append([]int{}, dims...), v.Vec)
	}
	if p.tok.kind == tokString {
		t := p.tok
		s := append([]byte(p.stringLit()), 0)
		if len(s) > v.Size {
			p.errorAt(t, "string is longer than "+v.Name)
		}
		copy(v.Init, s)
		return
	}
	p.fill(v, dims, 0, v.Size)
}

// countInit counts the elements of the outermost level of the initialiser ahead, without consuming it.
func (p *parser) countInit() int {
	if p.tok.kind == tokString {
		return len(p.tok.text) + 1
	}
	s := scanner{src: p.scan.src, off: p.tok.end, report: func(int, int, string) {}}
	n, depth, inElem := 0, 0, false
	for {
		t := s.next()
		switch {
		case t.kind == tokEOF, t.text == ";" && t.kind == tokPunct:
			return n
		case t.kind == tokPunct && (t.ch == '}' || t.ch == ')'):
			if depth == 0 {
				return n
			}
			depth--
		case t.kind == tokPunct && t.ch == ',' && depth == 0:
			inElem = false
		default:
			if !inElem {
				inElem = true
				n++
			}
			if t.kind == tokPunct && (t.ch == '{' || t.ch == '(') {
				depth++
			}
		}
	}
}

// fill parses one initial value, or a braced list of them, into size bytes of v.Init at off.
func (p *parser) fill(v *Var, dims []int, off, size int) {
	p.enter()
	defer p.leave()
	t := p.tok
	if !p.accept('{') {
		p.scalar(v, off, size)
		return
	}
	p.braces++
	if len(dims) == 0 {
		p.errorAt(t, "too many braces for "+v.Name)
		return
	}
	step := size / max(dims[0], 1)
	for i := 0; !p.is('}') && !p.bad; i++ {
		switch {
		case step == 0 || i >= dims[0] && (p.is('{') || len(dims) == 1):
			p.errorAt(p.tok, "too many initial values for "+v.Name)
		case p.is('{'):
			p.fill(v, dims[1:], off+i*step, step)
		default: // an unbraced value fills the innermost elements in order
			e := v.Type.Bytes()
			if (i+1)*e > size {
				p.errorAt(p.tok, "too many initial values for "+v.Name)
				return
			}
			p.scalar(v, off+i*e, size-i*e)
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect('}', "after the initial values")
	if !p.bad {
		p.braces--
	}
}

// scalar parses one initial value into v.Init at off: a constant, an address, or mask(address).
func (p *parser) scalar(v *Var, off, room int) {
	n := v.Type.Bytes()
	t := p.tok
	if n == 0 || n > room {
		p.errorAt(t, "too many initial values for "+v.Name)
		return
	}
	if t.kind == tokIdent && t.text != "WARP_SZ" {
		p.advance()
		r := Reloc{Offset: off, Size: n, Sym: t.text}
		if t.text == "generic" && p.accept('(') {
			r.Generic = true
			r.Sym = p.ident("a symbol")
			r.Addend = p.addend()
			p.expect(')', "after the symbol")
		}
		r.Addend += p.addend()
		v.Relocs = append(v.Relocs, r)
		return
	}
	c := p.constExpr(1)
	if p.is('(') {
		p.advance()
		r := Reloc{Offset: off, Size: n, Mask: c.bits, Sym: p.ident("a symbol")}
		if r.Sym == "generic" && p.accept('(') {
			r.Generic = true
			r.Sym = p.ident("a symbol")
			p.expect(')', "after the symbol")
		}
		r.Addend = p.addend()
		p.expect(')', "after the symbol")
		v.Relocs = append(v.Relocs, r)
		return
	}
	if p.bad {
		return
	}
	b, msg := initBits(v.Type, c)
	if msg != "" {
		p.errorAt(t, msg)
		return
	}
	var buf [16]byte
	binary.LittleEndian.PutUint64(buf[:], b)
	copy(v.Init[off:off+n], buf[:])
}

// addend parses any number of `+ n` and `- n`.
func (p *parser) addend() int64 {
	sum := int64(0)
	for p.is('-') || p.is('+') {
		neg := p.is('-')
		p.advance()
		c := p.constUnary()
		if c.kind != OpInt {
			p.errorAt(p.tok, "an address offset must be an integer")
		}
		if neg {
			sum -= int64(c.bits)
		} else {
			sum += int64(c.bits)
		}
	}
	return sum
}

// initBits converts a constant to the bytes of type t.
func initBits(t Type, c constant) (uint64, string) {
	switch {
	case c.kind == OpInt && !t.Float():
		return c.bits, ""
	case c.kind == OpInt && t == F32:
		return uint64(math.Float32bits(float32(int64(c.bits)))), ""
	case c.kind == OpInt && t == F64:
		return math.Float64bits(float64(int64(c.bits))), ""
	case c.kind == OpInt:
		return 0, "an integer cannot initialise ." + t.String()
	case c.kind == OpF32 && t.Bits() == 32, c.kind == OpF64 && t.Bits() == 64:
		return c.bits, ""
	case c.kind == OpF64 && t == F32:
		return uint64(math.Float32bits(float32(math.Float64frombits(c.bits)))), ""
	case c.kind == OpF32 && t == F64:
		return math.Float64bits(float64(math.Float32frombits(uint32(c.bits)))), ""
	}
	return 0, "a float literal cannot initialise ." + t.String()
}

func alignUp(n, a int) int { return (n + a - 1) &^ (a - 1) }
