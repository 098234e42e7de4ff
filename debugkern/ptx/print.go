package ptx

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// Printer writes modules as PTX text that ptxas accepts. Parsing what it writes gives the same module
// again, positions apart.
type Printer struct {
	// Pin writes .rn on every floating-point add, sub and mul that carries no rounding modifier. The
	// meaning is the same, but ptxas may no longer fuse a product and a sum into one rounding (ISA 9.7.3,
	// "mul/add sequences").
	Pin bool
}

// Print writes m as PTX text.
func Print(w io.Writer, m *Module) error { return Printer{}.Print(w, m) }

// Print writes m as PTX text.
func (o Printer) Print(w io.Writer, m *Module) error {
	p := &writer{b: bufio.NewWriter(w), pin: o.Pin}
	p.f(".version %d.%d\n.target ", m.Version.Major, m.Version.Minor)
	for i, t := range m.Targets {
		if i > 0 {
			p.s(", ")
		}
		p.s(t)
	}
	p.f("\n.address_size %d\n\n", m.AddressSize)
	for _, it := range m.Items {
		switch it.Kind {
		case TopVar:
			p.variable(it.Var)
			p.s(";\n")
		case TopFunc:
			p.function(it.Func)
		case TopFile:
			p.file(m.Files[it.Index])
		case TopAlias:
			a := m.Aliases[it.Index]
			p.f(".alias %s, %s;\n", a.Name, a.Target)
		case TopSection:
			p.section(m.Sections[it.Index])
		case TopPragma:
			p.f(".pragma \"%s\";\n", it.Text)
		}
	}
	return p.b.Flush()
}

// InstrString returns the instruction as PTX text, guard included, without labels and ';'.
func (f *Func) InstrString(in *Instr) string {
	var b sliceWriter
	p := &writer{b: bufio.NewWriterSize(&b, 256), fn: f}
	p.instr(in, " ")
	p.b.Flush()
	return string(b)
}

type sliceWriter []byte

func (s *sliceWriter) Write(b []byte) (int, error) { *s = append(*s, b...); return len(b), nil }

// writer is the state of one Print; bufio keeps the first write error.
type writer struct {
	b   *bufio.Writer
	fn  *Func
	pin bool
}

func (p *writer) s(text string)               { p.b.WriteString(text) }
func (p *writer) f(format string, a ...any)   { fmt.Fprintf(p.b, format, a...) }
func (p *writer) int(v int64)                 { p.b.WriteString(strconv.FormatInt(v, 10)) }
func (p *writer) list(n int, each func(int))  { p.sep(n, ", ", each) }
func (p *writer) lines(n int, each func(int)) { p.sep(n, ",\n", each) }

func (p *writer) sep(n int, by string, each func(int)) {
	for i := range n {
		if i > 0 {
			p.s(by)
		}
		each(i)
	}
}

func (p *writer) file(f File) {
	p.f("\t.file\t%d \"%s\"", f.Index, f.Name)
	if f.Time != 0 || f.Size != 0 {
		p.f(", %d, %d", f.Time, f.Size)
	}
	p.s("\n")
}

func (p *writer) section(s *Section) {
	p.f("\t.section\t%s\n\t{\n", s.Name)
	for _, it := range s.Items {
		if it.Label != "" {
			p.f("%s:\n", it.Label)
			continue
		}
		p.f(".%s ", it.Type)
		p.sep(len(it.Values), ",", func(i int) {
			v := it.Values[i]
			if v.Sym == "" {
				p.int(v.Imm)
				return
			}
			p.s(v.Sym)
			if v.Minus != "" {
				p.s("-" + v.Minus)
			}
			p.offset(v.Imm)
		})
		p.s("\n")
	}
	p.s("\n\t}\n")
}

// offset writes +n or +-n, and nothing for 0: the form compilers use.
func (p *writer) offset(n int64) {
	if n != 0 {
		p.s("+")
		p.int(n)
	}
}

// variable writes a declaration without its ';'.
func (p *writer) variable(v *Var) {
	if v.Linkage != LinkNone {
		p.s("." + linkNames[v.Linkage] + " ")
	}
	p.s("." + v.Space.String())
	for _, a := range v.Attr {
		p.s(" .attribute(" + a + ")")
	}
	if v.AlignSet {
		p.f(" .align %d", v.Align)
	}
	if v.Vec != 0 {
		p.f(" .v%d", v.Vec)
	}
	p.s(" ." + v.Type.String())
	if v.Ptr {
		p.s(" .ptr")
		if v.PtrSpace != SpaceGeneric {
			p.s(" ." + v.PtrSpace.String())
		}
		if v.PtrAlign != 0 {
			p.f(" .align %d", v.PtrAlign)
		}
	}
	p.s(" " + v.Name)
	for i, d := range v.Dims {
		if d == 0 && i == 0 {
			p.s("[]")
		} else {
			p.f("[%d]", d)
		}
	}
	if v.Init != nil {
		p.s(" = ")
		p.initializer(v)
	}
}

// initializer writes the initial value: flat, or nested as deeply as the type wants.
func (p *writer) initializer(v *Var) {
	next := 0
	dims := v.Dims
	if v.Vec > 1 {
		dims = append(append([]int{}, dims...), v.Vec)
	}
	n := max(v.Type.Bytes(), 1)
	var level func(dims []int, off int, size int)
	level = func(dims []int, off, size int) {
		if len(dims) == 0 {
			if next < len(v.Relocs) && v.Relocs[next].Offset == off {
				p.reloc(v.Relocs[next])
				next++
				return
			}
			p.element(v.Type, v.Init[off:off+n])
			return
		}
		p.s("{")
		p.list(dims[0], func(i int) { level(dims[1:], off+i*(size/dims[0]), size/dims[0]) })
		p.s("}")
	}
	level(dims, 0, v.Size)
}

func (p *writer) element(t Type, b []byte) {
	var u uint64
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		u = u<<8 | uint64(b[i])
	}
	switch t {
	case F32:
		p.f("0f%08X", u)
	case F64:
		p.f("0d%016X", u)
	default:
		p.s(strconv.FormatUint(u, 10))
	}
}

func (p *writer) reloc(r Reloc) {
	end := ""
	if r.Mask != 0 {
		p.f("0x%X(", r.Mask)
		end = ")"
	}
	if r.Generic {
		p.s("generic(" + r.Sym + ")")
	} else {
		p.s(r.Sym)
	}
	p.offset(r.Addend)
	p.s(end)
}

func (p *writer) function(f *Func) {
	p.fn = f
	p.s("\n")
	if f.Linkage != LinkNone {
		p.s("." + linkNames[f.Linkage] + " ")
	}
	kind := ".func "
	if f.Entry {
		kind = ".entry "
	}
	p.s(kind)
	if len(f.Return) > 0 {
		p.s("(")
		p.list(len(f.Return), func(i int) { p.variable(f.Return[i]) })
		p.s(") ")
	}
	p.s(f.Name + "(")
	if len(f.Params) > 0 {
		p.s("\n")
		p.lines(len(f.Params), func(i int) { p.s("\t"); p.variable(f.Params[i]) })
		p.s("\n")
	}
	p.s(")\n")
	if f.NoReturn {
		p.s(".noreturn\n")
	}
	for _, d := range f.Directives {
		p.directive(d)
	}
	if f.Proto {
		p.s(";\n")
		return
	}
	p.s("{\n")
	for i := range f.Items {
		p.item(&f.Items[i])
	}
	p.s("}\n")
}

func (p *writer) directive(d Directive) {
	p.s("." + d.Name)
	switch {
	case d.Name == "attribute":
		p.s("(" + d.Text + ")")
	case d.Name == "pragma":
		p.s(" \"" + d.Text + "\";")
	case len(d.Args) > 0:
		p.s(" ")
		p.list(len(d.Args), func(i int) { p.s(strconv.FormatUint(d.Args[i], 10)) })
	}
	p.s("\n")
}

func (p *writer) item(it *Item) {
	switch it.Kind {
	case ItemInstr:
		in := p.fn.Body[it.Index]
		p.s("\t")
		p.instr(in, "\t")
		p.s(";\n")
	case ItemOpen:
		p.s("\t{\n")
	case ItemClose:
		p.s("\t}\n")
	case ItemLabel:
		p.s("\n" + it.Text + ":\n")
	case ItemReg:
		p.reg(p.fn.Decls[it.Index])
	case ItemVar:
		p.s("\t")
		p.variable(p.fn.Vars[it.Index])
		p.s(";\n")
	case ItemLoc:
		p.loc(it.Loc)
	case ItemPragma:
		p.s("\t.pragma \"" + it.Text + "\";\n")
	case ItemTargets:
		p.s(it.Text + ": .branchtargets\n")
		p.lines(len(it.Names), func(i int) { p.s("\t" + it.Names[i]) })
		p.s(";\n")
	case ItemProto:
		p.s(it.Text + ": .callprototype " + it.Names[0] + ";\n")
	}
}

func (p *writer) reg(d *RegDecl) {
	p.s("\t.reg ")
	if d.Vec != 0 {
		p.f(".v%d ", d.Vec)
	}
	p.s("." + d.Type.String() + " \t" + d.Name)
	if d.Count != 0 {
		p.f("<%d>", max(d.Count, 0))
	}
	p.s(";\n")
}

func (p *writer) loc(l *Loc) {
	p.f("\t.loc\t%d %d %d", l.File, l.Line, l.Col)
	if l.FuncLabel != "" {
		p.s(", function_name " + l.FuncLabel)
		p.offset(l.FuncOff)
	}
	if at := l.InlinedAt; at != nil {
		p.f(", inlined_at %d %d %d", at.File, at.Line, at.Col)
	}
	p.s("\n")
}
