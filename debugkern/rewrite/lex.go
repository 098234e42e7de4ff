package rewrite

import "strings"

// kind is what a token is.
type kind int

const (
	name kind = iota
	number
	quoted
	punct
	end
)

// token is a token of CUDA C++ (ISO C++17, [lex]), without comments and directives.
type token struct {
	kind     kind
	text     string
	from, to int // bytes of the text
	line     int // of its first byte, from 1
}

// puncts are the operators of several characters, the longest first.
var puncts = []string{
	"<<=", ">>=", "...", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=",
	"/=", "%=", "&=", "|=", "^=", "->", "::",
}

// lexer reads a text from its start.
type lexer struct {
	text   string
	at     int
	line   int
	fresh  bool // nothing but blanks on the line so far
	tokens []token
	macros map[string]string // by name, what a directive defines: "" of one with parameters
	values map[string]int    // by name, the byte where that begins in the text
	// includes are the names of headers
	includes []string
}

// lex splits a text into tokens, and reads its directives.
func lex(text string) *lexer {
	l := &lexer{text: text, line: 1, fresh: true, macros: map[string]string{}, values: map[string]int{}}
	for l.at < len(text) {
		l.next()
	}
	l.tokens = append(l.tokens, token{kind: end, from: len(text), to: len(text), line: l.line})
	return l
}

// skip passes n bytes.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.text[l.at:l.at+n], "\n")
	l.at += n
}

func (l *lexer) next() {
	rest := l.text[l.at:]
	switch c := rest[0]; {
	case c == '\n':
		l.skip(1)
		l.fresh = true
	case c == ' ' || c == '\t' || c == '\r' || c == '\\':
		l.skip(1)
	case strings.HasPrefix(rest, "//"):
		l.skip(until(rest, "\n", 0))
	case strings.HasPrefix(rest, "/*"):
		l.skip(until(rest, "*/", 2))
	case c == '#' && l.fresh:
		l.directive(rest)
	case c == '"' || c == '\'':
		l.add(quoted, literalEnd(rest))
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		l.add(number, numberEnd(rest))
	case isName(c):
		n := 1
		for n < len(rest) && (isName(rest[n]) || isDigit(rest[n])) {
			n++
		}
		l.add(name, n)
	default:
		n := 1
		for _, p := range puncts {
			if strings.HasPrefix(rest, p) {
				n = len(p)
				break
			}
		}
		l.add(punct, n)
	}
}

func (l *lexer) add(k kind, n int) {
	l.tokens = append(l.tokens, token{k, l.text[l.at : l.at+n], l.at, l.at + n, l.line})
	l.fresh = false
	l.skip(n)
}

// directive passes a directive with the lines that continue it.
func (l *lexer) directive(rest string) {
	n := 0
	for {
		n += until(rest[n:], "\n", 0)
		if n == len(rest) || !strings.HasSuffix(strings.TrimRight(rest[:n], "\r"), "\\") {
			break
		}
		n++
	}
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(rest[:n]), "#"))
	if len(words) > 1 && words[0] == "include" {
		l.includes = append(l.includes, strings.Trim(words[1], `"<>`))
	}
	if len(words) > 1 && words[0] == "define" {
		name, _, parameters := strings.Cut(words[1], "(")
		if l.macros[name] = strings.Join(words[2:], " "); parameters {
			l.macros[name] = ""
		} else if len(words) > 2 {
			head := strings.Index(rest, "define") + len("define")
			behind := head + strings.Index(rest[head:], words[1]) + len(words[1])
			l.values[name] = l.at + behind + strings.Index(rest[behind:], words[2])
		}
	}
	l.skip(n)
}

// until is where a text has an end, past it by after bytes; its whole length where it has none.
func until(text, end string, after int) int {
	if i := strings.Index(text[after:], end); i >= 0 {
		return after + i + after
	}
	return len(text)
}

// literalEnd is the length of a string or character.
func literalEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(text)
}

// numberEnd is the length of a number: digits, letters and points, and the sign of an exponent.
func numberEnd(text string) int {
	n := 1
	for n < len(text) {
		c := text[n]
		sign := (c == '+' || c == '-') && strings.ContainsRune("eEpP", rune(text[n-1])) &&
			!strings.HasPrefix(text, "0x")
		if !isDigit(c) && !isName(c) && c != '.' && !sign {
			break
		}
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
