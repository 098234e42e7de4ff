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
	// Variables are declarations at namespace scope, each without its semicolon; names of types ("using a =
	// b") are among them.
	Variables [][]Token
	Macros    []Macro
}

// CodeOf returns the code of a translation unit in order. A macro that several lines define is left out.
func CodeOf(units ...*Unit) (out Code) {
	x := newExtraction(Options{}, units)
	for _, u := range units {
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
				if d.template[1] > d.template[0] {
					r.Template = u.parameters(d.template[0], d.template[1])
				}
				out.Records = append(out.Records, r)
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

func (u *Unit) tokensOf(from, to int) []Token {
	var out []Token
	for i := max(from, 0); i < min(to, len(u.code)); i++ {
		t := u.code[i]
		out = append(
			out,
			Token{tokenKinds[t.kind], u.str(t), u.line(t.start), i > from && u.code[i-1].end == t.start},
		)
	}
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
