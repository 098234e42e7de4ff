package expr

import (
	"fmt"
	"math"
)

// Range is the values that a variable may have, both ends included.
type Range struct{ First, Last int64 }

// lanes are those of a warp.
var lanes = Range{0, 31}

// Never returns an *Error for the first comparison of a variable with a number that holds for none of the
// values that the variable may have. ranges has those of the block; lanes are known.
func (e *Expr) Never(ranges map[string]Range) error {
	if err := never(e.root, ranges); err != nil {
		err.Text, err.Pos = e.text, err.Pos-e.from
		return err
	}
	return nil
}

func never(n node, ranges map[string]Range) *Error {
	var parts []node
	switch n := n.(type) {
	case unary:
		parts = []node{n.x}
	case binary:
		if err := neverHolds(n, ranges); err != nil {
			return err
		}
		parts = []node{n.x, n.y}
	case call:
		parts = n.args
	case cell:
		parts = n.index
	}
	for _, p := range parts {
		if err := never(p, ranges); err != nil {
			return err
		}
	}
	return nil
}

// mirrored is a comparison with its sides exchanged.
var mirrored = map[string]string{"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// neverHolds looks at one comparison; nil where it is none of a variable with a number, or may hold.
func neverHolds(n binary, ranges map[string]Range) *Error {
	op, x, y := n.op, n.x, n.y
	if _, known := mirrored[op]; !known {
		return nil
	}
	v, ok := x.(variable)
	if !ok {
		if v, ok = y.(variable); !ok {
			return nil
		}
		op, y = mirrored[op], x
	}
	r, known := ranges[v.name]
	if v.name == "lane" {
		r, known = lanes, true
	}
	c, fixed := constant(y)
	if !known || !fixed || r.holds(op, c.real()) {
		return nil
	}
	return &Error{Pos: v.pos, Msg: fmt.Sprintf("%s %s %s never holds: %[1]s is %[4]d to %[5]d", v.name, op,
		c.Decimal(), r.First, r.Last)}
}

// holds reports whether a comparison with c holds for a value of the range.
func (r Range) holds(op string, c float64) bool {
	first, last := float64(r.First), float64(r.Last)
	switch op {
	case "<":
		return first < c
	case "<=":
		return first <= c
	case ">":
		return last > c
	case ">=":
		return last >= c
	}
	return first <= c && c <= last && c == math.Trunc(c)
}

// constant is the value of a node that names nothing.
func constant(n node) (Value, bool) {
	switch n := n.(type) {
	case literal:
	case unary:
		if _, ok := constant(n.x); !ok {
			return Value{}, false
		}
	case binary:
		_, a := constant(n.x)
		if _, b := constant(n.y); !a || !b {
			return Value{}, false
		}
	default:
		return Value{}, false
	}
	v, err := n.eval(nil, 0)
	return v, err == nil
}
