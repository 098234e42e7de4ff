// Package code is source code as panes draw it: its lines coloured by what they contain, scrolled sideways,
// and searched.
//
// The one idea: a text is read by its lexer only as far as it has been drawn, and each line once, so that
// neither the first frame nor any later one waits for a whole file.
//
// It must not know files, runs or panes.
package code

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"

	"tilescope/tui/theme"
)

// Language says which lexer reads a text.
type Language uint8

// The languages.
const (
	CUDA Language = iota
	PTX           // each line is read on its own
)

// span is a piece of a line up to byte end.
type span struct {
	end   int
	class theme.Class
}

// Text is the lines of a source file or listing. It is used by one goroutine.
type Text struct {
	lang   Language
	given  []string
	lines  []string // tabs widened
	spans  [][]span // of the first lines, as far as they have been read (PTX: nil where not yet)
	read   chroma.Iterator
	widest int

	pattern string
	matches []int // lines that match, ascending
}

// New returns the text of some lines, which must not be changed afterwards.
func New(lang Language, lines []string) *Text {
	t := &Text{lang: lang, given: lines, lines: make([]string, len(lines))}
	for i, s := range lines {
		t.lines[i] = strings.TrimRight(theme.Untab(s), " \r")
		t.widest = max(t.widest, utf8.RuneCountInString(t.lines[i]))
	}
	return t
}

// Is reports whether the text is of these lines.
func (t *Text) Is(lines []string) bool {
	switch {
	case t == nil || len(t.given) != len(lines):
		return false
	case len(lines) == 0 || &t.given[0] == &lines[0]:
		return true
	}
	return slices.Equal(t.given, lines)
}

// Len is the number of lines; 0 for a nil text.
func (t *Text) Len() int {
	if t == nil {
		return 0
	}
	return len(t.lines)
}

// Line is a line with its tabs widened.
func (t *Text) Line(i int) string { return t.lines[i] }

// Widest is the length of the longest line.
func (t *Text) Widest() int { return t.widest }

// of returns a line's pieces.
func (t *Text) of(i int) []span {
	if t.lang == PTX {
		if t.spans == nil {
			t.spans = make([][]span, len(t.lines))
		}
		if t.spans[i] == nil {
			t.spans[i] = lexLine(t.lines[i])
		}
		return t.spans[i]
	}
	if t.read == nil {
		t.read = lexCUDA(strings.Join(t.lines, "\n") + "\n")
	}
	for len(t.spans) <= i+1 && t.read != nil {
		t.advance()
	}
	if i < len(t.spans) {
		return t.spans[i]
	}
	return nil
}

// advance reads the next token of a text that is read as a whole.
func (t *Text) advance() {
	if len(t.spans) == 0 {
		t.spans = append(t.spans, nil)
	}
	tok := t.read()
	if tok == chroma.EOF {
		t.read = func() chroma.Token { return chroma.EOF }
		for len(t.spans) <= len(t.lines) {
			t.spans = append(t.spans, nil)
		}
		return
	}
	class := classOf(tok.Type)
	for n, part := range strings.Split(tok.Value, "\n") {
		if n > 0 {
			t.spans = append(t.spans, nil)
		}
		last := len(t.spans) - 1
		t.spans[last] = extend(t.spans[last], len(part), class)
	}
}

// extend adds n bytes of a class to a line.
func extend(line []span, n int, class theme.Class) []span {
	at := 0
	if k := len(line); k > 0 {
		at = line[k-1].end
		if line[k-1].class == class {
			line[k-1].end += n
			return line
		}
	}
	if n == 0 {
		return line
	}
	return append(line, span{at + n, class})
}

// Look is how a line is drawn.
type Look struct {
	Syntax *theme.Syntax
	Base   theme.Style // of the whole line, where Plain
	Plain  bool        // the line has a style of its own, as the chosen one has
	Left   int         // columns scrolled out at the left
	Width  int         // columns to draw in
	Above  bool        // the row is a part of a wrapped line that goes on from the row above
	Below  bool        // and goes on in the row below
}

// Draw writes a line. Where it is cut, at the left or the right, an ellipsis says so; also where nothing of
// its text is left.
func (t *Text) Draw(th *theme.Theme, l *theme.Line, i int, o Look) {
	text := t.lines[i]
	spans, found := t.of(i), t.marks(text)
	n := utf8.RuneCountInString(text)
	from, to := min(o.Left, n), min(o.Left+o.Width, n)
	cutLeft := !o.Above && from > 0 && strings.TrimLeft(runes(text, 0, from), " ") != ""
	cutRight := !o.Below && n > o.Left+o.Width
	style := func(at int) theme.Style {
		for len(found) > 0 && at >= found[0][1] {
			found = found[1:]
		}
		for len(spans) > 0 && at >= spans[0].end {
			spans = spans[1:]
		}
		switch {
		case len(found) > 0 && at >= found[0][0]:
			return o.Syntax[theme.Found]
		case o.Plain:
			return o.Base
		case len(spans) > 0:
			return o.Syntax[spans[0].class]
		}
		return o.Syntax[theme.Code]
	}
	dim := o.Syntax[theme.Comment]
	if o.Plain {
		dim = o.Base
	}
	if from == n && cutLeft && o.Width > 0 {
		l.Glyph(dim, th.Glyph.Ellipsis)
		return
	}
	col := 0
	for at, r := range text {
		if col++; col <= from {
			continue
		}
		switch {
		case col > to:
			return
		case col == from+1 && cutLeft || col == to && cutRight:
			l.Glyph(dim, th.Glyph.Ellipsis)
		default:
			l.Add(style(at), string(r))
		}
	}
}

// runes is a text from one character to another.
func runes(s string, from, to int) string {
	n, a, b := 0, len(s), len(s)
	for i := range s {
		if n == from {
			a = i
		}
		if n == to {
			b = i
			break
		}
		n++
	}
	return s[min(a, b):b]
}
