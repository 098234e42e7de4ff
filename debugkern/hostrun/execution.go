package hostrun

import (
	"errors"

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
	frame     frame
	launches  []Launch
	assumed   bool // the program has asked for what depends on the device
}

// frame is the function that is executed: how many of its loops are open, and whether it may have returned
// before, by a return under a condition that is not known.
type frame struct {
	loops  int
	parted bool
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
	fixed  bool // declared const or constexpr: nothing that is not understood can change it
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
)

// errSpent ends a loop that takes too long, and errParted the innermost one, which may have ended before:
// what it assigns is unknown behind it. errStopped and errEnded end the execution.
var (
	errSpent   = errors.New("the loop takes too long")
	errParted  = errors.New("the loop may have ended")
	errStopped = errors.New("the execution takes too long")
	errEnded   = errors.New("the program ends")
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
		x.value(s.cond)
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
		x.perhaps(s)
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
	x.perhaps(&statement{kind: blockStatement, body: s.body, otherwise: s.otherwise})
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
			x.perhaps(s)
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
	at, calls, frame := x.scope, x.calls, x.frame
	if x.loops == 0 {
		// what is left is enough for what follows, however many such loops there are
		x.limit = x.steps + min(mostLoopSteps, (mostSteps-x.steps)/4)
	}
	x.loops++
	x.frame.loops++
	defer func() {
		x.loops--
		r := recover()
		if r != nil && r != errParted && (r != errSpent || x.loops > 0) {
			panic(r)
		}
		frame.parted = x.frame.parted
		if x.frame = frame; r != nil {
			x.scope, x.calls = at, calls
			x.abandon(s)
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
				x.abandon(s)
				return onward, value{}
			}
			if !yes {
				return onward, value{}
			}
		}
		switch how, v := x.run(s.body); how {
		case broken:
			return onward, value{}
		case returned:
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
		x.abandon(s)
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
		case returned:
			return how, v
		}
	}
	return onward, value{}
}
