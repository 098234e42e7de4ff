package hostrun

import (
	"errors"
	"slices"

	"tilescope/debugkern/hostcode"
)

// Limits of an execution, in evaluated expressions: a source costs a moment, whatever it does.
const (
	mostSteps     = 6_000_000
	mostLoopSteps = 1_500_000 // of a loop that is in no other
	mostCalls     = 64        // functions that are called from one another
)

// execution is one under way.
type execution struct {
	types     map[string]bool
	macros    map[string]*macro
	aliases   map[string]string
	sources   map[string]hostcode.Record
	records   map[string]*ctype
	functions map[string][]*function
	globals   map[string]*variable
	kernels   map[string]*hostcode.Kernel
	symbols   map[string]bool // variables of the device that the host has copied something into
	scope     *scope
	space     *scope // has the types that aliases at namespace scope name
	calls     int
	depth     int
	steps     int
	limit     int // of the loop at hand
	loops     int
	launches  []Launch
}

// function is a function of the source.
type function struct {
	source  *hostcode.Function // nil of a struct's
	name    string             // of a struct's
	head    node               // its parameters
	members []member           // of a constructor
	body    []*statement
	parsed  bool
}

// takes reports whether a function may be called with so many arguments.
func (f *function) takes(n int) bool {
	least := 0
	for _, p := range f.head.params {
		if p.first == nil {
			least++
		}
	}
	return n >= least && n <= len(f.head.params)
}

// variable is a variable, or an element that a reference is bound to.
type variable struct {
	value  value
	object *object // of a reference to an element
	at     int64
}

func (v *variable) load() value {
	if v.object != nil {
		return v.object.load(v.at)
	}
	return v.value
}

func (v *variable) store(x value) {
	if v.object != nil {
		v.object.store(v.at, x)
		return
	}
	v.value = x
}

// scope has the variables of a block, and of a function's template the types.
type scope struct {
	outer  *scope
	vars   map[string]*variable
	types  map[string]*ctype
	static *ctype // the struct whose constants have their names here
}

func (x *execution) enter() { x.scope = &scope{outer: x.scope} }
func (x *execution) leave() { x.scope = x.scope.outer }

func (x *execution) declare(name string, v *variable) {
	if x.scope.vars == nil {
		x.scope.vars = map[string]*variable{}
	}
	x.scope.vars[name] = v
}

// lookup finds a variable; nil where there is none.
func (x *execution) lookup(name string) *variable {
	for s := x.scope; s != nil; s = s.outer {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	if v, ok := x.globals[name]; ok {
		return v
	}
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == ':' {
			return x.globals[name[i+1:]]
		}
	}
	return nil
}

// binding is the type of a template's parameter.
func (x *execution) binding(name string) (*ctype, bool) {
	for s := x.scope; s != nil; s = s.outer {
		if t, ok := s.types[name]; ok {
			return t, true
		}
	}
	return nil, false
}

// flow is how a statement ends.
type flow uint8

const (
	onward flow = iota
	broken
	continued
	returned
	ended // the program ends
)

// errSpent ends a loop that takes too long: what it assigns is unknown behind it. errStopped ends the
// execution.
var (
	errSpent   = errors.New("the loop takes too long")
	errStopped = errors.New("the execution takes too long")
)

// step counts an evaluation. It panics with errSpent or errStopped, which loop and Run recover.
func (x *execution) step() {
	x.steps++
	if x.steps > mostSteps {
		panic(errStopped)
	}
	if x.loops > 0 && x.steps > x.limit {
		panic(errSpent)
	}
}

// spend counts the work of so many elements.
func (x *execution) spend(elements int64) {
	x.steps += int(min(max(0, elements), mostElements)) / 16
	x.step()
}

// run executes statements in a scope of their own.
func (x *execution) run(list []*statement) (flow, value) {
	x.enter()
	defer x.leave()
	return x.runHere(list)
}

func (x *execution) runHere(list []*statement) (flow, value) {
	for _, s := range list {
		if how, v := x.execute(s); how != onward {
			return how, v
		}
	}
	return onward, value{}
}

func (x *execution) execute(s *statement) (flow, value) {
	x.step()
	switch s.kind {
	case expressionStatement:
		if s.cond.op == opMacro {
			return x.run(s.cond.body)
		}
		if v := x.value(s.cond); v.lambda == endOfProgram {
			return ended, value{}
		}
	case declarationStatement:
		x.declareAll(s.declared)
	case blockStatement:
		return x.run(s.body)
	case ifStatement:
		return x.choose(s)
	case forStatement, whileStatement, doStatement, rangeStatement:
		return x.loop(s)
	case returnStatement:
		if s.cond == nil {
			return returned, value{}
		}
		return returned, x.value(s.cond)
	case breakStatement:
		return broken, value{}
	case continueStatement:
		return continued, value{}
	case switchStatement:
		return x.selectCase(s)
	case aliasStatement:
		x.alias(s.declared)
	case unknownStatement:
		x.taintNames(s.names)
	}
	return onward, value{}
}

// alias names a type in the scope at hand.
func (x *execution) alias(d *declaration) {
	if x.scope.types == nil {
		x.scope.types = map[string]*ctype{}
	}
	x.scope.types[d.vars[0].name] = x.resolve(d.kind)
}

func (x *execution) choose(s *statement) (flow, value) {
	x.enter()
	defer x.leave()
	if s.declared != nil {
		x.declareAll(s.declared)
	}
	switch yes, ok := x.value(s.cond).truth(); {
	case ok && yes:
		return x.run(s.body)
	case ok:
		return x.run(s.otherwise)
	}
	x.taint(s.body)
	x.taint(s.otherwise)
	return onward, value{}
}

// selectCase executes a switch from the label on that its value has.
func (x *execution) selectCase(s *statement) (flow, value) {
	x.enter()
	defer x.leave()
	if s.declared != nil {
		x.declareAll(s.declared)
	}
	v := x.value(s.cond)
	from := -1
	for i, b := range s.body {
		if b.kind != caseStatement {
			continue
		}
		if b.cond == nil {
			if from < 0 {
				from = i
			}
			continue
		}
		same, ok := x.operate("==", v, x.value(b.cond)).truth()
		if !ok {
			x.taint(s.body)
			return onward, value{}
		}
		if same {
			from = i
			break
		}
	}
	if from < 0 {
		return onward, value{}
	}
	how, out := x.run(s.body[from:])
	if how == broken {
		return onward, value{}
	}
	return how, out
}

// loop executes a loop. One that takes too long, or whose condition is not known, leaves what it assigns
// unknown.
func (x *execution) loop(s *statement) (how flow, v value) {
	at, calls := x.scope, x.calls
	if x.loops == 0 {
		// what is left is enough for what follows, however many such loops there are
		x.limit = x.steps + min(mostLoopSteps, (mostSteps-x.steps)/4)
	}
	x.loops++
	defer func() {
		x.loops--
		if r := recover(); r != nil {
			if r != errSpent || x.loops > 0 {
				panic(r)
			}
			x.scope, x.calls = at, calls
			x.taint([]*statement{s})
			how, v = onward, value{}
		}
	}()
	x.enter()
	defer func() { x.scope = at }()
	if s.kind == rangeStatement {
		return x.overRange(s)
	}
	if s.declared != nil {
		x.declareAll(s.declared)
	}
	if s.init != nil {
		x.value(s.init)
	}
	for first := true; ; first = false {
		x.step()
		if s.cond != nil && (s.kind != doStatement || !first) {
			yes, ok := x.value(s.cond).truth()
			if !ok {
				x.taint([]*statement{s})
				return onward, value{}
			}
			if !yes {
				return onward, value{}
			}
		}
		switch how, v := x.run(s.body); how {
		case broken:
			return onward, value{}
		case returned, ended:
			return how, v
		}
		if s.step != nil {
			x.value(s.step)
		}
	}
}

func (x *execution) overRange(s *statement) (flow, value) {
	over, d := x.value(s.cond), s.declared.vars[0]
	if over.object == nil || over.kind == nil || over.kind.form == formPointer {
		x.taint([]*statement{s})
		return onward, value{}
	}
	for i := range over.object.n {
		x.step()
		x.enter()
		if s.declared.bound {
			x.declareParts(s.declared, over.object.load(i))
		} else if d.refers {
			x.declare(d.name, &variable{object: over.object, at: i})
		} else {
			x.declare(d.name, &variable{value: x.clone(over.object.load(i))})
		}
		how, v := x.run(s.body)
		x.leave()
		switch how {
		case broken:
			return onward, value{}
		case returned, ended:
			return how, v
		}
	}
	return onward, value{}
}

// declareAll declares the variables of a declaration.
func (x *execution) declareAll(d *declaration) {
	if d.bound {
		x.declareParts(d, x.value(d.vars[0].first))
		return
	}
	kind := x.resolve(&typeName{name: d.kind.name, args: d.kind.args})
	for _, v := range d.vars {
		x.declareOne(kind, d.kind, v)
	}
}

// declareParts declares structured bindings: the fields of a struct, or the elements of an array.
func (x *execution) declareParts(d *declaration, of value) {
	if of.object != nil && of.kind != nil && of.kind.form != formPointer && !d.vars[0].refers {
		of = x.clone(of)
	}
	for i, v := range d.vars {
		if of.object == nil || of.kind == nil || of.kind.form == formPointer || int64(i) >= of.object.n {
			x.declare(v.name, &variable{})
			continue
		}
		x.declare(v.name, &variable{object: of.object, at: int64(i)})
	}
}

func (x *execution) declareOne(kind *ctype, spelled *typeName, d declarator) {
	if d.refers && d.first != nil && !d.call {
		if to := x.place(d.first); to != nil {
			x.declare(d.name, to)
			return
		}
	}
	var first value
	if d.first != nil && !d.call && (d.first.op != opList || spelled.name == "auto") {
		first = x.value(d.first)
	}
	if spelled.name == "auto" {
		if d.pointers > 0 && first.kind == nil {
			first = value{kind: pointerTo(nil)}
		}
		x.declare(d.name, &variable{value: x.clone(first)})
		return
	}
	t := x.declaredType(kind, &typeName{name: spelled.name}, d)
	switch {
	case t == nil:
		x.declare(d.name, &variable{})
	case d.first == nil && t.form == formStruct && t.constructed():
		x.declare(d.name, &variable{value: x.construct(t, nil)})
	case d.first == nil:
		x.declare(d.name, &variable{value: x.fresh(t)})
	case d.call:
		x.declare(d.name, &variable{value: x.construct(t, d.first.args)})
	case d.first.op == opList:
		x.declare(d.name, &variable{value: x.listed(t, d.first)})
	default:
		x.declare(d.name, &variable{value: x.clone(x.convert(first, t))})
	}
}

// declaredType is the type of a variable: pointers and extents are around the type of its declaration. kind
// is that type with its pointers left out, or nil.
func (x *execution) declaredType(kind *ctype, spelled *typeName, d declarator) *ctype {
	t := kind
	for range d.pointers - spelled.pointers {
		t = pointerTo(t)
	}
	for i := len(d.dims) - 1; i >= 0; i-- {
		n := int64(-1)
		switch {
		case d.dims[i] != nil:
			if v := x.value(d.dims[i]); v.state == known && v.kind.form == formInt && v.i >= 0 {
				n = v.i
			}
		case d.first != nil && d.first.op == opList:
			n = int64(len(d.first.args))
		}
		if t == nil || n < 0 || n > mostExtent {
			return nil
		}
		t = arrayOf(t, n)
	}
	return t
}

// fresh is a variable that begins with nothing.
func (x *execution) fresh(t *ctype) value {
	v := value{kind: t}
	switch {
	case t == nil:
	case t.form == formArray:
		v.object = elements(t.elem, t.n)
		if !t.elem.scalar() && t.elem.form != formPointer && v.object.room() {
			for i := range v.object.slots {
				x.step()
				v.object.slots[i] = x.fresh(t.elem)
			}
		}
	case t.form == formVector:
		v.object = elements(t.elem, 0)
	case t.form == formStruct:
		v.object = &object{record: t, n: int64(len(t.fields)), bytes: t.size}
		for _, f := range t.fields {
			of := x.fresh(f.kind)
			switch {
			case f.first != nil && f.first.op == opList:
				of = x.listed(f.kind, f.first)
			case f.first != nil:
				of = x.convert(x.value(f.first), f.kind)
			}
			v.object.slots = append(v.object.slots, of)
		}
	}
	return v
}

// zeroed is a value of which every number is zero.
func (x *execution) zeroed(t *ctype) value {
	switch {
	case t == nil:
		return value{}
	case t.scalar() || t.form == formPointer:
		return value{kind: t, state: known}
	}
	v := x.fresh(t)
	if v.object == nil {
		return v
	}
	if t.form == formArray && t.elem.scalar() && v.object.room() {
		for i := range v.object.states {
			v.object.states[i] = known
		}
		v.object.written = true
		return v
	}
	for i := range v.object.slots {
		if t.form == formStruct && t.fields[i].first != nil {
			continue
		}
		v.object.slots[i] = x.zeroed(v.object.slots[i].kind)
	}
	return v
}

// listed is a value made of a list in braces.
func (x *execution) listed(t *ctype, list *node) value {
	switch {
	case t == nil:
		for _, a := range list.args {
			x.value(a)
		}
		return value{}
	case t.scalar() || t.form == formPointer:
		if len(list.args) == 1 {
			return x.convert(x.value(list.args[0]), t)
		}
		return value{kind: t, state: known}
	case t == dim3Type:
		return x.construct(t, list.args)
	case t.form == formVector:
		v := value{kind: t, object: elements(t.elem, int64(len(list.args)))}
		x.fill(v.object, t.elem, list.args)
		return v
	case t.form == formArray:
		v := x.zeroed(t)
		x.fill(v.object, t.elem, list.args)
		return v
	case t.form != formStruct:
		return x.construct(t, list.args)
	}
	if t.constructed() {
		return x.construct(t, list.args)
	}
	v := x.zeroed(t)
	next := 0
	for _, a := range list.args {
		if a.op == opAssign && len(a.args) == 1 {
			next = slices.IndexFunc(t.fields, func(f field) bool { return "."+f.name == a.text })
			a = a.args[0]
		}
		if next < 0 || next >= len(t.fields) {
			break
		}
		v.object.slots[next] = x.item(t.fields[next].kind, a)
		next++
	}
	return v
}

// item is an element of a list in braces.
func (x *execution) item(t *ctype, n *node) value {
	if n.op == opList && n.kind == nil {
		return x.listed(t, n)
	}
	return x.clone(x.convert(x.value(n), t))
}

func (x *execution) fill(o *object, elem *ctype, list []*node) {
	for i, a := range list {
		o.store(int64(i), x.item(elem, a))
	}
}

// clone is a copy of a value: a struct's, an array's or a vector's elements are copied with it.
func (x *execution) clone(v value) value {
	if v.object == nil || v.kind == nil || v.kind.form == formPointer {
		return v
	}
	x.spend(v.object.n)
	v.object = x.copied(v.object)
	return v
}

// taint makes what statements assign unknown, as far as their text shows it.
func (x *execution) taint(list []*statement) {
	for _, s := range list {
		if s == nil {
			continue
		}
		for _, n := range []*node{s.init, s.cond, s.step} {
			x.taintNode(n)
		}
		if s.declared != nil {
			for _, d := range s.declared.vars {
				x.taintNode(d.first)
			}
		}
		x.taintNames(s.names)
		x.taint(s.body)
		x.taint(s.otherwise)
	}
}

func (x *execution) taintNode(n *node) {
	if n == nil {
		return
	}
	switch n.op {
	case opAssign, opStep:
		if len(n.args) > 0 {
			x.taintPlace(n.args[0])
		}
	case opUnary:
		if n.text == "&" {
			x.taintPlace(n.args[0])
		}
	case opCall:
		if m := n.args[0]; m.op == opMember { // v.push_back(...)
			x.taintPlace(m.args[0])
		}
		for _, a := range n.args[1:] {
			if a != nil && a.op == opName {
				if v := x.lookup(a.text); v != nil && v.load().object != nil {
					x.spoil(v.load())
				}
			}
		}
	}
	for _, a := range slices.Concat(n.args, n.config) {
		x.taintNode(a)
	}
	x.taint(n.body)
}

// taintPlace makes what an expression stands for unknown.
func (x *execution) taintPlace(n *node) {
	whole := true
	for n != nil {
		switch n.op {
		case opName:
			if v := x.lookup(n.text); v != nil {
				if old := v.load(); !whole ||
					old.kind != nil && old.kind.form != formPointer && old.object != nil {
					x.spoil(old)
				} else {
					v.store(value{kind: old.kind})
				}
			}
			return
		case opIndex, opMember, opUnary, opCast, opStep:
			whole = false
		case opBinary:
		default:
			return
		}
		if len(n.args) == 0 {
			return
		}
		n = n.args[0]
		if n != nil && n.op == opCast {
			n = n.args[0]
		}
	}
}

// spoil makes the memory of a value unknown, and what its pointers lead to.
func (x *execution) spoil(v value) {
	if v.object != nil {
		v.object.spoil()
	}
}

// taintNames makes every variable of a text that is not understood unknown.
func (x *execution) taintNames(names []string) {
	for _, name := range names {
		v := x.lookup(name)
		if v == nil {
			continue
		}
		old := v.load()
		if old.object != nil && old.kind != nil && old.kind.form == formPointer {
			x.spoil(old)
			continue
		}
		if old.object != nil {
			x.spoil(old)
			continue
		}
		v.store(value{kind: old.kind})
	}
}

// function parses a function's text.
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
func (x *execution) call(name string, given []*node, args []*node) (value, flow, bool) {
	list := x.functions[name]
	for i := len(name) - 1; list == nil && i > 0; i-- {
		if name[i] == ':' {
			list = x.functions[name[i+1:]]
		}
	}
	f := x.overload(list, args)
	if f == nil || x.calls >= mostCalls {
		return value{}, onward, false
	}
	v, how := x.apply(f, given, args)
	return v, how, true
}

// overload is the function of a name that takes so many arguments; of several the one whose parameters have
// most of the arguments' types, nil where two have as many.
func (x *execution) overload(list []*function, args []*node) *function {
	var fit []*function
	for _, f := range list {
		if x.parse(f); f.takes(len(args)) {
			fit = append(fit, f)
		}
	}
	if len(fit) < 2 {
		return append(fit, nil)[0]
	}
	var kinds []*ctype
	for _, a := range args {
		kinds = append(kinds, x.decay(x.value(a)).kind)
	}
	var best *function
	most := -1
	for _, f := range fit {
		n := 0
		for i, t := range kinds {
			if of := x.parameterType(f.head.types[i], f.source.Template); of != nil && t != nil &&
				of.form == t.form && of.key() == t.key() {
				n++
			}
		}
		switch {
		case n > most:
			best, most = f, n
		case n == most:
			best = nil
		}
	}
	return best
}

func (x *execution) apply(f *function, given []*node, args []*node) (value, flow) {
	return x.applyIn(x.space, value{}, f, given, args)
}

// applyIn executes a function with values for its parameters, in a scope around them: that of a struct's
// value of, whose fields a constructor's list gives what they begin with.
func (x *execution) applyIn(
	outside *scope,
	of value,
	f *function,
	given []*node,
	args []*node,
) (value, flow) {
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
	x.calls++
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
	how, v := x.run(f.body)
	x.scope = outer
	x.calls--
	if how == ended {
		return value{}, ended
	}
	return v, onward
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
