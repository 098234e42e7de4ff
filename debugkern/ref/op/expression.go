package op

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// expressionName is the fingerprint of an expression with one change.
const expressionName = "expression"

// mistakeList is a kernel's mistakes, made once: graphs share kernels between goroutines.
type mistakeList struct {
	once sync.Once
	all  []Mistake
}

// Mistakes implements Mistaken: the expression with one change that kernels make of it.
func (k *mappedKernel) Mistakes() []Mistake {
	k.mistakes.once.Do(func() {
		tree, err := parser.Parse(k.text)
		if err != nil {
			return
		}
		for _, v := range k.variants(tree.Node) {
			b := *k.builder
			b.indices = slices.Clone(k.indices)
			c, err := b.build(v.node)
			if err != nil || len(b.indices) != len(k.indices) {
				continue
			}
			wrong := *k
			wrong.cell = c
			k.mistakes.all = append(k.mistakes.all, Mistake{
				Name: expressionName, Value: fmt.Sprintf("%s: %s", v.what, v.node), Kernel: &wrong,
			})
		}
	})
	return k.mistakes.all
}

// variant is an expression with one change, and the change in words. Of two that compute the same the one
// with the lower rank says it.
type variant struct {
	node ast.Node
	what string
	rank int
}

// The ranks of variants.
const (
	rankOperand = iota
	rankFunction
	rankOperator
	rankTwice
)

// variants lists an expression's changes: of operands wherever they stand, then of single operations.
func (k *mappedKernel) variants(root ast.Node) []variant {
	var out []variant
	for _, name := range k.names {
		if !uses(root, name) {
			continue
		}
		if len(k.names) > 1 {
			out = append(out, variant{
				substituted(root, map[string]ast.Node{name: &ast.IntegerNode{}}), name + " taken as 0",
				rankOperand,
			})
		}
		for _, other := range k.names {
			if other != name {
				with := map[string]ast.Node{name: &ast.IdentifierNode{Value: other}}
				out = append(out, variant{
					substituted(root, with), other + " in place of " + name, rankOperand,
				})
			}
		}
	}
	out = append(out, changed(root)...)
	slices.SortStableFunc(out, func(a, b variant) int { return a.rank - b.rank })
	return out
}

// uses reports whether a name stands in an expression.
func uses(n ast.Node, name string) bool {
	if id, ok := n.(*ast.IdentifierNode); ok {
		return id.Value == name
	}
	return slices.ContainsFunc(parts(n), func(p ast.Node) bool { return uses(p, name) })
}

// parts are what an operation is applied to.
func parts(n ast.Node) []ast.Node {
	switch n := n.(type) {
	case *ast.UnaryNode:
		return []ast.Node{n.Node}
	case *ast.BinaryNode:
		return []ast.Node{n.Left, n.Right}
	case *ast.CallNode:
		return n.Arguments
	case *ast.BuiltinNode:
		return n.Arguments
	}
	return nil
}

// withParts is the same operation on other parts.
func withParts(n ast.Node, to []ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.UnaryNode:
		return &ast.UnaryNode{Operator: n.Operator, Node: to[0]}
	case *ast.BinaryNode:
		return &ast.BinaryNode{Operator: n.Operator, Left: to[0], Right: to[1]}
	case *ast.CallNode:
		return &ast.CallNode{Callee: n.Callee, Arguments: to}
	case *ast.BuiltinNode:
		return &ast.BuiltinNode{Name: n.Name, Arguments: to}
	}
	return n
}

// substituted is an expression with other expressions in the place of names.
func substituted(n ast.Node, with map[string]ast.Node) ast.Node {
	if id, ok := n.(*ast.IdentifierNode); ok {
		if to, ok := with[id.Value]; ok {
			return to
		}
		return n
	}
	list := slices.Clone(parts(n))
	for i := range list {
		list[i] = substituted(list[i], with)
	}
	return withParts(n, list)
}

// changed lists an expression with one operation changed.
func changed(n ast.Node) []variant {
	out := changesOf(n)
	list := parts(n)
	for i, p := range list {
		for _, v := range changed(p) {
			to := slices.Clone(list)
			to[i] = v.node
			out = append(out, variant{withParts(n, to), v.what, v.rank})
		}
	}
	if body := expanded(n); body != nil {
		out = append(out, changed(body)...)
	}
	return out
}

// changesOf are the changes of an expression's outermost operation.
func changesOf(n ast.Node) []variant {
	switch n := n.(type) {
	case *ast.BinaryNode:
		return operatorChanges(n)
	case *ast.UnaryNode:
		return []variant{{n.Node, "without the sign", rankOperator}}
	case *ast.CallNode:
		if f, ok := n.Callee.(*ast.IdentifierNode); ok && len(n.Arguments) == 1 {
			return functionChanges(f.Value, n)
		}
	case *ast.FloatNode:
		return constantChanges(n.Value)
	}
	return nil
}

func binary(operator string, x, y ast.Node) ast.Node {
	return &ast.BinaryNode{Operator: operator, Left: x, Right: y}
}

// operatorChanges are an operand left out, taken twice or exchanged, and the inverse operation.
func operatorChanges(n *ast.BinaryNode) []variant {
	x, y := n.Left, n.Right
	inverse := map[string]string{"+": "-", "-": "+", "*": "/", "/": "*"}[n.Operator]
	if inverse == "" {
		return nil
	}
	other := fmt.Sprintf("%s %s in place of %s %s", inverse, y, n.Operator, y)
	if n.Operator == "+" || n.Operator == "-" {
		other = "the sign, " + other
	}
	out := []variant{
		{x, fmt.Sprintf("without %s %s", n.Operator, y), rankOperator},
		{binary(inverse, x, y), other, rankOperator},
		{binary(n.Operator, n, y), fmt.Sprintf("%s %s twice", n.Operator, y), rankTwice},
	}
	switch n.Operator {
	case "-", "/":
		out = append(out, variant{
			binary(n.Operator, y, x), fmt.Sprintf("the operands of %s exchanged", n.Operator), rankOperator,
		})
	default:
		out = append(out, variant{y, fmt.Sprintf("without %s %s", x, n.Operator), rankOperator},
			variant{binary(n.Operator, x, n), fmt.Sprintf("%s %s twice", x, n.Operator), rankTwice})
	}
	return out
}

// alike are functions that stand for each other in error.
var alike = [][]string{{"exp", "exp2"}, {"log", "log2"}, {"tanh", "erf"}, {"gelu", "gelu_tanh"}}

// functionChanges are the function left out or another one in its place, and a term that belongs into its
// argument outside.
func functionChanges(name string, n *ast.CallNode) []variant {
	x := n.Arguments[0]
	call := func(name string, x ast.Node) ast.Node {
		return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: []ast.Node{x}}
	}
	out := []variant{{x, "without " + name, rankFunction}}
	switch name {
	case "rsqrt":
		out = append(out,
			variant{binary("/", &ast.IntegerNode{Value: 1}, x), "the root left out", rankFunction},
			variant{call("sqrt", x), "the root in place of its reciprocal", rankFunction})
	case "sqrt":
		out = append(out, variant{call("rsqrt", x), "the reciprocal root in place of the root", rankFunction})
	}
	for _, set := range alike {
		if slices.Contains(set, name) {
			for _, other := range set {
				if other != name {
					out = append(out, variant{
						call(other, x), fmt.Sprintf("%s in place of %s", other, name), rankFunction,
					})
				}
			}
		}
	}
	if b, ok := x.(*ast.BinaryNode); ok && (b.Operator == "+" || b.Operator == "-") {
		out = append(out, variant{
			binary(b.Operator, call(name, b.Left), b.Right),
			fmt.Sprintf("%s %s outside of %s", b.Operator, b.Right, name), rankFunction,
		})
	}
	return out
}

// constants are numbers that stand for each other in formulas.
var constants = []Constant{
	{"√(2/π)", math.Sqrt(2 / math.Pi)}, {"1/√2", math.Sqrt2 / 2}, {"√2", math.Sqrt2}, {"log2 e", math.Log2E},
	{"ln 2", math.Ln2}, {"1/2", 0.5}, {"1", 1}, {"2", 2}, {"2/√π", 2 / math.SqrtPi}, {"1.702", 1.702},
}

// constantChanges are other numbers in the place of one.
func constantChanges(x float64) []variant {
	var out []variant
	for _, c := range append(slices.Clone(constants), Constant{"twice", 2 * x}, Constant{"half", x / 2},
		Constant{"the reciprocal", 1 / x}) {
		if math.Abs(c.Value-x) > 1e-6*math.Abs(x) {
			out = append(out, variant{
				&ast.FloatNode{Value: c.Value},
				fmt.Sprintf("%.6g (%s) in place of %.6g", c.Value, c.Name, x), rankFunction,
			})
		}
	}
	return out
}

// expanded is a call of a function that is written with others, as these; nil for anything else.
func expanded(n ast.Node) ast.Node {
	call, ok := n.(*ast.CallNode)
	if !ok {
		return nil
	}
	f, ok := call.Callee.(*ast.IdentifierNode)
	if !ok {
		return nil
	}
	c, ok := composites[f.Value]
	if !ok || len(c.params) != len(call.Arguments) {
		return nil
	}
	tree, err := parser.Parse(c.body)
	if err != nil {
		return nil
	}
	with := map[string]ast.Node{}
	for i, p := range c.params {
		with[p] = call.Arguments[i]
	}
	return substituted(tree.Node, with)
}
