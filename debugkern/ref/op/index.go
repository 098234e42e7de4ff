package op

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"tilescope/probes"
)

// indexer compiles expressions of whole numbers: of a cell's row r and column c, of positions and constants
// of the launch, and of the elements of inputs, table[batch][page]. They are evaluated when a tile is
// computed, so that a position may depend on the inputs' values.
type indexer struct {
	at      map[string]probes.Extent
	numbers map[string]float64
	tensor  func(name string) Tensor
	columns bool // an expression uses c
	lookups bool // or an element of an input
}

// newIndexer is for a node's expressions.
func newIndexer(n *probes.Node, env *Env) *indexer {
	x := &indexer{at: map[string]probes.Extent{}, numbers: n.Params.Number, tensor: env.Tensor}
	for name, e := range n.Params.Index {
		if len(e) == 1 {
			x.at[name] = e[0]
		}
	}
	return x
}

// spot is where an index expression is evaluated, and how a kernel may get it wrong.
type spot struct {
	t    *Tile
	r, c int
	bad  bool // no number: an element that an input does not have, a division by 0

	step  int  // added to the last subscript of every element of an input
	plain bool // an element of an input is its last subscript
}

// indexFunc evaluates an index expression; it sets bad where there is no value.
type indexFunc func(p *spot) int

func (x *indexer) compile(text string) (indexFunc, error) {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %v", text, err)
	}
	f, err := x.build(tree.Node)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return f, nil
}

func (x *indexer) build(n ast.Node) (indexFunc, error) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return func(*spot) int { return n.Value }, nil
	case *ast.IdentifierNode:
		return x.name(n.Value)
	case *ast.MemberNode:
		return x.element(n)
	case *ast.UnaryNode:
		f, err := x.build(n.Node)
		if err != nil || n.Operator == "+" {
			return f, err
		}
		if n.Operator != "-" {
			return nil, fmt.Errorf("unknown operator %s", n.Operator)
		}
		return func(p *spot) int { return -f(p) }, nil
	case *ast.BinaryNode:
		return x.binary(n)
	case *ast.BuiltinNode:
		return x.call(n.Name, n.Arguments)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return x.call(callee.Value, n.Arguments)
		}
	}
	return nil, fmt.Errorf("%s is no whole number", n)
}

// name is the cell's row or column, a position, or a constant.
func (x *indexer) name(name string) (indexFunc, error) {
	switch name {
	case "r":
		return func(p *spot) int { return p.r }, nil
	case "c":
		x.columns = true
		return func(p *spot) int { return p.c }, nil
	}
	if e, ok := x.at[name]; ok {
		return func(p *spot) int { return e.At(p.t.Block, p.t.Iter) }, nil
	}
	if v, ok := x.numbers[name]; ok && v == float64(int(v)) {
		return func(*spot) int { return int(v) }, nil
	}
	return nil, fmt.Errorf("no whole number %s", name)
}

// element is an element of an input: one subscript for each of its dimensions.
func (x *indexer) element(n *ast.MemberNode) (indexFunc, error) {
	var of ast.Node = n
	var subscripts []indexFunc
	for {
		m, ok := of.(*ast.MemberNode)
		if !ok {
			break
		}
		f, err := x.build(m.Property)
		if err != nil {
			return nil, err
		}
		subscripts, of = append(subscripts, f), m.Node
	}
	slices.Reverse(subscripts)
	name, ok := of.(*ast.IdentifierNode)
	if !ok {
		return nil, fmt.Errorf("%s is no input", of)
	}
	tensor := x.tensor(name.Value)
	if tensor == nil {
		return nil, fmt.Errorf("no input %s", name.Value)
	}
	dims := tensor.Dims()
	if len(subscripts) != len(dims) {
		return nil, fmt.Errorf("%s has %d dimensions, not %d", name.Value, len(dims), len(subscripts))
	}
	x.lookups = true
	return func(p *spot) int {
		at, last := 0, 0
		for d, f := range subscripts {
			if last = f(p); d == len(dims)-1 {
				last += p.step
			}
			if last < 0 || last >= dims[d] {
				p.bad = true
				return 0
			}
			at = at*dims[d] + last
		}
		if p.plain {
			return last
		}
		var v [1]float64
		tensor.Decode(v[:], at)
		if v[0] != float64(int(v[0])) {
			p.bad = true
		}
		return int(v[0])
	}, nil
}

func (x *indexer) binary(n *ast.BinaryNode) (indexFunc, error) {
	f, err := x.build(n.Left)
	if err != nil {
		return nil, err
	}
	g, err := x.build(n.Right)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "+":
		return func(p *spot) int { return f(p) + g(p) }, nil
	case "-":
		return func(p *spot) int { return f(p) - g(p) }, nil
	case "*":
		return func(p *spot) int { return f(p) * g(p) }, nil
	case "%":
		return func(p *spot) int { a, b := f(p), g(p); return a - floorDiv(p, a, b)*b }, nil
	case "/":
		return nil, fmt.Errorf(
			"/ may leave a remainder; write div(a, b), which rounds down, or ceil_div(a, b)")
	}
	return nil, fmt.Errorf("unknown operator %s", n.Operator)
}

// floorDiv is a/b rounded down.
func floorDiv(p *spot, a, b int) int {
	if b == 0 {
		p.bad = true
		return 0
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func (x *indexer) call(name string, nodes []ast.Node) (indexFunc, error) {
	args := make([]indexFunc, len(nodes))
	for i, n := range nodes {
		var err error
		if args[i], err = x.build(n); err != nil {
			return nil, err
		}
	}
	if len(args) == 2 {
		f, g := args[0], args[1]
		switch name {
		case "div":
			return func(p *spot) int { return floorDiv(p, f(p), g(p)) }, nil
		case "ceil_div":
			return func(p *spot) int { return -floorDiv(p, -f(p), g(p)) }, nil
		case "min":
			return func(p *spot) int { return min(f(p), g(p)) }, nil
		case "max":
			return func(p *spot) int { return max(f(p), g(p)) }, nil
		}
	}
	const say = "no function %s of %d arguments; there are div, ceil_div, min and max of two"
	return nil, fmt.Errorf(say, name, len(args))
}

// condition compiles a rule: comparisons of index expressions, with || and && between.
func (x *indexer) condition(text string) (func(p *spot) bool, error) {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %v", text, err)
	}
	f, err := x.rule(tree.Node)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return f, nil
}

func (x *indexer) rule(n ast.Node) (func(p *spot) bool, error) {
	b, ok := n.(*ast.BinaryNode)
	if !ok {
		return nil, fmt.Errorf("expected comparisons such as key + c < used[batch]")
	}
	if b.Operator == "||" || b.Operator == "&&" {
		f, err := x.rule(b.Left)
		if err != nil {
			return nil, err
		}
		g, err := x.rule(b.Right)
		if err != nil {
			return nil, err
		}
		if b.Operator == "||" {
			return func(p *spot) bool { return f(p) || g(p) }, nil
		}
		return func(p *spot) bool { return f(p) && g(p) }, nil
	}
	f, err := x.build(b.Left)
	if err != nil {
		return nil, err
	}
	g, err := x.build(b.Right)
	if err != nil {
		return nil, err
	}
	switch b.Operator {
	case "<":
		return func(p *spot) bool { return f(p) < g(p) }, nil
	case "<=":
		return func(p *spot) bool { return f(p) <= g(p) }, nil
	case ">":
		return func(p *spot) bool { return f(p) > g(p) }, nil
	case ">=":
		return func(p *spot) bool { return f(p) >= g(p) }, nil
	case "==":
		return func(p *spot) bool { return f(p) == g(p) }, nil
	}
	return nil, fmt.Errorf("unknown comparison %s", b.Operator)
}
