package theme

import (
	"strings"
	"unicode/utf8"
)

const reset = "\x1b[0m"

// Line writes one line of exactly Max columns: text beyond is cut, a shorter line is filled. The zero
// Line is not usable.
type Line struct {
	t   *Theme
	b   strings.Builder
	max int
	w   int
	cur Style
}

// Line starts a line of max columns.
func (t *Theme) Line(max int) *Line {
	l := &Line{t: t, max: max}
	l.b.Grow(max + 64)
	return l
}

// Left is the number of columns still free.
func (l *Line) Left() int { return l.max - l.w }

// Col is the number of columns written.
func (l *Line) Col() int { return l.w }

func (l *Line) use(s Style) {
	if s != l.cur {
		l.b.WriteString(string(s))
		l.cur = s
	}
}

// Add writes text in a style.
func (l *Line) Add(s Style, text string) *Line {
	if l.w >= l.max || text == "" {
		return l
	}
	l.use(s)
	if n := len(text); plainASCII(text) {
		if n > l.max-l.w {
			n = l.max - l.w
		}
		l.b.WriteString(text[:n])
		l.w += n
		return l
	}
	for _, r := range text {
		if l.w >= l.max {
			break
		}
		if g, ok := l.t.glyph(r); ok {
			l.b.WriteRune(g)
			l.w++
		}
	}
	return l
}

// Glyph writes one of the theme's own glyphs, which are one column wide.
func (l *Line) Glyph(s Style, g string) *Line {
	if l.w < l.max {
		l.use(s)
		l.b.WriteString(g)
		l.w++
	}
	return l
}

// Repeat writes a glyph n times.
func (l *Line) Repeat(s Style, g string, n int) *Line {
	for range min(n, l.max-l.w) {
		l.Glyph(s, g)
	}
	return l
}

// Space writes n blanks.
func (l *Line) Space(n int) *Line { return l.Repeat(l.t.Text, " ", n) }

// Pointer begins a row of a list: the pointer where the row is the one that is meant, else a blank.
func (l *Line) Pointer(here bool) *Line {
	if here {
		return l.Glyph(l.t.Accent, l.t.Glyph.Pointer)
	}
	return l.Space(1)
}

// Pad fills with blanks up to column col.
func (l *Line) Pad(col int) *Line { return l.Space(col - l.w) }

// Right writes text so that it ends at column col, after filling; text that does not fit is cut from its end.
func (l *Line) Right(s Style, text string, col int) *Line {
	return l.Pad(col-l.t.Width(text)).Add(s, text)
}

// Raw writes an already finished line of w columns.
func (l *Line) Raw(text string, w int) *Line {
	if w <= l.max-l.w {
		l.use("")
		if l.t.Text != "" {
			l.b.WriteString(reset)
		}
		l.b.WriteString(text)
		l.w += w
		l.cur = ""
	}
	return l
}

// Done fills the line and ends its style.
func (l *Line) Done() string {
	l.Space(l.max - l.w)
	if l.cur != "" {
		l.b.WriteString(reset)
	}
	return l.b.String()
}

// DoneIn fills the line in a style, for bars.
func (l *Line) DoneIn(s Style) string {
	l.Repeat(s, " ", l.max-l.w)
	if l.cur != "" {
		l.b.WriteString(reset)
	}
	return l.b.String()
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == 0x7f {
			return false
		}
	}
	return true
}
