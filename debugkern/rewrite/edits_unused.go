package rewrite

import (
	"slices"
	"strings"
)

// What a function computes and does not use belongs somewhere: a sum that is made in two parts and returned
// as one of them, a factor that is prepared and not multiplied by.

// unused lists edits that use a variable which nothing else uses in an expression of its class.
func (l *lister) unused(e, parent *expr) {
	c := l.class(e)
	if l.s == nil || c != real && c != integer || stored(e, parent) || e.op == "number" || e.op == "group" ||
		parent != nil && (parent.op == "list" || parent.op == "u*") {
		return
	}
	text := l.t.source(e.from, e.to)
	for _, v := range l.neverRead() {
		if class(v.typ) != c || e.text == v.name || v.of == l.s || v.from > e.from || e.from >= v.to ||
			l.t.has(l.s.from, l.s.to, v.name) {
			continue
		}
		l.value(rankUnused, e.from, e.to, v.name)
		l.value(rankUnused, e.from, e.to, "("+grouped(text, e, "+")+" + "+v.name+")")
		l.value(rankUnused+1, e.from, e.to, "("+grouped(text, e, "-")+" - "+v.name+")")
		l.value(rankUnused+1, e.from, e.to, "("+grouped(text, e, "*")+" * "+v.name+")")
		if c == real {
			l.value(rankUnused+2, e.from, e.to, "fmaxf("+text+", "+v.name+")")
			l.value(rankUnused+2, e.from, e.to, "("+grouped(text, e, "/")+" / "+v.name+")")
		} else {
			l.value(rankUnused+2, e.from, e.to, "min("+text+", "+v.name+")")
		}
	}
}

// unusedArray lists, in the place of an element, one of an array of the same type that the kernel is passed
// and does not use, by the same index or by one variable of it.
func (l *lister) unusedArray(e, parent *expr) {
	base, n := e.base()
	if n != 1 || base.op != "name" || stored(e, parent) || !l.f.kernel {
		return
	}
	own := l.find(base.text, base.from)
	if own == nil || !strings.HasSuffix(own.typ, "*") {
		return
	}
	index := e.kids[1]
	texts := []string{l.t.source(index.from, index.to)}
	index.walk(func(x, _ *expr) bool {
		if x.op == "name" && !slices.Contains(texts, x.text) {
			texts = append(texts, x.text)
		}
		return true
	})
	for _, v := range l.f.parameters {
		if v.typ != own.typ || v.name == own.name || l.mentions(v.name) > 1 {
			continue
		}
		for i, text := range texts {
			l.put(rankUnused+i, e.from, e.to, v.name+"["+text+"]")
		}
	}
}

// neverRead are the single numbers that the function declares, its parameters among them, and reads nowhere
// but where it computes themselves. A kernel may be passed integers that it needs in other builds alone: of
// its parameters only real numbers count.
func (l *lister) neverRead() []*variable {
	if l.readOf == l.f {
		return l.notRead
	}
	l.readOf, l.notRead = l.f, nil
	all := slices.DeleteFunc(slices.Clone(l.f.parameters), func(v *variable) bool {
		return l.f.kernel && class(v.typ) != real
	})
	each(l.f.body, func(s *statement) {
		if s.kind == "declaration" {
			all = append(all, s.declares...)
		}
	})
	for _, v := range all {
		if v.ranks == 0 && v.name != "" && (class(v.typ) == real || class(v.typ) == integer) && !l.reads(v) {
			l.notRead = append(l.notRead, v)
		}
	}
	return l.notRead
}

// reads reports whether the function mentions a variable anywhere but in its declaration and in statements
// that do nothing but assign to it.
func (l *lister) reads(v *variable) bool {
	mentions, own := 0, 0
	from, to := max(l.f.from, v.from), min(l.f.to, v.to)
	for i := from; i < to; i++ {
		if l.t.is(i, v.name) && i != v.at {
			mentions++
		}
	}
	each(l.f.body, func(s *statement) {
		if s.kind != "expression" || len(s.exprs) != 1 || s.from < from || to < s.to {
			return
		}
		e := s.exprs[0]
		if binding[e.op] == assignment && e.kids[0].op == "name" && e.kids[0].text == v.name {
			for i := s.from; i < s.to; i++ {
				if l.t.is(i, v.name) {
					own++
				}
			}
		}
	})
	return mentions > own
}

// leavesUnread reports whether with an edit nothing reads a variable any more that the function computes, and
// whether that is what a reduction gives: it is computed from what it was.
func (l *lister) leavesUnread(sites []site) (unread, reduced bool) {
	for n, r := range l.readings() {
		left := slices.ContainsFunc(sites, func(s site) bool { return slices.Contains(namesIn(s.now), n) }) ||
			slices.ContainsFunc(r.at, func(at int) bool {
				return !slices.ContainsFunc(sites, func(s site) bool { return s.from <= at && at < s.to })
			})
		if len(r.at) > 0 && !left {
			unread, reduced = true, reduced || r.reduced
		}
		for _, own := range r.own { // its value so far would be lost
			reduced = reduced || len(own) > 0 && covered(sites, own, n)
		}
	}
	return unread, reduced
}

// covered reports whether edits replace what stands at some bytes, a name, by something without it, and leave
// more of the statement.
func covered(sites []site, at []int, name string) bool {
	for _, x := range at {
		if !slices.ContainsFunc(sites, func(s site) bool {
			return !s.whole && s.from <= x && x < s.to && !slices.Contains(namesIn(s.now), name)
		}) {
			return false
		}
	}
	return true
}

// reading is where a function reads a variable that it declares, besides where it computes that anew.
type reading struct {
	at      []int   // bytes
	own     [][]int // of each statement that computes it anew from what it was, behind what that assigns to
	reduced bool    // there is one
}

// readings are those of each number that has a name of its own in the function.
func (l *lister) readings() map[string]*reading {
	if l.read != nil && l.readIn == l.f {
		return l.read
	}
	l.read, l.readIn = map[string]*reading{}, l.f
	t, declared := l.t, map[string]int{}
	each(l.f.body, func(s *statement) {
		for _, v := range s.declares {
			if declared[v.name]++; declared[v.name] > 1 || v.ranks > 0 || v.fixed || v.name == "" ||
				class(v.typ) != real && class(v.typ) != integer {
				delete(l.read, v.name)
				declared[v.name]++
				continue
			}
			r := &reading{}
			for i := l.f.from; i < l.f.to; i++ {
				if t.is(i, v.name) && i != v.at {
					r.at = append(r.at, t.tokens[i].from)
				}
			}
			l.read[v.name] = r
		}
	})
	each(l.f.body, func(s *statement) {
		if s.kind != "expression" || len(s.exprs) != 1 || s.exprs[0] == nil {
			return
		}
		e := s.exprs[0]
		if binding[e.op] != assignment || e.kids[0].op != "name" || l.read[e.kids[0].text] == nil {
			return
		}
		r := l.read[e.kids[0].text]
		var again []int
		r.at = slices.DeleteFunc(r.at, func(at int) bool {
			own := t.tokens[s.from].from <= at && at < t.tokens[s.to-1].to
			if own && at > t.tokens[s.from].from {
				again = append(again, at)
			}
			return own
		})
		r.own = append(r.own, again)
		r.reduced = r.reduced || len(again) > 0 || e.op != "="
	})
	return l.read
}
