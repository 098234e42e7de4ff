package rewrite

import (
	"cmp"
	"slices"
	"strings"
)

// Edits that copy another statement of the function and rename its variables. Kernels repeat a statement for
// each tensor, scale or row, and a bug is often in one of the copies.

// twin is a statement that may be what another one has to be, and what is different between them.
type twin struct {
	of    *statement
	names map[string]string // names of the other one, and those of this one in their place
	far   int               // lines between
}

// twins lists what other statements of the function have, with the names of this one in the place of theirs.
func (l *lister) twins(s *statement) {
	target, ok := l.target(s)
	if !ok || !l.near(s.from) {
		return
	}
	var list []twin
	each(l.f.body, func(o *statement) {
		if o.kind != s.kind || o == s || o.to-o.from > mostTwin {
			return
		}
		to, ok := l.target(o)
		if !ok {
			return
		}
		names := l.counterparts(o, s)
		if to.name != target.name {
			names[to.name] = target.name
		}
		if to.callee == target.callee && len(names) > 0 && l.meant(o, s, names) {
			a, b := l.t.tokens[o.from].line, l.t.tokens[s.from].line
			list = append(list, twin{o, names, max(a-b, b-a)})
		}
	})
	slices.SortStableFunc(list, func(a, b twin) int { return cmp.Compare(a.far, b.far) })
	for i, o := range list[:min(len(list), mostTwins)] {
		if s.kind == "declaration" {
			was, like := s.declares[0].init, o.of.declares[0].init
			l.put(rankTwin+i, was.from, was.to, l.t.renamed(like.from, like.to, o.names))
			continue
		}
		now := l.t.renamed(o.of.from, o.of.to, o.names)
		l.add(rankTwin+i, now+" in place of "+l.t.source(s.from, s.to), l.t.statementFor(s, now))
	}
}

const (
	// mostTwin is how many tokens a statement has that another one may have to be like.
	mostTwin = 80
	// mostTwins is how many statements are tried as such.
	mostTwins = 6
)

// target is what a statement computes.
type target struct {
	callee string // of a statement that is a call; "": it assigns
	name   string // what is assigned to, or the first variable of the call's first argument
}

// target is what a statement computes, ok false where that is not one thing.
func (l *lister) target(s *statement) (to target, ok bool) {
	switch {
	case s.kind == "declaration" && len(s.declares) == 1 && s.declares[0].init != nil &&
		s.declares[0].init.op != "list":
		return target{name: s.declares[0].name}, true
	case s.kind != "expression" || len(s.exprs) != 1 || s.exprs[0] == nil || l.macro(s.exprs[0]) ||
		s.parent != nil && s.parent.init == s:
		return to, false
	}
	e := s.exprs[0]
	first := e
	switch {
	case binding[e.op] == assignment:
		first = e.kids[0]
	case e.op == "call" && len(e.kids) > 1:
		to.callee, first = l.t.source(e.kids[0].from, e.kids[0].to), e.kids[1]
	default:
		return to, false
	}
	first.walk(func(x, _ *expr) bool {
		if to.name == "" && x.op == "name" {
			to.name = x.text
		}
		return to.name == ""
	})
	return to, to.name != ""
}

// counterparts maps each variable that only the first statement has to one of the same type that only the
// second has. Pairs with the most similar names are made first. A member, or a number that is an index, is
// mapped where each of them has one that the other has not: x to y.
func (l *lister) counterparts(from, to *statement) map[string]string {
	type pair struct {
		a, b *variable
		far  int
	}
	var pairs []pair
	theirs, ours := l.variablesOf(from), l.variablesOf(to)
	for _, a := range theirs {
		for _, b := range ours {
			same := a.typ == b.typ && a.ranks == b.ranks && a.fixed == b.fixed
			if same && !hasName(ours, a.name) && !hasName(theirs, b.name) {
				pairs = append(pairs, pair{a, b, unlike(a.name, b.name, true)})
			}
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { return cmp.Compare(x.far, y.far) })
	names, taken := map[string]string{}, map[string]bool{}
	for _, p := range pairs {
		if names[p.a.name] == "" && !taken[p.b.name] {
			names[p.a.name] = p.b.name
			taken[p.b.name] = true
		}
	}
	for _, mark := range []string{".", "["} {
		a, b := l.t.marked(from, to, mark), l.t.marked(to, from, mark)
		if len(a) == 1 && len(b) == 1 {
			names[mark+a[0]] = b[0]
		}
	}
	return names
}

// marked lists the members, or the numbers that are indices, that a statement has and another has not: those
// of which the key has a mark.
func (t *Text) marked(in, not *statement, mark string) (out []string) {
	has := func(s *statement, key string) bool {
		for i := s.from; i < s.to; i++ {
			if t.nameKey(i) == key {
				return true
			}
		}
		return false
	}
	for i := in.from; i < in.to; i++ {
		key := t.nameKey(i)
		text, ok := strings.CutPrefix(key, mark)
		if ok && !has(not, key) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// hasName reports whether a variable of a name is among some.
func hasName(list []*variable, name string) bool {
	return slices.ContainsFunc(list, func(v *variable) bool { return v.name == name })
}

// variablesOf are the variables that a statement mentions, each once.
func (l *lister) variablesOf(s *statement) (out []*variable) {
	for i := s.from; i < s.to; i++ {
		tok := l.t.tokens[i]
		if tok.kind != name || l.t.is(i-1, ".") || l.t.is(i-1, "->") {
			continue
		}
		if v := l.find(tok.text, i); v != nil && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// meant reports whether all that a statement mentions means something where another one stands, with other
// names, and is not that one.
func (l *lister) meant(o, s *statement, names map[string]string) bool {
	for _, v := range l.variablesOf(o) {
		if v.of == o {
			continue // it is declared there
		}
		now := cmp.Or(names[v.name], v.name)
		if x := l.find(now, s.from); x == nil || x.typ != v.typ || x.ranks != v.ranks {
			return false
		}
	}
	now := l.t.renamed(o.from, o.to, names)
	return now != l.t.source(s.from, s.to) && now != l.t.source(o.from, o.to)
}

// argumentsAlone lists an argument of a function in the place of its calls, at all of them in a statement.
func (l *lister) argumentsAlone(s *statement) {
	calls := map[string][]*expr{}
	var callees []string
	for _, top := range s.top() {
		top.walk(func(e, _ *expr) bool {
			if l.macro(e) {
				return false
			}
			if e.op == "call" && e.kids[0].op == "name" && len(e.kids) > 1 && l.class(e) != "" {
				f := e.kids[0].text
				if calls[f] == nil {
					callees = append(callees, f)
				}
				calls[f] = append(calls[f], e)
			}
			return true
		})
	}
	for _, f := range callees {
		list := calls[f]
		if len(list) < 2 || len(list) > mostPlaces {
			continue
		}
		for k := 1; k < len(list[0].kids); k++ {
			var sites []site
			end := 0
			for _, e := range list {
				if k < len(e.kids) && l.class(e.kids[k]) == l.class(e) && e.from >= end {
					a := e.kids[k]
					sites = append(sites, l.t.inPlace(e.from, e.to, l.t.source(a.from, a.to)))
					end = e.to
				}
			}
			if len(sites) == len(list) && l.near(list[0].from) {
				what := "without " + f
				if len(list[0].kids) > 2 {
					what = "operand " + digit(k) + " of " + f + " in place of its result"
				}
				l.add(rankArgument, what+allPlaces+" on the line", sites...)
			}
		}
	}
}

// reread lists what stands at an index of a pointer that is taken as another type, of the pointer itself.
func (l *lister) reread(e, parent *expr) {
	base := e.kids[0]
	if base.op != "call" || len(base.kids) != 2 ||
		!strings.HasPrefix(base.kids[0].text, "reinterpret_cast<") {
		return
	}
	k := base.kids[1]
	pointer := l.t.source(k.from, k.to)
	if len(k.kids) == 2 && binding[k.op] > 0 || k.op == "u&" {
		pointer = "(" + pointer + ")"
	}
	now := pointer + "[" + l.t.source(e.kids[1].from, e.kids[1].to) + "]"
	l.doubtful = true
	l.put(rankReread, e.from, e.to, now)
	if parent != nil && parent.op == "call" && len(parent.kids) == 2 {
		l.put(rankReread, parent.from, parent.to, now)
	}
	l.doubtful = false
}

// ownOfTwo lists the kernel's own functions of two real numbers in the place of one of an operation of
// two: exp_below(a, b) for exp2f(a - b).
func (l *lister) ownOfTwo(e *expr) {
	arg, _ := l.ofOne(e)
	if arg == nil {
		return
	}
	a, b, _ := l.operation(arg)
	if a == nil {
		return
	}
	args := "(" + l.t.source(a.from, a.to) + ", " + l.t.source(b.from, b.to) + ")"
	other := func(p *variable) bool { return class(p.typ) != real || p.ranks > 0 }
	for _, t := range l.w.seen(l.t) {
		for _, f := range t.functions {
			if len(f.parameters) == 2 && !slices.ContainsFunc(f.parameters, other) &&
				class(f.result) == real && f.name != l.f.name && l.seesFunction(t, f) {
				l.put(rankOwnCallee, e.from, e.to, f.name+args)
			}
		}
	}
}

// orElse lists, of an assignment under a condition, that something is assigned in either case: what is under
// the condition, or a number that adds nothing.
func (l *lister) orElse(s *statement) {
	in := s.body[0]
	if in.kind != "expression" || len(in.exprs) != 1 || in.exprs[0] == nil || in.exprs[0].op != "=" ||
		l.known(s.exprs[0]) {
		return
	}
	t, e, c := l.t, in.exprs[0], s.exprs[0]
	var others []string
	if l.class(e.kids[0]) == real {
		others = append([]string{"0.0f"}, l.numberFunctions()...)
	}
	to, _ := e.kids[0].base()
	v := l.find(to.text, to.from)
	for _, o := range l.visible(s.from) {
		if v != nil && o.once && o.ranks == 0 && o.typ == strings.TrimSuffix(v.typ, "*") &&
			!t.has(s.from, s.to, o.name) && len(others) < mostOthers {
			others = append(others, o.name)
		}
	}
	for i, o := range others {
		now := t.source(e.kids[0].from, e.kids[0].to) + " = " + grouped(t.source(c.from, c.to), c, "?") +
			" ? " + t.source(e.kids[1].from, e.kids[1].to) + " : " + o + ";"
		l.add(rankOrElse+i/2, now+" in place of "+t.source(s.from, s.to), t.statementFor(s, now))
	}
}

// mostOthers is how many numbers are tried where a condition does not hold.
const mostOthers = 5
