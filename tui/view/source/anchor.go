package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tilescope/debugkern/walk"
)

// anchor is the statement that a breakpoint was set on, by which it is found again in a source that has
// changed: a save, or the patch of a fault, moves lines. It is zero where the source was not at hand.
type anchor struct {
	Text  string // of the line, without the blanks around it
	Above string // the nearest line above that is a statement, "" where there is none
	Below string
	Alone bool `json:",omitempty"` // no other line has the text
}

// statement is a line of code without the blanks around it; "" for one that has no letter, and for a comment.
func statement(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "//") || !strings.ContainsFunc(line, unicode.IsLetter) {
		return ""
	}
	return line
}

// text is a source as anchors read it: of each line the text without the blanks around it, and the nearest
// statements above and below.
type text struct {
	lines, above, below []string
	times               map[string]int // how many lines have a text
}

func readText(code []string) *text {
	n := len(code)
	t := &text{make([]string, n), make([]string, n), make([]string, n), make(map[string]int, n)}
	near := ""
	for i, line := range code {
		t.lines[i], t.above[i] = strings.TrimSpace(line), near
		t.times[t.lines[i]]++
		if s := statement(line); s != "" {
			near = s
		}
	}
	near = ""
	for i := n - 1; i >= 0; i-- {
		t.below[i] = near
		if s := statement(t.lines[i]); s != "" {
			near = s
		}
	}
	return t
}

// anchor is that of a line, from 1; zero where the source has no such line.
func (t *text) anchor(line int) anchor {
	if line < 1 || line > len(t.lines) {
		return anchor{}
	}
	i := line - 1
	return anchor{t.lines[i], t.above[i], t.below[i], t.times[t.lines[i]] == 1}
}

// find is the line that has an anchor's statement, 0 where none has: the same text next to one of its
// neighbours, or alone before and after, or where it was; or another text, which has been edited, between
// both of them. Of several that are as good it is the one nearest to the line where it was.
func (t *text) find(a anchor, was int) (line int) {
	best, far := 0, 0
	for i, text := range t.lines {
		same, score, d := text == a.Text, 0, max(i+1-was, was-i-1)
		if !same && statement(text) == "" {
			continue
		}
		for _, near := range [][2]string{{t.above[i], a.Above}, {t.below[i], a.Below}} {
			if near[0] == near[1] && near[0] != "" {
				score++
			}
		}
		if same && a.Alone && t.times[text] == 1 {
			score++
		}
		switch {
		case same && (score > 0 || d == 0):
			score += 3
		case same || score < 2:
			continue
		}
		if score > best || score == best && d < far {
			best, far, line = score, d, i+1
		}
	}
	return line
}

// follow moves the breakpoints to where their statements stand in the source of the run on screen. One whose
// statement is not in it stays where it is, stops nothing, and moves again with a source that has it.
func (v *Controller) follow(code func(file string) []string) {
	v.walk.moved = nil
	moved := func(format string, args ...any) {
		v.walk.moved = append(v.walk.moved, fmt.Sprintf(format, args...))
	}
	for i := range v.walk.breaks {
		b := &v.walk.breaks[i]
		if b.Line == 0 {
			continue
		}
		lines := code(b.File)
		if lines == nil {
			continue
		}
		text := readText(lines)
		if b.anchor == (anchor{}) { // set in an earlier session, or before the source was at hand
			b.anchor = text.anchor(b.Line)
			continue
		}
		line := text.find(b.anchor, b.Line)
		switch {
		case line == 0 && !b.lost:
			moved("breakpoint %d stops nothing: the statement of line %d is not in this source", b.id, b.Line)
		case line > 0 && line != b.Line:
			moved("breakpoint %d follows its statement: line %d → %d", b.id, b.Line, line)
		}
		if b.lost = line == 0; b.lost {
			continue
		}
		b.Line, b.anchor = line, text.anchor(line)
	}
	v.walk.breaks = once(v.walk.breaks)
}

// anchorOf is the anchor of a breakpoint in the source of the run on screen.
func (v *Controller) anchorOf(b walk.Breakpoint) anchor {
	if b.Line == 0 {
		return anchor{}
	}
	return readText(v.codeOf(v.fullName(b.File))).anchor(b.Line)
}

// once leaves one breakpoint of those that have come to one place: the first. One that stops nothing is at
// none.
func once(all []stop) (out []stop) {
	for _, b := range all {
		if b.lost || !slices.ContainsFunc(out, func(x stop) bool {
			return !x.lost && samePlace(x.Breakpoint, b.Breakpoint)
		}) {
			out = append(out, b)
		}
	}
	return out
}

// Followed implements view.Follower.
func (v *Controller) Followed() string { return strings.Join(v.walk.moved, "; ") }
