package configs

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr/ast"
)

// exprCompiler turns a syntax tree into closures over an environment. Only what a manifest needs is accepted:
// numbers, known names, arithmetic, comparison, logic, the conditional operator and a few functions. Types
// are checked here: what is true or false takes no part in arithmetic.
type exprCompiler struct {
	scope   *scope
	allowed class
	expr    *Expr
	nodes   int64
	errs    []string
	within  string // the input whose subscript is compiled; "": none
}

// term is a compiled part of an expression: a number, or true or false.
type term struct {
	eval
	truth bool
	bad   bool // a mistake that is reported
}

func numberTerm(f eval) term { return term{eval: f} }
func truthTerm(f eval) term  { return term{eval: f, truth: true} }

func (c *exprCompiler) fail(format string, args ...any) term {
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
	return term{eval: func(*env) value { return value{} }, bad: true}
}

// numeric reports whether operands of what are numbers, and reports those that are not.
func (c *exprCompiler) numeric(what string, operands ...term) bool {
	for _, x := range operands {
		if x.truth && !x.bad {
			c.fail("%s takes numbers, and an operand is true or false (CONDITION ? 1 : 0 is a number)", what)
			return false
		}
	}
	return true
}

func (c *exprCompiler) compile(n ast.Node) term {
	c.nodes++
	switch n := n.(type) {
	case *ast.IntegerNode:
		v := intValue(int64(n.Value))
		return numberTerm(func(*env) value { return v })
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			return c.fail("a number out of range")
		}
		v := floatValue(n.Value)
		return numberTerm(func(*env) value { return v })
	case *ast.BoolNode:
		v := boolValue(n.Value)
		return truthTerm(func(*env) value { return v })
	case *ast.IdentifierNode:
		return c.variable(n.Value)
	case *ast.MemberNode:
		return c.element(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.BuiltinNode:
		return c.call(n.Name, n.Arguments)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(id.Value, n.Arguments)
		}
	}
	return c.fail("only numbers, names, arithmetic, comparisons, && || !, ?: and functions may stand here")
}

func (c *exprCompiler) conditional(n *ast.ConditionalNode) term {
	cond, a, b := c.compile(n.Cond), c.compile(n.Exp1), c.compile(n.Exp2)
	if a.truth != b.truth && !a.bad && !b.bad {
		return c.fail("one alternative of ?: is a number and the other true or false")
	}
	return term{truth: a.truth, bad: a.bad || b.bad, eval: func(e *env) value {
		if cond.eval(e).truth() {
			return a.eval(e)
		}
		return b.eval(e)
	}}
}

func (c *exprCompiler) variable(name string) term {
	slot, ok := c.scope.slots[name]
	if !ok {
		return c.fail("unknown variable %s%s", name, suggest(name, c.scope.names(c.allowed)))
	}
	if c.scope.classes[slot]&c.allowed == 0 {
		return c.fail("%s may not stand here; allowed are %s", name, c.scope.classText(c.allowed))
	}
	if c.within != "" && (slot == c.scope.cells[0] || slot == c.scope.cells[1]) {
		return c.fail("an element of %s by row or column; that takes a stage with the operator mask",
			c.within)
	}
	if d := c.scope.derived[slot]; d != nil {
		c.nodes += d.cost
		c.expr.uses.add(d.uses)
		c.expr.reads = c.expr.reads || d.reads
		return numberTerm(d.eval)
	}
	if slot >= slotBX && slot <= slotKV {
		c.expr.uses[slot-slotBX] = true
	}
	return numberTerm(func(e *env) value { return e.vars[slot] })
}

func (c *exprCompiler) unary(n *ast.UnaryNode) term {
	x := c.compile(n.Node)
	switch n.Operator {
	case "-":
		c.numeric("-", x)
		return numberTerm(func(e *env) value { return e.arith("-", intValue(0), x.eval(e)) })
	case "+":
		c.numeric("+", x)
		return x
	case "!", "not":
		return truthTerm(func(e *env) value { return boolValue(!x.eval(e).truth()) })
	}
	return c.fail("operator %s is not known here", n.Operator)
}

func (c *exprCompiler) binary(n *ast.BinaryNode) term {
	x, y := c.compile(n.Left), c.compile(n.Right)
	a, b := x.eval, y.eval
	op := n.Operator
	switch op {
	case "+", "-", "*", "/", "%", "**":
		c.numeric(op, x, y)
		return numberTerm(func(e *env) value { x := a(e); return e.arith(op, x, b(e)) })
	case "==", "!=", "<", "<=", ">", ">=":
		if !x.truth || !y.truth || op != "==" && op != "!=" {
			c.numeric(op, x, y)
		}
		return truthTerm(func(e *env) value { x := a(e); return boolValue(compare(op, x, b(e))) })
	case "&&", "and":
		return truthTerm(func(e *env) value { return boolValue(a(e).truth() && b(e).truth()) })
	case "||", "or":
		return truthTerm(func(e *env) value { return boolValue(a(e).truth() || b(e).truth()) })
	case "^":
		return c.fail("operator ^ is not known here; a power is written **")
	}
	return c.fail("operator %s is not known here", op)
}

// conjunctsOf compiles each of the conditions that && joins at the top of an expression that is right; nil
// for any other expression.
func conjunctsOf(n ast.Node, sc *scope, allowed class) []conjunct {
	b, ok := n.(*ast.BinaryNode)
	if !ok || b.Operator != "&&" && b.Operator != "and" {
		return nil
	}
	var out []conjunct
	for _, side := range []ast.Node{b.Left, b.Right} {
		if inner := conjunctsOf(side, sc, allowed); inner != nil {
			out = append(out, inner...)
			continue
		}
		c := &exprCompiler{scope: sc, allowed: allowed, expr: &Expr{}}
		out = append(out, conjunct{side.String(), c.compile(side).eval})
	}
	return out
}

func (c *exprCompiler) call(name string, args []ast.Node) term {
	f, ok := functions[name]
	if !ok {
		return c.fail("unknown function %s%s", name, suggest(name, sortedKeys(functions)))
	}
	if f.args >= 0 && len(args) != f.args || f.args < 0 && len(args) < 1 {
		return c.fail("%s takes %s, not %d", name, plural(f.args, "argument"), len(args))
	}
	evals := make([]eval, len(args))
	for i, a := range args {
		x := c.compile(a)
		c.numeric(name, x)
		evals[i] = x.eval
	}
	return numberTerm(func(e *env) value {
		var buf [4]value
		vals := buf[:0]
		for _, x := range evals {
			vals = append(vals, x(e))
		}
		return f.do(e, vals)
	})
}
