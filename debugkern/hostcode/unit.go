package hostcode

import (
	"bytes"
	"slices"
	"strings"
)

// Unit is one text of a translation unit, source or header, cut into declarations.
type Unit struct {
	Name   string
	text   []byte
	tokens []token
	// those that the structure is read from: no space, no preprocessor lines, no branch that is left out
	code   []token
	pairs  []int // of code: where the bracket that opens here is closed, 0 where it is not
	lines  []int // where each line begins
	parted bool  // a branch of a condition opens or closes brackets for the rest of the text

	includes []*include
	macros   map[string]*macro
	decls    []*decl
	seen     []presence // of code, by a compiler of the host's code; nil: all of it
}

// include is an #include line.
type include struct {
	token  token
	name   string // "" where a macro makes it
	angled bool
}

// macro is a #define of a unit.
type macro struct {
	call    bool // it takes arguments
	several bool // several lines define it
	words   []string
	text    string
	line    int
}

// Read cuts a text into declarations. It cannot fail: what it does not understand is one declaration.
func Read(name string, text []byte) *Unit {
	u := &Unit{Name: name, text: text, tokens: scan(text), macros: map[string]*macro{}, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			u.lines = append(u.lines, i+1)
		}
	}
	u.structure()
	p := &splitter{u: u}
	p.scope(nil, "", 0)
	u.decls = p.decls
	return u
}

// line is the number of the line that a byte is on, from 1.
func (u *Unit) line(at int) int {
	i, found := slices.BinarySearch(u.lines, at)
	if found {
		return i + 1
	}
	return i
}

func (u *Unit) str(t token) string { return string(u.text[t.start:t.end]) }

// span is the text from one token to another, white space as single blanks and comments left out.
func (u *Unit) span(from, to int) string {
	var b strings.Builder
	for i := max(from, 0); i < min(to, len(u.code)); i++ {
		t := u.code[i]
		if i > from && t.start > u.code[i-1].end {
			b.WriteByte(' ')
		}
		b.Write(u.text[t.start:t.end])
	}
	return b.String()
}

// beginning is the first tokens of a declaration, and dots where more follow.
func (u *Unit) beginning(from, to int) string {
	const most = 6
	if to-from > most {
		return u.span(from, from+most) + " ..."
	}
	return u.span(from, to)
}

// words are a preprocessor line's tokens behind the #.
func (u *Unit) words(t token) []string {
	text := u.text[t.start+1 : t.end]
	var out []string
	for _, w := range scan(text) {
		if w.kind != space {
			out = append(out, string(text[w.start:w.end]))
		}
	}
	return out
}

// maxNested is how deeply conditions may be nested for their branches to be compared.
const maxNested = 64

// group is a condition that is open: the preprocessor lines of its branches.
type group struct {
	branches []int
	zero     bool // #if 0
}

// structure reads the preprocessor lines, and leaves out all but one branch of a condition whose branches
// open and close different numbers of braces, and what #if 0 excludes.
func (u *Unit) structure() {
	hidden := make([]bool, len(u.tokens))
	var open []group
	for i, t := range u.tokens {
		if t.kind != directive {
			continue
		}
		words := u.words(t)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "if", "ifdef", "ifndef":
			open = append(open, group{branches: []int{i}, zero: words[0] == "if" && len(words) == 2 &&
				words[1] == "0"})
		case "elif", "else", "elifdef", "elifndef":
			if n := len(open); n > 0 {
				open[n-1].branches = append(open[n-1].branches, i)
			}
		case "endif":
			if n := len(open); n > 0 {
				if n <= maxNested {
					u.choose(open[n-1], i, hidden)
				}
				open = open[:n-1]
			}
		case "include":
			u.includes = append(u.includes, u.includeOf(t, words))
		case "define":
			u.define(t, words)
		}
	}
	for i, t := range u.tokens {
		if t.kind != space && t.kind != directive && !hidden[i] {
			u.code = append(u.code, t)
		}
	}
	u.pairs = make([]int, len(u.code))
	var brackets []int
	for i, t := range u.code {
		if t.kind != punct || t.end != t.start+1 {
			continue
		}
		switch u.text[t.start] {
		case '(', '[', '{':
			brackets = append(brackets, i)
		case ')', ']', '}':
			if n := len(brackets); n > 0 {
				u.pairs[brackets[n-1]] = i
				brackets = brackets[:n-1]
			}
		}
	}
}

// choose hides the branches that the structure is not read from.
func (u *Unit) choose(g group, end int, hidden []bool) {
	keep, uneven := 0, false
	if g.zero {
		keep = 1
	}
	for k, from := range g.branches {
		to := end
		if k+1 < len(g.branches) {
			to = g.branches[k+1]
		}
		net, low := 0, 0
		round, least := 0, 0 // the same of the other brackets
		for i := from + 1; i < to; i++ {
			if t := u.tokens[i]; t.kind == punct && !hidden[i] {
				switch u.text[t.start] {
				case '{':
					net++
				case '}':
					net--
				case '(', '[':
					round++
				case ')', ']':
					round--
				}
				low, least = min(low, net), min(least, round)
			}
		}
		uneven = uneven || net != 0 || low < 0
		u.parted = u.parted || uneven || round != 0 || least < 0
	}
	for k, from := range g.branches {
		to := end
		if k+1 < len(g.branches) {
			to = g.branches[k+1]
		}
		if k != keep && uneven && len(g.branches) > 1 || k == 0 && g.zero {
			for i := from + 1; i < to; i++ {
				hidden[i] = true
			}
		}
	}
}

func (u *Unit) includeOf(t token, words []string) *include {
	inc := &include{token: t}
	text := bytes.TrimSpace(u.text[t.start+1 : t.end])
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("include")))
	for _, q := range []struct{ open, shut byte }{{'<', '>'}, {'"', '"'}} {
		if len(text) > 1 && text[0] == q.open {
			if end := bytes.IndexByte(text[1:], q.shut); end > 0 {
				inc.name, inc.angled = string(text[1:1+end]), q.open == '<'
			}
		}
	}
	return inc
}

func (u *Unit) define(t token, words []string) {
	if len(words) < 2 {
		return
	}
	m := &macro{line: u.line(t.start)}
	text := string(u.text[t.start:t.end])
	at := strings.Index(text, words[1]) + len(words[1])
	m.call = at < len(text) && text[at] == '('
	m.words = words[2:]
	m.text = strings.TrimSpace(text[at:])
	if old := u.macros[words[1]]; old != nil { // defined in several branches: what any of them names
		m.words = append(slices.Clone(old.words), m.words...)
		m.several = true
	}
	u.macros[words[1]] = m
}
