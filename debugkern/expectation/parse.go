package expectation

import (
	"fmt"
	"slices"
	"strings"
)

// Parse reads an expectation. Its errors are *Error.
func Parse(text string) (x *Expectation, err error) {
	p := &parser{text: text}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			x, err = nil, e
		default:
			panic(e)
		}
	}()
	tokens, bad := scan(text)
	if bad != nil {
		return nil, bad
	}
	p.list = tokens
	return p.expectation(), nil
}

// parser reads tokens from the front. Mistakes are panics with an *Error, which Parse recovers.
type parser struct {
	text  string
	list  []token
	depth int
}

func (p *parser) fail(col int, format string, args ...any) {
	panic(&Error{p.text, col, fmt.Sprintf(format, args...)})
}

func (p *parser) peek() token { return p.list[0] }

// second is the token after the next one.
func (p *parser) second() token {
	if len(p.list) > 1 {
		return p.list[1]
	}
	return p.list[0]
}

func (p *parser) next() token {
	t := p.list[0]
	if t.kind != end {
		p.list = p.list[1:]
	}
	return t
}

// is takes the next token if it is a given one.
func (p *parser) is(text string) bool {
	if t := p.peek(); t.kind != end && t.text == text {
		p.next()
		return true
	}
	return false
}

// want takes the next token, which must be a given one.
func (p *parser) want(text, where string) token {
	t := p.peek()
	if !p.is(text) {
		p.fail(t.col, "expected %q %s, found %s", text, where, t)
	}
	return t
}

func (t token) String() string {
	if t.kind == end {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

func (p *parser) expectation() *Expectation {
	x := &Expectation{Text: p.text, output: p.reference("the output", false)}
	p.want("<-", "after the output")
	if p.peek().text == "none" && p.second().text != "[" {
		p.next()
	} else {
		p.terms(x)
	}
	if p.is("for") {
		for more := true; more; more = p.is(",") {
			x.clauses = append(x.clauses, p.clause())
		}
	}
	if t := p.peek(); t.kind != end {
		hint := `"," and another term, "for" or the end`
		if x.clauses != nil {
			hint = `"," and another condition, or the end`
		}
		if len(t.text) == 1 && strings.Contains("+-*/", t.text) {
			hint += "; elements are listed, whatever is computed of them"
		}
		p.fail(t.col, "expected %s, found %s", hint, t)
	}
	return x
}

// terms reads what the output is made of.
func (p *parser) terms(x *Expectation) {
	for more := true; more; more = p.is(",") {
		if p.is("...") {
			x.others = true
			return
		}
		if len(x.terms) == maxTerms {
			p.fail(p.peek().col, "more than %d terms", maxTerms)
		}
		t := term{reference: p.reference("a term", true)}
		for {
			q := p.peek()
			switch {
			case p.is("once"):
				t.once = true
			case p.is("repeated"):
				t.repeated = true
			case p.is("optional"):
				t.optional = true
			default:
				x.terms = append(x.terms, t)
			}
			if p.peek() == q {
				break
			}
			if t.once && (t.repeated || t.optional) {
				p.fail(q.col, "once excludes repeated and optional")
			}
		}
	}
}

// reference reads an argument with its indices, in [i][j] or [i,j].
func (p *parser) reference(what string, ranges bool) reference {
	t := p.peek()
	if t.kind != word {
		p.fail(t.col, "expected %s, such as out[i], found %s", what, t)
	}
	p.next()
	r := reference{name: t.text, col: t.col}
	// memory that a pointer in a struct leads to is called after the parameter and the offset: p+8
	if p.peek().text == "+" && p.second().kind == number {
		p.next()
		r.name += "+" + p.next().text
	}
	p.want("[", "after "+r.name)
	for more := true; more; more = p.is("[") {
		for another := true; another; another = p.is(",") {
			r.index = append(r.index, p.index(ranges))
		}
		p.want("]", "after an index of "+r.name)
	}
	return r
}

// index reads one index, or a range where there may be one.
func (p *parser) index(ranges bool) index {
	t := p.peek()
	if t.text == "*" && t.kind == symbol {
		p.next()
		return index{col: t.col, all: true}
	}
	x := index{col: t.col, from: p.expr()}
	if next := p.peek(); next.text == ".." || next.text == "..<" {
		if !ranges {
			p.fail(next.col, "an index of the output is a variable, a number or *: restrict a variable with for")
		}
		p.span(&x)
	}
	return x
}

// span reads the second half of a range.
func (p *parser) span(x *index) {
	t := p.next()
	if x.open = t.text == "..<"; !x.open && t.text != ".." {
		p.fail(t.col, `expected ".." or "..<", found %s`, t)
	}
	x.to = p.expr()
	if p.is("by") {
		x.by = p.expr()
	}
}

// clause reads a variable with its range, or a comparison.
func (p *parser) clause() clause {
	t := p.peek()
	if t.kind == word && p.second().text == "in" {
		p.next()
		p.next()
		c := clause{col: t.col, variable: t.text, span: index{col: p.peek().col, from: p.expr()}}
		p.span(&c.span)
		return c
	}
	c := clause{col: t.col, left: p.expr()}
	op := p.peek()
	switch {
	case slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, op.text):
		p.next()
		c.compare, c.right = op.text, p.expr()
	case op.text == "<-": // i <-1
		p.list[0] = token{"-", op.col + 1, symbol, 0}
		c.compare, c.right = "<", p.expr()
	default:
		p.fail(op.col, `expected a comparison (< <= > >= == !=), or "in" after a variable, found %s`, op)
	}
	return c
}

func (p *parser) expr() *expr {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.peek().col, "expressions nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	return p.infix(p.product, "+", "-")
}

func (p *parser) product() *expr { return p.infix(p.unary, "*", "/", "%") }

// infix reads operands with operators of one rank between them, which group to the left.
func (p *parser) infix(operand func() *expr, ops ...string) *expr {
	left := operand()
	for {
		t := p.peek()
		if t.kind != symbol || !slices.Contains(ops, t.text) {
			return left
		}
		p.next()
		left = &expr{col: t.col, op: t.text, args: []*expr{left, operand()}}
	}
}

func (p *parser) unary() *expr {
	t := p.next()
	switch {
	case t.kind == number:
		return &expr{col: t.col, op: "number", n: t.n}
	case t.kind == word && p.peek().text == "(" && (t.text == "min" || t.text == "max"):
		p.next()
		x := &expr{col: t.col, op: t.text}
		for more := true; more; more = p.is(",") {
			x.args = append(x.args, p.expr())
		}
		p.want(")", "after the numbers of "+t.text)
		return x
	case t.kind == word && p.peek().text == "(":
		p.fail(t.col, "there is no function %s; there are min and max", t.text)
	case t.kind == word && p.peek().text == "[":
		p.fail(t.col, "%s[…] within an index: an index is made of numbers, variables and parameters", t.text)
	case t.kind == word:
		return &expr{col: t.col, op: "name", name: t.text}
	case t.text == "-":
		if p.depth++; p.depth > maxDepth {
			p.fail(t.col, "expressions nested more than %d deep", maxDepth)
		}
		defer func() { p.depth-- }()
		return &expr{col: t.col, op: "neg", args: []*expr{p.unary()}}
	case t.text == "(":
		x := p.expr()
		p.want(")", "after an expression")
		return x
	}
	p.fail(t.col, "expected a number, a variable, a parameter or \"(\", found %s", t)
	return nil
}
