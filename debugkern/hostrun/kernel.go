package hostrun

import "tilescope/debugkern/hostcode"

// Inside is the scope of a kernel's body: the arguments of its template, and the types and constants that its
// own declarations name before anything is executed.
type Inside struct{ x *execution }

// InsideKernel is the scope of a kernel whose template has these arguments, by name and as they are spelled.
func InsideKernel(k *hostcode.Kernel, arguments map[string]string, units ...*hostcode.Unit) *Inside {
	x := newExecution(units, hostcode.Kernels(units...))
	x.inside(k.Code(units...), arguments)
	return &Inside{x}
}

// inside enters the scope of a kernel's body.
func (x *execution) inside(body []hostcode.Token, arguments map[string]string) {
	defer x.rescue()
	x.scope = &scope{outer: x.space, types: map[string]*ctype{}, vars: map[string]*variable{}}
	for name, spelled := range arguments {
		p := &parser{code: join(hostcode.TokensOf("<" + spelled + ">")), types: x.types, macros: x.macros}
		if args, end := p.templateArguments(); end == len(p.code) && len(args) == 1 {
			x.bind(x.scope, name, args[0])
		}
	}
	p := &parser{code: join(body), types: x.types, macros: x.macros}
	for _, s := range p.statements() {
		if s.kind == aliasStatement || s.kind == declarationStatement && initialised(s.declared) {
			x.execute(s)
		}
	}
}

// initialised reports a declaration of integers with initial values: a constant, perhaps. What depends on a
// thread is unknown.
func initialised(d *declaration) bool {
	for _, v := range d.vars {
		if v.first == nil || v.pointers > 0 || v.dims != nil {
			return false
		}
	}
	return !d.bound
}

// Int is the value of an expression in the scope; ok is false where it is not known.
func (i *Inside) Int(text string) (n int64, ok bool) {
	p := &parser{code: join(hostcode.TokensOf(text)), types: i.x.types, macros: i.x.macros}
	e := p.expression()
	if p.failed || e == nil || p.i != len(p.code) {
		return 0, false
	}
	v := i.x.guarded(e)
	return v.i, v.state == known && v.kind.form == formInt
}
