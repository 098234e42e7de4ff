package hostcode

import "bytes"

// kind is what a token is.
type kind uint8

const (
	space     kind = iota // white space, ends of lines and comments
	directive             // a preprocessor line, with its continuations
	ident
	number
	str // a string or character literal, raw ones too
	punct
)

// token is a part of a text: every byte belongs to exactly one.
type token struct {
	kind       kind
	start, end int
}

// scanner cuts a text into tokens. Text that is no C++ gives tokens too: a quote that nothing closes ends
// with its line.
type scanner struct {
	text      []byte
	pos       int
	lineStart bool // only white space and comments since the line began
}

func scan(text []byte) []token {
	s := &scanner{text: text, lineStart: true}
	var out []token
	for s.pos < len(text) {
		start := s.pos
		k := s.next()
		out = append(out, token{k, start, s.pos})
		if k != space {
			s.lineStart = false
		} else if bytes.IndexByte(text[start:s.pos], '\n') >= 0 {
			s.lineStart = true
		}
	}
	return out
}

// at returns the byte n places on, 0 behind the end.
func (s *scanner) at(n int) byte {
	if s.pos+n < len(s.text) {
		return s.text[s.pos+n]
	}
	return 0
}

func (s *scanner) next() kind {
	c := s.at(0)
	switch {
	case isSpace(c) || c == '\\' && s.continued() > 0:
		s.blanks()
		return space
	case c == '/' && (s.at(1) == '/' || s.at(1) == '*'):
		s.comment()
		return space
	case c == '#' && s.lineStart:
		s.line()
		return directive
	case c == '"' || c == '\'':
		s.quoted(c)
		return str
	case isDigit(c) || c == '.' && isDigit(s.at(1)):
		s.number()
		return number
	case isLetter(c):
		return s.word()
	}
	s.pos++
	two := string(c) + string(s.at(0))
	switch {
	case two == "::" || two == "->":
		s.pos++
	case two == "<<" && s.at(1) == '<':
		s.pos += 2
	}
	return punct
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLetter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// continued is the length of a backslash with the end of its line, 0 where there is none.
func (s *scanner) continued() int {
	switch {
	case s.at(0) != '\\':
		return 0
	case s.at(1) == '\n':
		return 2
	case s.at(1) == '\r' && s.at(2) == '\n':
		return 3
	}
	return 0
}

func (s *scanner) blanks() {
	for s.pos < len(s.text) {
		if n := s.continued(); n > 0 {
			s.pos += n
		} else if isSpace(s.at(0)) {
			s.pos++
		} else {
			return
		}
	}
}

func (s *scanner) comment() {
	if s.at(1) == '*' {
		if i := bytes.Index(s.text[s.pos+2:], []byte("*/")); i >= 0 {
			s.pos += 2 + i + 2
		} else {
			s.pos = len(s.text)
		}
		return
	}
	for s.pos < len(s.text) && s.at(0) != '\n' {
		s.pos += max(1, s.continued())
	}
}

// line reads a preprocessor line: up to the end of the line that no backslash and no comment continues.
func (s *scanner) line() {
	for s.pos < len(s.text) && s.at(0) != '\n' {
		switch c := s.at(0); {
		case s.continued() > 0:
			s.pos += s.continued()
		case c == '/' && s.at(1) == '*':
			s.comment()
		case c == '/' && s.at(1) == '/':
			s.comment()
			return
		case c == '"':
			s.quoted(c)
		default:
			s.pos++
		}
	}
}

// quoted reads a literal up to its closing quote, or to the end of its line.
func (s *scanner) quoted(quote byte) {
	s.pos++
	for s.pos < len(s.text) {
		switch c := s.at(0); {
		case c == '\n':
			return
		case s.continued() > 0:
			s.pos += s.continued()
		case c == '\\' && s.at(1) != '\n' && s.at(1) != 0:
			s.pos += 2
		case c == quote:
			s.pos++
			return
		default:
			s.pos++
		}
	}
}

func (s *scanner) number() {
	for s.pos < len(s.text) {
		c := s.at(0)
		sign := (c == '+' || c == '-') && bytes.IndexByte([]byte("eEpP"), s.text[s.pos-1]) >= 0
		if !isDigit(c) && !isLetter(c) && c != '.' && !sign &&
			!(c == '\'' && (isDigit(s.at(1)) || isLetter(s.at(1)))) {
			return
		}
		s.pos++
	}
}

// word reads an identifier, or the literal that it is a prefix of.
func (s *scanner) word() kind {
	start := s.pos
	for s.pos < len(s.text) && (isLetter(s.at(0)) || isDigit(s.at(0))) {
		s.pos++
	}
	word := string(s.text[start:s.pos])
	switch c := s.at(0); {
	case c == '"' && (word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR"):
		s.raw()
		return str
	case (c == '"' || c == '\'') && (word == "u8" || word == "u" || word == "U" || word == "L"):
		s.quoted(c)
		return str
	}
	return ident
}

// raw reads a raw string from its opening quote: R"end( ... )end".
func (s *scanner) raw() {
	open := bytes.IndexByte(s.text[s.pos:], '(')
	if open < 0 || open > 17 {
		s.quoted('"')
		return
	}
	end := append(append([]byte{')'}, s.text[s.pos+1:s.pos+open]...), '"')
	if i := bytes.Index(s.text[s.pos+open:], end); i >= 0 {
		s.pos += open + i + len(end)
	} else {
		s.pos = len(s.text)
	}
}
