package rewrite

import (
	"slices"
	"strconv"
	"strings"
)

// Edits of what a loop begins and ends with, and of words that stand in each other's place in an expression
// or in two statements.

// leaving lists, of a statement that leaves a loop, that it leaves one iteration alone, and the other way
// round.
func (l *lister) leaving(s *statement) {
	t := l.t
	was := t.source(s.from, s.to)
	now := map[string]string{"break;": "continue;", "continue;": "break;"}[was]
	inLoop := false
	for p := s.parent; p != nil && !inLoop; p = p.parent {
		if p.kind == "switch" {
			return
		}
		inLoop = loops[p.kind]
	}
	if now != "" && inLoop {
		l.add(rankLeaving, now+" in place of "+was, t.statementFor(s, now))
	}
}

// repeated lists a statement under a condition as one that is repeated for as long as that holds, and the
// other way round, where it changes what is compared.
func (l *lister) repeated(s *statement) {
	t := l.t
	other := map[string]string{"if": "while", "while": "if"}[s.kind]
	if other == "" || len(s.body) != 1 || len(s.exprs) != 1 || !l.near(s.from) ||
		t.is(s.from+1, "constexpr") {
		return
	}
	changes := false
	s.exprs[0].walk(func(e, _ *expr) bool {
		each(s.body, func(in *statement) { changes = changes || e.op == "name" && in.changes(e.text) })
		return true
	})
	if changes {
		l.add(rankRepeated, other+" in place of "+s.kind,
			t.statementFor(s, other+t.source(s.from, s.to)[len(s.kind):]))
	}
}

// changes reports whether a statement assigns to a variable, or takes its address.
func (s *statement) changes(variable string) (yes bool) {
	for _, e := range s.top() {
		e.walk(func(e, parent *expr) bool {
			yes = yes || e.op == "name" && e.text == variable && stored(e, parent)
			return true
		})
	}
	return yes
}

// loops are the kinds of statements that repeat what is in them.
var loops = map[string]bool{"for": true, "while": true}

// begun lists, of a statement that adds to a variable, that the sum begins anew in each iteration of a loop
// round it.
func (l *lister) begun(s *statement) {
	if s.kind != "expression" || len(s.exprs) == 0 || !l.near(s.from) {
		return
	}
	v := l.accumulates(s.exprs[0])
	if v == nil {
		return
	}
	begin := l.beginning(v)
	t, in := l.t, s
	for p := s.parent; p != nil && begin != ""; in, p = p, p.parent {
		if v.of != nil && v.of.from >= p.from && v.of.to <= p.to {
			return // it is declared there
		}
		inLoop := loops[p.kind] || p.kind == "block" && p.parent != nil && loops[p.parent.kind]
		if !inLoop || in.kind == "block" || in.kind == "declaration" {
			continue
		}
		l.add(rankBegun, begin+" before line "+strconv.Itoa(t.tokens[in.from].line),
			t.statementFor(in, "{ "+begin+" "+t.source(in.from, in.to)+" }"))
	}
}

// accumulates is the variable that an expression adds to: x = x + y, x += y, f(x, y, z, x); nil for none.
func (l *lister) accumulates(e *expr) *variable {
	var to *expr
	switch {
	case binding[e.op] == assignment:
		to = e.kids[0]
	case e.op == "call" && len(e.kids) > 2:
		to = e.kids[1]
	default:
		return nil
	}
	base, _ := to.base()
	for base.op == "member" {
		base, _ = base.kids[0].base()
	}
	if base.op != "name" {
		return nil
	}
	again := binding[e.op] == assignment && e.op != "="
	for _, k := range e.kids[1:] {
		again = again || k != to && k.has(base.text)
	}
	if !again {
		return nil
	}
	return l.find(base.text, base.from)
}

// beginning is the statement that gives a variable the value that it is declared with, or filled with where
// it is a fragment; "" where neither is seen.
func (l *lister) beginning(v *variable) string {
	t := l.t
	switch {
	case v.once:
		return ""
	case v.init != nil && v.ranks == 0 && v.init.op != "list":
		return v.name + " = " + t.source(v.init.from, v.init.to) + ";"
	case v.init != nil && v.ranks == 1 && v.init.op == "list" && len(v.init.kids) == 0:
		return "for (auto& x : " + v.name + ") x = {};"
	}
	if v.init != nil && v.ranks == 1 && v.init.op == "list" && len(v.init.kids) <= mostBegun {
		if x := v.extents[0]; t.source(x[0], x[1]) == strconv.Itoa(len(v.init.kids)) {
			var list []string
			for i, k := range v.init.kids {
				list = append(list, v.name+"["+strconv.Itoa(i)+"] = "+t.source(k.from, k.to))
			}
			return strings.Join(list, ", ") + ";"
		}
	}
	fill := ""
	each(l.f.body, func(s *statement) {
		if s.kind != "expression" || len(s.exprs) == 0 || fill != "" {
			return
		}
		if e := s.exprs[0]; e.op == "call" && len(e.kids) == 3 && e.kids[1].op == "name" &&
			e.kids[1].text == v.name && strings.HasSuffix(e.kids[0].text, "fill_fragment") {
			fill = t.source(s.from, s.to)
		}
	})
	return fill
}

// mostBegun is how many elements an array has that begins anew.
const mostBegun = 4

// crosswise lists, of two statements that follow each other and differ in few words, one of these in each
// other's place: what the one stores is the other's.
func (l *lister) crosswise(s *statement) {
	next, t := l.next(s), l.t
	if next == nil || !l.single(s) || !l.single(next) || next.to-next.from != s.to-s.from ||
		!l.near(s.from) && !l.near(next.from) {
		return
	}
	differ := map[[2]string][]int{} // what the first has and what the second, and where
	var pairs [][2]string
	for i := range s.to - s.from {
		a, b := t.tokens[s.from+i].text, t.tokens[next.from+i].text
		if a == b {
			continue
		}
		if differ[[2]string{a, b}] == nil {
			pairs = append(pairs, [2]string{a, b})
		}
		differ[[2]string{a, b}] = append(differ[[2]string{a, b}], i)
	}
	if len(pairs) < 2 || len(pairs) > mostCrossed {
		return // with one pair the statements would be exchanged
	}
	for _, p := range pairs {
		with := func(s *statement, now string) site {
			out, at := "", t.tokens[s.from].from
			for _, i := range differ[p] {
				tok := t.tokens[s.from+i]
				out += t.text[at:tok.from] + now
				at = tok.to
			}
			return t.statementFor(s, out+t.text[at:t.tokens[s.to-1].to])
		}
		what := p[0] + " and " + p[1] + " exchanged on lines " + strconv.Itoa(t.tokens[s.from].line) +
			" and " + strconv.Itoa(t.tokens[next.from].line)
		l.add(rankCrossed, what, with(s, p[1]), with(next, p[0]))
	}
}

// mostCrossed is in how many words statements differ that may have one in each other's place.
const mostCrossed = 4

// mostTransposed is how many numbers, and how many variables, of an expression are exchanged.
const mostTransposed = 6

// transposed lists two numbers of an expression in each other's place, and two variables.
func (l *lister) transposed(e *expr) {
	numbers, names := map[string][]*expr{}, map[string][]*expr{}
	e.walk(func(x, parent *expr) bool {
		called := parent != nil && parent.kids[0] == x && (parent.op == "call" || parent.op == "index")
		switch {
		case x.op == "number" && l.class(x) == integer:
			numbers[x.text] = append(numbers[x.text], x)
		case x.op == "name" && !called && l.class(x) == integer && !stored(x, parent):
			if v := l.find(x.text, x.from); v != nil && !v.fixed {
				names[x.text] = append(names[x.text], x)
			}
		}
		return true
	})
	l.swapped(rankNumbers, numbers)
	l.swapped(rankNames, names)
}

// swapped lists each two of some texts in each other's place.
func (l *lister) swapped(rank int, of map[string][]*expr) {
	t := l.t
	var texts []string
	for text := range of {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	if len(texts) > mostTransposed {
		return
	}
	for i, a := range texts {
		for _, b := range texts[i+1:] {
			var sites []site
			for _, x := range of[a] {
				sites = append(sites, t.inPlace(x.from, x.to, b))
			}
			for _, x := range of[b] {
				sites = append(sites, t.inPlace(x.from, x.to, a))
			}
			slices.SortFunc(sites, func(x, y site) int { return x.from - y.from })
			l.add(rank, a+" and "+b+" exchanged", sites...)
		}
	}
}
