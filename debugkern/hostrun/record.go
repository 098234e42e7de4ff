package hostrun

import (
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern/hostcode"
)

// mostDepth is how deeply structs may be nested in one another.
const mostDepth = 16

// member gives a field what it begins with, in a constructor.
type member struct {
	name string
	args []*node
}

// record is a struct or a class of the source with these arguments for its template, with its fields placed
// as the device's compiler places them; nil where the source has none, or one of its fields is not
// understood.
func (x *execution) record(name string, args []*node) *ctype {
	r, ok := x.sources[name]
	if !ok || x.depth > mostDepth {
		return x.records[name]
	}
	if r.Union {
		return nil
	}
	bound := &scope{outer: x.space, types: map[string]*ctype{}, vars: map[string]*variable{}}
	key := name
	for i, p := range r.Template {
		if i < len(args) {
			x.bind(bound, p.Name, args[i])
		}
		if t := bound.types[p.Name]; t != nil {
			key += "," + t.key()
		} else if v := bound.vars[p.Name]; v != nil && v.value.state == known {
			key += "," + literal(v.value, v.value.kind)
		} else {
			return nil
		}
	}
	if t, ok := x.records[key]; ok {
		return t
	}
	x.records[key] = nil // while it is read: a struct that contains itself
	outer := x.scope
	x.scope = bound
	x.depth++
	defer func() { x.scope, x.depth = outer, x.depth-1 }()
	t := &ctype{form: formStruct, name: name, align: 1, methods: map[string][]*function{}, bound: bound,
		statics: map[string]*node{}}
	for _, base := range r.Bases {
		of := x.record(base, nil)
		if of == nil || len(r.Bases) > 1 {
			return nil
		}
		t.fields, t.size, t.align = slices.Clone(of.fields), of.size, of.align
		for name, list := range of.methods {
			t.methods[name] = slices.Clone(list)
		}
		maps.Copy(t.statics, of.statics)
	}
	p := &parser{code: join(r.Body), types: x.types, macros: x.macros}
	for p.i < len(p.code) {
		if p.at(1) == ":" && (p.at(0) == "public" || p.at(0) == "private" || p.at(0) == "protected") {
			p.i += 2
			continue
		}
		if p.constant(t) || p.alias(x) {
			continue
		}
		if f, ok := p.method(); ok {
			if f != nil {
				t.methods[f.name] = append(t.methods[f.name], f)
			}
			continue
		}
		if !x.field(t, p) {
			return nil
		}
	}
	if r.Align != "" {
		q := &parser{code: join(hostcode.TokensOf(r.Align)), types: x.types, macros: x.macros}
		v := x.value(q.expression())
		if q.failed || v.state != known || v.i < 1 || v.i > 1<<12 {
			return nil
		}
		t.align = max(t.align, v.i)
	}
	t.size = (t.size + t.align - 1) / t.align * t.align
	x.records[key] = t
	return t
}

// constant reads a static constant of a struct.
func (p *parser) constant(t *ctype) bool {
	from := p.i
	if !p.accept("static") {
		return false
	}
	d := p.declaration()
	if d == nil || p.failed || !p.accept(";") {
		p.i, p.failed = from, false
		return false
	}
	for _, v := range d.vars {
		if v.first != nil && !v.call {
			t.statics[v.name] = v.first
		}
	}
	return true
}

// alias reads "using NAME = TYPE;", which names a type in the scope at hand.
func (p *parser) alias(x *execution) bool {
	if p.at(0) != "using" || p.kind(1) != hostcode.Word || p.at(2) != "=" {
		return false
	}
	from, name := p.i, p.at(1)
	p.i += 3
	t := p.typeName()
	if t == nil || !p.accept(";") {
		p.i, p.failed = from, false
		return false
	}
	p.types[name] = true
	x.alias(&declaration{kind: t, vars: []declarator{{name: name}}})
	return true
}

// static is a constant of a struct by its qualified name; ok is false where there is none.
func (x *execution) static(name string, args []*node) (v value, ok bool) {
	i := strings.LastIndex(name, "::")
	if i <= 0 {
		return value{}, false
	}
	t := x.typeNamed(name[:i], args)
	if t == nil || t.statics[name[i+2:]] == nil || x.depth > mostDepth {
		return value{}, false
	}
	return x.constantOf(t, name[i+2:]), true
}

// constantOf evaluates a struct's constant where the struct is defined.
func (x *execution) constantOf(t *ctype, name string) value {
	outer := x.scope
	x.scope = &scope{outer: t.bound}
	x.scope.static = t
	x.depth++
	defer func() { x.scope, x.depth = outer, x.depth-1 }()
	return x.value(t.statics[name])
}

// memberType is a type that a struct names, by its qualified name.
func (x *execution) memberType(name string, args []*node) *ctype {
	i := strings.LastIndex(name, "::")
	if i <= 0 || strings.HasPrefix(name, "std::") || x.depth > mostDepth {
		return nil
	}
	x.depth++
	defer func() { x.depth-- }()
	if t := x.typeNamed(name[:i], args); t != nil && t.bound != nil {
		return t.bound.types[name[i+2:]]
	}
	return nil
}

// key tells types apart.
func (t *ctype) key() string {
	if t == nil {
		return "?"
	}
	name := t.name
	if t.bound != nil {
		var list []string
		for n, of := range t.bound.types {
			list = append(list, n+"="+of.key())
		}
		slices.Sort(list)
		name += strings.Join(list, ",")
	}
	if t.elem != nil {
		name += "*" + t.elem.key()
	}
	return name
}

// field reads the declaration of fields; false where it is not understood.
func (x *execution) field(t *ctype, p *parser) bool {
	d := p.declaration()
	if d == nil || p.failed {
		return false
	}
	p.accept(";")
	kind := x.resolve(d.kind)
	for _, v := range d.vars {
		of := x.declaredType(kind, d.kind, v)
		if of == nil || of.align == 0 {
			return false
		}
		t.add(field{name: v.name, kind: of, first: v.first})
	}
	return true
}

// method reads a member that is no field: a function, which it returns where it has a body, a static, an
// alias, an empty declaration. ok is false where a field begins here.
func (p *parser) method() (f *function, ok bool) {
	if p.accept(";") {
		return nil, true
	}
	depth, other := 0, false
	for i := p.i; i < len(p.code); i++ {
		switch t := p.code[i].text; t {
		case "static", "using", "typedef", "static_assert", "template", "friend":
			other = other || i == p.i
		case "<":
			depth++
		case ">":
			depth--
		case "=", "{":
			if !other {
				return nil, false
			}
		case ";":
			if other {
				p.i = i + 1
			}
			return nil, other
		case "(":
			if depth <= 0 {
				return p.function(i), true
			}
		}
	}
	return nil, false
}

// function reads a member function from the parenthesis on that opens its parameters; nil for one without a
// body, a destructor and an operator.
func (p *parser) function(open int) *function {
	f := &function{parsed: true}
	if open > p.i && p.code[open-1].kind == hostcode.Word && !(open > p.i+1 && p.code[open-2].text == "~") {
		f.name = p.code[open-1].text
	}
	p.i = open + 1
	p.parameters(&f.head)
	good := !p.failed && f.name != ""
	p.failed = false
	p.i = p.closing(open)
	for p.i < len(p.code) && p.at(0) != "{" && p.at(0) != ";" && p.at(0) != ":" {
		p.i++ // const, noexcept, = default
	}
	if p.accept(":") {
		for p.i < len(p.code) && p.kind(0) == hostcode.Word {
			m := member{name: p.at(0)}
			p.i++
			end := map[string]string{"(": ")", "{": "}"}[p.at(0)]
			if end == "" {
				good = false
				break
			}
			p.i++
			m.args = p.arguments(end)
			f.members = append(f.members, m)
			if !p.accept(",") {
				break
			}
		}
	}
	for p.i < len(p.code) && p.at(0) != "{" && p.at(0) != ";" {
		p.i++
	}
	good = good && !p.failed
	p.failed = false
	if !p.accept("{") {
		p.accept(";")
		return nil
	}
	f.body = p.statements()
	p.failed = false
	p.accept("}")
	if !good {
		return nil
	}
	return f
}

// constructed reports a type whose values a constructor of its own makes.
func (t *ctype) constructed() bool { return t.methods[t.name] != nil }

// fieldsOf is a scope in which the fields of a struct are variables.
func (x *execution) fieldsOf(v value) *scope {
	s := &scope{outer: v.kind.bound, vars: map[string]*variable{}, static: v.kind}
	for i, f := range v.kind.fields {
		s.vars[f.name] = &variable{object: v.object, at: int64(i)}
	}
	box := &object{elem: v.kind, n: 1, bytes: v.kind.size, slots: []value{v}}
	s.vars["this"] = &variable{value: value{kind: pointerTo(v.kind), state: known, object: box}}
	return s
}

// method calls a function of a struct's value, or a constructor by the name of its type; ok is false where
// none takes these arguments.
func (x *execution) method(of value, name string, args []*node) (value, bool) {
	in := x.fieldsOf(of)
	f, args := x.overload(in, of.kind.methods[name], args)
	if f == nil || x.calls >= mostCalls {
		return value{}, false
	}
	return x.applyIn(in, of, f, nil, args), true
}

// begun gives the fields of a new value what a constructor's list has for them.
func (x *execution) begun(of value, list []member) {
	for _, m := range list {
		if m.name == of.kind.name { // another constructor
			x.calls++
			if _, ok := x.method(of, m.name, m.args); !ok {
				x.unknownCall("", m.args)
				of.object.spoil()
			}
			x.calls--
			continue
		}
		i := slices.IndexFunc(of.kind.fields, func(f field) bool { return f.name == m.name })
		if i >= 0 {
			of.object.slots[i] = x.construct(of.kind.fields[i].kind, m.args)
		}
	}
}
