package rewrite

import (
	"cmp"
	"slices"
)

// Edits that take an expression of the same function: most of what a line lacks stands on another one.

// donors are the texts of expressions of the function that mean something at e, and that a condition chooses:
// those on lines near to it first.
func (l *lister) donors(e *expr, choose func(x, parent *expr) bool) []string {
	type donor struct {
		text string
		far  int
	}
	var list []donor
	own, line := l.t.source(e.from, e.to), l.t.tokens[e.from].line
	each(l.f.body, func(s *statement) {
		for _, top := range s.top() {
			top.walk(func(x, parent *expr) bool {
				if x.to-x.from > mostDonated || !choose(x, parent) || !l.seesAll(l.t, x, e.from) {
					return true
				}
				text := l.t.source(x.from, x.to)
				far := max(line-l.t.tokens[x.from].line, l.t.tokens[x.from].line-line)
				i := slices.IndexFunc(list, func(d donor) bool { return d.text == text })
				switch {
				case text == own:
				case i < 0:
					list = append(list, donor{text, far})
				default:
					list[i].far = min(list[i].far, far)
				}
				return true
			})
		}
	})
	slices.SortStableFunc(list, func(a, b donor) int { return cmp.Compare(a.far, b.far) })
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].text
	}
	return out
}

const (
	// mostDonated is how many tokens an expression has that is taken from elsewhere.
	mostDonated = 11
	// mostDonors is how many expressions of the function are tried in the place of one.
	mostDonors = 8
)

// donated lists integers that the function computes from the same variable in the place of one: query0 + row
// in the place of row.
func (l *lister) donated(e, parent *expr) {
	if stored(e, parent) || l.known(e) || e.op == "call" {
		return
	}
	names := map[string]bool{}
	e.walk(func(x, _ *expr) bool {
		if x.op == "name" && !l.known(x) {
			names[x.text] = true
		}
		return true
	})
	list := l.donors(e, func(x, _ *expr) bool {
		if len(x.kids) != 2 || binding[x.op] < binding["<<"] || l.class(x) != integer {
			return false
		}
		shares := false
		x.walk(func(y, _ *expr) bool {
			shares = shares || y.op == "name" && names[y.text]
			return true
		})
		return shares
	})
	own := namesIn(l.t.source(e.from, e.to))
	slices.SortStableFunc(list, func(a, b string) int { // of the same variables first
		return cmp.Compare(len(namesBesides(a, own)), len(namesBesides(b, own)))
	})
	for i, d := range list[:min(len(list), mostDonors)] {
		if parent != nil && binding[parent.op] > assignment {
			d = "(" + d + ")"
		}
		l.value(rankDonated+i/2, e.from, e.to, d)
	}
}

// chain are the operands of a sum, or of a product, from left to right.
func chain(e *expr, op string) []*expr {
	if e.op != op {
		return []*expr{e}
	}
	return append(chain(e.kids[0], op), e.kids[1])
}

// chained lists a variable in the place of several factors or terms that stand side by side.
func (l *lister) chained(e, parent *expr) {
	if e.op != "*" && e.op != "+" || parent != nil && parent.op == e.op && parent.kids[0] == e {
		return
	}
	list := chain(e, e.op)
	for i := 1; i < len(list); i++ {
		for j := i + 1; j < len(list); j++ {
			for k, v := range l.nearest(l.numbers(e), e, never) {
				if k == mostChained {
					break
				}
				rank := rankChained + k/2
				if l.computedLike(v, list[i:j+1]) {
					rank = rankSameNames
				}
				l.value(rank, list[i].from, list[j].to, v.name)
			}
		}
	}
}

// computedLike reports whether a variable is computed from all the names of some terms, where these have two:
// it may be what was meant by them.
func (l *lister) computedLike(v *variable, terms []*expr) bool {
	names := map[string]bool{}
	for _, e := range terms {
		e.walk(func(x, _ *expr) bool {
			if x.op == "name" {
				names[x.text] = true
			}
			return true
		})
	}
	for name := range names {
		if !l.madeOf(v, name) {
			return false
		}
	}
	return len(names) > 1
}

// mostChained is how many variables are tried in the place of several terms.
const mostChained = 6

// namesIn are the names in a text.
func namesIn(text string) (out []string) {
	for _, tok := range lex(text).tokens {
		if tok.kind == name {
			out = append(out, tok.text)
		}
	}
	return out
}

// namesBesides are the names in a text that are none of some.
func namesBesides(text string, of []string) []string {
	return slices.DeleteFunc(namesIn(text), func(n string) bool { return slices.Contains(of, n) })
}
