package hostrun

import (
	"slices"

	"tilescope/debugkern/hostcode"
)

// parse parses a function's text.
func (x *execution) parse(f *function) {
	if f.parsed {
		return
	}
	f.parsed = true
	p := &parser{code: append(join(f.source.Params), token{kind: hostcode.Punctuation, text: ")"}),
		types: x.types, macros: x.macros}
	p.parameters(&f.head)
	q := &parser{code: join(f.source.Body), types: x.types, macros: x.macros}
	f.body = q.statements()
}

// call calls a function of the source with values; ok is false where none takes so many.
func (x *execution) call(name string, given []*node, args []*node) (value, bool) {
	list := x.functions[name]
	for i := len(name) - 1; list == nil && i > 0; i-- {
		if name[i] == ':' {
			list = x.functions[name[i+1:]]
		}
	}
	f, args := x.overload(x.scope, list, args)
	if f == nil || x.calls >= mostCalls {
		return value{}, false
	}
	return x.applyIn(x.space, value{}, f, given, args), true
}

// overload is the function of a name that takes so many arguments, with these to call it with; of several it
// is the one whose parameters, of types that a scope names, fit the arguments best, nil where two fit as
// well.
func (x *execution) overload(in *scope, list []*function, args []*node) (*function, []*node) {
	var fit []*function
	for _, f := range list {
		if x.parse(f); f.takes(len(args)) {
			fit = append(fit, f)
		}
	}
	if len(fit) < 2 {
		return append(fit, nil)[0], args
	}
	args = x.settled(args)
	var kinds []*ctype
	for _, a := range args {
		kinds = append(kinds, x.value(a).kind)
	}
	outer := x.scope
	x.scope = in
	defer func() { x.scope = outer }()
	var best *function
	most := -1
	for _, f := range fit {
		var template []hostcode.Parameter
		if f.source != nil {
			template = f.source.Template
		}
		n := 0
		for i, t := range kinds {
			n += fits(t, x.parameterType(f.head.types[i], template))
		}
		switch {
		case n > most:
			best, most = f, n
		case n == most:
			best = nil
		}
	}
	return best, args
}

// fits is how well an argument of a type fits a parameter: 2 where the types are the same, 1 where they are
// of one form, or an array is passed as a pointer.
func fits(arg, to *ctype) int {
	switch {
	case arg == nil || to == nil:
		return 0
	case arg.form == to.form && arg.key() == to.key():
		return 2
	case arg.form == to.form, arg.form == formArray && to.form == formPointer:
		return 1
	}
	return 0
}

// settled are arguments that may be evaluated more than once: what changes something is evaluated here.
func (x *execution) settled(args []*node) (out []*node) {
	for _, a := range args {
		if a != nil && a.op != opList && a.changes() {
			a = &node{op: opValue, done: x.value(a), line: a.line}
		}
		out = append(out, a)
	}
	return out
}

// changes reports an expression whose evaluation may change something.
func (n *node) changes() bool {
	if n == nil {
		return false
	}
	switch n.op {
	case opStep, opAssign, opCall, opNew, opLaunch, opMacro:
		return true
	}
	return slices.ContainsFunc(n.args, (*node).changes)
}

// applyIn executes a function with values for its parameters, in a scope around them: that of a struct's
// value of, whose fields a constructor's list gives what they begin with.
func (x *execution) applyIn(outside *scope, of value, f *function, given, args []*node) value {
	inner := &scope{outer: outside, types: map[string]*ctype{}, vars: map[string]*variable{}}
	var template []hostcode.Parameter
	if f.source != nil {
		template = f.source.Template
	}
	for i, t := range template {
		if i < len(given) {
			x.bind(inner, t.Name, given[i])
		} else if _, typed := inner.types[t.Name]; !typed {
			inner.types[t.Name] = nil
		}
	}
	var refs []*variable
	var values []value
	for i := range f.head.params {
		var ref *variable
		var v value
		if i < len(args) {
			if f.head.params[i].refers {
				ref = x.place(args[i])
			}
			if ref != nil {
				v = ref.load()
			} else {
				v = x.item(x.parameterType(f.head.types[i], template), args[i])
			}
			deduce(inner, f.head.types[i], v.kind)
		}
		refs, values = append(refs, ref), append(values, v)
	}
	outer := x.scope
	x.scope = inner
	for i, d := range f.head.params {
		switch t := x.resolve(f.head.types[i]); {
		case d.name == "":
		case i >= len(args):
			x.declareOne(
				x.resolve(&typeName{name: f.head.types[i].name, args: f.head.types[i].args}),
				f.head.types[i],
				d,
			)
		case refs[i] != nil:
			x.declare(d.name, refs[i])
		case t != nil && f.head.types[i].name != "auto":
			x.declare(d.name, &variable{value: x.clone(x.convert(values[i], t))})
		default:
			x.declare(d.name, &variable{value: x.clone(values[i])})
		}
	}
	x.begun(of, f.members)
	v := x.framed(f.body)
	x.scope = outer
	return v
}

// framed executes a function's body in the scope at hand. Where it may have returned before its end, what it
// returns and assigns is unknown.
func (x *execution) framed(body []*statement) value {
	outer := x.frame
	x.frame = frame{}
	x.calls++
	_, v := x.run(body)
	x.calls--
	if x.frame.parted {
		x.taint(body)
		v = value{kind: v.kind}
	}
	x.frame = outer
	return v
}

// parameterType is the type that an argument is converted to; nil where a template makes it of the argument.
func (x *execution) parameterType(t *typeName, template []hostcode.Parameter) *ctype {
	if slices.ContainsFunc(template, func(p hostcode.Parameter) bool { return p.Name == t.name }) {
		return nil
	}
	return x.resolve(t)
}

// bind gives a template's parameter its argument: a type, or a number.
func (x *execution) bind(to *scope, name string, n *node) {
	if n.op == opType {
		if v := x.lookup(n.text); v == nil {
			if t := x.typeOf(n); t != nil {
				to.types[name] = t
				return
			}
		}
		switch n.text {
		case "true", "false":
			n = &node{op: opInt, text: "bool", i: map[string]int64{"true": 1}[n.text]}
		default:
			n = &node{op: opName, text: n.text}
		}
	}
	to.vars[name] = &variable{value: x.value(n)}
}

// deduce gives a template's type the type of an argument.
func deduce(to *scope, spelled *typeName, t *ctype) {
	name := spelled.name
	for range spelled.pointers {
		if t == nil || t.form != formPointer && t.form != formArray {
			return
		}
		t = t.elem
	}
	if len(spelled.args) == 1 && spelled.args[0].op == opType && t != nil && t.form == formVector {
		name, t = spelled.args[0].text, t.elem
	}
	if of, ok := to.types[name]; ok && of == nil {
		to.types[name] = t
	}
}
