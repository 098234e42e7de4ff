package theme

import "unicode/utf8"

const reset = "\x1b[0m"

// Line writes one line of exactly Max columns: text beyond is cut, with an ellipsis in the last column, and a
// shorter line is filled. The zero Line is not usable.
type Line struct {
	t    *Theme
	b    []byte
	max  int
	w    int
	last int  // where the last glyph begins in b
	cut  bool // something that can be seen did not fit
	cur  Style
}

// Line starts a line of max columns.
func (t *Theme) Line(max int) *Line {
	return &Line{t: t, max: max, b: make([]byte, 0, max+64)}
}

// Left is the number of columns still free.
func (l *Line) Left() int { return l.max - l.w }

// Col is the number of columns written.
func (l *Line) Col() int { return l.w }

func (l *Line) use(s Style) {
	if s != l.cur {
		l.b = append(l.b, s...)
		l.cur = s
	}
}

// Add writes text in a style.
func (l *Line) Add(s Style, text string) *Line {
	if text == "" {
		return l
	}
	if l.w >= l.max {
		l.cut = l.cut || l.seen(text)
		return l
	}
	l.use(s)
	if n := len(text); plainASCII(text) {
		if n > l.max-l.w {
			n = l.max - l.w
			l.cut = l.cut || l.seen(text[n:])
		}
		l.b = append(l.b, text[:n]...)
		l.last = len(l.b) - 1
		l.w += n
		return l
	}
	for i, r := range text {
		if l.w >= l.max {
			l.cut = l.cut || l.seen(text[i:])
			break
		}
		if g, ok := l.t.glyph(r); ok {
			l.last = len(l.b)
			l.b = utf8.AppendRune(l.b, g)
			l.w++
		}
	}
	return l
}

// seen reports whether text shows anything.
func (l *Line) seen(text string) bool {
	for _, r := range text {
		if g, ok := l.t.glyph(r); ok && g != ' ' {
			return true
		}
	}
	return false
}

// Glyph writes one of the theme's own glyphs, which are one column wide. One that does not fit is no loss of
// text: borders and marks are not missed.
func (l *Line) Glyph(s Style, g string) *Line {
	if l.w < l.max {
		l.use(s)
		l.last = len(l.b)
		l.b = append(l.b, g...)
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
			l.b = append(l.b, reset...)
		}
		l.b = append(l.b, text...)
		l.w += w
		l.last = -1
		l.cur = ""
	}
	return l
}

// Done fills the line and ends its style.
func (l *Line) Done() string {
	l.Space(l.max - l.w)
	return l.done()
}

// DoneIn fills the line in a style, for bars.
func (l *Line) DoneIn(s Style) string {
	l.Repeat(s, " ", l.max-l.w)
	return l.done()
}

func (l *Line) done() string {
	if l.cut && l.last >= 0 && l.max > 1 {
		l.b = append(l.b[:l.last], l.t.Glyph.Ellipsis...)
	}
	if l.cur != "" {
		l.b = append(l.b, reset...)
	}
	return string(l.b)
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == 0x7f {
			return false
		}
	}
	return true
}
