package hostcode

import (
	"fmt"
	"strings"
)

// Bracket is a bracket of a unit that has no other one.
type Bracket struct {
	Unit      string
	Line, Col int // from 1
	Msg       string
	Text      string // the line
}

var closing = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// Unbalanced returns the first bracket of each unit that has no other one. Where a macro of one of the units
// opens or closes brackets for others none is returned, nor of a unit in which a branch of a condition does.
func Unbalanced(units ...*Unit) []Bracket {
	for _, u := range units {
		for _, m := range u.macros {
			if !m.balanced() {
				return nil
			}
		}
	}
	var out []Bracket
	for _, u := range units {
		if b := u.unbalanced(); b != nil && !u.parted {
			out = append(out, *b)
		}
	}
	return out
}

// balanced reports whether a macro closes what it opens, and nothing else.
func (m *macro) balanced() bool {
	var open []byte
	for _, w := range m.words {
		if len(w) != 1 {
			continue
		}
		switch c := w[0]; c {
		case '(', '[', '{':
			open = append(open, closing[c])
		case ')', ']', '}':
			if len(open) == 0 || open[len(open)-1] != c {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

// unbalanced is the first bracket of a unit that has no other one, nil where there is none. Of a bracket that
// one of another kind closes, it is the one that opens.
func (u *Unit) unbalanced() *Bracket {
	var open []int
	for i, t := range u.code {
		if t.kind != punct || t.end != t.start+1 {
			continue
		}
		switch c := u.text[t.start]; c {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			n := len(open)
			if n == 0 {
				return u.bracket(i, fmt.Sprintf("nothing opens this %c", c))
			}
			if top := u.text[u.code[open[n-1]].start]; closing[top] != c {
				return u.bracket(open[n-1],
					fmt.Sprintf("this %c is not closed before the %c of line %d", top, c, u.line(t.start)))
			}
			open = open[:n-1]
		}
	}
	if len(open) == 0 {
		return nil
	}
	return u.bracket(open[0], fmt.Sprintf("this %c is never closed", u.text[u.code[open[0]].start]))
}

// bracket describes a token.
func (u *Unit) bracket(i int, msg string) *Bracket {
	at := u.code[i].start
	line := u.line(at)
	from, to := u.lines[line-1], len(u.text)
	if line < len(u.lines) {
		to = u.lines[line] - 1
	}
	return &Bracket{u.Name, line, at - from + 1, msg, strings.TrimRight(string(u.text[from:to]), " \t\r")}
}
