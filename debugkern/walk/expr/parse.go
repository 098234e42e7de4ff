package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads an expression. cursor are further variables that the caller binds (Bind) before it evaluates.
// The error is an *Error.
func Parse(text string, cursor ...string) (*Expr, error) {
	p := &parser{text: text, cursor: cursor}
	return p.whole(func() *Expr { return p.expr() })
}

// Condition is when a breakpoint stops: a value that holds in some lane, and which of the times that it does.
type Condition struct {
	If   *Expr // nil: always
	Hits *Hits // nil: every time
}

// Hits selects some of the times, counted from 1 where the breakpoint
// was set: those for which Op N holds; with
// "%" every N-th.
type Hits struct {
	Op string // == != < <= > >= %
	N  uint64
}

// Match reports whether the n-th time is one of those.
func (h *Hits) Match(n uint64) bool {
	if h == nil {
		return true
	}
	if h.Op == "%" {
		return n%h.N == 0
	}
	return compare(h.Op, Number(int64(n)), Number(int64(h.N))).Holds()
}

func (h *Hits) String() string { return fmt.Sprintf("hits %s %d", h.Op, h.N) }

// String writes a condition as it is read: "if lane==3 hits >= 2"; "" where there is none.
func (c Condition) String() string {
	var out []string
	if c.If != nil {
		out = append(out, "if "+c.If.String())
	}
	if c.Hits != nil {
		out = append(out, c.Hits.String())
	}
	return strings.Join(out, " ")
}

// ParseCondition reads "[if] EXPR", "hits OP N", or both, one after the other; "" is no condition. The error
// is an *Error.
func ParseCondition(text string) (Condition, error) {
	var c Condition
	p := &parser{text: text}
	_, err := p.whole(func() *Expr {
		if p.word("if") || !p.at("hits") && p.tok.kind != tokEnd {
			c.If = p.expr()
		}
		if p.word("hits") {
			c.Hits = p.hits()
		}
		return nil
	})
	return c, err
}

type tokKind uint8

const (
	tokEnd tokKind = iota
	tokNumber
	tokName     // threadIdx.x
	tokRegister // %r12
	tokOp
)

type token struct {
	kind tokKind
	text string
	pos  int
}

// parser reads one expression by recursive descent. A mistake is a panic with *Error, which whole catches.
type parser struct {
	text   string
	at0    int // of the next byte
	tok    token
	value  bool // a value may begin here, so that % begins a register
	cursor []string
	refs   []ref
}

func (p *parser) whole(read func() *Expr) (e *Expr, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *Error:
			e, err = nil, x
		default:
			panic(x)
		}
	}()
	p.value = true
	p.next()
	e = read()
	if p.tok.kind != tokEnd {
		expected := "an operator or the end"
		if op := map[string]string{"and": "&&", "or": "||"}[strings.ToLower(p.tok.text)]; op != "" {
			expected = op
		}
		p.fail(p.tok.pos, "found %s, expected %s", p.found(), expected)
	}
	return e, nil
}

func (p *parser) fail(pos int, format string, args ...any) {
	panic(&Error{Text: p.text, Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

// found is the token at hand, for messages.
func (p *parser) found() string {
	if p.tok.kind == tokEnd {
		return "the end"
	}
	return strconv.Quote(p.tok.text)
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

var operators = []string{
	"&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~",
	"!",
	"(", ")", "[", "]", ",", "@",
}

// next reads the next token.
func (p *parser) next() {
	for p.at0 < len(p.text) && (p.text[p.at0] == ' ' || p.text[p.at0] == '\t') {
		p.at0++
	}
	rest, pos := p.text[p.at0:], p.at0
	take := func(kind tokKind, n int) {
		p.tok = token{kind, rest[:n], pos}
		p.at0 += n
	}
	run := func(from int, in func(byte) bool) int {
		for from < len(rest) && in(rest[from]) {
			from++
		}
		return from
	}
	name := func(c byte) bool { return letter(c) || digit(c) || c == '.' }
	switch {
	case rest == "":
		take(tokEnd, 0)
	case rest[0] == '%' && p.value && len(rest) > 1 && letter(rest[1]):
		take(tokRegister, run(1, name))
	case letter(rest[0]):
		take(tokName, run(0, name))
	case digit(rest[0]) || rest[0] == '.' && len(rest) > 1 && digit(rest[1]):
		n := run(0, name)
		if e := rest[n-1] | 0x20; e == 'e' && !strings.HasPrefix(rest, "0x") && n < len(rest) &&
			(rest[n] == '-' || rest[n] == '+') {
			n = run(n+1, digit)
			n = run(n, letter)
		}
		take(tokNumber, n)
	default:
		i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(rest, op) })
		if i < 0 {
			r := []rune(rest)[0]
			if r == '=' {
				p.fail(pos, "found %q, expected == to compare", r)
			}
			p.fail(pos, "found %q, which no expression has", r)
		}
		take(tokOp, len(operators[i]))
	}
	p.value = p.tok.kind == tokOp && p.tok.text != ")" && p.tok.text != "]"
}

// at reports whether the token at hand is an operator or a word.
func (p *parser) at(text string) bool {
	return (p.tok.kind == tokOp || p.tok.kind == tokName) && p.tok.text == text
}

// op takes an operator where it is at hand.
func (p *parser) op(text string) bool {
	if p.tok.kind != tokOp || p.tok.text != text {
		return false
	}
	p.next()
	return true
}

// word takes a word, after which a value may begin.
func (p *parser) word(text string) bool {
	if p.tok.kind != tokName || p.tok.text != text {
		return false
	}
	p.value = true
	p.next()
	return true
}

func (p *parser) want(op, what string) {
	if !p.op(op) {
		p.fail(p.tok.pos, "found %s, expected %s", p.found(), what)
	}
}

func (p *parser) expr() *Expr {
	from := p.tok.pos
	root := p.binary(0)
	return &Expr{text: strings.TrimSpace(p.text[from:p.tok.pos]), root: root, refs: p.refs, from: from}
}

// levels are the operators from the loosest to the tightest, as in C.
var levels = [][]string{
	{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="}, {"<<", ">>"}, {"+", "-"},
	{"*", "/", "%"},
}

// deepest is how far parentheses and signs may be nested.
const deepest = 100

func (p *parser) binary(level int) node {
	if level == len(levels) {
		return p.unary(0)
	}
	x := p.binary(level + 1)
	for p.tok.kind == tokOp && slices.Contains(levels[level], p.tok.text) {
		op := p.tok.text
		p.next()
		x = binary{op, x, p.binary(level + 1)}
	}
	return x
}

func (p *parser) unary(depth int) node {
	if depth > deepest {
		p.fail(p.tok.pos, "nested more than %d deep", deepest)
	}
	for _, op := range []string{"!", "-", "+", "~"} {
		if p.op(op) {
			return unary{op, p.unary(depth + 1)}
		}
	}
	return p.primary()
}

func (p *parser) primary() node {
	t := p.tok
	switch t.kind {
	case tokNumber:
		p.next()
		return literal{p.number(t)}
	case tokRegister:
		p.next()
		return p.register(t)
	case tokName:
		p.next()
		return p.named(t)
	case tokOp:
		if p.op("(") {
			if strings.Count(p.text[:t.pos], "(")-strings.Count(p.text[:t.pos], ")") > deepest {
				p.fail(t.pos, "nested more than %d deep", deepest)
			}
			x := p.binary(0)
			p.want(")", "an operator or )")
			return x
		}
	}
	p.fail(t.pos,
		"found %s, expected a value: a number, %%register, array[row][col], function(…) or one of %s",
		p.found(), names(p.cursor))
	return nil
}

func (p *parser) number(t token) Value {
	if n, err := strconv.ParseInt(t.text, 0, 64); err == nil {
		return Number(n)
	}
	if n, err := strconv.ParseUint(t.text, 0, 64); err == nil {
		return Value{Int: int64(n), Unsigned: true}
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(t.text, "f"), 64)
	if err != nil {
		p.fail(t.pos, "%q is no number", t.text)
	}
	return Value{Kind: Real, Float: f}
}

// register reads what follows a register's name: @3 or @lane3.
func (p *parser) register(t token) node {
	base, dim, _ := strings.Cut(t.text, ".")
	if name, ok := special[base]; ok {
		if dim != "" {
			name += "." + dim
		}
		return p.variable(name, t)
	}
	r := register{t.text, -1}
	if p.op("@") {
		at := p.tok
		text := strings.TrimPrefix(at.text, "lane")
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 31 {
			p.fail(at.pos, "found %s, expected a lane: %s@0 to %s@31", p.found(), t.text, t.text)
		}
		r.lane = n
		p.next()
	}
	if next := p.tok; next.kind == tokName && next.text == "lane" {
		p.next()
		lane := "N"
		if p.tok.kind == tokNumber {
			lane = p.tok.text
		}
		p.fail(next.pos, "write %s@%s for a lane of %s", t.text, lane, t.text)
	}
	p.refs = append(p.refs, ref{kind: refRegister, name: t.text, lane: r.lane, pos: t.pos})
	return r
}

func (p *parser) variable(name string, t token) node {
	p.refs = append(p.refs, ref{kind: refName, name: name, pos: t.pos})
	for _, n := range Names {
		if n.Name == name {
			return variable{name, t.pos}
		}
	}
	if slices.Contains(p.cursor, name) {
		return variable{name, t.pos}
	}
	if name == "hits" {
		p.fail(t.pos, "the count stands behind the condition: [if EXPR] hits %s 3", ">=")
	}
	panic(&Error{
		Text: p.text, Pos: t.pos, Unknown: t.text,
		Msg: fmt.Sprintf("no variable %q; expected %%register, array[row][col], function(…) or a variable",
			t.text),
	})
}

// named reads what begins with a name: a variable, an array, a call.
func (p *parser) named(t token) node {
	switch {
	case t.text == "true" || t.text == "false":
		return literal{True(t.text == "true")}
	case p.at("("):
		return p.call(t)
	case p.at("["):
		c := cell{array: t.text}
		fixed := map[int]int64{}
		for p.op("[") {
			before := len(p.refs)
			x := p.binary(0)
			if len(p.refs) == before { // it names nothing
				if v, err := x.eval(nil, 0); err == nil && v.Kind == Integer {
					fixed[len(c.index)] = v.Int
				}
			}
			c.index = append(c.index, x)
			p.want("]", "an operator or ]")
		}
		p.refs = append(p.refs, ref{kind: refArray, name: t.text, indices: len(c.index), fixed: fixed,
			pos: t.pos})
		return c
	}
	return p.variable(t.text, t)
}

func (p *parser) call(t token) node {
	f := functions[t.text]
	if f == nil {
		var all []string
		for name := range functions {
			all = append(all, name)
		}
		slices.Sort(all)
		p.fail(t.pos, "no function %q (functions: %s)", t.text, strings.Join(all, " "))
	}
	p.next()
	c := call{fn: f}
	for !p.at(")") {
		c.args = append(c.args, p.binary(0))
		if !p.op(",") {
			break
		}
	}
	p.want(")", ", or )")
	if len(c.args) != f.args {
		p.fail(t.pos, "%s takes %d, found %d", t.text, f.args, len(c.args))
	}
	return c
}

// hits reads a count behind the word: OP N.
func (p *parser) hits() *Hits {
	h := &Hits{Op: p.tok.text}
	if p.tok.kind != tokOp || !slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "%"}, h.Op) {
		p.fail(p.tok.pos, "found %s, expected ==, !=, <, <=, >, >= or %% and a number", p.found())
	}
	p.next()
	n, err := strconv.ParseUint(p.tok.text, 10, 32)
	if err != nil || h.Op == "%" && n == 0 {
		p.fail(p.tok.pos, "found %s, expected how often", p.found())
	}
	h.N = n
	p.next()
	return h
}
