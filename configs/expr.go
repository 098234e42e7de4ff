package configs

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"go.yaml.in/yaml/v3"
)

// class says what kind of quantity a variable is, and so where it may stand.
type class uint8

const (
	classFlag  class = 1 << iota // flags, fault symbols, gate symbols: 0 or 1, or the flag's value
	classConst                   // the manifest's constants
	classShape                   // B, H, S, D
	classBlock                   // bx, by, bz
	classTile                    // kv

	inFlags = classFlag
	inConst = inFlags | classConst
	inShape = inConst | classShape
	inBlock = inShape | classBlock
	inTile  = inBlock | classTile
)

var classNames = []struct {
	class
	say string
}{
	{classFlag, "flags"}, {classConst, "constants"}, {classShape, "the shape (B, H, S, D)"},
	{classBlock, "the block index (bx, by, bz)"}, {classTile, "the kv tile (kv)"},
}

func (c class) String() string {
	var out []string
	for _, n := range classNames {
		if c&n.class != 0 {
			out = append(out, n.say)
		}
	}
	return strings.Join(out, ", ")
}

// scope maps names to slots of an environment.
type scope struct {
	slots   map[string]int
	classes []class
}

// The first eight slots are the same in every manifest.
const (
	slotB = iota
	slotH
	slotS
	slotD
	slotBX
	slotBY
	slotBZ
	slotKV
)

func newScope() *scope {
	s := &scope{slots: map[string]int{}}
	for _, n := range []string{"B", "H", "S", "D"} {
		s.add(n, classShape)
	}
	for _, n := range []string{"bx", "by", "bz"} {
		s.add(n, classBlock)
	}
	s.add("kv", classTile)
	return s
}

func (s *scope) add(name string, c class) int {
	s.slots[name] = len(s.classes)
	s.classes = append(s.classes, c)
	return len(s.classes) - 1
}

func (s *scope) names(allowed class) []string {
	out := make([]string, len(s.classes))
	for n, i := range s.slots {
		if s.classes[i]&allowed != 0 {
			out[i] = n
		}
	}
	kept := out[:0]
	for _, n := range out {
		if n != "" {
			kept = append(kept, n)
		}
	}
	return kept
}

// Expr is a parsed manifest expression and where it stands. A literal number is one too.
type Expr struct {
	Text      string
	File      string
	Line, Col int
	Field     string

	eval eval
	uses [4]bool // bx, by, bz, kv
}

func (e *Expr) String() string { return e.Text }

// fail returns a located error about the expression's value.
func (e *Expr) fail(format string, args ...any) *Error {
	return &Error{e.File, e.Line, e.Col, e.Field, fmt.Sprintf(format, args...)}
}

const maxExpr = 1000 // bytes of one expression: far above any real one, far below what exhausts a recursive parser

// expr parses a scalar node as an expression over the scope; nil after a mistake.
func (r *reader) expr(at *yaml.Node, field string, sc *scope, allowed class) *Expr {
	n := deref(at)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "" {
		r.fail(at, field, "expected an expression, found %s", kindOf(n))
		return nil
	}
	if len(n.Value) > maxExpr {
		r.fail(at, field, "an expression of %d characters; at most %d are read", len(n.Value), maxExpr)
		return nil
	}
	tree, err := parser.Parse(n.Value)
	if err != nil {
		r.fail(at, field, "cannot read the expression %q: %s", clip(n.Value), parseMessage(err))
		return nil
	}
	e := &Expr{Text: n.Value, File: r.file, Line: at.Line, Col: at.Column, Field: field}
	c := &exprCompiler{scope: sc, allowed: allowed, expr: e}
	e.eval = c.compile(tree.Node)
	for _, msg := range c.errs {
		r.fail(at, field, "in the expression %q: %s", clip(n.Value), msg)
	}
	if len(c.errs) > 0 {
		return nil
	}
	return e
}

func parseMessage(err error) string {
	var fe *file.Error
	if errors.As(err, &fe) {
		return fmt.Sprintf("%s at character %d", fe.Message, fe.Column+1)
	}
	return strings.SplitN(err.Error(), "\n", 2)[0]
}

// expr reads a key as an expression; nil where absent or wrong.
func (o *object) expr(key string, sc *scope, allowed class) *Expr {
	if !o.has(key) {
		return nil
	}
	return o.r.expr(o.vals[key], o.field(key), sc, allowed)
}

// exprs reads a list of expressions; n is how many are expected, or -1. nil where any is wrong.
func (o *object) exprs(key string, n int, sc *scope, allowed class) []*Expr {
	if !o.has(key) {
		return nil
	}
	list := o.list(key)
	if list == nil || n >= 0 && len(list) != n {
		if deref(o.vals[key]).Kind == yaml.SequenceNode {
			o.fail(key, "expected %s, found %d", plural(n, "element"), len(list))
		}
		return nil
	}
	ok := true
	out := make([]*Expr, 0, len(list))
	for i, v := range list {
		e := o.r.expr(v, fmt.Sprintf("%s[%d]", o.field(key), i), sc, allowed)
		ok = ok && e != nil
		out = append(out, e)
	}
	if !ok {
		return nil
	}
	return out
}

func plural(n int, what string) string {
	switch {
	case n < 0:
		return "at least one " + what
	case n == 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// exprCompiler turns a syntax tree into closures over an environment. Only what a manifest needs is accepted: numbers,
// known names, arithmetic, comparison, logic, the conditional operator and a few functions.
type exprCompiler struct {
	scope   *scope
	allowed class
	expr    *Expr
	errs    []string
}

func (c *exprCompiler) fail(format string, args ...any) eval {
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
	return func(*env) value { return value{} }
}

func (c *exprCompiler) compile(n ast.Node) eval {
	switch n := n.(type) {
	case *ast.IntegerNode:
		v := intValue(int64(n.Value))
		return func(*env) value { return v }
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			return c.fail("a number out of range")
		}
		v := floatValue(n.Value)
		return func(*env) value { return v }
	case *ast.BoolNode:
		v := boolValue(n.Value)
		return func(*env) value { return v }
	case *ast.IdentifierNode:
		return c.variable(n.Value)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		cond, a, b := c.compile(n.Cond), c.compile(n.Exp1), c.compile(n.Exp2)
		return func(e *env) value {
			if cond(e).truth() {
				return a(e)
			}
			return b(e)
		}
	case *ast.BuiltinNode:
		return c.call(n.Name, n.Arguments)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(id.Value, n.Arguments)
		}
	}
	return c.fail("only numbers, names, arithmetic, comparisons, && || !, ?: and functions may stand here")
}

func (c *exprCompiler) variable(name string) eval {
	slot, ok := c.scope.slots[name]
	if !ok {
		return c.fail("unknown variable %s%s", name, suggest(name, c.scope.names(c.allowed)))
	}
	if c.scope.classes[slot]&c.allowed == 0 {
		return c.fail("%s may not stand here; allowed are %s", name, c.allowed)
	}
	if slot >= slotBX && slot <= slotKV {
		c.expr.uses[slot-slotBX] = true
	}
	return func(e *env) value { return e.vars[slot] }
}

func (c *exprCompiler) unary(n *ast.UnaryNode) eval {
	x := c.compile(n.Node)
	switch n.Operator {
	case "-":
		return func(e *env) value { return e.arith("-", intValue(0), x(e)) }
	case "+":
		return x
	case "!", "not":
		return func(e *env) value { return boolValue(!x(e).truth()) }
	}
	return c.fail("operator %s is not known here", n.Operator)
}

func (c *exprCompiler) binary(n *ast.BinaryNode) eval {
	a, b := c.compile(n.Left), c.compile(n.Right)
	op := n.Operator
	switch op {
	case "+", "-", "*", "/", "%", "**":
		return func(e *env) value { x := a(e); return e.arith(op, x, b(e)) }
	case "==", "!=", "<", "<=", ">", ">=":
		return func(e *env) value { x := a(e); return boolValue(compare(op, x, b(e))) }
	case "&&", "and":
		return func(e *env) value { return boolValue(a(e).truth() && b(e).truth()) }
	case "||", "or":
		return func(e *env) value { return boolValue(a(e).truth() || b(e).truth()) }
	case "^":
		return c.fail("operator ^ is not known here; a power is written **")
	}
	return c.fail("operator %s is not known here", op)
}

func (c *exprCompiler) call(name string, args []ast.Node) eval {
	f, ok := functions[name]
	if !ok {
		return c.fail("unknown function %s%s", name, suggest(name, sortedKeys(functions)))
	}
	if f.args >= 0 && len(args) != f.args || f.args < 0 && len(args) < 1 {
		return c.fail("%s takes %s, not %d", name, plural(f.args, "argument"), len(args))
	}
	evals := make([]eval, len(args))
	for i, a := range args {
		evals[i] = c.compile(a)
	}
	return func(e *env) value {
		var buf [4]value
		vals := buf[:0]
		for _, x := range evals {
			vals = append(vals, x(e))
		}
		return f.do(e, vals)
	}
}
