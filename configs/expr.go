package configs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"go.yaml.in/yaml/v3"
)

// class says what kind of quantity a variable is, and so where it may stand.
type class uint8

const (
	classFlag  class = 1 << iota // flags, fault symbols, gate symbols: 0 or 1, or the flag's value
	classConst                   // the manifest's constants
	classShape                   // the shape's dimensions
	classBlock                   // bx, by, bz
	classTile                    // kv, and loops by name
	// classThread: of a capture from registers: warp, lane, and which cell of the instruction's registers
	classThread
	// classCount: of a capture from registers: how often the instruction was executed before
	classCount
	classElement // the index of an argument's element, row and column of a cell

	inFlags   = classFlag
	inConst   = inFlags | classConst
	inShape   = inConst | classShape
	inBlock   = inShape | classBlock
	inTile    = inBlock | classTile
	inTake    = inShape | classThread
	inCount   = inBlock | classCount
	inElement = inShape | classElement
)

var classNames = []struct {
	class
	say string
}{
	{classFlag, "flags"}, {classConst, "constants"}, {classShape, "the shape"},
	{classBlock, "the block index (bx, by, bz)"}, {classTile, "the kv tile (kv)"},
	{classThread, "the thread (warp, lane) and what it captures (i, r, c, e)"},
	{classCount, "how often it was executed before (n)"},
	{classElement, "the element (i, or r and c)"},
}

// scope maps names to slots of an environment. Slot 0 is none.
type scope struct {
	slots   map[string]int
	classes []class
	derived map[int]*derived // the slots that are computed
	inputs  map[string]integerInput
	cells   [2]int   // the slots of a tile's row and column; 0: the scope has none
	dims    []string // of the shape
}

// uses says which of bx, by, bz and kv a value depends on.
type uses [4]bool

func (u *uses) add(o uses) {
	for i, used := range o {
		u[i] = u[i] || used
	}
}

// derived is a name that stands for an expression.
type derived struct {
	eval  eval
	uses  uses
	reads bool
	cost  int64 // as Expr's steps
}

// The first slots are the same in every manifest.
const (
	slotBX = 1 + iota
	slotBY
	slotBZ
	slotKV
)

func newScope() *scope {
	s := &scope{
		slots: map[string]int{}, classes: []class{0}, derived: map[int]*derived{},
		inputs: map[string]integerInput{},
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

// depend makes a derived name depend on what an expression does.
func (s *scope) depend(slot int, x *Expr) {
	d := s.derived[slot]
	if d == nil {
		return // its name was refused
	}
	d.cost += x.steps
	d.uses.add(x.uses)
	d.reads = d.reads || x.reads
	if s.classes[slot] = classBlock; d.uses[3] {
		s.classes[slot] = classTile
	}
}

// clone copies a scope, so that names may be added to one of the two.
func (s *scope) clone() *scope {
	c := *s
	c.slots, c.classes, c.derived = maps.Clone(s.slots), slices.Clone(s.classes), maps.Clone(s.derived)
	return &c
}

// classText says which names a class is.
func (s *scope) classText(c class) string {
	var out []string
	for _, n := range classNames {
		if c&n.class == 0 {
			continue
		}
		if out = append(out, n.say); n.class == classShape {
			out[len(out)-1] += " (" + strings.Join(s.dims, ", ") + ")"
		}
	}
	return strings.Join(out, ", ")
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

	eval  eval
	truth bool  // it is true or false, not a number
	steps int64 // what one evaluation costs: nodes of the expression
	uses  uses
	reads bool // elements of inputs

	conjuncts []conjunct // of a && b, what && joins
}

// conjunct is one of the conditions that && joins.
type conjunct struct {
	text string
	eval eval
}

// unmet writes the condition without those of its conjuncts that hold.
func (e *Expr) unmet(env *env) string {
	var out []string
	for _, c := range e.conjuncts {
		if !c.eval(env).truth() {
			out = append(out, asSetting(c.text))
		}
	}
	if out == nil || env.err != nil {
		return e.Text
	}
	return strings.Join(out, " && ")
}

// asSetting writes a condition that is a negated name as the setting that meets it: "!USE_LOG" as
// "USE_LOG=0". Any other condition stays.
func asSetting(text string) string {
	name, negated := strings.CutPrefix(text, "!")
	if !negated || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return text
	}
	return name + "=0"
}

func (e *Expr) String() string { return e.Text }

// fail returns a located error about the expression's value.
func (e *Expr) fail(format string, args ...any) *Error {
	return &Error{e.File, e.Line, e.Col, e.Field, fmt.Sprintf(format, args...)}
}

// Limits of one expression: far above any real one, far below what exhausts a recursive parser.
const (
	maxExpr  = 1000 // bytes
	maxNodes = 500  // numbers, names and operators
)

// number parses a scalar node as an expression whose value is a number; nil after a mistake.
func (r *reader) number(at *yaml.Node, field string, sc *scope, allowed class) *Expr {
	e := r.expr(at, field, sc, allowed)
	if e != nil && e.truth {
		r.fail(at, field, "%q is true or false; expected a number (CONDITION ? 1 : 0 is one)", clip(e.Text))
		return nil
	}
	return e
}

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
	if leadingZero(n.Value) {
		r.fail(at, field,
			"the expression %q has a number that begins with 0, which is octal to some and decimal to others; write 0o17 or 17",
			clip(n.Value))
		return nil
	}
	if r.ctx != nil && r.ctx.Err() != nil {
		r.fail(at, field, "not read: %v", r.ctx.Err())
		return nil
	}
	tree, err := parser.ParseWithConfig(n.Value, &conf.Config{MaxNodes: maxNodes})
	if err != nil {
		r.fail(at, field, "cannot read the expression %q: %s", clip(n.Value), parseMessage(err))
		return nil
	}
	e := &Expr{Text: n.Value, File: r.file, Line: at.Line, Col: at.Column, Field: field}
	c := &exprCompiler{scope: sc, allowed: allowed, expr: e}
	root := c.compile(tree.Node)
	e.eval, e.truth, e.steps = root.eval, root.truth, c.nodes
	if len(c.errs) == 0 {
		e.conjuncts = conjunctsOf(tree.Node, sc, allowed)
	}
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

// expr reads a key as an expression that is a number; nil where absent or wrong.
func (o *object) expr(key string, sc *scope, allowed class) *Expr {
	if !o.has(key) {
		return nil
	}
	return o.r.number(o.vals[key], o.field(key), sc, allowed)
}

// condition reads a key as an expression that holds or does not; a number holds if it is not 0. nil
// where absent or wrong.
func (o *object) condition(key string, sc *scope, allowed class) *Expr {
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
		e := o.r.number(v, fmt.Sprintf("%s[%d]", o.field(key), i), sc, allowed)
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
