package hostrun

import (
	"slices"
	"strings"

	"tilescope/debugkern/hostcode"
)

// token is a word of the code, with operators of several characters made one. A > is always one of its own:
// it may close a list of template arguments.
type token struct {
	kind   hostcode.TokenKind
	text   string
	line   int
	joined bool
}

var longOperators = []string{
	"<<=",
	"==",
	"!=",
	"<=",
	">=",
	"&&",
	"||",
	"++",
	"--",
	"+=",
	"-=",
	"*=",
	"/=",
	"%=",
	"&=",
	"|=",
	"^=",
	"<<",
	"...",
}

// join makes operators of several characters one token each.
func join(code []hostcode.Token) (out []token) {
	for i := 0; i < len(code); i++ {
		c := code[i]
		t := token{c.Kind, c.Text, c.Line, c.Joined}
		if c.Kind == hostcode.Punctuation {
			for _, op := range longOperators {
				text, n := c.Text, 1
				for len(text) < len(op) && i+n < len(code) && code[i+n].Joined &&
					code[i+n].Kind == hostcode.Punctuation {
					text += code[i+n].Text
					n++
				}
				if text == op && n > 1 {
					t.text = op
					i += n - 1
					break
				}
			}
		}
		out = append(out, t)
	}
	return out
}

// statement is a parsed statement.
type statement struct {
	kind statementKind
	line int
	// of a condition: cond, body and otherwise; of a loop init, cond, step and body
	init, cond, step *node
	declared         *declaration // of a declaration, of a loop's head
	body, otherwise  []*statement
	names            []string // of what was not understood: the names in it
}

type statementKind uint8

const (
	expressionStatement statementKind = iota
	declarationStatement
	blockStatement
	ifStatement
	forStatement
	rangeStatement
	whileStatement
	doStatement
	returnStatement
	breakStatement
	continueStatement
	aliasStatement  // of a type
	switchStatement // of cond; its body has the labels
	caseStatement   // cond is nil for default
	unknownStatement
)

// declaration declares variables of a type.
type declaration struct {
	kind  *typeName
	vars  []declarator
	bound bool // vars are the parts of one value, which the first of them begins with
}

// declarator is one variable: its pointers and extents, and what it begins with.
type declarator struct {
	name     string
	pointers int
	refers   bool
	dims     []*node // nil: no array; an element that is nil has the extent of what it begins with
	first    *node   // nil: nothing
	call     bool    // first is the argument list of a constructor
}

// typeName is a type as the source spells it.
type typeName struct {
	name     string // "unsigned int", "std::vector", "auto"
	args     []*node
	pointers int
	refers   bool
	constant bool // const or constexpr, and no pointer or reference to such
}

// parser reads statements and expressions.
type parser struct {
	code   []token
	i      int
	types  map[string]bool // names that are types: of the source's structs, aliases and template parameters
	macros map[string]*macro
	depth  int
	failed bool // the statement at hand is not understood
}

func (p *parser) at(n int) string {
	if p.i+n < len(p.code) {
		return p.code[p.i+n].text
	}
	return ""
}

func (p *parser) kind(n int) hostcode.TokenKind {
	if p.i+n < len(p.code) {
		return p.code[p.i+n].kind
	}
	return 0
}

func (p *parser) line() int {
	if p.i < len(p.code) {
		return p.code[p.i].line
	}
	return 0
}

func (p *parser) accept(text string) bool {
	if p.at(0) == text && p.kind(0) != hostcode.Literal {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.failed = true
	}
}

// statements reads up to the end of the code or a closing brace.
func (p *parser) statements() (list []*statement) {
	for p.i < len(p.code) && p.at(0) != "}" {
		if s := p.statement(); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// maxNested is how deeply statements and expressions may be nested.
const maxNested = 200

// statement reads one statement; nil for an empty one. What is not understood is one of kind
// unknownStatement, up to its semicolon or its closing brace.
func (p *parser) statement() *statement {
	from := p.i
	p.depth++
	defer func() { p.depth-- }()
	p.failed = p.depth > maxNested
	var s *statement
	if !p.failed {
		s = p.known()
	}
	if !p.failed {
		return s
	}
	p.failed = false
	p.i = from
	out := &statement{kind: unknownStatement, line: p.line()}
	for p.i < len(p.code) {
		t := p.code[p.i]
		if t.kind == hostcode.Word {
			out.names = append(out.names, t.text)
		}
		switch t.text {
		case ";":
			p.i++
			return out
		case "}":
			return out
		case "(", "[", "{":
			end := p.closing(p.i)
			for _, t := range p.code[p.i:end] {
				if t.kind == hostcode.Word {
					out.names = append(out.names, t.text)
				}
			}
			p.i = end
			if t.text == "{" && p.at(0) != ";" && p.at(0) != "," && p.at(0) != ")" {
				return out
			}
		default:
			p.i++
		}
	}
	return out
}

// closing is the index behind the bracket that closes the one at i.
func (p *parser) closing(i int) int {
	depth := 0
	for ; i < len(p.code); i++ {
		if p.code[i].kind != hostcode.Punctuation {
			continue
		}
		switch p.code[i].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

func (p *parser) known() *statement {
	s := &statement{line: p.line()}
	switch word := p.at(0); {
	case p.accept(";"):
		return nil
	case p.accept("{"):
		s.kind, s.body = blockStatement, p.statements()
		p.failed = false
		p.expect("}")
	case p.accept("if"):
		s.kind = ifStatement
		p.accept("constexpr")
		p.expect("(")
		p.condition(s)
		s.body = p.branch()
		if !p.failed && p.accept("else") {
			s.otherwise = p.branch()
		}
	case p.accept("for"):
		p.loop(s)
	case p.accept("while"):
		s.kind = whileStatement
		p.expect("(")
		p.condition(s)
		s.body = p.branch()
	case p.accept("do"):
		s.kind, s.body = doStatement, p.branch()
		p.expect("while")
		p.expect("(")
		s.cond = p.expression()
		p.expect(")")
		p.accept(";")
	case p.accept("switch"):
		s.kind = switchStatement
		p.expect("(")
		p.condition(s)
		p.expect("{")
		s.body = p.statements()
		p.failed = false
		p.expect("}")
	case p.accept("case"):
		s.kind = caseStatement
		s.cond = p.binary(1, nil)
		p.expect(":")
	case word == "default" && p.at(1) == ":":
		s.kind = caseStatement
		p.i += 2
	case p.at(0) == "try" && p.at(1) == "{": // nothing is thrown that is known of
		p.i += 2
		s.kind, s.body = blockStatement, p.statements()
		p.failed = false
		p.expect("}")
		for p.at(0) == "catch" && p.at(1) == "(" {
			p.i = p.closing(p.i + 1)
			if p.at(0) == "{" {
				p.i = p.closing(p.i)
			}
		}
	case p.accept("return"):
		s.kind = returnStatement
		if p.at(0) != ";" {
			s.cond = p.initial()
		}
		p.expect(";")
	case p.accept("break"):
		s.kind = breakStatement
		p.expect(";")
	case p.accept("continue"):
		s.kind = continueStatement
		p.expect(";")
	case word == "using" && p.kind(1) == hostcode.Word && p.at(2) == "=":
		s.kind = aliasStatement
		s.declared = &declaration{vars: []declarator{{name: p.at(1)}}}
		p.types[p.at(1)] = true
		p.i += 3
		if s.declared.kind = p.typeName(); s.declared.kind == nil {
			p.failed = true
			break
		}
		p.expect(";")
	case word == "using" || word == "typedef" || word == "static_assert":
		p.failed = true // of no consequence for a value
	default:
		if s.declared = p.declaration(); s.declared != nil {
			s.kind = declarationStatement
			p.expect(";")
			break
		}
		s.cond = p.expression()
		if s.cond != nil && s.cond.op == opMacro { // a macro's call may end without a semicolon
			p.accept(";")
			break
		}
		p.expect(";")
	}
	return s
}

// condition reads what stands in the parentheses of an if or a while: an expression, perhaps behind a
// declaration.
func (p *parser) condition(s *statement) {
	if d := p.declaration(); d != nil {
		s.declared = d
		if p.accept(";") {
			s.cond = p.expression()
		} else if len(d.vars) == 1 {
			s.cond = &node{op: opName, text: d.vars[0].name}
		}
	} else {
		s.cond = p.expression()
	}
	p.expect(")")
}

// branch is the statement of a condition or a loop.
func (p *parser) branch() []*statement {
	if p.failed {
		return nil
	}
	if p.accept("{") {
		list := p.statements()
		p.failed = false
		p.expect("}")
		return list
	}
	s := p.statement()
	if s == nil {
		return nil
	}
	return []*statement{s}
}

func (p *parser) loop(s *statement) {
	s.kind = forStatement
	p.expect("(")
	from := p.i
	if s.declared = p.declaration(); s.declared != nil {
		if (len(s.declared.vars) == 1 || s.declared.bound) && p.accept(":") {
			s.kind = rangeStatement
			s.cond = p.initial()
			p.expect(")")
			s.body = p.branch()
			return
		}
	} else {
		p.i = from
		if p.at(0) != ";" {
			s.init = p.expression()
		}
	}
	p.expect(";")
	if p.at(0) != ";" {
		s.cond = p.expression()
	}
	p.expect(";")
	if p.at(0) != ")" {
		s.step = p.expression()
	}
	p.expect(")")
	s.body = p.branch()
}

var storage = []string{"const", "static", "constexpr", "volatile", "inline", "extern", "register",
	"thread_local", "__restrict__", "__constant__", "__device__", "__managed__", "typename", "struct", "enum",
	"mutable", "virtual", "explicit"}

var builtinTypes = []string{
	"void",
	"bool",
	"char",
	"short",
	"int",
	"long",
	"unsigned",
	"signed",
	"float",
	"double",
	"auto",
	"size_t",
	"ssize_t",
	"ptrdiff_t",
	"int8_t",
	"uint8_t",
	"int16_t",
	"uint16_t",
	"int32_t",
	"uint32_t",
	"int64_t",
	"uint64_t",
	"half",
	"__half",
	"nv_half",
	"__nv_bfloat16",
	"nv_bfloat16",
	"__nv_fp8_e4m3",
	"__nv_fp8_e5m2",
	"dim3",
	"uint",
	"uchar",
	"ushort",
	"cudaError_t",
}

var wordsOfNumbers = []string{"short", "int", "long", "unsigned", "signed", "char", "double"}

// declaration reads the variables of a declaration, without its semicolon; nil, and no token is taken, where
// none begins here.
func (p *parser) declaration() *declaration {
	from := p.i
	kind := p.typeName()
	if kind == nil || !p.declares() && !(kind.name == "auto" && p.at(0) == "[") {
		p.i, p.failed = from, false
		return nil
	}
	out := &declaration{kind: kind}
	for first := true; first || p.accept(","); first = false {
		d := declarator{pointers: kind.pointers, refers: kind.refers}
		if !first {
			d.pointers, d.refers = 0, false
		}
		for p.at(0) == "*" || p.at(0) == "&" || p.at(0) == "const" || p.at(0) == "__restrict__" {
			switch p.at(0) {
			case "*":
				d.pointers++
			case "&":
				d.refers = true
			}
			p.i++
		}
		if first && p.accept("[") {
			out.bind(p, d.refers)
			return out
		}
		if p.kind(0) != hostcode.Word {
			p.failed = true
			return out
		}
		d.name = p.at(0)
		p.i++
		p.initialOf(&d)
		out.vars = append(out.vars, d)
		if p.failed {
			return out
		}
	}
	return out
}

// bind reads structured bindings behind their opening bracket: auto [a, b] = x.
func (d *declaration) bind(p *parser, refers bool) {
	d.bound = true
	for p.kind(0) == hostcode.Word {
		d.vars = append(d.vars, declarator{name: p.at(0), refers: refers})
		p.i++
		if !p.accept(",") {
			break
		}
	}
	p.expect("]")
	if d.vars == nil {
		p.failed = true
		return
	}
	if p.at(0) != ":" {
		p.initialOf(&d.vars[0])
	}
}

// initialOf reads the extents of a variable and what it begins with.
func (p *parser) initialOf(d *declarator) {
	for p.accept("[") {
		var n *node
		if p.at(0) != "]" {
			n = p.assignment()
		}
		d.dims = append(d.dims, n)
		p.expect("]")
	}
	switch {
	case p.accept("="):
		d.first = p.initial()
	case p.at(0) == "{":
		d.first = p.braces(nil)
	case p.accept("("):
		d.call = true
		d.first = &node{op: opList, line: p.line(), args: p.arguments(")")}
	}
}

// declares reports that a type is followed by a name that is declared.
func (p *parser) declares() bool {
	if p.kind(0) != hostcode.Word {
		return false
	}
	return slices.Contains([]string{"=", ";", ",", "(", "{", "[", ":", ")"}, p.at(1))
}

// typeName reads a type with its template arguments, pointers and references; nil where none is here.
func (p *parser) typeName() *typeName {
	constant := false
	for slices.Contains(storage, p.at(0)) {
		constant = constant || p.at(0) == "const" || p.at(0) == "constexpr"
		p.i++
	}
	if p.kind(0) != hostcode.Word {
		return nil
	}
	t := &typeName{name: p.at(0), constant: constant}
	p.i++
	if slices.Contains(wordsOfNumbers, t.name) {
		for slices.Contains(wordsOfNumbers, p.at(0)) || p.at(0) == "const" {
			if p.at(0) != "const" {
				t.name += " " + p.at(0)
			}
			p.i++
		}
	}
	for p.at(0) == "::" && p.kind(1) == hostcode.Word {
		t.name += "::" + p.at(1)
		p.i += 2
	}
	if p.at(0) == "<" {
		args, end := p.templateArguments()
		if end == 0 {
			return nil
		}
		t.args, p.i = args, end
		for p.at(0) == "::" && p.kind(1) == hostcode.Word { // a member type
			t.name += "::" + p.at(1)
			p.i += 2
		}
	}
	for {
		switch p.at(0) {
		case "*":
			t.pointers++
		case "&":
			t.refers = true
		case "&&":
			t.refers = true
		case "const":
			t.constant = true
		case "__restrict__", "volatile", "__restrict":
		default:
			t.constant = t.constant && t.pointers == 0 && !t.refers
			return t
		}
		p.i++
	}
}

// isType reports whether a name is that of a type.
func (p *parser) isType(name string) bool {
	name = name[strings.LastIndexByte(name, ':')+1:]
	return slices.Contains(builtinTypes, name) || p.types[name] || vectorType.MatchString(name)
}

// templateArguments reads the arguments of a template from its < on; end is 0 where they are none.
func (p *parser) templateArguments() (args []*node, end int) {
	from, failed := p.i, p.failed
	defer func() { p.i, p.failed = from, failed }()
	p.i++
	for {
		at := p.i
		t := p.typeName()
		if t != nil && p.at(0) == "[" && p.at(1) == "]" { // unique_ptr<float[]>
			p.i += 2
		}
		if t != nil && (p.at(0) == "," || p.at(0) == ">") {
			args = append(args, &node{op: opType, text: t.name, kind: t, line: p.line()})
		} else {
			p.i, p.failed = at, false
			if p.at(0) == ">" && args == nil {
				return []*node{}, p.i + 1
			}
			x := p.binary(levelOf[">"]+1, nil)
			if x == nil || p.failed {
				return nil, 0
			}
			args = append(args, x)
		}
		switch {
		case p.accept(","):
		case p.at(0) == ">":
			return args, p.i + 1
		default:
			return nil, 0
		}
	}
}
