package rewrite

import "slices"

// expr is an expression: tokens from..to, what it is, and its parts.
type expr struct {
	// op: "name", "number", "quoted", "call", "index", "member", "group", "cast", "?", a binary operator, or
	// a unary one behind a u, or behind a p where it stands behind its operand
	op       string
	from, to int // tokens, to is behind the last
	kids     []*expr
	text     string // of a name with its template arguments; of a member what stands behind the dot
}

// binding is how strongly binary operators bind (ISO C++17, [expr]).
var binding = map[string]int{
	",": 1, "=": 2, "+=": 2, "-=": 2, "*=": 2, "/=": 2, "%=": 2, "&=": 2, "|=": 2, "^=": 2, "<<=": 2,
	">>=": 2, "?": 3, "||": 4, "&&": 5, "|": 6, "^": 7, "&": 8, "==": 9, "!=": 9, "<": 10, ">": 10, "<=": 10,
	">=": 10, "<<": 11, ">>": 11, "+": 12, "-": 12, "*": 13, "/": 13, "%": 13,
}

const (
	assignment = 2
	unary      = 14
)

// reader reads expressions from the tokens of a text.
type reader struct {
	t   *Text
	at  int
	to  int // the tokens end here
	bad bool
}

// expression reads the tokens from..to as one expression, nil where they are none.
func (t *Text) expression(from, to int) *expr {
	r := &reader{t: t, at: from, to: to}
	if from >= to {
		return nil
	}
	e := r.binary(1)
	if r.bad || r.at != to {
		return nil
	}
	return e
}

func (r *reader) peek() token {
	if r.at >= r.to {
		return token{kind: end}
	}
	return r.t.tokens[r.at]
}

func (r *reader) is(text string) bool {
	t := r.peek()
	return t.kind == punct && t.text == text
}

func (r *reader) take(text string) {
	if !r.is(text) {
		r.bad = true
		return
	}
	r.at++
}

func (r *reader) binary(least int) *expr {
	left := r.prefix()
	for !r.bad {
		op := r.peek()
		b := binding[op.text]
		if op.kind != punct || b == 0 || b < least {
			return left
		}
		r.at++
		e := &expr{op: op.text, from: left.from, kids: []*expr{left}}
		switch {
		case op.text == "?":
			e.kids = append(e.kids, r.binary(assignment))
			r.take(":")
			e.kids = append(e.kids, r.binary(assignment))
		case b == assignment:
			e.kids = append(e.kids, r.binary(assignment))
		default:
			e.kids = append(e.kids, r.binary(b+1))
		}
		e.to = r.at
		left = e
	}
	return left
}

var prefixes = []string{"-", "+", "!", "~", "*", "&", "++", "--"}

func (r *reader) prefix() *expr {
	at, t := r.at, r.peek()
	if t.kind == punct && slices.Contains(prefixes, t.text) {
		r.at++
		k := r.prefix()
		return &expr{op: "u" + t.text, from: at, to: r.at, kids: []*expr{k}}
	}
	if r.is("(") {
		if close := r.t.match(r.at); close > 0 && close < r.to && r.t.isType(r.at+1, close) {
			if next := r.t.tokens[close+1]; next.kind == name || next.kind == number || next.text == "(" {
				r.at = close + 1
				k := r.prefix()
				return &expr{op: "cast", from: at, to: r.at, kids: []*expr{k}}
			}
		}
	}
	return r.postfix(r.primary())
}

func (r *reader) primary() *expr {
	at, t := r.at, r.peek()
	switch {
	case t.kind == number:
		r.at++
		return &expr{op: "number", from: at, to: r.at, text: t.text}
	case t.kind == quoted:
		for r.peek().kind == quoted {
			r.at++
		}
		return &expr{op: "quoted", from: at, to: r.at}
	case r.is("("):
		r.at++
		k := r.binary(1)
		r.take(")")
		return &expr{op: "group", from: at, to: r.at, kids: []*expr{k}}
	case t.kind == name && !reserved[t.text], r.is("::"):
		return r.named()
	}
	r.bad = true
	return &expr{from: at, to: at}
}

// reserved are words that begin no expression that is read here.
var reserved = map[string]bool{
	"new": true, "delete": true, "operator": true, "asm": true, "return": true, "if": true, "for": true,
	"else": true, "while": true, "do": true, "switch": true, "case": true, "goto": true, "throw": true,
}

// named reads a name with its scopes and template arguments.
func (r *reader) named() *expr {
	at := r.at
	for {
		if r.is("::") {
			r.at++
		}
		if r.peek().kind != name {
			r.bad = true
			break
		}
		r.at++
		if r.is("<") {
			if close := r.t.templateEnd(r.at, r.to); close > 0 {
				r.at = close + 1
			}
		}
		if !r.is("::") {
			break
		}
	}
	e := &expr{op: "name", from: at, to: r.at}
	for _, t := range r.t.tokens[at:r.at] {
		e.text += t.text
	}
	return e
}

func (r *reader) postfix(e *expr) *expr {
	for !r.bad {
		switch {
		case r.is("("), r.is("{") && e.op == "name":
			close := r.t.match(r.at)
			if close < 0 || close >= r.to {
				r.bad = true
				return e
			}
			call := &expr{op: "call", from: e.from, kids: []*expr{e}}
			for r.at++; r.at < close && !r.bad; {
				call.kids = append(call.kids, r.binary(assignment))
				if r.at < close {
					r.take(",")
				}
			}
			r.at = close + 1
			call.to = r.at
			e = call
		case r.is("["):
			r.at++
			k := r.binary(1)
			r.take("]")
			e = &expr{op: "index", from: e.from, to: r.at, kids: []*expr{e, k}}
		case r.is("."), r.is("->"):
			r.at++
			t := r.peek()
			if t.kind != name {
				r.bad = true
				return e
			}
			r.at++
			e = &expr{op: "member", from: e.from, to: r.at, kids: []*expr{e}, text: t.text}
		case r.is("++"), r.is("--"):
			op := "p" + r.peek().text
			r.at++
			e = &expr{op: op, from: e.from, to: r.at, kids: []*expr{e}}
		default:
			return e
		}
	}
	return e
}

// match is the token that closes the bracket at a token, -1 where none does.
func (t *Text) match(at int) int { return t.partner[at] - 1 }

// pairBrackets notes which bracket closes which.
func (t *Text) pairBrackets() {
	t.partner = make([]int, len(t.tokens))
	var open []int
	closes := map[string]string{")": "(", "]": "[", "}": "{"}
	for i, tok := range t.tokens {
		if tok.kind != punct {
			continue
		}
		switch tok.text {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			if n := len(open); n > 0 && t.tokens[open[n-1]].text == closes[tok.text] {
				t.partner[open[n-1]], t.partner[i] = i+1, open[n-1]+1
				open = open[:n-1]
			}
		}
	}
}

// templateEnd is the token that closes the template arguments which begin at a "<"; -1 where that compares.
// They are types and numbers, and something that takes template arguments stands before and behind them.
func (t *Text) templateEnd(at, to int) int {
	depth, open := 0, 0
	for i := at; i < to && i < at+40; i++ {
		switch tok := t.tokens[i]; {
		case tok.text == "(":
			open++
		case tok.text == ")" && open > 0:
			open--
		case tok.text == "<":
			depth++
		case tok.text == ">":
			depth--
		case tok.text == ">>":
			depth -= 2
		case tok.kind == name || tok.kind == number:
		case slices.Contains([]string{"::", ",", "*", "&", "/", "+", "-", "?", ":"}, tok.text):
		default:
			return -1
		}
		if depth <= 0 {
			if i+1 >= len(t.tokens) {
				return -1
			}
			next := t.tokens[i+1]
			follows := []string{"(", "::", "{", ")", "*", ">", ",", "&"}
			if next.kind == name || slices.Contains(follows, next.text) {
				return i
			}
			return -1
		}
	}
	return -1
}

// walk visits an expression and its parts, those that hold others first; it leaves out the parts of what
// visit refuses.
func (e *expr) walk(visit func(e, parent *expr) bool) { e.visit(nil, visit) }

func (e *expr) visit(parent *expr, visit func(e, parent *expr) bool) {
	if e == nil || !visit(e, parent) {
		return
	}
	for _, k := range e.kids {
		k.visit(e, visit)
	}
}
