package rewrite

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

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
// two tokens, or a sum of two in brackets there, is less than another number of the kernel.
func (l *lister) below(e *expr, from, to int) (out []string) {
	if !l.wanted.Beyond {
		return nil
	}
	if l.where == nil {
		l.where = l.indexed()
	}
	first, last := l.t.tokens[from].from, l.t.tokens[to-1].to
	numbers := l.numbers(e)
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
		inIndex := func(v *variable) bool {
			return slices.Contains(names, v.name) && !slices.Contains(l.f.parameters, v)
		}
		bounds := l.nearest(slices.DeleteFunc(slices.Clone(numbers), inIndex), e, never)
		slices.SortStableFunc(bounds, func(a, b *variable) int { // what the kernel is called with bounds most
			first, second := slices.Contains(l.f.parameters, a), slices.Contains(l.f.parameters, b)
			switch {
			case first && !second:
				return -1
			case second && !first:
				return 1
			}
			return 0
		})
		less := func(v string, than []*variable) {
			for _, b := range than[:min(len(than), mostBounds)] {
				if c := v + " < " + b.name; !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
		for _, sum := range l.t.sums(from, to, x) {
			less(sum, slices.DeleteFunc(slices.Clone(bounds), func(b *variable) bool {
				return !slices.Contains(l.f.parameters, b)
			}))
		}
		for _, v := range numbers {
			if inIndex(v) {
				less(v.name, bounds)
			}
		}
	}
	return out
}

// conjoined lists a condition with one more part, of those that the function has or that bound a variable of
// what it guards: both must hold, or, where the condition leaves something out, one of them.
func (l *lister) conjoined(e *expr, from, to int) {
	text := l.t.source(e.from, e.to)
	var parts []string
	add := func(c string) {
		if !slices.Contains(parts, c) && !strings.Contains(text, c) {
			parts = append(parts, c)
		}
	}
	ifs := map[*expr]bool{}
	each(l.f.body, func(s *statement) {
		l.t.roles(s, func(role string, e *expr) {
			if role == "if" {
				e.walk(func(x, _ *expr) bool { ifs[x] = true; return true })
			}
		})
	})
	donors := l.donors(e, func(x, _ *expr) bool { return slices.Contains(comparisons, x.op) && ifs[x] })
	var names []string
	for _, tok := range l.t.tokens[from:to] {
		if tok.kind == name {
			names = append(names, tok.text)
		}
	}
	names = append(names, l.t.sums(from, to, span{l.t.tokens[from].from, l.t.tokens[to-1].to})...)
	op, than := " && ", " < "
	if e.op == "||" || l.s.kind == "if" && len(l.s.body) == 1 && leaves[l.t.tokens[l.s.body[0].from].text] {
		op, than = " || ", " >= "
	}
	rank, bounds := rankConjunct, l.bounds(e, names, than)
	for i, c := range l.unusedBounds(e) { // of a mask, what the keys are compared with is there
		l.put(rankUnused+2+i/4, e.from, e.to, grouped(text, e, strings.TrimSpace(op))+op+c)
	}
	list := slices.Concat(donors, bounds)
	if l.wanted.Beyond && l.holdsIndex(from, to) {
		rank -= guarding
		list = slices.Concat(bounds, donors)
	}
	for _, c := range list {
		add(c)
	}
	for i, c := range parts[:min(len(parts), mostParts)] {
		l.put(rank+i/3, e.from, e.to, grouped(text, e, strings.TrimSpace(op))+op+c)
	}
}

// holdsIndex reports whether some tokens have an index of an array that is wanted.
func (l *lister) holdsIndex(from, to int) bool {
	if l.where == nil {
		l.where = l.indexed()
	}
	first, last := l.t.tokens[from].from, l.t.tokens[to-1].to
	return slices.ContainsFunc(l.where[l.t].indices, func(x span) bool {
		return first <= x.from && x.to <= last
	})
}

// sums lists the sums of a name and another one, or a number, that stand in brackets of their own or at the
// end of brackets, between two tokens and in a span: "query0 + r" of static_cast<size_t>(query0 + r) * D,
// "x + 1" of u[y * nx + x + 1].
func (t *Text) sums(from, to int, in span) (out []string) {
	for i := max(from, 1); i+3 < to; i++ {
		if sum := t.sumIn(i - 1); sum != "" && in.from <= t.tokens[i-1].from && t.tokens[i-1].to <= in.to {
			out = append(out, sum)
			continue
		}
		a, plus, b := t.tokens[i], t.tokens[i+1], t.tokens[i+2]
		open, shut := t.tokens[i-1].text, t.tokens[i+3].text
		if a.kind != name || plus.text != "+" || b.kind != name && b.kind != number || a.from < in.from ||
			in.to < b.to || strings.Contains(b.text, ".") {
			continue
		}
		alone := open == "(" && shut == ")" || open == "[" && shut == "]"
		if alone || b.kind == number && open == "+" && shut == "]" {
			out = append(out, a.text+" + "+b.text)
		}
	}
	return out
}

// sumIn is the sum that brackets have which open at a token: of names, members and numbers, one of which is a
// member; "" where they have something else.
func (t *Text) sumIn(open int) string {
	end := -1
	if t.is(open, "(") || t.is(open, "[") {
		end = t.match(open)
	}
	plus, dot := false, false
	for i := open + 1; i < end; i++ {
		switch tok := t.tokens[i]; {
		case tok.text == "+":
			plus = true
		case tok.text == ".":
			dot = true
		case tok.kind != name && tok.kind != number:
			return ""
		}
	}
	if !plus || !dot {
		return ""
	}
	return t.source(open+1, end)
}

// bounds lists comparisons of some variables, and of sums that begin with one, with the numbers that the
// kernel is called with: those first that are mentioned near to each other, and have names alike.
func (l *lister) bounds(e *expr, names []string, than string) []string {
	type bound struct {
		text string
		far  int
	}
	var list []bound
	numbers := l.numbers(e)
	for _, v := range numbers {
		for _, x := range numbers {
			if !slices.Contains(l.f.parameters, x) || slices.Contains(l.f.parameters, v) {
				continue
			}
			far := l.apart(v, e) + l.apart(x, e)
			far += unlike(strings.ToLower(v.name), strings.ToLower(x.name), true)
			for _, n := range names {
				if n == v.name || strings.HasPrefix(n, v.name+" + ") {
					list = append(list, bound{n + than + x.name, far})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b bound) int { return cmp.Compare(a.far, b.far) })
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].text
	}
	return out
}

// mostParts is how many parts are added to a condition.
const mostParts = 12

// comparisons are the operators that compare.
var comparisons = []string{"<", "<=", ">", ">=", "==", "!="}

// onePart lists a call as one that one part of a block makes: one warp, warpgroup or lane of each.
func (l *lister) onePart(s *statement) {
	call := s
	if s.kind == "if" {
		if len(s.exprs) != 1 || len(s.body) != 1 {
			return // if constexpr, a declaration in its place, or with an else
		}
		call = s.body[0]
	}
	if !l.near(s.from) || len(call.exprs) != 1 || call.exprs[0].op != "call" || l.macro(call.exprs[0]) {
		return
	}
	l.of = ""
	rank := rankGuard + 1
	if l.wanted.Often {
		rank -= ofOne
	}
	for i, c := range l.ofOnePart(s.exprs[0]) {
		if e := s.exprs[0]; s.kind == "if" {
			text := l.t.source(e.from, e.to)
			if strings.Contains(text, c) {
				continue
			}
			if e.op != "&&" {
				text = grouped(text, e, "&&")
			}
			l.put(rank+i/3, e.from, e.to, text+" && "+c)
			continue
		}
		l.add(rank+i/3, "under the condition "+c, l.t.statementFor(s, "if ("+c+") "+l.t.source(s.from, s.to)))
	}
}

// ofOnePart lists conditions under which one part of a block does what all parts do: one warp, warpgroup or
// lane of each, by the variables that an expression sees and that are computed from the thread's number.
func (l *lister) ofOnePart(e *expr) (out []string) {
	const thread = "threadIdx"
	ofThread := func(x *expr) bool { return l.t.has(x.from, x.to, thread) }
	list := slices.DeleteFunc(l.numbers(e), func(v *variable) bool {
		return v.init == nil || slices.Contains(l.f.parameters, v)
	})
	for _, v := range list {
		op := v.init.op
		if op != "/" && op != "%" && op != ">>" && op != "&" {
			continue
		}
		of := v.init.kids[0]
		known := ofThread(of) || slices.ContainsFunc(list, func(o *variable) bool {
			return of.op == "name" && of.text == o.name && ofThread(o.init)
		})
		if !known {
			continue
		}
		out = append(out, v.name+" == 0")
		if op == "/" || op == ">>" { // a warp or warpgroup
			out = append(out, v.name+" == 1")
		}
	}
	return out
}

// withinExtent lists a real number that is assigned as one that counts only within the extent that a loop
// goes over in tiles: of the last tile, a part may lie beyond it.
func (l *lister) withinExtent(s *statement) {
	var e *expr
	var lowest []string // of a score: what its exponential is 0 of
	switch {
	case s.kind == "declaration" && len(s.declares) == 1 && s.declares[0].ranks == 0 &&
		class(s.declares[0].typ) == real:
		e = s.declares[0].init
	case s.kind == "expression" && len(s.exprs) == 1 && s.exprs[0] != nil &&
		len(s.exprs[0].kids) == 2 && l.class(s.exprs[0].kids[0]) == real:
		if to := s.exprs[0]; to.op == "=" || to.op == "+=" {
			e = to.kids[1]
		}
	}
	if e == nil || e.op == "?" || l.known(e) || !l.near(e.from) {
		return
	}
	text := l.t.source(e.from, e.to)
	if s.kind == "declaration" || s.exprs[0].op == "=" {
		lowest = append(l.numberFunctions(), "-INFINITY")
	}
	ofScore := rankGuarded
	if exponential.MatchString(l.t.source(l.f.from, l.f.to)) && !exponential.MatchString(text) {
		ofScore = rankScore
	}
	l.guards = true
	defer func() { l.guards = false }()
	for i, c := range l.inTile(s, e) {
		for _, o := range lowest {
			l.put(ofScore+i/4, e.from, e.to, c+" ? "+text+" : "+o)
		}
		l.put(rankGuarded+i/4, e.from, e.to, c+" ? "+text+" : 0.0f")
	}
}

// exponential matches a call of a function that raises e or 2 to a power.
var exponential = regexp.MustCompile(`\b_*h?exp2?f?(?:_approx|_ftz)?\w*\(`)

// inTile lists conditions by which an element of a tile lies within the extent of a loop over tiles that a
// statement is in: the tile's first element and a variable of the thread are less than the loop's bound.
func (l *lister) inTile(s *statement, e *expr) (out []string) {
	for p := s.parent; p != nil; p = p.parent {
		if p.kind != "for" || len(p.exprs) != 2 || p.exprs[0] == nil || p.exprs[1] == nil ||
			p.exprs[0].op != "<" || p.exprs[1].op != "+=" || p.exprs[0].kids[0].op != "name" ||
			l.known(p.exprs[0].kids[1]) {
			continue
		}
		first, bound := p.exprs[0].kids[0].text, p.exprs[0].kids[1]
		list := slices.DeleteFunc(l.numbers(e), func(v *variable) bool {
			return v.name == first || slices.Contains(l.f.parameters, v) || bound.has(v.name)
		})
		for _, v := range l.nearest(list, e, never) {
			out = append(out, first+" + "+v.name+" < "+l.t.source(bound.from, bound.to))
		}
	}
	return out
}

// unusedBounds lists comparisons of the integers in a condition with one that the function computes there and
// does not use: such a one is compared with nothing yet.
func (l *lister) unusedBounds(e *expr) (out []string) {
	for _, v := range l.neverRead() {
		if class(v.typ) != integer || v.from > e.from || e.from >= v.to {
			continue
		}
		e.walk(func(x, _ *expr) bool {
			if u := l.find(x.text, x.from); x.op == "name" && u != nil && u.name != v.name && !u.fixed &&
				!slices.Contains(l.f.parameters, u) && class(u.typ) == integer {
				for _, op := range []string{" <= ", " < ", " >= ", " > "} {
					if c := x.text + op + v.name; !slices.Contains(out, c) {
						out = append(out, c)
					}
				}
			}
			return true
		})
	}
	return out
}
