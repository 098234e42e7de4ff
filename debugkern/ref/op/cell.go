package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"tilescope/debugkern/fp"
)

// cell is a compiled part of map's expression. eval computes it from the numbers v and errors e of the
// operands, in order, and the values of the index variables after them; round computes it with each operation
// rounded to float32.
type cell struct {
	eval  func(v, e []float64) (x, err float64)
	round func(v []float32) float32
	// whole is set where it is made of whole numbers and index variables by +, -, * and the like: exact as
	// long as the type holds it.
	whole bool
}

// cellBuilder turns an expression into functions of a cell.
type cellBuilder struct {
	names    []string // operands
	indices  []string // index variables that the expression uses, appended to as it is built
	position func(name string) bool
	numbers  map[string]float64
	exponential
	by      map[string]string // the instruction of a function, where the stage's compute names it
	chip    *fp.Model
	reasons []string // of functions whose instruction has a bound of its own
	u       float64  // half an ulp of what is computed in
}

func (b *cellBuilder) build(n ast.Node) (cell, error) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return b.constant(float64(n.Value)), nil
	case *ast.FloatNode:
		return b.constant(n.Value), nil
	case *ast.IdentifierNode:
		return b.name(n.Value)
	case *ast.UnaryNode:
		x, err := b.build(n.Node)
		if err != nil || n.Operator == "+" {
			return x, err
		}
		if n.Operator != "-" {
			return cell{}, fmt.Errorf("unknown operator %s", n.Operator)
		}
		return cell{func(v, e []float64) (float64, float64) { a, ea := x.eval(v, e); return -a, ea },
			func(v []float32) float32 { return -x.round(v) }, x.whole}, nil
	case *ast.BinaryNode:
		return b.binary(n)
	case *ast.CallNode:
		name, ok := n.Callee.(*ast.IdentifierNode)
		if !ok {
			return cell{}, fmt.Errorf("a call of no function")
		}
		return b.call(name.Value, n.Arguments)
	case *ast.BuiltinNode:
		return b.call(n.Name, n.Arguments)
	}
	return cell{}, fmt.Errorf("%s is not arithmetic", n)
}

// name is an operand, an index variable, or a constant.
func (b *cellBuilder) name(name string) (cell, error) {
	if i := slices.Index(b.names, name); i >= 0 {
		value := func(v, e []float64) (float64, float64) { return v[i], e[i] }
		return cell{value, func(v []float32) float32 { return v[i] }, false}, nil
	}
	if x, ok := b.numbers[name]; ok {
		return b.constant(x), nil
	}
	if !isCellIndex(name) && !b.position(name) {
		return cell{}, fmt.Errorf("no operand %q; it has %s", name, strings.Join(b.names, ", "))
	}
	i := slices.Index(b.indices, name)
	if i < 0 {
		i, b.indices = len(b.indices), append(b.indices, name)
	}
	i += len(b.names)
	value := func(v, _ []float64) (float64, float64) { return b.representable(v[i]) }
	return cell{value, func(v []float32) float32 { return v[i] }, true}, nil
}

// isCellIndex reports whether a name is that of a cell's row or column.
func isCellIndex(name string) bool { return name == "r" || name == "c" }

// representable is a whole number in the type that is computed in, with its error: exact up to 2^24 in
// f32, else rounded once.
func (b *cellBuilder) representable(x float64) (float64, float64) {
	if math.Abs(x)*b.u <= 1 {
		return x, 0
	}
	return b.rounded(x, 0)
}

// wholeNumber is the result of an operation on whole numbers: exact as they are.
func (b *cellBuilder) wholeNumber(x, err float64) (float64, float64) {
	if err != 0 {
		return b.rounded(x, err)
	}
	return b.representable(x)
}

func (b *cellBuilder) constant(x float64) cell {
	off, f := math.Abs(x-float64(float32(x))), float32(x)
	value := func(_, _ []float64) (float64, float64) { return x, off }
	return cell{value, func([]float32) float32 { return f }, x == math.Trunc(x)}
}

// rounded adds the rounding of an operation's result.
func (b *cellBuilder) rounded(x, err float64) (float64, float64) {
	return x, err + b.Coefs[TermRound]/u32*b.u*(math.Abs(x)+err)
}

func (b *cellBuilder) binary(n *ast.BinaryNode) (cell, error) {
	x, err := b.build(n.Left)
	if err != nil {
		return cell{}, err
	}
	y, err := b.build(n.Right)
	if err != nil {
		return cell{}, err
	}
	out := cell{whole: x.whole && y.whole}
	finish := b.rounded
	if out.whole {
		finish = b.wholeNumber
	}
	switch n.Operator {
	case "+", "-":
		sign := 1.0
		if n.Operator == "-" {
			sign = -1
		}
		out.eval = func(v, e []float64) (float64, float64) {
			a, ea := x.eval(v, e)
			c, ec := y.eval(v, e)
			return finish(a+sign*c, ea+ec)
		}
		out.round = func(v []float32) float32 { return x.round(v) + float32(sign)*y.round(v) }
	case "*":
		out.eval = func(v, e []float64) (float64, float64) {
			a, ea := x.eval(v, e)
			c, ec := y.eval(v, e)
			return finish(a*c, math.Abs(a)*ec+math.Abs(c)*ea+ea*ec)
		}
		out.round = func(v []float32) float32 { return float32(x.round(v) * y.round(v)) }
	case "/":
		return b.quotient(x, y), nil
	default:
		return cell{}, fmt.Errorf("unknown operator %s", n.Operator)
	}
	return out, nil
}

func (b *cellBuilder) quotient(x, y cell) cell {
	return cell{eval: func(v, e []float64) (float64, float64) {
		a, ea := x.eval(v, e)
		c, ec := y.eval(v, e)
		q := a / c
		if math.Abs(c) <= ec {
			return q, math.Inf(1)
		}
		off := (ea + math.Abs(q)*ec) / (math.Abs(c) - ec)
		if math.Abs(c)+ec > math.MaxFloat32 { // the divisor may be infinite
			off += math.Abs(q)
		}
		return q, off + b.Coefs[TermDivide]*(math.Abs(q)+off)
	}, round: func(v []float32) float32 { return x.round(v) / y.round(v) }}
}

// args builds the arguments of a call.
func (b *cellBuilder) args(nodes []ast.Node) ([]cell, error) {
	out := make([]cell, len(nodes))
	for i, n := range nodes {
		var err error
		if out[i], err = b.build(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *cellBuilder) call(name string, nodes []ast.Node) (cell, error) {
	body, composite := composites[name]
	f, known := functions[name]
	pair := name == "max" || name == "min"
	switch {
	case composite && len(nodes) == len(body.params), pair && len(nodes) == 2, known && len(nodes) == 1:
	default:
		return cell{}, fmt.Errorf("no function %s of %d arguments", name, len(nodes))
	}
	args, err := b.args(nodes)
	switch {
	case err != nil:
		return cell{}, err
	case composite:
		return b.composite(body, args)
	case pair:
		return b.extreme(name, args[0], args[1]), nil
	case name == "abs":
		x := args[0]
		return cell{func(v, e []float64) (float64, float64) { a, ea := x.eval(v, e); return math.Abs(a), ea },
			func(v []float32) float32 { return float32(math.Abs(float64(x.round(v)))) }, x.whole}, nil
	}
	x, unit := args[0], instructionOf(name, b.by[name])
	if unit.reason != "" && !slices.Contains(b.reasons, unit.reason) {
		b.reasons = append(b.reasons, unit.reason)
	}
	return cell{eval: func(v, e []float64) (float64, float64) {
		a, ea := x.eval(v, e)
		y, move := f.f(a), f.move(a, ea)
		return y, move + unit.loss(b, a, ea, math.Abs(y)+move)
	}, round: func(v []float32) float32 { return unit.evaluate(b.chip, f.f, x.round(v)) }}, nil
}

// composite builds a function written with others: each argument is computed once.
func (b *cellBuilder) composite(body composite, args []cell) (cell, error) {
	tree, err := parser.Parse(body.body)
	if err != nil {
		return cell{}, err
	}
	in := *b
	in.names, in.indices, in.numbers = body.params, nil, nil
	f, err := in.build(tree.Node)
	b.reasons = in.reasons
	if err != nil {
		return cell{}, err
	}
	n := len(args)
	v0, e0, f0 := make([]float64, n), make([]float64, n), make([]float32, n)
	return cell{eval: func(v, e []float64) (float64, float64) {
		for i, x := range args {
			v0[i], e0[i] = x.eval(v, e)
		}
		return f.eval(v0, e0)
	}, round: func(v []float32) float32 {
		for i, x := range args {
			f0[i] = x.round(v)
		}
		return f.round(f0)
	}}, nil
}

func (b *cellBuilder) extreme(name string, x, y cell) cell {
	pick := math.Max
	if name == "min" {
		pick = math.Min
	}
	return cell{func(v, e []float64) (float64, float64) {
		a, ea := x.eval(v, e)
		c, ec := y.eval(v, e)
		if name == "min" { // an operand that is larger by more than both errors takes no part
			a, c = -a, -c
		}
		switch {
		case a-ea > c+ec:
			ec = 0
		case c-ec > a+ea:
			ea = 0
		}
		if name == "min" {
			a, c = -a, -c
		}
		return pick(a, c), max(ea, ec)
	}, func(v []float32) float32 {
		return float32(pick(float64(x.round(v)), float64(y.round(v))))
	}, x.whole && y.whole}
}
