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

// neverRead are the single numbers that the function declares, its parameters among them unless it is a
// kernel, and reads nowhere but where it computes themselves.
func (l *lister) neverRead() []*variable {
	if l.readOf == l.f {
		return l.notRead
	}
	l.readOf, l.notRead = l.f, nil
	var all []*variable
	if !l.f.kernel {
		all = slices.Clone(l.f.parameters)
	}
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
	for i := l.f.from; i < l.f.to; i++ {
		if l.t.is(i, v.name) && i != v.at {
			mentions++
		}
	}
	each(l.f.body, func(s *statement) {
		if s.kind != "expression" || len(s.exprs) != 1 {
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
