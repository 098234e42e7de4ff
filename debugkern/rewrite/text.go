// Package rewrite lists edits of lines of CUDA C++, and writes many of them into one text, of which a number
// chooses one.
//
// The one idea: most bugs of a kernel are one edit of one line, and the kernel itself has what belongs there:
// another variable of the same type, an expression that stands elsewhere, the other operator. Such edits are
// listed, compiled together, and a run executes any one of them without another compilation.
//
// It reads text: what it does not understand it leaves alone, and a compiler has the last word. It must not
// know kernels, nor what an edit is good for.
package rewrite

import (
	"slices"
	"strings"
)

// Text is a source or header that was read.
type Text struct {
	Name      string // as given to Parse
	text      string
	tokens    []token
	partner   []int // by token: of a bracket the other one plus 1, else 0
	macros    map[string]string
	values    map[string]int // bytes where what macros stand for begins
	includes  []string
	functions []*function
	globals   []*variable
	structs   map[string][]*variable // members, by the name of the type
}

// function is the definition of a function.
type function struct {
	name       string
	result     string
	from, to   int // tokens of its body, with its braces
	parameters []*variable
	body       []*statement
	fixed      bool // constexpr: executed by the compiler
	kernel     bool // __global__
	first      int  // the token that opens its parameters
}

// variable is a declared name.
type variable struct {
	name  string
	typ   string // without const, static and references: "int", "half*", "wmma::fragment<…>"
	ranks int    // how many indices an array has
	// extents are the tokens between its brackets, from and to, where a declaration was read
	extents [][2]int
	at      int // token of the name
	from    int // token where it begins to be visible
	to      int // where it ends
	line    int
	init    *expr // nil: none that was read
	fixed   bool  // its value is known to the compiler
	once    bool  // const: nothing is assigned to it
	mask    bool  // one of lanes: its value has all of 32 bits
	of      *statement
}

// statement is a part of a function's body.
type statement struct {
	kind     string // "for", "if", "while", "return", "declaration", "expression", "asm", "block", "other"
	from, to int    // tokens, to is behind the last
	parent   *statement
	body     []*statement
	exprs    []*expr // of a for: condition and increments; of an if its condition; of asm its operands
	init     *statement
	declares []*variable
}

// Parse reads a text. It never fails: what it cannot read has no edits.
func Parse(name, text string) *Text {
	t := &Text{Name: name, text: text, structs: map[string][]*variable{}}
	l := lex(text)
	t.tokens, t.macros, t.values, t.includes = l.tokens, l.macros, l.values, l.includes
	t.pairBrackets()
	t.outer(0, len(t.tokens)-1)
	return t
}

// is reports whether a token is a certain text.
func (t *Text) is(at int, text string) bool {
	return at >= 0 && at < len(t.tokens) && t.tokens[at].text == text
}

// source is the text of some tokens.
func (t *Text) source(from, to int) string {
	if from >= to {
		return ""
	}
	return t.text[t.tokens[from].from:t.tokens[to-1].to]
}

// renamed is the text of some tokens with other names, by nameKey.
func (t *Text) renamed(from, to int, names map[string]string) string {
	var b strings.Builder
	at := t.tokens[from].from
	for i := from; i < to; i++ {
		tok := t.tokens[i]
		if now := names[t.nameKey(i)]; now != "" {
			b.WriteString(t.text[at:tok.from] + now)
			at = tok.to
		}
	}
	b.WriteString(t.text[at:t.tokens[to-1].to])
	return b.String()
}

// nameKey is by what a token is renamed: a variable by its name, a member by that behind a dot, a number that
// is a whole index by that behind a bracket; "" of any other token.
func (t *Text) nameKey(i int) string {
	switch tok := t.tokens[i]; {
	case tok.kind == name && (t.is(i-1, ".") || t.is(i-1, "->")):
		return "." + tok.text
	case tok.kind == name:
		return tok.text
	case tok.kind == number && t.is(i-1, "[") && t.is(i+1, "]"):
		return "[" + tok.text
	}
	return ""
}

// outer reads what stands outside of functions: functions, types and constants.
func (t *Text) outer(from, to int) {
	begin := from
	for i := from; i < to; i++ {
		switch tok := t.tokens[i]; tok.text {
		case ";":
			t.declared(begin, i, len(t.tokens), nil, &t.globals)
			begin = i + 1
		case "(", "[":
			if m := t.match(i); m > i {
				i = m
			}
		case "{":
			close := t.match(i)
			if close < 0 {
				return
			}
			switch {
			case t.is(i-1, ")") || t.is(i-1, "const") || t.is(i-1, "noexcept"):
				t.function(begin, i, close)
				begin = close + 1
			case t.has(begin, i, "struct") || t.has(begin, i, "union") || t.has(begin, i, "class"):
				t.members(begin, i, close)
				begin = close + 1
			case t.has(begin, i, "namespace") || t.has(begin, i, "extern"):
				t.outer(i+1, close)
				begin = close + 1
			}
			i = close
		}
	}
}

// has reports whether some tokens have a word among them.
func (t *Text) has(from, to int, word string) bool {
	return slices.ContainsFunc(t.tokens[from:to], func(x token) bool { return x.text == word })
}

// members reads the members of a type, and the functions in it.
func (t *Text) members(from, open, close int) {
	of := ""
	for i := from; i < open; i++ {
		before := t.tokens[max(i-1, 0)].text
		if t.tokens[i].kind == name && slices.Contains([]string{"struct", "union", "class", ")"}, before) {
			of = t.tokens[i].text
		}
	}
	var list []*variable
	begin := open + 1
	for i := begin; i < close; i++ {
		switch t.tokens[i].text {
		case ";":
			t.declared(begin, i, close, nil, &list)
			begin = i + 1
		case "(", "[":
			if m := t.match(i); m > i {
				i = m
			}
		case "{":
			m := t.match(i)
			if m < 0 {
				return
			}
			if t.is(i-1, ")") || t.is(i-1, "const") {
				t.function(begin, i, m)
				begin = m + 1
			}
			i = m
		}
	}
	t.structs[of] = list
}

// function reads a function whose declaration begins at a token.
func (t *Text) function(begin, open, close int) {
	last := open - 1
	for last > begin && !t.is(last, ")") {
		last--
	}
	first := t.match(last)
	if first <= begin || t.tokens[first-1].kind != name {
		return
	}
	f := &function{
		name: t.tokens[first-1].text, from: open, to: close + 1, fixed: t.has(begin, first, "constexpr"),
		kernel: t.has(begin, first, "__global__"), first: first,
	}
	f.result = t.typeText(begin, first-1)
	if t.is(begin, "template") && t.is(begin+1, "<") {
		if m := t.templateEnd(begin+1, first); m > 0 {
			f.result = t.typeText(m+1, first-1)
			for _, p := range t.split(begin+2, m) {
				t.parameter(f, p[0], p[1])
			}
		}
	}
	for _, p := range t.split(first+1, last) {
		t.parameter(f, p[0], p[1])
	}
	t.functions = append(t.functions, f)
	p := &parser{t: t, f: f}
	f.body = p.statements(open+1, close, nil)
}

// split is the ranges between commas, outside of brackets.
func (t *Text) split(from, to int) [][2]int {
	var out [][2]int
	begin, angle := from, 0
	for i := from; i < to; i++ {
		switch t.tokens[i].text {
		case "(", "[", "{":
			if m := t.match(i); m > i {
				i = m
			}
		case "<":
			angle++
		case ">":
			angle--
		case ",":
			if angle <= 0 {
				out = append(out, [2]int{begin, i})
				begin = i + 1
			}
		}
	}
	if begin < to {
		out = append(out, [2]int{begin, to})
	}
	return out
}

// parameter reads a parameter of a function.
func (t *Text) parameter(f *function, from, to int) {
	for i := from; i < to; i++ {
		if t.is(i, "=") {
			to = i
		}
	}
	at := to - 1
	if t.behindName(from, at) {
		at--
		to--
	}
	ranks := 0
	for at > from && t.is(at, "]") {
		if at = t.match(at) - 1; at < from {
			return
		}
		ranks++
	}
	if at <= from || t.tokens[at].kind != name {
		return
	}
	end := at
	if t.is(end-1, ")") || t.is(end-1, "(") {
		end = from // a reference to an array: its type stands before the bracket
		for end < at && !t.is(end, "(") {
			end++
		}
	}
	if t.is(at+1, ")") { // half (&tile)[ROWS][COLS]
		ranks = 0
		for i := at + 2; i < to && t.is(i, "["); i = t.match(i) + 1 {
			ranks++
		}
	}
	f.parameters = append(f.parameters, &variable{
		name: t.tokens[at].text, at: at, typ: t.typeText(from, end), ranks: ranks, from: f.from, to: f.to,
		line: t.tokens[at].line, once: t.has(from, end, "const"),
	})
}

// behindName reports whether the last token of a parameter is a macro behind its name: int K MORE_PARAMETERS.
func (t *Text) behindName(from, at int) bool {
	if at-1 <= from || t.tokens[at].kind != name || t.tokens[at-1].kind != name ||
		qualifiers[t.tokens[at-1].text] || numeric[t.tokens[at-1].text] != "" {
		return false
	}
	for _, tok := range t.tokens[from : at-1] {
		if !qualifiers[tok.text] {
			return true
		}
	}
	return false
}

// qualifiers are words of a declaration that are no part of the type here.
var qualifiers = map[string]bool{
	"const": true, "static": true, "constexpr": true, "volatile": true, "extern": true, "inline": true,
	"__shared__": true, "__device__": true, "__constant__": true, "__restrict__": true, "typename": true,
	"__forceinline__": true, "__host__": true, "__global__": true, "mutable": true, "struct": true,
	"class": true, "&": true, "__inline__": true, "register": true, "__grid_constant__": true,
}

// typeText is a type without its qualifiers.
func (t *Text) typeText(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		tok := t.tokens[i]
		if tok.text == "alignas" || tok.text == "__align__" || tok.text == "__launch_bounds__" ||
			tok.text == "__attribute__" {
			if m := t.match(i + 1); m > i {
				i = m
			}
			continue
		}
		if qualifiers[tok.text] {
			continue
		}
		if b.Len() > 0 && tok.kind == name && t.tokens[i-1].kind == name && !qualifiers[t.tokens[i-1].text] {
			b.WriteByte(' ')
		}
		b.WriteString(tok.text)
	}
	return b.String()
}

// numeric are the words that types of numbers consist of.
var numeric = map[string]string{
	"int": integer, "unsigned": integer, "signed": integer, "long": integer, "short": integer,
	"char": integer, "size_t": integer, "ptrdiff_t": integer, "int8_t": integer, "uint8_t": integer,
	"int16_t": integer, "uint16_t": integer, "int32_t": integer,
	"uint32_t": integer, "int64_t": integer, "uint64_t": integer,
	"float": real, "double": real, "half": half, "__half": half, "bool": boolean, "__nv_bfloat16": half,
}

// Classes of types: what may stand in each other's place.
const (
	integer = "integer"
	real    = "real"
	half    = "half"
	boolean = "bool"
)

// class is the class of a type: that of numbers, or the type itself.
func class(typ string) string {
	words := strings.Fields(strings.TrimPrefix(typ, "std::"))
	for i, w := range words {
		c := numeric[strings.TrimPrefix(w, "std::")]
		if c == "" || i > 0 && c != numeric[words[0]] {
			return typ
		}
	}
	if len(words) == 0 {
		return typ
	}
	return numeric[words[0]]
}

// isType reports whether some tokens are a type, as in a cast: words of numbers, or a name with a star.
func (t *Text) isType(from, to int) bool {
	if from >= to {
		return false
	}
	star := false
	for i := from; i < to; i++ {
		tok := t.tokens[i]
		switch {
		case tok.kind == name && (numeric[tok.text] != "" || qualifiers[tok.text]):
		case tok.text == "*":
			star = true
		case tok.kind == name && t.is(to-1, "*") &&
			(i == from || t.is(i-1, "::") || qualifiers[t.tokens[i-1].text]):
		case tok.text == "::":
		default:
			return false
		}
	}
	return !star || t.tokens[from].kind == name
}
