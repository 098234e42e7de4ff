package hostrun

import (
	"strings"
)

// value evaluates an expression.
func (x *execution) value(n *node) value {
	if n == nil {
		return value{}
	}
	x.step()
	switch n.op {
	case opInt:
		return integerValue(literalType(n), n.i)
	case opFloat:
		if n.text == "f" {
			return value{kind: floatType, state: known, f: float64(float32(n.f))}
		}
		return value{kind: doubleType, state: known, f: n.f}
	case opName:
		return x.named(n)
	case opCall:
		return x.callOf(n)
	case opIndex, opMember:
		return x.part(n)
	case opUnary:
		return x.unary(n)
	case opStep:
		return x.stepped(n)
	case opBinary:
		return x.binary(n)
	case opAssign:
		return x.assign(n)
	case opChoice:
		return x.choice(n)
	case opCast:
		return x.convert(x.decay(x.value(n.args[0])), x.resolve(n.kind))
	case opSizeof:
		return x.sizeOf(n)
	case opList:
		if n.kind != nil {
			return x.listed(x.resolve(n.kind), n)
		}
		return x.anyList(n)
	case opNew:
		return x.allocate(n)
	case opLambda:
		return value{kind: lambdaType, state: known, lambda: n, scope: x.scope}
	case opLaunch:
		x.launch(n)
		return value{}
	case opComma:
		x.value(n.args[0])
		return x.value(n.args[1])
	case opValue:
		return n.done
	case opMacro:
		x.run(n.body)
	}
	return value{}
}

func literalType(n *node) *ctype {
	switch {
	case n.text == "bool":
		return boolType
	case strings.ContainsRune(n.text, 'u') && (strings.ContainsRune(n.text, 'l') || n.i > 1<<32-1 || n.i < 0):
		return numberTypes["unsigned long long"]
	case strings.ContainsRune(n.text, 'u'):
		return uintType
	case strings.ContainsRune(n.text, 'z'):
		return sizeType
	case strings.ContainsRune(n.text, 'l') || n.i > 1<<31-1:
		return longType
	}
	return intType
}

// constants are names of CUDA's and of C's headers that have a value.
var constants = map[string]int64{
	"cudaSuccess":  0,
	"EXIT_SUCCESS": 0,
	"EXIT_FAILURE": 1,
	"RAND_MAX":     1<<31 - 1,
	"INT_MAX":      1<<31 - 1,
}

func (x *execution) named(n *node) value {
	if v := x.lookup(n.text); v != nil {
		return v.load()
	}
	if c, ok := constants[n.text]; ok {
		return integerValue(intType, c)
	}
	if v, ok := x.static(n.text, n.config); ok {
		return v
	}
	for s := x.scope; s != nil; s = s.outer {
		if s.static != nil && s.static.statics[n.text] != nil && x.depth <= mostDepth {
			return x.constantOf(s.static, n.text)
		}
	}
	return value{}
}

// anyList is a list in braces of no type: an array of its first element's.
func (x *execution) anyList(n *node) value {
	var list []value
	for _, a := range n.args {
		list = append(list, x.value(a))
	}
	if len(list) == 0 || list[0].kind == nil {
		return value{}
	}
	v := value{
		kind:   arrayOf(list[0].kind, int64(len(list))),
		object: elements(list[0].kind, int64(len(list))),
	}
	for i, e := range list {
		v.object.store(int64(i), x.clone(x.convert(e, list[0].kind)))
	}
	return v
}

// place is what an expression stands for, to be stored to; nil where that is not known.
func (x *execution) place(n *node) *variable {
	if n == nil {
		return nil
	}
	switch n.op {
	case opName:
		return x.lookup(n.text)
	case opIndex:
		base, i := x.decay(x.value(n.args[0])), x.value(n.args[1])
		if base.object != nil && i.state == known && x.fits(base) && (base.object.record == nil || i.i == 0) {
			return &variable{object: base.object, at: base.at + i.i}
		}
		x.spoil(base)
	case opUnary:
		if base := x.decay(x.value(n.args[0])); n.text == "*" && base.object != nil && x.fits(base) {
			return &variable{object: base.object, at: base.at}
		}
	case opMember:
		base := x.value(n.args[0])
		if base.kind != nil && base.kind.form == formPointer && base.object != nil {
			base = base.object.load(base.at)
		}
		if base.kind == nil || base.kind.form != formStruct || base.object == nil {
			return nil
		}
		for i, f := range base.kind.fields {
			if f.name == n.text {
				return &variable{object: base.object, at: int64(i)}
			}
		}
	}
	return nil
}

// fits reports a pointer whose type is that of the memory it leads to.
func (x *execution) fits(v value) bool {
	if r := v.object.record; r != nil {
		return v.at >= 0 && v.at < int64(len(r.fields)) && v.kind != nil && v.kind.elem == r.fields[v.at].kind
	}
	return v.kind != nil && v.kind.elem != nil && v.object.elem != nil &&
		v.kind.elem.size == v.object.elem.size &&
		v.kind.elem.form == v.object.elem.form
}

// decay is an array or a vector as a pointer to its first element.
func (x *execution) decay(v value) value {
	if v.kind != nil && v.object != nil && (v.kind.form == formArray || v.kind.form == formVector) {
		return value{kind: pointerTo(v.kind.elem), state: known, object: v.object}
	}
	return v
}

func (x *execution) part(n *node) value {
	if to := x.place(n); to != nil {
		return to.load()
	}
	if n.op == opIndex {
		return elementOf(x.decay(x.value(n.args[0])))
	}
	return value{}
}

// elementOf is an element that a pointer leads to of which nothing but the type is known.
func elementOf(p value) value {
	if p.kind != nil && p.kind.form == formPointer {
		return value{kind: p.kind.elem}
	}
	return value{}
}

func (x *execution) unary(n *node) value {
	if n.text == "&" {
		return x.address(n.args[0])
	}
	v := x.value(n.args[0])
	switch n.text {
	case "*":
		if p := x.decay(v); p.object != nil && x.fits(p) {
			return p.object.load(p.at)
		}
		return elementOf(x.decay(v))
	case "!":
		yes, ok := v.truth()
		if !ok {
			return value{kind: boolType}
		}
		return boolean(!yes)
	case "+":
		return v
	}
	if v.kind == nil || !v.kind.scalar() {
		return value{}
	}
	t := x.promoted(v.kind)
	switch v = x.convert(v, t); {
	case v.state != known:
		return value{kind: t}
	case n.text == "-" && t.form == formFloat:
		v.f = -v.f
		return v
	case n.text == "-":
		return integerValue(t, -v.i)
	case t.form == formInt:
		return integerValue(t, ^v.i)
	}
	return value{kind: t}
}

func boolean(yes bool) value {
	if yes {
		return value{kind: boolType, state: known, i: 1}
	}
	return value{kind: boolType, state: known}
}

// address is a pointer to what an expression stands for. A variable moves to memory of its own for it.
func (x *execution) address(n *node) value {
	for n.op == opCast {
		n = n.args[0]
	}
	to := x.place(n)
	if to == nil {
		if n.op == opName && x.kernels[n.text] != nil {
			return value{kind: lambdaType, state: known}
		}
		return value{}
	}
	if to.object == nil {
		v := to.value
		if v.kind == nil {
			return value{}
		}
		o := &object{elem: v.kind, n: 1, bytes: v.kind.size}
		o.store(0, v)
		to.object, to.at = o, 0
	}
	kind := to.object.elem
	if r := to.object.record; r != nil {
		kind = r.fields[to.at].kind
	}
	return value{kind: pointerTo(kind), state: known, object: to.object, at: to.at}
}

func (x *execution) stepped(n *node) value {
	to := x.place(n.args[0])
	if to == nil {
		return value{}
	}
	old := to.load()
	by := int64(1)
	if n.text == "--" {
		by = -1
	}
	now := x.added(old, by)
	to.store(now)
	if n.f == 1 {
		return old
	}
	return now
}

// added is a number or a pointer and so many more.
func (x *execution) added(v value, by int64) value {
	switch {
	case v.kind == nil || v.state != known:
		return value{kind: v.kind}
	case v.kind.form == formInt:
		return integerValue(v.kind, v.i+by)
	case v.kind.form == formFloat:
		v.f += float64(by)
		return v
	case v.kind.form == formPointer && v.object != nil:
		v.at += by
		return v
	}
	return value{kind: v.kind}
}

func (x *execution) assign(n *node) value {
	right := x.valueOrList(n)
	to := x.place(n.args[0])
	if to == nil {
		x.taintPlace(n.args[0])
		return right
	}
	old := to.load()
	if n.text != "" {
		right = x.operate(n.text, old, right)
	}
	if old.kind != nil {
		right = x.convert(x.decayFor(right, old.kind), old.kind)
	}
	right = x.clone(right)
	to.store(right)
	return right
}

// decayFor is a value as it is assigned to a type: an array as a pointer.
func (x *execution) decayFor(v value, t *ctype) value {
	if t != nil && t.form == formPointer {
		return x.decay(v)
	}
	return v
}

func (x *execution) valueOrList(n *node) value {
	right := n.args[1]
	if right != nil && right.op == opList && right.kind == nil {
		if to := x.place(n.args[0]); to != nil {
			return x.listed(to.load().kind, right)
		}
	}
	return x.value(right)
}

func (x *execution) choice(n *node) value {
	yes, ok := x.value(n.args[0]).truth()
	if !ok {
		a := x.value(n.args[1])
		x.value(n.args[2])
		return value{kind: a.kind}
	}
	if yes {
		return x.value(n.args[1])
	}
	return x.value(n.args[2])
}

func (x *execution) sizeOf(n *node) value {
	t := x.resolve(n.kind)
	if n.kind == nil {
		t = x.value(n.args[0]).kind
	}
	if t == nil || t.size <= 0 {
		return value{kind: sizeType}
	}
	return integerValue(sizeType, t.size)
}

func (x *execution) allocate(n *node) value {
	t := x.resolve(n.kind)
	count := int64(1)
	if len(n.args) > 0 {
		v := x.value(n.args[0])
		if v.state != known || v.i < 0 {
			return value{kind: pointerTo(t)}
		}
		count = v.i
	}
	return value{kind: pointerTo(t), state: known, object: elements(t, count)}
}
