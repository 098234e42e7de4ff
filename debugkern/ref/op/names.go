package op

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// NamesIn lists the names that an operator's expression uses, without those of the functions that it calls;
// nil for what is no expression.
func NamesIn(text string) []string {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil
	}
	v := &nameVisitor{called: map[*ast.IdentifierNode]bool{}}
	ast.Walk(&tree.Node, v)
	var out []string
	for _, n := range v.seen {
		if !v.called[n] && !slices.Contains(out, n.Value) {
			out = append(out, n.Value)
		}
	}
	return out
}

// nameVisitor collects names, and which of them are called.
type nameVisitor struct {
	seen   []*ast.IdentifierNode
	called map[*ast.IdentifierNode]bool
}

// Visit implements ast.Visitor.
func (v *nameVisitor) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.IdentifierNode:
		v.seen = append(v.seen, n)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			v.called[callee] = true
		}
	}
}
