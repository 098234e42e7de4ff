package rewrite

import "slices"

// Conditions that an access may lack.

// guarding lists the conditions that what stands from a token to another may lack: those of the text that
// mean something there, and bounds of what stands in the indices of arrays that are accessed out of bounds.
func (l *lister) guarding(e *expr, from, to int) []string {
	out := l.below(e, from, to)
	for _, c := range l.w.slots["if"] {
		if c.t == l.t && l.seesAll(c.t, c.e, e.from) && !l.known(c.e) {
			out = append(out, c.s)
		}
	}
	return out
}

// mostBounds is how many numbers a variable is compared with.
const mostBounds = 6

// below lists, where arrays are accessed out of bounds, that a variable in an index of one of them between
// two tokens is less than another number of the kernel.
func (l *lister) below(e *expr, from, to int) (out []string) {
	if !l.wanted.Beyond {
		return nil
	}
	if l.where == nil {
		l.where = l.indexed()
	}
	first, last := l.t.tokens[from].from, l.t.tokens[to-1].to
	bounds := l.numbers(e)
	for _, x := range l.where[l.t].indices {
		if x.from < first || x.to > last {
			continue
		}
		var names []string
		for _, tok := range l.t.tokens[from:to] {
			if tok.kind == name && x.from <= tok.from && tok.to <= x.to {
				names = append(names, tok.text)
			}
		}
		for _, v := range bounds {
			if !slices.Contains(names, v.name) {
				continue
			}
			for _, b := range l.nearest(bounds, e, never)[:min(len(bounds), mostBounds)] {
				if c := v.name + " < " + b.name; !slices.Contains(names, b.name) && !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}
