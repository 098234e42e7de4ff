package theme

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tilescope/debugkern/text"
)

// Width is the number of columns s takes when a Line writes it.
func (t *Theme) Width(s string) int {
	n := 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			n++
		} else if _, ok := t.glyph(r); ok {
			n++
		}
	}
	return n
}

// Fit cuts text to w columns, with an ellipsis where something was cut.
func (t *Theme) Fit(text string, w int) string {
	if t.Width(text) <= w {
		return text
	}
	if w <= 0 {
		return ""
	}
	n := 0
	for i, r := range text {
		if _, ok := t.glyph(r); !ok {
			continue
		}
		if n == w-1 {
			return text[:i] + t.Glyph.Ellipsis
		}
		n++
	}
	return text
}

// FitWords cuts text to w columns between two words, with an ellipsis where something was cut; within a word
// where the first has no room.
func (t *Theme) FitWords(text string, w int) string {
	if t.Width(text) <= w {
		return text
	}
	for i := strings.LastIndexByte(text, ' '); i > 0; i = strings.LastIndexByte(text[:i], ' ') {
		if cut := strings.TrimRight(text[:i], " ·") + " " + t.Glyph.Ellipsis; t.Width(cut) <= w {
			return cut
		}
	}
	return t.Fit(text, w)
}

// Wrap breaks text into lines of at most w columns, at blanks where there are any. A newline breaks too.
func (t *Theme) Wrap(text string, w int) []string {
	var out []string
	for _, para := range strings.Split(text, "\n") {
		out = append(out, t.wrapLine(para, max(w, 1))...)
	}
	return out
}

func (t *Theme) wrapLine(text string, w int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		for {
			if line == "" && t.Width(word) > w {
				cut := runePrefix(word, w)
				out = append(out, cut)
				word = word[len(cut):]
				continue
			}
			break
		}
		switch {
		case word == "":
		case line == "":
			line = word
		case t.Width(line)+1+t.Width(word) <= w:
			line += " " + word
		default:
			out = append(out, line)
			line = ""
			for t.Width(word) > w {
				cut := runePrefix(word, w)
				out = append(out, cut)
				word = word[len(cut):]
			}
			line = word
		}
	}
	if line != "" || len(out) == 0 {
		out = append(out, line)
	}
	return out
}

func runePrefix(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Untab widens tabs to four columns.
func Untab(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r != '\t' {
			out = append(out, r)
			continue
		}
		for ok := true; ok; ok = len(out)%4 != 0 {
			out = append(out, ' ')
		}
	}
	return string(out)
}

// Spelled is foreign text on one line, every hidden character of it spelled out: \n, \x1b, \u202e. Line,
// which takes a column for each character, shows such a one as a question mark.
func Spelled(s string) string { return text.Line(s) }

// Count writes a number of things: 1 finding, 2 findings.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Numbers writes a short list of numbers: 0,2 or 0-3 or 0,1,5,….
func Numbers(list []int) string {
	n := len(list)
	switch {
	case n > 2 && list[n-1]-list[0] == n-1:
		return fmt.Sprintf("%d-%d", list[0], list[n-1])
	case n > 4:
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(list[:4]), "[]"), " ", ",") + ",…"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ",")
}

// FitMiddle is a text in at most w columns: where it is longer, its middle gives way to an ellipsis.
func (t *Theme) FitMiddle(text string, w int) string {
	if t.Width(text) <= w {
		return text
	}
	runes, dots := []rune(text), t.Width(t.Glyph.Ellipsis)
	head, tail := 0, len(runes)
	for used := dots; head < tail; { // a rune more from the longer side, while both fit
		i := head
		if head > len(runes)-tail {
			i = tail - 1
		}
		if used += t.Width(string(runes[i])); used > w {
			break
		}
		if i == head {
			head++
		} else {
			tail--
		}
	}
	return t.Fit(string(runes[:head])+t.Glyph.Ellipsis+string(runes[tail:]), max(0, w))
}
