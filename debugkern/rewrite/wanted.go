package rewrite

import (
	"slices"
	"strings"
)

// Wanted is what is known of the edit that is looked for: edits of that kind are listed before others.
type Wanted struct {
	Kind Kind
	// From is the array or tensor whose elements are taken where those of To belong, "" for none
	From, To string
	// Arrays are those whose elements are taken or stored by a wrong index, or used by several threads
	Arrays []string
	// Beyond: they are accessed out of bounds, so that a condition may lack
	Beyond bool
	// Short: what is written into one of them runs into what lies behind it: it may be declared too short
	Short bool
	// Often: more warps arrive at a barrier than should, so that one part of a block may be meant
	Often bool
	// Deciding: something is left out, by the bound of a loop or a condition
	Deciding bool
	// Step is how many terms of a sum an iteration of its loop should go on by, where it goes on by more or
	// less; 0: not known
	Step int
	// Ordered: something is done before what it has to wait for, so that a statement may stand too early
	Ordered bool
}

// Kind is what an edit changes.
type Kind int

// What is known of an edit.
const (
	Any     Kind = iota
	Indices      // other elements take part than should
	Values       // the elements that take part are the right ones
)

// By how much an edit is likelier, or less likely, than its kind says.
const (
	unwanted  = 5  // it changes no number of the class that is wanted
	exchanged = 20 // it takes an array in the place of the one whose elements are taken
	indexing  = 8  // it is in an index of an array that is used by a wrong one
	computing = 4  // it is in what such an index is computed from, or the condition of such an access
	deciding  = 7  // it is in the header of a loop or in a condition, where something is left out
	decided   = 4  // it is in what these are computed from
	ordering  = 12 // it moves a statement, where something is done too early
	shortened = 14 // it gives an array another extent, where what is written runs into what lies behind it
	ofOne     = 22 // it has one part of a block arrive, where too many warps do
	stricter  = 18 // it leaves the bound itself out, of an index by which an array is accessed out of bounds
	extents   = 18 // it takes another number of the kernel's for a bound of such an index
	guarding  = 14 // it puts an access under a condition, of an array that is accessed out of bounds
)

// span is a part of a text.
type span struct{ from, to int }

// spans are the parts of a text that have the indices of arrays, and that compute what stands in them; those
// that decide what executes, and that compute what these compare.
type spans struct{ indices, computed, deciding, decided []span }

// indexed finds the indices of the arrays that are wanted, in all texts, and what computes what stands in
// them.
func (l *lister) indexed() map[*Text]spans {
	out := map[*Text]spans{}
	var names []string
	for _, t := range l.w.texts {
		in, own := t.indexing(l.wanted.Arrays)
		out[t] = in
		names = append(names, own...)
	}
	for _, t := range l.w.texts {
		in := out[t]
		if l.wanted.Deciding {
			in.deciding, in.decided = t.decisions()
		}
		for _, f := range t.functions {
			if !f.kernel && slices.Contains(names, f.name) {
				in.computed = append(in.computed, span{t.tokens[f.from].from, t.tokens[f.to-1].to})
			}
		}
		out[t] = in
	}
	return out
}

// indexing finds the indices of arrays and the statements that declare what stands in them, and returns the
// names in the indices too.
func (t *Text) indexing(arrays []string) (out spans, names []string) {
	if len(arrays) == 0 {
		return out, nil
	}
	arrays = append(slices.Clone(arrays), t.takers(arrays)...)
	for i, tok := range t.tokens {
		if tok.kind != name || !t.is(i+1, "[") || !slices.ContainsFunc(arrays, func(a string) bool {
			return sameArray(a, tok.text)
		}) {
			continue
		}
		for open := i + 1; t.is(open, "["); open = t.match(open) + 1 {
			close := t.match(open)
			if close < open {
				break
			}
			out.indices = append(out.indices, span{t.tokens[open].to, t.tokens[close].from})
			for _, in := range t.tokens[open+1 : close] {
				if in.kind == name {
					names = append(names, in.text)
				}
			}
		}
	}
	for _, f := range t.functions {
		each(f.body, func(s *statement) {
			if s.kind == "if" && len(s.exprs) > 0 && len(s.body) > 0 {
				from, to := t.tokens[s.body[0].from].from, t.tokens[s.to-1].to
				if e := s.exprs[0]; slices.ContainsFunc(out.indices, func(x span) bool {
					return from <= x.from && x.to <= to
				}) {
					out.computed = append(out.computed, span{t.tokens[e.from].from, t.tokens[e.to-1].to})
				}
			}
			for _, v := range s.declares {
				if slices.Contains(names, v.name) {
					out.computed = append(out.computed, span{t.tokens[s.from].from, t.tokens[s.to-1].to})
				}
			}
			if s.kind == "for" && s.init != nil && len(s.init.declares) > 0 &&
				slices.Contains(names, s.init.declares[0].name) && len(s.body) > 0 {
				header := span{t.tokens[s.from].from, t.tokens[s.body[0].from].from}
				out.computed = append(out.computed, header)
			}
		})
	}
	return out, names
}

// takers are the arrays in which a text puts what it takes of others: a in a[i] = b[k] and load(a[i], &b[k]).
func (t *Text) takers(arrays []string) (out []string) {
	takes := func(to *expr, from []*expr) {
		base, n := to.base()
		if n == 0 || base.op != "name" || slices.Contains(out, base.text) {
			return
		}
		for _, e := range from {
			e.walk(func(x, _ *expr) bool {
				if in, n := x.base(); n > 0 && in.op == "name" && in.text != base.text &&
					slices.ContainsFunc(arrays, func(a string) bool { return sameArray(a, in.text) }) &&
					!slices.Contains(out, base.text) {
					out = append(out, base.text)
				}
				return true
			})
		}
	}
	for _, f := range t.functions {
		each(f.body, func(s *statement) {
			for _, e := range s.top() {
				switch {
				case e.op == "call" && len(e.kids) > 2:
					takes(e.kids[1], e.kids[2:])
				case binding[e.op] == assignment:
					takes(e.kids[0], e.kids[1:])
				}
			}
		})
	}
	return out
}

// decisions finds the headers of loops and the conditions of a text, and the declarations of what stands in
// them.
func (t *Text) decisions() (own, from []span) {
	for _, f := range t.functions {
		names := map[string]bool{}
		add := func(at, to int) {
			own = append(own, span{t.tokens[at].from, t.tokens[to-1].to})
			for _, tok := range t.tokens[at:to] {
				if tok.kind == name {
					names[tok.text] = true
				}
			}
		}
		each(f.body, func(s *statement) {
			switch {
			case s.kind == "if" && len(s.exprs) > 0:
				add(s.exprs[0].from, s.exprs[0].to)
			case s.kind == "for" && t.is(s.from+1, "(") && t.match(s.from+1) > s.from+2:
				add(s.from+2, t.match(s.from+1))
			}
			for _, e := range s.top() {
				e.walk(func(e, _ *expr) bool {
					if e.op == "?" {
						add(e.kids[0].from, e.kids[0].to)
					}
					return true
				})
			}
		})
		each(f.body, func(s *statement) {
			for _, v := range s.declares {
				if names[v.name] && v.init != nil && s.kind == "declaration" {
					from = append(from, span{t.tokens[v.init.from].from, t.tokens[v.init.to-1].to})
				}
			}
		})
	}
	return own, from
}

// sameArray reports whether a name is that of an array or tensor, or of its tile in shared memory: sK of K.
func sameArray(array, name string) bool { return name == array || name == "s"+array }

// otherExtent reports whether a part of a text is a number that the kernel is called with, and another one of
// a like name stands in its place.
func (l *lister) otherExtent(s *site) bool {
	was := l.t.text[s.from:s.to]
	parameter := func(name string) bool {
		return slices.ContainsFunc(l.f.parameters, func(v *variable) bool {
			return v.name == name && class(v.typ) == integer
		})
	}
	return l.f != nil && len(was) > 1 && was != s.now && parameter(was) && parameter(s.now) &&
		unlike(was, s.now, true) <= 3
}

// likelier is by how much an edit is the likelier for what is wanted.
func (l *lister) likelier(e *Edit) int {
	n := 0
	if l.where == nil {
		l.where = l.indexed()
	}
	in, s := l.where[l.t], &e.sites[0]
	within := func(list []span) bool {
		return slices.ContainsFunc(list, func(x span) bool { return x.from <= s.from && s.to <= x.to })
	}
	holds := slices.ContainsFunc(in.indices, func(x span) bool { return s.from <= x.from && x.to <= s.to })
	switch {
	case l.wanted.Ordered && l.moves:
		n += ordering
	case l.wanted.Beyond && l.guards && holds:
		n += guarding
	case s.whole:
	case l.wanted.Beyond && within(in.computed) && l.otherExtent(s):
		n += extents
	case within(in.indices):
		n += indexing
	case within(in.deciding):
		n += deciding
	case within(in.computed):
		n += computing
	case within(in.decided):
		n += decided
	}
	if from, to := l.wanted.From, l.wanted.To; from != "" && to != "" {
		was := l.t.text[s.from:s.to]
		for _, x := range [][2]string{{from, to}, {strings.ToLower(from), strings.ToLower(to)}} {
			if strings.Contains(was, x[0]) && s.now == strings.ReplaceAll(was, x[0], x[1]) {
				return n + exchanged
			}
		}
	}
	switch values := l.of == real || l.of == half; {
	case l.wanted.Kind == Indices && values, l.wanted.Kind == Values && l.of == integer:
		n -= unwanted
	}
	return n
}
