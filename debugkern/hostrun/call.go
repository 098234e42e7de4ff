package hostrun

import (
	"math"
	"slices"
	"strings"
)

// callOf evaluates a call: of the source's functions, else of those of CUDA's runtime and of C++ that matter
// for a launch. What an unknown function is given by its address is unknown behind it.
func (x *execution) callOf(n *node) value {
	callee, args := n.args[0], n.args[1:]
	if callee.op == opMember {
		return x.member(callee, args)
	}
	if callee.op == opLambda {
		return x.closure(value{lambda: callee, scope: x.scope}, args)
	}
	if callee.op != opName {
		x.unknownCall("", args)
		return value{}
	}
	name := strings.TrimPrefix(strings.TrimPrefix(callee.text, "::"), "std::")
	if v := x.lookup(callee.text); v != nil {
		f := v.load()
		if f.lambda != nil {
			return x.closure(f, args)
		}
		if f.kind != nil && f.kind.form == formRange {
			for _, a := range args {
				x.value(a)
			}
			f.kind = intType
			return f
		}
	}
	if this := x.lookup("this"); this != nil && this.value.object != nil {
		if of := this.value.object.load(0); of.kind != nil && of.kind.methods[callee.text] != nil {
			return x.member(
				&node{op: opMember, text: callee.text, args: []*node{{op: opName, text: "this"}}},
				args,
			)
		}
	}
	if v, ok := x.call(callee.text, callee.config, args); ok {
		return v
	}
	if callee.kind != nil || len(args) <= 4 {
		if t := x.typeNamed(callee.text, callee.config); t != nil {
			return x.construct(t, args)
		}
	}
	if f, ok := runtime[name]; ok {
		return f(x, args)
	}
	if callee.config != nil && (name == "make_unique" || name == "make_shared") && len(args) == 1 {
		if n := x.value(args[0]); n.state == known && n.i >= 0 {
			t := x.typeOf(callee.config[0])
			return value{kind: pointerTo(t), state: known, object: elements(t, n.i)}
		}
	}
	if f, ok := mathematics[strings.TrimSuffix(name, "f")]; ok && len(args) > 0 {
		return x.computed(f, args)
	}
	x.unknownCall(name, args)
	if strings.HasPrefix(name, "cuda") {
		return value{kind: intType, state: known} // cudaSuccess
	}
	return value{}
}

// harmless are functions that change nothing that they are given a pointer to.
var harmless = []string{"printf", "fprintf", "puts", "putchar", "fflush", "cudaFree", "free",
	"cudaFreeHost", "cudaFreeAsync", "cudaMemPrefetchAsync", "cudaMemAdvise", "cudaFuncSetAttribute",
	"cudaHostRegister", "assert", "cudaEventRecord", "cudaStreamSynchronize", "cudaEventSynchronize", "srand",
	"cudaFuncSetCacheConfig", "move"}

// unknownCall evaluates the arguments of a function that is not known, and takes it that it writes to what it
// is given the address of.
func (x *execution) unknownCall(name string, args []*node) {
	for _, a := range args {
		v := x.decay(x.value(a))
		if slices.Contains(harmless, name) || v.kind == nil {
			continue
		}
		if v.kind.form == formPointer && v.object != nil {
			x.spoil(v)
		} else if v.object != nil { // by reference, perhaps
			x.taintPlace(a)
		}
	}
}

// closure calls a lambda, in the scope that it was made in.
func (x *execution) closure(f value, args []*node) value {
	l := f.lambda
	if x.calls >= mostCalls || len(args) > len(l.params) {
		x.unknownCall("", args)
		return value{}
	}
	inner := &scope{outer: f.scope, vars: map[string]*variable{}}
	for i, d := range l.params {
		v := &variable{}
		switch {
		case i < len(args):
			to := (*variable)(nil)
			if d.refers {
				to = x.place(args[i])
			}
			if to != nil {
				v = to
				break
			}
			v.value = x.clone(
				x.convert(x.decayFor(x.value(args[i]), x.resolve(l.types[i])), x.resolve(l.types[i])),
			)
		case d.first != nil:
			v.value = x.value(d.first)
		}
		inner.vars[d.name] = v
	}
	outer := x.scope
	x.scope = inner
	out := x.framed(l.body)
	x.scope = outer
	return out
}

// construct makes a value of a type of arguments in parentheses.
func (x *execution) construct(t *ctype, args []*node) value {
	switch {
	case t == nil:
		x.unknownCall("", args)
		return value{}
	case t.form == formRange:
		return x.distribution(t, args)
	case t.form == formVector:
		return x.vector(t, args)
	case t.scalar() || t.form == formPointer:
		if len(args) == 0 {
			return value{kind: t, state: known}
		}
		return x.convert(x.decayFor(x.value(args[0]), t), t)
	case t.form != formStruct:
		x.unknownCall("", args)
		return x.fresh(t)
	}
	args = x.settled(args)
	if len(args) == 1 && args[0].op != opList {
		if v := x.item(t, args[0]); v.kind == t && v.object != nil {
			return v
		}
	}
	if t.constructed() {
		v := x.fresh(t)
		if _, ok := x.method(v, t.name, args); !ok {
			x.unknownCall("", args)
			v.object.spoil()
		}
		return v
	}
	v := x.fresh(t)
	for i, a := range args {
		if i < len(t.fields) {
			v.object.slots[i] = x.item(t.fields[i].kind, a)
		}
	}
	return v
}

// distribution is a distribution of integers: its range.
func (x *execution) distribution(t *ctype, args []*node) value {
	v := value{kind: t, state: bounded, hi: math.MaxInt32}
	for i, a := range args {
		n := x.value(a)
		if n.state != known || n.kind.form != formInt {
			return value{kind: t}
		}
		if i == 0 {
			v.i = n.i
		} else {
			v.hi = n.i
		}
	}
	return v
}

func (x *execution) vector(t *ctype, args []*node) value {
	v := value{kind: t, object: elements(t.elem, 0)}
	if len(args) == 0 {
		return v
	}
	first := x.value(args[0])
	switch {
	case first.object != nil && first.kind != nil && first.kind.form == formVector:
		v.object = x.copied(first.object)
		if v.object.elem != t.elem {
			v.object.spoil()
		}
	case first.kind == nil || first.kind.form != formInt || first.state != known || first.i < 0 ||
		first.i > mostExtent:
		x.unknownCall("", args[1:])
		v.object = nil
	case len(args) > 1:
		v.object = elements(t.elem, first.i)
		x.assignAll(v.object, x.convert(x.value(args[1]), t.elem))
	default:
		v.object = elements(t.elem, first.i)
		x.assignAll(v.object, x.zeroed(t.elem))
	}
	return v
}

// assignAll gives every element a value.
func (x *execution) assignAll(o *object, v value) {
	x.spend(o.n)
	if !o.room() {
		o.spoilt, o.endless = true, true
		return
	}
	for i := range o.n {
		o.store(i, x.clone(v))
	}
}

// member calls a function of a vector or of a distribution; of anything else it may change the object.
func (x *execution) member(callee *node, args []*node) value {
	base := x.value(callee.args[0])
	if callee.text == "get" && len(args) == 0 && base.kind != nil && base.kind.form == formPointer {
		return base // of a unique_ptr, of a device's pointer
	}
	if base.kind != nil && base.kind.form == formPointer && base.object != nil {
		base = base.object.load(base.at)
	}
	if base.kind != nil && base.kind.form == formStruct && base.object != nil {
		if v, ok := x.method(base, callee.text, args); ok {
			return v
		}
	}
	if base.kind == nil || base.kind.form != formVector && base.kind.form != formArray || base.object == nil {
		x.unknownCall("", args)
		if base.object != nil {
			x.taintPlace(callee.args[0])
		}
		return value{}
	}
	o, t := base.object, base.kind
	start := value{kind: pointerTo(t.elem), state: known, object: o}
	switch callee.text {
	case "size":
		return integerValue(sizeType, o.n)
	case "empty":
		return boolean(o.n == 0)
	case "data", "begin", "cbegin":
		return start
	case "end", "cend":
		start.at = o.n
		return start
	case "front":
		return o.load(0)
	case "back":
		return o.load(o.n - 1)
	case "at":
		if i := x.value(args[0]); len(args) == 1 && i.state == known {
			return o.load(i.i)
		}
		return value{kind: t.elem}
	case "reserve", "shrink_to_fit":
		return value{}
	case "push_back", "emplace_back":
		if len(args) == 1 {
			v := x.item(t.elem, args[0])
			o.n++
			o.bytes = o.n * t.elem.size
			o.store(o.n-1, v)
			return value{}
		}
	case "resize", "assign":
		args = x.settled(args)
		n := value{}
		if len(args) > 0 {
			n = x.value(args[0])
		}
		if n.state == known && n.kind.form == formInt && n.i >= 0 && n.i < mostExtent && t.elem != nil {
			fresh := x.vector(t, args)
			if callee.text == "resize" && o.n > 0 && fresh.object.n <= mostElements && o.n <= mostElements {
				for i := range min(o.n, fresh.object.n) {
					fresh.object.store(i, o.load(i))
				}
			}
			*o = *fresh.object
			return value{}
		}
	}
	for _, a := range args {
		x.value(a)
	}
	o.spoil()
	return value{}
}

// mathematics are functions of floating-point numbers; an f at the end of a name is left out.
var mathematics = map[string]func(a []float64) float64{
	"sqrt": one(math.Sqrt), "rsqrt": one(func(a float64) float64 { return 1 / math.Sqrt(a) }),
	"exp": one(math.Exp), "exp2": one(math.Exp2), "log": one(math.Log), "log2": one(math.Log2),
	"log10": one(math.Log10), "sin": one(math.Sin), "cos": one(math.Cos), "tan": one(math.Tan),
	"tanh": one(math.Tanh), "floor": one(math.Floor), "ceil": one(math.Ceil), "round": one(math.Round),
	"fabs": one(math.Abs), "pow": two(math.Pow), "fmod": two(math.Mod), "fmax": two(math.Max),
	"fmin": two(math.Min), "__float2half": one(same), "__float2half_rn": one(same),
	"__float2bfloat16": one(same), "__half2float": one(same),
}

func same(a float64) float64 { return a }

func one(f func(float64) float64) func([]float64) float64 {
	return func(a []float64) float64 { return f(a[0]) }
}

func two(f func(a, b float64) float64) func([]float64) float64 {
	return func(a []float64) float64 {
		if len(a) < 2 {
			return math.NaN()
		}
		return f(a[0], a[1])
	}
}

func (x *execution) computed(f func([]float64) float64, args []*node) value {
	var list []float64
	t := doubleType
	all, sure := true, true
	for _, a := range args {
		v := x.value(a)
		if v.state != known || !v.kind.scalar() {
			sure = false
			continue
		}
		all = all && v.kind.form == formFloat && v.kind.size <= 4
		list = append(list, v.number())
	}
	if all {
		t = floatType
	}
	if !sure {
		return value{kind: t}
	}
	return x.convert(value{kind: doubleType, state: known, f: f(list)}, t)
}
