package expr

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/probes"
)

// node is a part of an expression.
type node interface {
	eval(env Env, lane int) (Value, error)
	bind(values map[string]int64) node
}

type (
	literal  struct{ v Value }
	variable struct {
		name string
		pos  int // in the text
	}
	register struct {
		name string
		lane int // -1: the lane that is evaluated
	}
	cell struct {
		array string
		index []node
	}
	unary struct {
		op string
		x  node
	}
	binary struct {
		op   string
		x, y node
	}
	call struct {
		fn   *function
		args []node
	}
)

func (n literal) eval(Env, int) (Value, error) { return n.v, nil }
func (n literal) bind(map[string]int64) node   { return n }
func (n register) bind(map[string]int64) node  { return n }
func (n unary) bind(v map[string]int64) node   { return unary{n.op, n.x.bind(v)} }
func (n binary) bind(v map[string]int64) node  { return binary{n.op, n.x.bind(v), n.y.bind(v)} }
func (n call) bind(v map[string]int64) node    { return call{n.fn, bindAll(n.args, v)} }
func (n cell) bind(v map[string]int64) node    { return cell{n.array, bindAll(n.index, v)} }
func (n variable) bind(v map[string]int64) node {
	if x, ok := v[n.name]; ok {
		return literal{Number(x)}
	}
	return n
}

func bindAll(nodes []node, v map[string]int64) []node {
	out := make([]node, len(nodes))
	for i, n := range nodes {
		out[i] = n.bind(v)
	}
	return out
}

func (n variable) eval(env Env, lane int) (Value, error) { return env.Name(n.name, lane) }

func (n register) eval(env Env, lane int) (Value, error) {
	if n.lane >= 0 {
		lane = n.lane
	}
	return env.Register(n.name, lane)
}

func (n cell) eval(env Env, lane int) (Value, error) {
	index := make([]int64, len(n.index))
	for i, x := range n.index {
		v, err := x.eval(env, lane)
		if err != nil {
			return Value{}, err
		}
		if v.Kind != Integer {
			return Value{}, fmt.Errorf("the %s index of %s is %s, expected an integer", Ordinal(i), n.array,
				v.Decimal())
		}
		index[i] = v.Int
	}
	return env.Cell(n.array, index)
}

func (n unary) eval(env Env, lane int) (Value, error) {
	v, err := n.x.eval(env, lane)
	if err != nil {
		return v, err
	}
	switch {
	case n.op == "!":
		return True(!v.Holds()), nil
	case n.op == "~" && v.Kind == Real:
		return v, fmt.Errorf("~ needs an integer: bits(x) reads the bits of a number")
	case n.op == "~":
		return Value{Int: ^v.Int, Unwritten: v.Unwritten}, nil
	case n.op == "-" && v.Kind == Real:
		return Value{Kind: Real, Float: -v.Float, Unwritten: v.Unwritten}, nil
	case n.op == "-":
		return Value{Int: -v.Int, Unwritten: v.Unwritten}, nil
	}
	return v, nil
}

func (n binary) eval(env Env, lane int) (Value, error) {
	a, err := n.x.eval(env, lane)
	if err != nil {
		return a, err
	}
	switch {
	case n.op == "&&" && !a.Holds():
		return True(false), nil
	case n.op == "||" && a.Holds():
		return True(true), nil
	}
	b, err := n.y.eval(env, lane)
	switch {
	case err != nil:
		return b, err
	case n.op == "&&" || n.op == "||":
		return True(b.Holds()), nil
	case strings.ContainsAny(n.op, "=<>") && n.op != "<<" && n.op != ">>":
		return compare(n.op, a, b), nil
	}
	v, err := arithmetic(n.op, a, b)
	v.Unwritten = a.Unwritten || b.Unwritten
	if v.Unwritten && errors.Is(err, errZero) { // what the zero is is not known
		err = nil
	}
	return v, err
}

// arithmetic computes with numbers.
func arithmetic(op string, a, b Value) (Value, error) {
	if a.Kind == Real || b.Kind == Real {
		return float(op, a.real(), b.real())
	}
	return integer(op, a, b)
}

// function is something that can be called.
type function struct {
	name, help string
	args       int
	do         func(args []Value) (Value, error)
}

// functions are those that convert, those that look at a number, and one for each type that reads bits as it.
var functions = library()

func library() map[string]*function {
	out := map[string]*function{}
	for _, f := range []function{
		{"int", "without what is behind the point", 1, func(a []Value) (Value, error) {
			if a[0].Kind != Real {
				return Value{Int: a[0].Int, Unsigned: a[0].Unsigned}, nil
			}
			if v := math.Trunc(a[0].Float); math.Abs(v) < 1<<63 {
				return Number(int64(v)), nil
			}
			if a[0].Unwritten { // its bytes may be any
				return Value{Unwritten: true}, nil
			}
			return Value{}, fmt.Errorf("int(%s) does not fit 64 bits", a[0].Decimal())
		}},
		{"float", "as a floating-point number", 1, func(a []Value) (Value, error) {
			return Value{Kind: Real, Float: a[0].real()}, nil
		}},
		{"bits", "the bits as an integer", 1, func(a []Value) (Value, error) {
			switch {
			case a[0].Size > 0:
				return Value{Int: int64(a[0].Bits), Unsigned: true}, nil
			case a[0].Kind == Real:
				return Value{Int: int64(math.Float64bits(a[0].Float)), Unsigned: true}, nil
			}
			return Value{Int: a[0].Int, Unsigned: true}, nil
		}},
		{"abs", "without its sign", 1, func(a []Value) (Value, error) {
			if a[0].Kind == Real {
				return Value{Kind: Real, Float: math.Abs(a[0].Float)}, nil
			}
			return Number(max(a[0].Int, -a[0].Int)), nil
		}},
		{"isnan", "is not a number", 1, func(a []Value) (Value, error) {
			return True(math.IsNaN(a[0].real())), nil
		}},
		{"isinf", "is infinite", 1, func(a []Value) (Value, error) {
			return True(math.IsInf(a[0].real(), 0)), nil
		}},
		{"min", "the smaller", 2, func(a []Value) (Value, error) {
			if compare("<", a[1], a[0]).Holds() {
				return a[1], nil
			}
			return a[0], nil
		}},
		{"max", "the larger", 2, func(a []Value) (Value, error) {
			if compare(">", a[1], a[0]).Holds() {
				return a[1], nil
			}
			return a[0], nil
		}},
	} {
		out[f.name] = &f
	}
	for t := probes.U8; t <= probes.I16; t++ {
		out[t.String()] = &function{
			t.String(), "the low bits read as " + t.String(), 1, func(a []Value) (Value, error) {
				bits := uint64(a[0].Int)
				switch {
				case a[0].Size > 0:
					bits = a[0].Bits
				case a[0].Kind == Real:
					return Value{},
						fmt.Errorf("%s(x) reads bits and %s was computed: float(x), int(x) convert",
							t, a[0].Decimal())
				}
				if t.Size() < 8 {
					bits &= 1<<(8*t.Size()) - 1
				}
				v := Of(t, bits)
				v.Unwritten = a[0].Unwritten
				return v, nil
			},
		}
	}
	return out
}

func (n call) eval(env Env, lane int) (Value, error) {
	args := make([]Value, len(n.args))
	for i, x := range n.args {
		var err error
		if args[i], err = x.eval(env, lane); err != nil {
			return Value{}, err
		}
	}
	v, err := n.fn.do(args)
	if v.Kind != Truth {
		v.Unwritten = slices.ContainsFunc(args, func(a Value) bool { return a.Unwritten })
	}
	return v, err
}
