package code

import "unicode/utf8"

// Row is a row of a pane that draws a text: a line of the text, or a later part of one that is wrapped.
type Row struct {
	Line int
	Part int // 0: the line's first
}

// Window lists the rows of a pane that has n of them and shows a text of count lines from line top on. The
// line at, where it is in view, takes as many rows as it has parts; lines above it make way where its last
// part would lie below the pane.
func Window(top, n, count, at, parts int) []Row {
	out := make([]Row, 0, n+parts)
	first := 0
	for i := top; i < min(top+n, count); i++ {
		out = append(out, Row{Line: i})
		if i == at {
			for k := 1; k < parts; k++ {
				out = append(out, Row{i, k})
			}
			first = max(0, len(out)-n)
		}
	}
	return out[first:min(first+n, len(out))]
}

// End is how many columns of a line are scrolled out where its end is the last of width columns; 0 where it
// has room.
func (t *Text) End(i, width int) int {
	if t == nil || i < 0 || i >= len(t.lines) {
		return 0
	}
	return max(0, utf8.RuneCountInString(t.lines[i])-width)
}

// Parts is how many rows of width columns a line takes from a column on, at most so many.
func (t *Text) Parts(i, left, width, most int) int {
	if t == nil || i < 0 || i >= len(t.lines) || width < 1 {
		return 1
	}
	n := utf8.RuneCountInString(t.lines[i]) - left
	return max(1, min((n+width-1)/width, most))
}
