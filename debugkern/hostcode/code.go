package hostcode

import (
	"slices"
	"strings"
)

// TokenKind is what a token of the code is.
type TokenKind uint8

const (
	Word TokenKind = iota + 1
	Number
	Literal     // a string or a character
	Punctuation // "::", "->" and "<<<" are one token each, others have one character
)

// Token is a part of the code. White space, comments and lines of the preprocessor are none.
type Token struct {
	Kind   TokenKind
	Text   string
	Line   int
	Joined bool // nothing separates it from the token before
}

// Function is a function with a body that is no kernel.
type Function struct {
	Unit     string
	Name     string
	Space    string // "ns::", "" for the global namespace
	Template []Parameter
	Params   []Token // between the parentheses
	Body     []Token // between the braces
}

// Record is a struct or a class with a body; of a template too.
type Record struct {
	Name     string
	Template []Parameter
	Bases    []string // what it is derived from
	Align    string   // the argument of alignas or __align__, "" where it has none
	Union    bool
	Body     []Token // between the braces
}

// Macro is a #define.
type Macro struct {
	Name   string
	Call   bool // it takes arguments
	Params []string
	Body   []Token
}

// Code is what a translation unit's host would execute, besides its kernels.
type Code struct {
	Functions []Function
	Records   []Record
	Enums     []string
	// Variables are declarations at namespace scope, each without its semicolon; names of types ("using a =
	// b") are among them.
	Variables [][]Token
	Macros    []Macro
}

// CodeOf returns the code of a translation unit in order, as a compiler of the host's code sees it: without
// what conditions of the preprocessor leave out. What depends on a condition that is not known is a statement
// that names what it may change and is none of C++. A macro that several lines define is left out.
func CodeOf(units ...*Unit) (out Code) {
	x := newExtraction(Options{}, units)
	for _, u := range units {
		u = u.forHost(units)
		for _, d := range u.decls {
			switch {
			case d.form == function && d.open >= 0 && len(d.names) > 0 &&
				!x.marked(d, []string{"__global__"}):
				f := Function{
					Unit: u.Name, Name: d.names[0], Space: d.space,
					Params: u.tokensOf(d.params+1, u.pairs[d.params]), Body: u.tokensOf(d.open+1, d.close),
				}
				if d.template[1] > d.template[0] {
					f.Template = u.parameters(d.template[0], d.template[1])
				}
				out.Functions = append(out.Functions, f)
			case d.form == class && d.open >= 0 && len(d.names) > 0 && d.members != nil:
				r := Record{Name: d.names[0], Body: u.tokensOf(d.open+1, d.close)}
				u.head(d, &r)
				if d.template[1] > d.template[0] {
					r.Template = u.parameters(d.template[0], d.template[1])
				}
				out.Records = append(out.Records, r)
			case d.form == class && d.open >= 0 && u.enumName(d) != "":
				out.Enums = append(out.Enums, u.enumName(d))
			case d.form == alias && d.open >= 0: // typedef struct { ... } Name;
				for _, name := range d.names {
					out.Records = append(out.Records, Record{Name: name, Body: u.tokensOf(d.open+1, d.close)})
				}
			case d.form == variable, d.form == alias && u.str(u.code[d.head]) == "using":
				out.Variables = append(out.Variables, u.tokensOf(d.head, d.to-1))
			}
		}
		for name, m := range u.macros {
			if m := m.read(name); m != nil {
				out.Macros = append(out.Macros, *m)
			}
		}
	}
	slices.SortFunc(out.Macros, func(a, b Macro) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// forHost is a unit with what a compiler of the host's code sees of it, among those of its translation unit.
func (u *Unit) forHost(units []*Unit) *Unit {
	others := map[string]string{}
	for _, o := range units {
		for name, m := range o.macros {
			if o != u && !m.call {
				others[name] = strings.Join(m.words, " ")
			}
		}
	}
	out := *u
	out.seen = u.presences(others)
	return &out
}

// enumName is the name of an enumeration, "" of what is none, or has no name.
func (u *Unit) enumName(d *decl) string {
	for i := d.head; i < d.open; i++ {
		if u.str(u.code[i]) != "enum" {
			continue
		}
		for i++; i < d.open; i++ {
			if w := u.str(u.code[i]); u.code[i].kind == ident && w != "class" && w != "struct" {
				return w
			}
		}
	}
	return ""
}

// head reads what stands before a record's brace: its bases and its alignment.
func (u *Unit) head(d *decl, r *Record) {
	p := &splitter{u: u}
	colon := false
	for i := d.head; i < d.open; i++ {
		switch w := p.text(i); {
		case w == "union":
			r.Union = true
		case (w == "alignas" || w == "__align__") && p.text(i+1) == "(" && u.pairs[i+1] > 0:
			r.Align = u.span(i+2, u.pairs[i+1])
			i = u.pairs[i+1]
		case w == ":":
			colon = true
		case colon && u.code[i].kind == ident && !slices.Contains(nameWords, w):
			r.Bases = append(r.Bases, w)
			if p.text(i+1) == "<" {
				i = p.angles(i+1) - 1
			}
		}
	}
}

// tokensOf are the tokens of a part of the code that a compiler of the host's code sees. What it sees under a
// condition that is not known is replaced by a statement that no parser understands, with the names in it.
func (u *Unit) tokensOf(from, to int) []Token {
	var out []Token
	unsure := false
	add := func(kind TokenKind, text string, line int, joined bool) {
		out = append(out, Token{kind, text, line, joined})
	}
	end := func(line int) {
		if unsure {
			add(Punctuation, ";", line, false)
			unsure = false
		}
	}
	for i := max(from, 0); i < min(to, len(u.code)); i++ {
		t := u.code[i]
		state := present
		if i < len(u.seen) {
			state = u.seen[i]
		}
		switch {
		case state == absent:
		case state == uncertain && t.kind == ident:
			if !unsure {
				add(Word, "goto", u.line(t.start), false)
				add(Punctuation, "@", u.line(t.start), false)
			}
			unsure = true
			add(Word, u.str(t), u.line(t.start), false)
		case state == uncertain:
		default:
			end(u.line(t.start))
			add(tokenKinds[t.kind], u.str(t), u.line(t.start), i > from && u.code[i-1].end == t.start)
		}
	}
	end(0)
	return out
}

var tokenKinds = map[kind]TokenKind{ident: Word, number: Number, str: Literal, punct: Punctuation}

// read takes a definition apart; nil where several lines define it.
func (m *macro) read(name string) *Macro {
	if m.several {
		return nil
	}
	out := &Macro{Name: name, Call: m.call}
	body := m.text
	if m.call {
		list, rest, ok := strings.Cut(strings.TrimPrefix(body, "("), ")")
		if !ok {
			return nil
		}
		for _, p := range strings.Split(list, ",") {
			if p = strings.TrimSpace(p); p != "" {
				out.Params = append(out.Params, p)
			}
		}
		body = rest
	}
	for _, t := range TokensOf(body) {
		t.Line = m.line
		out.Body = append(out.Body, t)
	}
	return out
}

// TokensOf cuts a text into tokens, all of line 1.
func TokensOf(text string) []Token {
	u := &Unit{text: []byte(text), lines: []int{0}}
	for _, t := range scan(u.text) {
		if t.kind != space && t.kind != directive {
			u.code = append(u.code, t)
		}
	}
	return u.tokensOf(0, len(u.code))
}
