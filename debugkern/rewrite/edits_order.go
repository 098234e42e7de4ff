package rewrite

import (
	"slices"
	"strconv"
	"strings"
)

// Edits of the order in which the registers of a fragment are given values and passed on: two of them that
// changed places are the usual mistake of mma.sync and ldmatrix (PTX ISA, "Matrix Fragments").

// nearTargets is how many statements lie at most between two that may be assigned to each other's register.
const nearTargets = 8

// numbered is one of several alike: a[1] of a[0], a[1], ..., or a1 of a0, a1, ...
type numbered struct {
	of       string // the same for all of them
	from, to int    // the tokens that change places: its own, or of a declaration those of its value
	name     string // of a declaration
	value    *expr
}

// otherTargets lists, of two statements of a block that assign to registers of one kind, each with the
// register of the other, and of two declarations each with the value of the other.
func (l *lister) otherTargets(s *statement) {
	a, ok := l.t.assigned(s)
	list := l.blockOf(s)
	i := slices.Index(list, s)
	if !ok || i < 0 {
		return
	}
	for _, next := range list[i+1 : min(i+1+nearTargets, len(list))] {
		if b, ok := l.t.assigned(next); ok && (a.value == nil) == (b.value == nil) &&
			(b.value == nil || l.seesAll(l.t, b.value, a.from) && !b.value.has(a.name)) {
			l.inEachOthersPlace(rankCrossed, a, b)
		}
	}
}

// inEachOthersPlace lists two of several alike, each in the place of the other.
func (l *lister) inEachOthersPlace(rank int, a, b numbered) {
	t := l.t
	was, other := t.source(a.from, a.to), t.source(b.from, b.to)
	if a.of != b.of || was == other || !l.near(a.from) && !l.near(b.from) {
		return
	}
	what := was + " and " + other + " exchanged"
	if x, y := t.tokens[a.from].line, t.tokens[b.from].line; x != y {
		what += " on lines " + strconv.Itoa(x) + " and " + strconv.Itoa(y)
	}
	l.add(rank, what, t.inPlace(a.from, a.to, other), t.inPlace(b.from, b.to, was))
}

// assigned is what a statement assigns to, and nothing else, where it is one of several alike.
func (t *Text) assigned(s *statement) (numbered, bool) {
	switch {
	case s.kind == "declaration" && len(s.declares) == 1 && s.declares[0].init != nil &&
		s.declares[0].ranks == 0:
		v := s.declares[0]
		out, ok := numberedName(v.name, v.at)
		out.from, out.to, out.name, out.value = v.init.from, v.init.to, v.name, v.init
		return out, ok
	case s.kind == "expression" && len(s.exprs) == 1 && s.exprs[0] != nil && s.exprs[0].op == "=":
		return t.numbered(s.exprs[0].kids[0])
	}
	return numbered{}, false
}

func (t *Text) numbered(e *expr) (numbered, bool) {
	switch {
	case e == nil:
	case e.op == "name" && e.to == e.from+1:
		return numberedName(e.text, e.from)
	case e.op == "index" && e.kids[1].op == "number":
		return numbered{of: t.source(e.kids[0].from, e.kids[0].to) + "[", from: e.from, to: e.to}, true
	}
	return numbered{}, false
}

func numberedName(name string, at int) (numbered, bool) {
	of := strings.TrimRight(name, "0123456789")
	return numbered{of: of, from: at, to: at + 1}, of != name
}

// operandsExchanged lists two inputs of an asm statement, registers of one kind, in each other's place.
func (l *lister) operandsExchanged(s *statement) {
	if s.kind != "asm" {
		return
	}
	for i, e := range s.exprs {
		a, ok := l.t.numbered(e)
		if !ok {
			continue
		}
		for _, e := range s.exprs[i+1:] {
			if b, ok := l.t.numbered(e); ok {
				l.inEachOthersPlace(rankArguments, a, b)
			}
		}
	}
}
