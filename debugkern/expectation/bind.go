package expectation

import (
	"fmt"
	"slices"
	"strings"
)

// Argument is an argument of the kernel, as an expectation may name it.
type Argument struct {
	Names []string // the first is that of messages
	Dims  []int    // of memory; nil: a scalar
	Value *int64   // of a scalar that is a whole number; nil: it is none
}

// Bound is an expectation of a kernel's arguments. Its methods may be called concurrently.
type Bound struct {
	*Expectation
	args   []Argument
	out    int // index in args
	terms  []boundTerm
	named  []bool           // by argument: some term has it
	scope  map[string]int   // variables, by their place in an environment
	fixed  map[string]int64 // parameters
	outer  []variable       // those of the output, the first place first
	places []index          // of the output, with variables of their own where it has *
	inner  []*clause        // those over which sets go
	tests  []test
}

// variable is one of the output: its place in an environment, and its range.
type variable struct {
	at            int
	first, by, in int64 // in: how many values
}

type boundTerm struct {
	*term
	arg   int
	over  []int // of inner: the variables that the term depends on
	tests []int // of tests
}

// test is a comparison and the variables that it is about.
type test struct {
	*clause
	uses  map[string]bool
	inner bool // some are inner ones
}

// Bind finds the arguments and parameters that an expectation names. Its errors are *Error.
func (x *Expectation) Bind(args []Argument) (b *Bound, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			b, err = nil, e
		default:
			panic(e)
		}
	}()
	b = &Bound{
		Expectation: x, args: args, named: make([]bool, len(args)), scope: map[string]int{},
		fixed: map[string]int64{},
	}
	b.bind()
	return b, nil
}

func (b *Bound) fail(col int, format string, args ...any) {
	panic(&Error{b.Text, col, fmt.Sprintf(format, args...)})
}

func (b *Bound) bind() {
	b.out = b.argument(&b.output)
	ranges := map[string]*clause{}
	for i := range b.clauses {
		if c := &b.clauses[i]; c.variable != "" {
			if ranges[c.variable] != nil {
				b.fail(c.col, "%s has two ranges", c.variable)
			}
			if b.parameter(c.variable) != nil {
				b.fail(c.col, "%s is a parameter of the kernel: call the variable something else", c.variable)
			}
			ranges[c.variable] = c
		}
	}
	b.bindOutput(ranges)
	for i := range b.clauses {
		if c := &b.clauses[i]; c.variable != "" {
			if _, outer := b.scope[c.variable]; !outer {
				b.inner = append(b.inner, c)
			}
		}
	}
	for _, c := range b.inner { // in the order that they are given, so that one may depend on those before
		b.names(c.span.exprs(), nil)
		b.scope[c.variable] = len(b.scope)
	}
	for i := range b.clauses {
		if c := &b.clauses[i]; c.variable == "" {
			t := test{clause: c, uses: map[string]bool{}}
			b.names([]*expr{c.left, c.right}, t.uses)
			t.inner = slices.ContainsFunc(b.inner, func(o *clause) bool { return t.uses[o.variable] })
			b.tests = append(b.tests, t)
		}
	}
	for i := range b.Expectation.terms {
		b.bindTerm(&b.Expectation.terms[i])
	}
	for _, c := range b.inner {
		if !slices.ContainsFunc(b.terms, func(t boundTerm) bool {
			return slices.ContainsFunc(t.over, func(i int) bool { return b.inner[i] == c })
		}) {
			b.fail(c.col, "no term uses %s", c.variable)
		}
	}
}

// argument finds the memory that a reference names, and checks how many indices it has.
func (b *Bound) argument(r *reference) int {
	for i := range b.args {
		a := &b.args[i]
		if !slices.Contains(a.Names, r.name) {
			continue
		}
		if a.Dims == nil {
			b.fail(r.col, "%s is a scalar, which has no elements; arguments with elements are %s", r.name,
				b.memory())
		}
		if n := len(r.index); n != 1 && n != len(a.Dims) {
			b.fail(r.col, "%s has %s: one index for each, or one for all, not %d", r.name,
				dimsText(a.Dims), n)
		}
		return i
	}
	b.fail(r.col, "the kernel has no argument %s; arguments with elements are %s", r.name, b.memory())
	return 0
}

// memory lists the arguments that have elements.
func (b *Bound) memory() string {
	var out []string
	for i := range b.args {
		if a := &b.args[i]; a.Dims != nil {
			out = append(out, a.Names[0]+strings.ReplaceAll(fmt.Sprint(a.Dims), " ", ","))
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

func dimsText(dims []int) string {
	if len(dims) == 1 {
		return "1 dimension"
	}
	return fmt.Sprintf("%d dimensions", len(dims))
}

// parameter finds a scalar by its name.
func (b *Bound) parameter(name string) *Argument {
	for i := range b.args {
		if a := &b.args[i]; a.Dims == nil && slices.Contains(a.Names, name) {
			return a
		}
	}
	return nil
}

// extents are the dimensions that the indices of a reference go over.
func (b *Bound) extents(arg int, r *reference) []int {
	if dims := b.args[arg].Dims; len(dims) == len(r.index) {
		return dims
	}
	n := 1
	for _, d := range b.args[arg].Dims {
		n *= d
	}
	return []int{n}
}

// bindOutput gives the output its variables: those that its indices name, and those with a range that its
// indices use.
func (b *Bound) bindOutput(ranges map[string]*clause) {
	extents := b.extents(b.out, &b.output)
	add := func(name string, first, by, in int64) {
		at := len(b.scope)
		b.scope[name] = at
		b.outer = append(b.outer, variable{at, first, by, in})
	}
	declare := func(name string, c *clause) {
		if _, known := b.scope[name]; known {
			return
		}
		for _, e := range c.span.exprs() {
			e.walk(func(e *expr) {
				if e.op == "name" && b.parameter(e.name) == nil {
					b.fail(e.col, "the range of %s, which an index of the output uses, is made of numbers and "+
						"parameters alone", name)
				}
			})
		}
		b.names(c.span.exprs(), nil)
		first, by, n := b.evaluator(nil).span(&c.span)
		add(name, first, by, n)
	}
	for k, x := range b.output.index {
		switch {
		case x.all: // a variable without a name
			name := fmt.Sprintf("*%d", k)
			add(name, 0, 1, int64(extents[k]))
			x = index{col: x.col, from: &expr{col: x.col, op: "name", name: name}}
		case x.from.op == "name" && b.parameter(x.from.name) != nil:
			b.fail(x.col, "%s is a parameter of the kernel: call the variable something else, or write (%s+0)",
				x.from.name, x.from.name)
		case x.from.op == "name" && ranges[x.from.name] == nil:
			if _, known := b.scope[x.from.name]; !known {
				add(x.from.name, 0, 1, int64(extents[k]))
			}
		default:
			x.from.walk(func(e *expr) {
				if c := ranges[e.name]; e.op == "name" && c != nil {
					declare(e.name, c)
				}
			})
			b.names([]*expr{x.from}, nil)
		}
		b.places = append(b.places, x)
	}
}

// bindTerm finds a term's argument, and the variables that it goes over: those that its indices use, those
// that their ranges use, and those that are compared with one of them.
func (b *Bound) bindTerm(t *term) {
	out := boundTerm{term: t, arg: b.argument(&t.reference)}
	b.named[out.arg] = true
	used := map[string]bool{}
	for i := range t.index {
		b.names(t.index[i].exprs(), used)
	}
	for again := true; again; {
		n := len(used)
		for _, c := range b.inner {
			if used[c.variable] {
				b.names(c.span.exprs(), used)
			}
		}
		for _, c := range b.tests {
			if slices.ContainsFunc(b.inner, func(o *clause) bool {
				return c.uses[o.variable] && used[o.variable]
			}) {
				for name := range c.uses {
					used[name] = true
				}
			}
		}
		again = len(used) > n
	}
	for i, c := range b.inner {
		if used[c.variable] {
			out.over = append(out.over, i)
		}
	}
	for i, c := range b.tests {
		if c.inner && slices.ContainsFunc(out.over, func(k int) bool { return c.uses[b.inner[k].variable] }) {
			out.tests = append(out.tests, i)
		}
	}
	b.terms = append(b.terms, out)
}

// names looks up every name of expressions, and adds those of variables to used.
func (b *Bound) names(list []*expr, used map[string]bool) {
	for _, x := range list {
		x.walk(func(e *expr) {
			if e.op != "name" {
				return
			}
			if _, known := b.scope[e.name]; known {
				if used != nil {
					used[e.name] = true
				}
				return
			}
			a := b.parameter(e.name)
			switch {
			case a != nil && a.Value != nil:
				b.fixed[e.name] = *a.Value
			case a != nil:
				b.fail(e.col, "parameter %s is not a whole number", e.name)
			default:
				b.fail(e.col, "unknown name %s; there are %s", e.name, b.known())
			}
		})
	}
}

// known lists the names that an index may use.
func (b *Bound) known() string {
	var vars, params []string
	for name := range b.scope {
		if name[0] != '*' {
			vars = append(vars, name)
		}
	}
	slices.Sort(vars)
	for i := range b.args {
		if b.args[i].Value != nil {
			params = append(params, b.args[i].Names[0])
		}
	}
	text := "no variables"
	if vars != nil {
		text = "the variables " + strings.Join(vars, ", ")
	}
	if params != nil {
		text += " and the parameters " + strings.Join(params, ", ")
	}
	return text + "; a variable of the right side alone needs a range: for " + "k in 0 ..< n"
}

// exprs are the expressions of an index.
func (x *index) exprs() []*expr {
	var out []*expr
	for _, e := range []*expr{x.from, x.to, x.by} {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// walk visits an expression and its operands.
func (x *expr) walk(visit func(*expr)) {
	visit(x)
	for _, a := range x.args {
		a.walk(visit)
	}
}

// Output is the index of the argument whose elements are stated.
func (b *Bound) Output() int { return b.out }

// Names reports whether a term names an argument, and so every element of it that enters has to be listed.
func (b *Bound) Names(arg int) bool { return b.named[arg] }
