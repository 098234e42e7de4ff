package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"tilescope/probes"
)

// Subvalue is what a part of a node's computation comes to for one cell.
type Subvalue struct {
	Text string // in the names of stages, inputs and operands: "rsqrt(var + 0.00001)"
	X    float64
}

// Subvalues lists what the parts of a node's computation come to for one cell, the cell itself and its
// operands left out. leaf is the number of a stage or input for that cell; where it is not known, so is
// nothing that is made of it. What sums over cells has no parts.
func Subvalues(n *probes.Node, leaf func(o *probes.Operand) (float64, bool)) []Subvalue {
	s := &subvalues{leaf: leaf}
	s.node(n)
	if len(s.out) > 0 && !math.IsNaN(s.root) {
		s.out = s.out[:len(s.out)-1] // the last is the cell's own
	}
	return slices.DeleteFunc(s.out, func(v Subvalue) bool { return math.IsNaN(v.X) || math.IsInf(v.X, 0) })
}

// subvalues collects the parts of a computation, what a part is made of before it.
type subvalues struct {
	leaf func(o *probes.Operand) (float64, bool)
	out  []Subvalue
	root float64
}

// add notes a part; NaN is one that is not known.
func (s *subvalues) add(text string, x float64) float64 {
	s.root = x
	if !math.IsNaN(x) {
		s.out = append(s.out, Subvalue{text, x})
	}
	return x
}

// operand is an operand's number, and how it is written.
func (s *subvalues) operand(o *probes.Operand) (string, float64) {
	if o.Node != nil && o.Node.Op != "load" {
		return operandText(o, ""), s.node(o.Node)
	}
	if x, ok := s.leaf(o); ok {
		return operandText(o, ""), x
	}
	return operandText(o, ""), math.NaN()
}

// node is the number of a node, NaN where it is not known.
func (s *subvalues) node(n *probes.Node) float64 {
	switch {
	case n.Op == "map":
		tree, err := parser.Parse(n.Params.Word["expr"])
		names := split(n.Params.Word["names"])
		if err != nil || len(names) != len(n.Args) {
			return math.NaN()
		}
		values := map[string]float64{}
		for name, x := range n.Params.Number {
			values[name] = x
		}
		for i := range n.Args {
			_, values[names[i]] = s.operand(&n.Args[i])
		}
		return s.expression(writtenOut(tree.Node), values)
	case n.Op == "exp_below" && len(n.Args) == 2:
		a, x := s.operand(&n.Args[0])
		b, y := s.operand(&n.Args[1])
		s.add(a+" - "+b, x-y)
		return s.add("exp("+a+" - "+b+")", math.Exp(x-y))
	case n.Op == "divide" && len(n.Args) == 2:
		a, x := s.operand(&n.Args[0])
		b, y := s.operand(&n.Args[1])
		return s.add(a+"/"+b, x/y)
	case n.Op == "lse" && len(n.Args) == 2:
		a, x := s.operand(&n.Args[0])
		b, y := s.operand(&n.Args[1])
		s.add("log("+b+")", math.Log(y))
		return s.add(a+" + log("+b+")", x+math.Log(y))
	case n.Op == "cast" && len(n.Args) == 1:
		_, x := s.operand(&n.Args[0])
		return x
	case n.Op == "scale" && len(n.Args) == 1:
		a, x := s.operand(&n.Args[0])
		return s.add(a+"*"+numberText(n, "factor"), x*n.Params.Number["factor"])
	}
	return math.NaN()
}

// writtenOut is an expression with the functions that are written with others in these.
func writtenOut(n ast.Node) ast.Node {
	list := slices.Clone(parts(n))
	for i := range list {
		list[i] = writtenOut(list[i])
	}
	if len(list) > 0 {
		n = withParts(n, list)
	}
	if out := expanded(n); out != nil {
		return out
	}
	return n
}

// expression is the number of an expression, NaN where it is not known.
func (s *subvalues) expression(n ast.Node, values map[string]float64) float64 {
	of := make([]float64, 0, 2)
	for _, p := range parts(n) {
		of = append(of, s.expression(p, values))
	}
	x := math.NaN()
	switch n := n.(type) {
	case *ast.IntegerNode:
		return float64(n.Value)
	case *ast.FloatNode:
		return n.Value
	case *ast.IdentifierNode:
		if v, ok := values[n.Value]; ok {
			return v
		}
		return x
	case *ast.UnaryNode:
		if x = of[0]; n.Operator == "-" {
			x = -x
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "+":
			x = of[0] + of[1]
		case "-":
			x = of[0] - of[1]
		case "*":
			x = of[0] * of[1]
		case "/":
			x = of[0] / of[1]
		}
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok {
			x = called(name.Value, of)
		}
	case *ast.BuiltinNode:
		x = called(n.Name, of)
	}
	return s.add(fmt.Sprint(n), x)
}

// called is what a function of numbers gives, NaN for none that is known.
func called(name string, of []float64) float64 {
	f, known := functions[name]
	switch {
	case known && len(of) == 1:
		return f.f(of[0])
	case name == "max" && len(of) == 2:
		return math.Max(of[0], of[1])
	case name == "min" && len(of) == 2:
		return math.Min(of[0], of[1])
	}
	return math.NaN()
}
