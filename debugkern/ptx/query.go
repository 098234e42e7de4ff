package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// Func returns the definition of the function or entry called name (PTX or demangled name), a prototype where
// there is no definition, or nil.
func (m *Module) Func(name string) *Func {
	var proto *Func
	for _, f := range m.Funcs {
		if f.Name == name || f.Demangled == name {
			if !f.Proto {
				return f
			}
			proto = f
		}
	}
	return proto
}

// Entries returns the kernels in declaration order.
func (m *Module) Entries() []*Func {
	var es []*Func
	for _, f := range m.Funcs {
		if f.Entry && !f.Proto {
			es = append(es, f)
		}
	}
	return es
}

// Var returns the module-scope variable called name (as in the PTX), or nil.
func (m *Module) Var(name string) *Var {
	for _, v := range m.Vars {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// FileName returns the name of .file index i, "" where there is none.
func (m *Module) FileName(i int) string {
	for _, f := range m.Files {
		if f.Index == i {
			return f.Name
		}
	}
	return ""
}

// RegName returns the PTX name of register i of Func.Regs, "%r12".
func (f *Func) RegName(i int32) string {
	r := f.Regs[i]
	d := f.Decls[r.Decl]
	if r.Num < 0 {
		return d.Name
	}
	return d.Name + strconv.Itoa(int(r.Num))
}

// Directive returns the function directive called name ("maxntid") and whether it is present.
func (f *Func) Directive(name string) (Directive, bool) {
	for _, d := range f.Directives {
		if d.Name == name {
			return d, true
		}
	}
	return Directive{}, false
}

// BlockBound returns the extents of the blocks that a function is compiled for: of every block where exact is
// true (.reqntid), else a block has at most as many threads (.maxntid). ok is false where it names neither.
func (f *Func) BlockBound() (dims [3]uint64, exact, ok bool) {
	d, exact := f.Directive("reqntid")
	if ok = exact; !ok {
		d, ok = f.Directive("maxntid")
	}
	dims = [3]uint64{1, 1, 1}
	copy(dims[:], d.Args)
	return dims, exact, ok
}

// ParamBytes is the size of an entry's parameter block.
func (f *Func) ParamBytes() int {
	n := 0
	for _, p := range f.Params {
		n = max(n, p.Offset+p.Size)
	}
	return n
}

// Opcode returns the instruction's dotted name, "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16".
func (in *Instr) Opcode() string {
	if len(in.Mods) == 0 {
		return in.Op
	}
	return in.Op + "." + strings.Join(in.Mods, ".")
}

// Has reports whether mod is among the instruction's modifiers.
func (in *Instr) Has(mod string) bool {
	for _, m := range in.Mods {
		if m == mod {
			return true
		}
	}
	return false
}

// Space returns the state space among the modifiers, SpaceGeneric where none is written.
func (in *Instr) Space() Space {
	for _, m := range in.Mods {
		if s, ok := SpaceOf(m); ok {
			return s
		}
	}
	return SpaceGeneric
}

// Types returns the type modifiers in order: destination first, `cvt.rn.f16.f32` gives f16, f32.
func (in *Instr) Types() []Type {
	var ts []Type
	for _, m := range in.Mods {
		if t, ok := TypeOf(m); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// Type returns the last type modifier, the operand type of most instructions; TypeNone where there is none.
func (in *Instr) Type() Type {
	for i := len(in.Mods) - 1; i >= 0; i-- {
		if t, ok := TypeOf(in.Mods[i]); ok {
			return t
		}
	}
	return TypeNone
}

// Vec returns 2, 4 or 8 for an instruction with .v2, .v4 or .v8, else 1.
func (in *Instr) Vec() int {
	for _, m := range in.Mods {
		if n := vecLen(m); n > 0 {
			return n
		}
	}
	return 1
}

// Caller returns the innermost place, walking outwards from l, whose file isLibrary does not claim and whose
// line is known: a library's inlined code is blamed on the line that called it. It returns the outermost
// known place where everything is library, and nil where no line is known.
func (l *Loc) Caller(isLibrary func(file string) bool) *Loc {
	var last *Loc
	for ; l != nil; l = l.InlinedAt {
		if l.Line == 0 {
			continue
		}
		if !isLibrary(l.Name) {
			return l
		}
		last = l
	}
	return last
}

// Chain is a place with the calls that it was inlined through, as a key: places that differ in one of them
// have different chains. Of nil it is "".
func (l *Loc) Chain() string {
	var b strings.Builder
	for ; l != nil; l = l.InlinedAt {
		fmt.Fprintf(&b, "%d:%d ", l.File, l.Line)
	}
	return b.String()
}

// Outermost returns the place in the function's own body that l was inlined into, l itself where
// it was not inlined.
func (l *Loc) Outermost() *Loc {
	for l != nil && l.InlinedAt != nil {
		l = l.InlinedAt
	}
	return l
}

// Source returns Caller of the instruction at body index i or, where the compiler attributed it to no line,
// of the nearest instruction before it, then after it, that has one; nil without debug lines.
func (f *Func) Source(i int, isLibrary func(file string) bool) *Loc {
	for j := i; j >= 0; j-- {
		if l := f.Body[j].Loc.Caller(isLibrary); l != nil {
			return l
		}
	}
	for j := i + 1; j < len(f.Body); j++ {
		if l := f.Body[j].Loc.Caller(isLibrary); l != nil {
			return l
		}
	}
	return nil
}
