package hostcode

import (
	"fmt"
	"slices"
	"strings"
)

// Constant is a named value of the source: constexpr, const or #define.
type Constant struct {
	Name, Value string
	Unit        string
	Line        int
}

// NumberOf is the value of an expression of whole numbers and constants, which may be named with what they
// belong to: Op::Scale. ok is false where it has none.
func NumberOf(text string, constants []Constant) (n int64, ok bool) {
	value := func(name string) *Expr {
		for _, c := range constants {
			if strings.HasSuffix("::"+name, "::"+c.Name) || strings.HasSuffix(c.Name, "::"+name) {
				return ParseExpr(c.Value)
			}
		}
		return nil
	}
	return ParseExpr(text).Eval(value)
}

// Constants returns the named values of a translation unit in order, each name once: one that is defined
// again has the first value.
func Constants(units ...*Unit) []Constant {
	var out []Constant
	add := func(c Constant) {
		if c.Value != "" && !slices.ContainsFunc(out, func(o Constant) bool { return o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	for _, u := range units {
		for name, m := range u.macros {
			if !m.call && len(m.words) > 0 {
				add(Constant{name, strings.Join(m.words, " "), u.Name, m.line})
			}
		}
		x := newExtraction(Options{}, []*Unit{u})
		for _, d := range u.decls {
			if d.members == nil && d.form == class && d.open >= 0 {
				for _, c := range u.enumerators(d) {
					add(c)
				}
			}
			if d.form == variable && x.constant(d) {
				values := map[string]string{}
				u.local(d.head, d.to, values, map[string]string{})
				for name, v := range values {
					add(Constant{name, v, u.Name, u.line(u.code[d.head].start)})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Constant) int {
		if a.Unit != b.Unit {
			return strings.Compare(a.Unit, b.Unit)
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// enumerators are the enumerators of an enumeration, each with its value; those that follow from the one
// before are one more each.
func (u *Unit) enumerators(d *decl) []Constant {
	p := &splitter{u: u}
	if !slices.ContainsFunc(u.code[d.head:d.open], func(t token) bool { return u.str(t) == "enum" }) {
		return nil
	}
	var out []Constant
	first, after := "0", 0
	for _, r := range u.split(d.open+1, d.close) {
		if r[0] >= r[1] || u.code[r[0]].kind != ident {
			continue
		}
		if r[0]+1 < r[1] && p.text(r[0]+1) == "=" {
			first, after = u.span(r[0]+2, r[1]), 0
		}
		value := first
		if after > 0 {
			value = fmt.Sprintf("(%s) + %d", first, after)
		}
		after++
		out = append(out, Constant{p.text(r[0]), value, u.Name, u.line(u.code[r[0]].start)})
	}
	return out
}

// SharedArray is a __shared__ array as the source declares it.
type SharedArray struct {
	Name, Type string
	Dims       []string // nil: a scalar; an extent that is "" is the launch's
	Unit       string
	Line       int
}

// SharedArrays returns the declarations of shared arrays of a translation unit, wherever they stand.
func SharedArrays(units ...*Unit) []SharedArray {
	var out []SharedArray
	for _, u := range units {
		p := &splitter{u: u}
		for i := range u.code {
			if p.text(i) != "__shared__" {
				continue
			}
			out = append(out, u.sharedAt(i+1)...)
		}
	}
	return out
}

// sharedAt reads the declarators behind __shared__.
func (u *Unit) sharedAt(i int) []SharedArray {
	p := &splitter{u: u}
	stop := i
	for stop < len(u.code) && p.text(stop) != ";" && p.text(stop) != "}" && stop < i+400 {
		if u.pairs[stop] > 0 {
			stop = u.pairs[stop]
		}
		stop++
	}
	stop = min(stop, len(u.code))
	for i < stop && (slices.Contains([]string{"alignas", "__align__"}, p.text(i)) ||
		slices.Contains(nameWords, p.text(i)) || p.text(i) == "volatile") {
		if p.text(i+1) == "(" && u.pairs[i+1] > 0 {
			i = u.pairs[i+1]
		}
		i++
	}
	var out []SharedArray
	kind := ""
	for n, r := range u.split(i, stop) {
		name := r[0]
		for name < r[1] && !(u.code[name].kind == ident &&
			(name+1 == r[1] || p.text(name+1) == "[" || p.text(name+1) == "=")) {
			if p.text(name) == "<" {
				name = p.angles(name) - 1
			}
			name++
		}
		if name >= r[1] {
			return out
		}
		if n == 0 {
			kind = u.span(r[0], name)
			if i := strings.Index(kind, "__align__"); i > 0 {
				kind = strings.TrimSpace(kind[:i])
			}
		}
		a := SharedArray{Name: p.text(name), Type: kind, Unit: u.Name, Line: u.line(u.code[name].start)}
		for j := name + 1; j < r[1] && p.text(j) == "[" && u.pairs[j] > 0; j = u.pairs[j] + 1 {
			a.Dims = append(a.Dims, u.span(j+1, u.pairs[j]))
		}
		out = append(out, a)
	}
	return out
}

// Store is an assignment to an element of a kernel's parameter: name[index] = value, or += and the like.
type Store struct {
	Name, Index, Op, Value string
	Line                   int
}

// Stores returns the assignments to elements of a kernel's parameters, in order.
func (k *Kernel) Stores() []Store {
	var out []Store
	k.elements(k.isParameter, func(i, close int) {
		u, p := k.d.u, &splitter{u: k.d.u}
		op, at := p.text(close+1), close+1
		if slices.Contains([]string{"+", "-", "*", "/"}, op) && p.text(close+2) == "=" {
			op, at = op+"=", close+2
		}
		if !strings.HasSuffix(op, "=") || p.text(at+1) == "=" {
			return
		}
		stop := at + 1
		for stop < k.d.close && p.text(stop) != ";" {
			if u.pairs[stop] > 0 {
				stop = u.pairs[stop]
			}
			stop++
		}
		out = append(out, Store{p.text(i), u.span(i+2, close), op, u.span(at+1, stop),
			u.line(u.code[i].start)})
	})
	return out
}

// Index is an element of a kernel's parameter that is read or written.
type Index struct{ Name, Index string }

// Indices returns the elements of a kernel's parameters that are named, in order.
func (k *Kernel) Indices() []Index {
	return k.indices(k.isParameter)
}

// IndicesOf returns the elements of a pointer or an array of a kernel that are named, in order.
func (k *Kernel) IndicesOf(name string) []Index {
	return k.indices(func(n string) bool { return n == name })
}

func (k *Kernel) indices(meant func(name string) bool) []Index {
	var out []Index
	k.elements(meant, func(i, close int) {
		u := k.d.u
		out = append(out, Index{u.str(u.code[i]), u.span(i+2, close)})
	})
	return out
}

func (k *Kernel) isParameter(name string) bool {
	return slices.ContainsFunc(k.Parameters, func(p Parameter) bool { return p.Name == name })
}

// elements calls f for each name[...] in a kernel's body of which the name is meant.
func (k *Kernel) elements(meant func(name string) bool, f func(i, close int)) {
	u := k.d.u
	for i := max(k.d.open, 0); k.d.open >= 0 && i+1 < k.d.close; i++ {
		name := u.str(u.code[i])
		if u.code[i].kind != ident || u.str(u.code[i+1]) != "[" || u.pairs[i+1] == 0 {
			continue
		}
		if meant(name) {
			f(i, u.pairs[i+1])
		}
	}
}

// Uses reports whether a kernel's body has a name.
func (k *Kernel) Uses(name string) bool {
	u := k.d.u
	for i := max(k.d.open, 0); k.d.open >= 0 && i < k.d.close; i++ {
		if u.str(u.code[i]) == name {
			return true
		}
	}
	return false
}

// Body is the kernel's body with blanks for white space, "" where it has none.
func (k *Kernel) Body() string {
	if k.d.open < 0 {
		return ""
	}
	return k.d.u.span(k.d.open, k.d.close+1)
}

// Code is the kernel's body between its braces as CodeOf has code, nil where it has none. units are those of
// its translation unit.
func (k *Kernel) Code(units ...*Unit) []Token {
	if k.d.open < 0 {
		return nil
	}
	return k.d.u.forHost(units).tokensOf(k.d.open+1, k.d.close)
}

// Locals are the values that a kernel's own variables start with.
func (k *Kernel) Locals() map[string]string {
	values, _ := k.d.u.locals(k.d)
	return values
}

// allocated are the sizes in bytes that the launching function asks cudaMalloc for, by the pointer's name.
func (u *Unit) allocated(d *decl) map[string]string {
	out := map[string]string{}
	p := &splitter{u: u}
	for i := max(d.open, 0); d.open >= 0 && i < d.close; i++ {
		if w := p.text(i); !(w == "cudaMalloc" || w == "cudaMallocManaged" || w == "cudaMallocAsync") ||
			p.text(i+1) != "(" || u.pairs[i+1] == 0 {
			continue
		}
		args := u.split(i+2, u.pairs[i+1])
		if len(args) < 2 {
			continue
		}
		name := ""
		for j := args[0][0]; j < args[0][1]; j++ {
			if u.code[j].kind == ident {
				name = p.text(j)
			}
		}
		out[name] = u.span(args[1][0], args[1][1])
	}
	return out
}
