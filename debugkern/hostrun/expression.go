package hostrun

import (
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/hostcode"
)

// node is an expression.
type node struct {
	op   op
	text string // of a name, a member or an operator
	i    int64
	f    float64
	kind *typeName
	args []*node
	// of a launch: its configuration; of a name: its template arguments
	config []*node
	params []declarator // of a lambda
	types  []*typeName  // of its parameters
	body   []*statement // of a lambda
	line   int
	done   value // of one that was evaluated already
}

type op uint8

const (
	opInt op = iota
	opFloat
	opText
	opName
	opCall
	opIndex
	opMember
	opUnary
	opStep // ++ and --; f is 1 where it stands behind
	opBinary
	opAssign
	opChoice
	opCast
	opSizeof
	opList
	opNew
	opLambda
	opLaunch
	opComma
	opType
	opMacro
	opValue // done has it
)

// macro is a #define that takes arguments, or that stands for more than a value.
type macro struct {
	params []string
	body   []token
	busy   bool
}

var levelOf = map[string]int{
	"||": 1,
	"&&": 2,
	"|":  3,
	"^":  4,
	"&":  5,
	"==": 6,
	"!=": 6,
	"<":  7,
	">":  7,
	"<=": 7,
	">=": 7,
	"<<": 8,
	">>": 8,
	"+":  9,
	"-":  9,
	"*":  10,
	"/":  10,
	"%":  10,
}

// expression reads an expression with commas.
func (p *parser) expression() *node {
	left := p.assignment()
	for !p.failed && p.at(0) == "," {
		line := p.line()
		p.i++
		left = &node{op: opComma, args: []*node{left, p.assignment()}, line: line}
	}
	return left
}

// initial reads what a variable begins with: an expression, or a list in braces.
func (p *parser) initial() *node {
	if p.at(0) == "{" {
		return p.braces(nil)
	}
	return p.assignment()
}

// braces reads a list in braces, of a type where it has one.
func (p *parser) braces(kind *typeName) *node {
	n := &node{op: opList, kind: kind, line: p.line()}
	p.expect("{")
	for !p.failed && p.at(0) != "}" {
		if p.at(0) == "." && p.kind(1) == hostcode.Word && p.at(2) == "=" { // .field = value
			name := p.at(1)
			p.i += 3
			n.args = append(n.args, &node{op: opAssign, text: "." + name, args: []*node{p.initial()}})
		} else {
			n.args = append(n.args, p.initial())
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect("}")
	return n
}

// arguments reads a list up to a closing bracket, which it takes.
func (p *parser) arguments(end string) (list []*node) {
	for !p.failed && p.at(0) != end {
		list = append(list, p.initial())
		if !p.accept(",") {
			break
		}
	}
	p.expect(end)
	return list
}

// assignment reads an expression without commas.
func (p *parser) assignment() *node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNested {
		p.failed = true
		return nil
	}
	left := p.binary(1, nil)
	if p.failed {
		return left
	}
	line := p.line()
	switch t := p.at(0); t {
	case "?":
		p.i++
		yes := p.assignment()
		p.expect(":")
		return &node{op: opChoice, args: []*node{left, yes, p.assignment()}, line: line}
	case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=":
		p.i++
		return &node{
			op:   opAssign,
			text: strings.TrimSuffix(t, "="),
			args: []*node{left, p.initial()},
			line: line,
		}
	case ">":
		if p.at(1) == ">=" ||
			p.at(1) == ">" && p.at(2) == "=" && p.code[p.i+1].joined && p.code[p.i+2].joined {
			p.failed = true // >>=
		}
	}
	return left
}

// operator is the binary operator at hand and how many tokens it has; "" where there is none.
func (p *parser) operator() (string, int) {
	t := p.at(0)
	if p.kind(0) != hostcode.Punctuation {
		return "", 0
	}
	if t == ">" && p.at(1) == ">" && p.code[p.i+1].joined {
		if p.at(2) == ">" && p.code[p.i+2].joined {
			return "", 0 // it ends a launch's configuration
		}
		return ">>", 2
	}
	return t, 1
}

func (p *parser) binary(least int, left *node) *node {
	if left == nil {
		left = p.unary()
	}
	for !p.failed {
		text, n := p.operator()
		level := levelOf[text]
		if level < least || level == 0 {
			return left
		}
		line := p.line()
		p.i += n
		right := p.binary(level+1, nil)
		left = &node{op: opBinary, text: text, args: []*node{left, right}, line: line}
	}
	return left
}

func (p *parser) unary() *node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNested {
		p.failed = true
		return nil
	}
	line := p.line()
	switch t := p.at(0); {
	case p.kind(0) == hostcode.Literal:
	case t == "-" || t == "+" || t == "!" || t == "~" || t == "*" || t == "&":
		p.i++
		return &node{op: opUnary, text: t, args: []*node{p.unary()}, line: line}
	case t == "++" || t == "--":
		p.i++
		return &node{op: opStep, text: t, args: []*node{p.unary()}, line: line}
	case t == "sizeof":
		p.i++
		return p.sizeof()
	case t == "new":
		p.i++
		return p.allocation()
	case t == "delete" || t == "throw":
		p.failed = true
		return nil
	case t == "(":
		if cast := p.cast(); cast != nil {
			return cast
		}
	}
	return p.postfix(p.primary())
}

// cast reads a cast in parentheses; nil, and nothing is taken, where there is none.
func (p *parser) cast() *node {
	from, line := p.i, p.line()
	p.i++
	t := p.typeName()
	named := t != nil && (p.isType(t.name) || t.pointers > 0 || t.args != nil)
	if !named || p.at(0) != ")" || t.pointers == 0 && t.refers {
		p.i, p.failed = from, false
		return nil
	}
	p.i++
	// (name) - 1 with a name that is no type was taken care of; what follows a cast is an operand
	if next := p.at(0); p.kind(0) == hostcode.Punctuation && next != "(" && next != "-" && next != "*" &&
		next != "&" && next != "!" && next != "~" && next != "+" && next != "::" {
		p.i, p.failed = from, false
		return nil
	}
	return &node{op: opCast, kind: t, args: []*node{p.unary()}, line: line}
}

func (p *parser) sizeof() *node {
	n := &node{op: opSizeof, line: p.line()}
	if p.at(0) != "(" {
		n.args = []*node{p.unary()}
		return n
	}
	from := p.i
	p.i++
	if t := p.typeName(); t != nil && p.at(0) == ")" &&
		(p.isType(t.name) || t.pointers > 0 || t.args != nil) {
		p.i++
		n.kind = t
		return n
	}
	p.i, p.failed = from+1, false
	n.args = []*node{p.expression()}
	p.expect(")")
	return n
}

func (p *parser) allocation() *node {
	n := &node{op: opNew, line: p.line()}
	if n.kind = p.typeName(); n.kind == nil {
		p.failed = true
		return n
	}
	switch {
	case p.accept("["):
		n.args = []*node{p.expression()}
		p.expect("]")
		if p.accept("(") {
			p.arguments(")")
		} else if p.at(0) == "{" {
			p.braces(nil)
		}
	case p.accept("("):
		p.arguments(")")
	}
	return n
}

func (p *parser) primary() *node {
	n := &node{line: p.line()}
	if p.i >= len(p.code) {
		p.failed = true
		return n
	}
	switch t := p.code[p.i]; {
	case t.kind == hostcode.Number:
		p.i++
		p.number(n, t.text)
	case t.kind == hostcode.Literal:
		p.i++
		n.op, n.text = opText, t.text
		for p.kind(0) == hostcode.Literal {
			p.i++
		}
	case t.text == "(":
		p.i++
		n = p.expression()
		p.expect(")")
	case t.text == "[":
		p.lambda(n)
	case t.kind == hostcode.Word:
		p.name(n)
	default:
		p.failed = true
	}
	return n
}

func (p *parser) number(n *node, text string) {
	text = strings.ReplaceAll(text, "'", "")
	hex := strings.HasPrefix(strings.ToLower(text), "0x")
	if !hex && strings.ContainsAny(text, ".eE") || !hex && strings.HasSuffix(strings.ToLower(text), "f") {
		n.op = opFloat
		if strings.HasSuffix(strings.ToLower(text), "f") {
			n.text = "f"
		}
		f, err := strconv.ParseFloat(strings.TrimRight(text, "fFlL"), 64)
		n.f, p.failed = f, p.failed || err != nil
		return
	}
	n.op = opInt
	n.text = strings.ToLower(text[len(strings.TrimRight(text, "uUlLzZ")):])
	u, err := strconv.ParseUint(strings.TrimRight(text, "uUlLzZ"), 0, 64)
	n.i, p.failed = int64(u), p.failed || err != nil
}

// name reads a name with its namespaces and template arguments, and what only a name begins: a cast by name,
// a type's constructor, a macro's call.
func (p *parser) name(n *node) {
	n.op, n.text = opName, p.at(0)
	if m := p.macros[n.text]; m != nil && !m.busy && p.expand(n, m) {
		return
	}
	p.i++
	for p.at(0) == "::" && p.kind(1) == hostcode.Word {
		n.text += "::" + p.at(1)
		p.i += 2
	}
	switch n.text {
	case "true", "false":
		n.op, n.i, n.text = opInt, 0, "bool"
		if p.code[p.i-1].text == "true" {
			n.i = 1
		}
		return
	case "nullptr", "NULL":
		n.op, n.i, n.text = opInt, 0, ""
		return
	case "static_cast", "reinterpret_cast", "const_cast":
		p.expect("<")
		if n.kind = p.typeName(); n.kind == nil {
			p.failed = true
		}
		p.expect(">")
		p.expect("(")
		n.op, n.args = opCast, []*node{p.expression()}
		p.expect(")")
		return
	case "unsigned", "long", "short", "signed":
		p.i--
		n.kind = p.typeName()
		n.text = n.kind.name
	}
	if p.at(0) == "<" {
		if args, end := p.templateArguments(); end > 0 {
			// behind > as an operator no comma stands, and no parenthesis closes
			if slices.Contains([]string{"(", "<<<", "::", "{", ",", ")"}, p.after(end)) {
				n.config, p.i = args, end
				for p.at(0) == "::" && p.kind(1) == hostcode.Word {
					n.text += "::" + p.at(1)
					p.i += 2
				}
			}
		}
	}
	if p.at(0) == "{" && (p.isType(n.text) || n.config != nil) {
		list := p.braces(&typeName{name: n.text, args: n.config})
		*n = *list
	}
}

func (p *parser) after(i int) string {
	if i < len(p.code) {
		return p.code[i].text
	}
	return ""
}

func (p *parser) lambda(n *node) {
	n.op = opLambda
	p.i = p.closing(p.i)
	if p.accept("(") {
		p.parameters(n)
	}
	for p.i < len(p.code) && p.at(0) != "{" && p.at(0) != ";" && p.at(0) != ")" {
		p.i++ // mutable, -> type
	}
	p.expect("{")
	if p.failed {
		return
	}
	n.body = p.statements()
	p.failed = false
	p.expect("}")
}

// parameters reads a function's parameters up to the closing parenthesis, which it takes.
func (p *parser) parameters(n *node) {
	for !p.failed && p.i < len(p.code) && p.at(0) != ")" {
		t := p.typeName()
		if t == nil {
			p.failed = true
			return
		}
		d := declarator{pointers: t.pointers, refers: t.refers}
		if p.kind(0) == hostcode.Word {
			d.name = p.at(0)
			p.i++
		}
		for p.accept("[") {
			d.pointers++
			if p.at(0) != "]" {
				p.assignment()
			}
			p.expect("]")
		}
		if p.accept("=") {
			d.first = p.initial()
		}
		n.params, n.types = append(n.params, d), append(n.types, t)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

// expand reads a macro's use in its place: its body as an expression, or, where that is none, as statements.
func (p *parser) expand(n *node, m *macro) bool {
	from := p.i
	bound := map[string][]token{}
	if m.params != nil {
		if p.at(1) != "(" {
			return false
		}
		end := p.closing(p.i + 1)
		list := splitTokens(p.code[p.i+2 : max(p.i+2, end-1)])
		for i, name := range m.params {
			switch {
			case name == "...":
				bound["__VA_ARGS__"] = joinTokens(list[min(i, len(list)):])
			case i < len(list):
				bound[name] = list[i]
			}
		}
		p.i = end
	} else {
		p.i++
	}
	var code []token
	for i, t := range m.body {
		if t.text == "#" && i+1 < len(m.body) && bound[m.body[i+1].text] != nil {
			continue
		}
		with, ok := bound[t.text]
		if ok && i > 0 && m.body[i-1].text == "#" && (i < 2 || m.body[i-2].text != "#") { // as a string
			code = append(code, token{kind: hostcode.Literal, text: `""`})
			continue
		}
		if ok && t.kind == hostcode.Word {
			code = append(code, with...)
			continue
		}
		code = append(code, t)
	}
	for i := range code {
		code[i].line = p.code[from].line
	}
	m.busy = true
	defer func() { m.busy = false }()
	inner := &parser{code: code, types: p.types, macros: p.macros, depth: p.depth}
	x := inner.expression()
	if !inner.failed && inner.i == len(code) && x != nil {
		*n = *x
		return true
	}
	inner = &parser{code: code, types: p.types, macros: p.macros, depth: p.depth}
	n.op, n.body = opMacro, inner.statements()
	if inner.i < len(code) {
		n.body = append(n.body, &statement{kind: unknownStatement, names: namesOf(code[inner.i:])})
	}
	return true
}

func namesOf(code []token) (list []string) {
	for _, t := range code {
		if t.kind == hostcode.Word {
			list = append(list, t.text)
		}
	}
	return list
}

// splitTokens cuts at the commas outside brackets.
func splitTokens(code []token) (list [][]token) {
	depth, from := 0, 0
	for i, t := range code {
		if t.kind != hostcode.Punctuation {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				list = append(list, code[from:i])
				from = i + 1
			}
		}
	}
	if from < len(code) {
		list = append(list, code[from:])
	}
	return list
}

func joinTokens(list [][]token) (code []token) {
	for i, part := range list {
		if i > 0 {
			code = append(code, token{kind: hostcode.Punctuation, text: ","})
		}
		code = append(code, part...)
	}
	return code
}

// postfix reads calls, indices, members and launches behind an operand.
func (p *parser) postfix(n *node) *node {
	for !p.failed {
		line := p.line()
		switch t := p.at(0); {
		case p.kind(0) == hostcode.Literal:
			return n
		case t == "(":
			p.i++
			n = &node{op: opCall, args: append([]*node{n}, p.arguments(")")...), line: line}
		case t == "[":
			p.i++
			n = &node{op: opIndex, args: []*node{n, p.expression()}, line: line}
			p.expect("]")
		case t == "." || t == "->":
			if p.kind(1) != hostcode.Word {
				p.failed = true
				return n
			}
			n = &node{op: opMember, text: p.at(1), args: []*node{n}, line: line}
			p.i += 2
		case t == "++" || t == "--":
			p.i++
			n = &node{op: opStep, text: t, f: 1, args: []*node{n}, line: line}
		case t == "<<<":
			n = p.launch(n)
		default:
			return n
		}
	}
	return n
}

func (p *parser) launch(n *node) *node {
	out := &node{op: opLaunch, text: n.text, config: n.config, line: p.line()}
	p.i++
	config := &node{op: opList}
	for !p.failed && p.at(0) != ">" {
		config.args = append(config.args, p.initial())
		if !p.accept(",") {
			break
		}
	}
	for range 3 {
		p.expect(">")
	}
	p.expect("(")
	out.args = append([]*node{config}, p.arguments(")")...)
	return out
}
