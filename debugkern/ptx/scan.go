package ptx

import "strings"

// tokenKind classifies tokens. Punctuation has one kind, distinguished by token.ch.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokIdent            // name, register, label, opcode's first component
	tokDot              // .word: directive, modifier, component; text is without the dot, "::" parts included
	tokInt              // text as written
	tokFloat            // 0f…, 0d…, or decimal
	tokString           // text without the quotes, as written between them
	tokPunct            // ch; << >> && || == != <= >= have ch and two bytes of text
	tokBad              // what a parser in error recovery sees instead of the real token
)

// token is one lexical element. end is the offset just past it.
type token struct {
	kind      tokenKind
	ch        byte
	text      string
	line, col int
	end       int
}

// scanner cuts the text into tokens on demand. Comments are skipped, but for the two that
// bracket inline assembly.
type scanner struct {
	src       string
	off       int
	line      int
	lineStart int
	asm       bool // between "// begin inline asm" and "// end inline asm"
	report    func(line, col int, msg string)
}

// Byte classes of the scanner's table.
const (
	clsStart = 1 << iota // may start a name
	clsWord              // may continue a name
	clsDigit
	clsSpace
)

var class = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= clsStart | clsWord
		t[c-32] |= clsStart | clsWord
	}
	for c := '0'; c <= '9'; c++ {
		t[c] |= clsWord | clsDigit
	}
	t['_'] |= clsStart | clsWord
	t['$'] |= clsStart | clsWord
	t['%'] |= clsStart
	t[' '], t['\t'], t['\r'], t['\n'], t['\f'], t['\v'] = clsSpace, clsSpace, clsSpace, clsSpace,
		clsSpace, clsSpace
	return t
}()

// next returns the next token. A byte that starts none is reported and skipped.
func (s *scanner) next() token {
	for {
		s.skipBlank()
		t := token{line: s.line, col: s.off - s.lineStart + 1}
		if s.off >= len(s.src) {
			t.kind, t.end = tokEOF, s.off
			return t
		}
		start, c := s.off, s.src[s.off]
		switch {
		case class[c]&clsStart != 0 && (c != '%' || s.at(1)&clsWord != 0):
			s.off++
			s.word()
			t.kind, t.text = tokIdent, s.src[start:s.off]
		case class[c]&clsDigit != 0:
			t.kind = s.number()
			t.text = s.src[start:s.off]
		case c == '.' && s.at(1)&clsWord != 0:
			s.off++
			s.dotted()
			t.kind, t.text = tokDot, s.src[start+1:s.off]
		case c == '"':
			t.kind, t.text = tokString, s.str(t)
		case strings.IndexByte("{}()[],;:@!|+-*/%&^~<>=?", c) >= 0:
			t.kind, t.ch = tokPunct, c
			s.off++
			t.text = s.src[start:s.punctEnd(c)]
		default:
			s.off++
			s.report(t.line, t.col, "unexpected character "+quoteByte(c))
			continue
		}
		t.end = s.off
		return t
	}
}

// at is the class of the byte n places on, 0 past the end.
func (s *scanner) at(n int) uint8 {
	if s.off+n >= len(s.src) {
		return 0
	}
	return class[s.src[s.off+n]]
}

func (s *scanner) word() {
	for s.off < len(s.src) && class[s.src[s.off]]&clsWord != 0 {
		s.off++
	}
}

// dotted scans a modifier after its dot: words joined by "::".
func (s *scanner) dotted() {
	s.word()
	for s.off+2 < len(s.src) && s.src[s.off] == ':' && s.src[s.off+1] == ':' &&
		class[s.src[s.off+2]]&clsWord != 0 {
		s.off += 2
		s.word()
	}
}

// punctEnd joins the two-byte operators of constant expressions and returns the token's end.
func (s *scanner) punctEnd(c byte) int {
	if s.off < len(s.src) {
		switch n := s.src[s.off]; {
		case n == c && (c == '<' || c == '>' || c == '=' || c == '&'),
			n == '=' && (c == '!' || c == '<' || c == '>'):
			s.off++
		}
	}
	return s.off
}

func (s *scanner) number() tokenKind {
	kind := tokInt
	if s.src[s.off] == '0' && s.off+1 < len(s.src) {
		switch s.src[s.off+1] {
		case 'f', 'F', 'd', 'D':
			s.off += 2
			s.word()
			return tokFloat
		case 'x', 'X', 'b', 'B':
			s.off += 2
			s.word()
			return tokInt
		}
	}
	for s.at(0)&clsDigit != 0 {
		s.off++
	}
	if s.off < len(s.src) && s.src[s.off] == '.' && s.at(1)&clsStart == 0 {
		kind = tokFloat
		s.off++
		for s.at(0)&clsDigit != 0 {
			s.off++
		}
	}
	if s.off < len(s.src) && (s.src[s.off] == 'e' || s.src[s.off] == 'E') {
		kind = tokFloat
		s.off++
		if s.off < len(s.src) && (s.src[s.off] == '+' || s.src[s.off] == '-') {
			s.off++
		}
	}
	s.word() // the U suffix; anything else is refused when the value is read
	return kind
}

// str scans a quoted string, which ends on its line.
func (s *scanner) str(t token) string {
	start := s.off + 1
	for i := start; i < len(s.src) && s.src[i] != '\n'; i++ {
		switch s.src[i] {
		case '\\':
			i++
		case '"':
			s.off = i + 1
			return s.src[start:i]
		}
	}
	s.report(t.line, t.col, "string is not closed on its line")
	s.off = len(s.src)
	if i := strings.IndexByte(s.src[start:], '\n'); i >= 0 {
		s.off = start + i
	}
	return s.src[start:s.off]
}

// skipBlank passes over white space and comments.
func (s *scanner) skipBlank() {
	for s.off < len(s.src) {
		c := s.src[s.off]
		switch {
		case c == '\n':
			s.off++
			s.line++
			s.lineStart = s.off
		case class[c]&clsSpace != 0:
			s.off++
		case c == '/' && s.off+1 < len(s.src) && s.src[s.off+1] == '/':
			s.lineComment()
		case c == '/' && s.off+1 < len(s.src) && s.src[s.off+1] == '*':
			s.blockComment()
		default:
			return
		}
	}
}

func (s *scanner) lineComment() {
	end := len(s.src)
	if i := strings.IndexByte(s.src[s.off:], '\n'); i >= 0 {
		end = s.off + i
	}
	switch strings.TrimSpace(s.src[s.off+2 : end]) {
	case "begin inline asm":
		s.asm = true
	case "end inline asm":
		s.asm = false
	}
	s.off = end
}

func (s *scanner) blockComment() {
	line, col := s.line, s.off-s.lineStart+1
	i := strings.Index(s.src[s.off+2:], "*/")
	if i < 0 {
		s.report(line, col, "comment is not closed")
		s.off = len(s.src)
		return
	}
	body := s.src[s.off : s.off+2+i+2]
	if n := strings.Count(body, "\n"); n > 0 {
		s.line += n
		s.lineStart = s.off + strings.LastIndexByte(body, '\n') + 1
	}
	s.off += len(body)
}

func quoteByte(c byte) string {
	if c > ' ' && c < 0x7f {
		return "'" + string(rune(c)) + "'"
	}
	const hex = "0123456789abcdef"
	return "0x" + string(hex[c>>4]) + string(hex[c&15])
}
