package hostrun

import "math"

// promoted is the type in which an integer shorter than int is computed with; of a float of less than 32 bits
// it is float.
func (x *execution) promoted(t *ctype) *ctype {
	switch {
	case t.form == formInt && t.size < 4:
		return intType
	case t.form == formFloat && t.size < 4:
		return floatType
	}
	return t
}

// common is the type of an operation on two numbers.
func (x *execution) common(a, b *ctype) *ctype {
	a, b = x.promoted(a), x.promoted(b)
	switch {
	case a.form == formFloat && b.form == formFloat:
		if a.size >= b.size {
			return a
		}
		return b
	case a.form == formFloat:
		return a
	case b.form == formFloat:
		return b
	case a.size == b.size:
		if !a.signed {
			return a
		}
		return b
	case a.size > b.size:
		return a
	}
	return b
}

func (x *execution) binary(n *node) value {
	left := x.value(n.args[0])
	if n.text == "&&" || n.text == "||" {
		yes, ok := left.truth()
		if ok && yes == (n.text == "||") {
			return boolean(yes)
		}
		right, sure := x.value(n.args[1]).truth()
		switch {
		case ok && sure:
			return boolean(right)
		case sure && right == (n.text == "||"):
			return boolean(right)
		}
		return value{kind: boolType}
	}
	if n.text == ">>" && left.kind == nil { // std::cin >> n
		x.taintPlace(n.args[1])
	}
	return x.operate(n.text, left, x.value(n.args[1]))
}

// operate is the value of an operator on two values.
func (x *execution) operate(op string, a, b value) value {
	a, b = x.decay(a), x.decay(b)
	compares := op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">="
	switch {
	case a.kind == nil || b.kind == nil:
		if compares {
			return value{kind: boolType}
		}
		return value{}
	case a.kind.form == formPointer || b.kind.form == formPointer:
		return x.pointers(op, a, b)
	case !a.kind.scalar() || !b.kind.scalar():
		return value{}
	}
	t := x.common(a.kind, b.kind)
	if op == "<<" || op == ">>" {
		t = x.promoted(a.kind)
	}
	ca, cb := x.convert(a, t), x.convert(b, t)
	if op == "<<" || op == ">>" {
		cb = b
	}
	if ca.state != known || cb.state != known {
		if compares {
			return x.compareBounds(op, ca, cb)
		}
		return x.bounds(op, t, ca, cb)
	}
	if compares {
		return boolean(compare(op, t, ca, cb))
	}
	if t.form == formFloat {
		return x.floats(op, t, ca.f, cb.f)
	}
	return x.integers(op, t, ca.i, cb.i)
}

func compare(op string, t *ctype, a, b value) bool {
	less, equal := a.f < b.f, a.f == b.f
	if t.form == formInt {
		less, equal = a.i < b.i, a.i == b.i
		if !t.signed {
			less = uint64(a.i) < uint64(b.i)
		}
	}
	switch op {
	case "==":
		return equal
	case "!=":
		return !equal
	case "<":
		return less
	case "<=":
		return less || equal
	case ">":
		return !less && !equal
	}
	return !less
}

// compareBounds compares where one side is a range.
func (x *execution) compareBounds(op string, a, b value) value {
	if a.state == unknown || b.state == unknown || a.kind.form != formInt {
		return value{kind: boolType}
	}
	aLo, aHi, bLo, bHi := a.i, a.i, b.i, b.i
	if a.state == bounded {
		aHi = a.hi
	}
	if b.state == bounded {
		bHi = b.hi
	}
	switch {
	case op == "<" && aHi < bLo, op == "<=" && aHi <= bLo, op == ">" && aLo > bHi, op == ">=" && aLo >= bHi:
		return boolean(true)
	case op == "<" && aLo >= bHi, op == "<=" && aLo > bHi, op == ">" && aHi <= bLo, op == ">=" && aHi < bLo:
		return boolean(false)
	}
	return value{kind: boolType}
}

// bounds is the range of an operation on a range and a number.
func (x *execution) bounds(op string, t *ctype, a, b value) value {
	none := value{kind: t}
	if t.form != formInt || b.state != known {
		if t.form == formInt && a.state == known && b.state == bounded && op == "+" {
			return x.bounds(op, t, b, a)
		}
		return none
	}
	lo, hi, c := a.i, a.hi, b.i
	switch {
	case op == "%" && c > 0 && a.state == bounded && lo >= 0:
		if hi < c {
			return value{kind: t, state: bounded, i: lo, hi: hi}
		}
		return value{kind: t, state: bounded, i: 0, hi: c - 1}
	case op == "%" && c > 0:
		if !t.signed {
			return value{kind: t, state: bounded, i: 0, hi: c - 1}
		}
		return value{kind: t, state: bounded, i: 1 - c, hi: c - 1}
	case op == "&" && c >= 0:
		return value{kind: t, state: bounded, i: 0, hi: c}
	case a.state != bounded:
		return none
	case op == "+":
		lo, hi = lo+c, hi+c
	case op == "-":
		lo, hi = lo-c, hi-c
	case op == "*" && c >= 0 && hi < 1<<31 && c < 1<<31:
		lo, hi = lo*c, hi*c
	case op == "/" && c > 0:
		lo, hi = lo/c, hi/c
	default:
		return none
	}
	if wrap(t, lo) != lo || wrap(t, hi) != hi {
		return none
	}
	return value{kind: t, state: bounded, i: lo, hi: hi}
}

func (x *execution) floats(op string, t *ctype, a, b float64) value {
	var f float64
	switch op {
	case "+":
		f = a + b
	case "-":
		f = a - b
	case "*":
		f = a * b
	case "/":
		f = a / b
	default:
		return value{kind: t}
	}
	if t.name == "float" {
		f = float64(float32(f))
	}
	return value{kind: t, state: known, f: f}
}

func (x *execution) integers(op string, t *ctype, a, b int64) value {
	unsigned := !t.signed
	switch op {
	case "+":
		return integerValue(t, a+b)
	case "-":
		return integerValue(t, a-b)
	case "*":
		return integerValue(t, a*b)
	case "/", "%":
		if b == 0 || a == math.MinInt64 && b == -1 {
			return value{kind: t}
		}
		if unsigned {
			q, r := uint64(a)/uint64(b), uint64(a)%uint64(b)
			if op == "/" {
				return integerValue(t, int64(q))
			}
			return integerValue(t, int64(r))
		}
		if op == "/" {
			return integerValue(t, a/b)
		}
		return integerValue(t, a%b)
	case "&":
		return integerValue(t, a&b)
	case "|":
		return integerValue(t, a|b)
	case "^":
		return integerValue(t, a^b)
	case "<<", ">>":
		if b < 0 || b > 63 {
			return value{kind: t}
		}
		if op == "<<" {
			return integerValue(t, a<<b)
		}
		if unsigned {
			return integerValue(t, int64(uint64(a)>>b))
		}
		return integerValue(t, a>>b)
	}
	return value{kind: t}
}

// pointers is an operation on a pointer and an integer, or on two pointers.
func (x *execution) pointers(op string, a, b value) value {
	null := func(v value) bool {
		return v.state == known && v.object == nil && (v.kind.form == formPointer || v.i == 0)
	}
	switch op {
	case "==", "!=":
		switch {
		case a.object != nil && b.object != nil:
			return boolean((a.object == b.object && a.at == b.at) == (op == "=="))
		case a.object != nil && null(b), b.object != nil && null(a):
			return boolean(op == "!=")
		case null(a) && null(b):
			return boolean(op == "==")
		}
		return value{kind: boolType}
	case "+", "-":
		if op == "-" && a.object != nil && a.object == b.object {
			return integerValue(longType, a.at-b.at)
		}
		if a.kind.form != formPointer && op == "+" {
			a, b = b, a
		}
		if a.object == nil || b.kind.form != formInt || b.state != known {
			x.spoil(a)
			return value{kind: a.kind}
		}
		if op == "-" {
			return x.added(a, -b.i)
		}
		return x.added(a, b.i)
	}
	return value{kind: boolType}
}
