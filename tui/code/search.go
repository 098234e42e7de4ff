package code

import (
	"strings"
	"unicode/utf8"
)

// Search looks for text in the lines and returns how many match. Capital letters in it count; one without
// any finds both cases. "" ends the search.
func (t *Text) Search(pattern string) int {
	if t == nil {
		return 0
	}
	t.pattern, t.matches = pattern, nil
	if pattern == "" {
		return 0
	}
	for i, s := range t.lines {
		if t.match(s) >= 0 {
			t.matches = append(t.matches, i)
		}
	}
	return len(t.matches)
}

// Matches is how many lines match.
func (t *Text) Matches() int {
	if t == nil {
		return 0
	}
	return len(t.matches)
}

// Match is where a search came to.
type Match struct {
	Line      int // from 0
	Col       int // of the line's first match, in characters
	Of, Total int // which of the lines that match, from 1
	Wrapped   bool
}

// Next finds the next line after from that matches, or with dir < 0 the one before it; after the last comes
// the first. ok is false where none matches.
func (t *Text) Next(from, dir int) (m Match, ok bool) {
	if t == nil || len(t.matches) == 0 {
		return m, false
	}
	n, at := len(t.matches), -1
	if dir > 0 {
		for i := n - 1; i >= 0 && t.matches[i] > from; i-- {
			at = i
		}
		if m.Wrapped = at < 0; m.Wrapped {
			at = 0
		}
	} else {
		for i := 0; i < n && t.matches[i] < from; i++ {
			at = i
		}
		if m.Wrapped = at < 0; m.Wrapped {
			at = n - 1
		}
	}
	m.Line, m.Of, m.Total = t.matches[at], at+1, n
	s := t.lines[m.Line]
	m.Col = utf8.RuneCountInString(s[:t.match(s)])
	return m, true
}

// match is the byte at which a line first matches, -1 where it does not.
func (t *Text) match(s string) int {
	if t.pattern == "" {
		return -1
	}
	if t.pattern != strings.ToLower(t.pattern) {
		return strings.Index(s, t.pattern)
	}
	if low := strings.ToLower(s); len(low) == len(s) {
		return strings.Index(low, t.pattern)
	}
	return strings.Index(s, t.pattern) // a letter whose other case takes other bytes
}

// marks are the parts of a line that match, as bytes from and to.
func (t *Text) marks(s string) (out [][2]int) {
	for at := 0; ; {
		i := t.match(s[at:])
		if i < 0 {
			return out
		}
		out = append(out, [2]int{at + i, at + i + len(t.pattern)})
		at += i + len(t.pattern)
	}
}
