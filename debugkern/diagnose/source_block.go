package diagnose

import "strings"

// block is a pair of braces in a source text, by the lines that they stand on.
type block struct{ open, close int }

func (b block) has(line int) bool { return b.open <= line && line <= b.close }

// outline is where the blocks of a source text begin and end. Lines count from 1.
type outline struct {
	code   []string // the lines without comments, strings and the blanks at their ends
	blocks []block  // by where they close
}

// outlineOf reads a text. Braces in what the preprocessor leaves out are counted as well.
func outlineOf(lines []string) *outline {
	o := &outline{}
	var open []int
	comment := false
	for n, text := range lines {
		var code string
		code, comment = withoutComments(text, comment)
		o.code = append(o.code, strings.TrimSpace(code))
		for _, c := range code {
			switch {
			case c == '{':
				open = append(open, n+1)
			case c == '}' && len(open) > 0:
				o.blocks = append(o.blocks, block{open[len(open)-1], n + 1})
				open = open[:len(open)-1]
			}
		}
	}
	return o
}

// withoutComments is a line without its comments and without what stands in quotes. in says whether it begins
// within a comment, and the result whether it ends in one.
func withoutComments(line string, in bool) (code string, comment bool) {
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case in:
			if strings.HasPrefix(line[i:], "*/") {
				in = false
				i++
			}
		case strings.HasPrefix(line[i:], "//"):
			return out.String(), false
		case strings.HasPrefix(line[i:], "/*"):
			in = true
			i++
		case line[i] == '"' || line[i] == '\'' && !(i > 0 && isDigit(line[i-1])): // 1'000 is a number
			for q := line[i]; i+1 < len(line) && line[i+1] != q; i++ {
				if line[i+1] == '\\' {
					i++
				}
			}
			i++
			out.WriteByte('0')
		default:
			out.WriteByte(line[i])
		}
	}
	return out.String(), in
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// common is the smallest block around two lines; the whole text where there is none.
func (o *outline) common(a, b int) block {
	least := block{0, len(o.code) + 1}
	for _, x := range o.blocks {
		if x.has(a) && x.has(b) && (x.open > least.open || x.close < least.close) &&
			x.open >= least.open && x.close <= least.close {
			least = x
		}
	}
	return least
}

// within is the largest block inside another that has a line; ok is false where none has.
func (o *outline) within(outer block, line int) (largest block, ok bool) {
	for _, x := range o.blocks {
		if x != outer && x.has(line) && outer.open <= x.open && x.close <= outer.close &&
			(!ok || x.open <= largest.open && x.close >= largest.close) {
			largest, ok = x, true
		}
	}
	return largest, ok
}

// after is the last line of the loop or condition, inside a block, that a line belongs to: what stands behind
// it is executed by all that execute the block. It is the line itself where that is in none.
func (o *outline) after(outer block, line int) int {
	for {
		x, ok := o.within(outer, line)
		if !ok {
			return line
		}
		line = x.close
		next := o.opensOn(outer, line) // } else {
		if next == (block{}) {
			return line
		}
		line = next.close
		if o.opensOn(outer, line) == (block{}) {
			return line
		}
	}
}

// opensOn is the largest block inside another that begins on a line on which a block ended; none: zero.
func (o *outline) opensOn(outer block, line int) block {
	var out block
	for _, x := range o.blocks {
		if x != outer && x.open == line && x.close > line && x.close <= outer.close && x.close > out.close {
			out = x
		}
	}
	return out
}

// before is the first line of the statement, loop or condition, directly inside a block, that a line belongs
// to.
func (o *outline) before(outer block, line int) int {
	if x, ok := o.within(outer, line); ok {
		line = x.open
		for _, p := range o.blocks { // } else {
			if p.close == line && p.open < line && outer.open <= p.open && p != outer {
				line = p.open
			}
		}
	}
	for line > outer.open+1 && line > 1 && continues(o.code[line-2]) {
		line--
	}
	return line
}

// continues reports whether a line is a part of a statement that goes on behind it.
func continues(code string) bool {
	return code != "" && code[0] != '#' && !strings.ContainsRune(";{}:", rune(code[len(code)-1]))
}
