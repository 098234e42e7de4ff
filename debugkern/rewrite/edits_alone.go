package rewrite

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A compiler needs the values of some texts: constants, extents of arrays, arguments of templates. An edit of
// one cannot be chosen while the kernel executes: it is compiled alone.

// alone lists the edits of constants that lines mention, of the order of a kernel's parameters, and of
// arrays.
func (l *lister) alone() {
	mentioned := l.mentionedNames()
	for _, name := range l.launched() {
		delete(mentioned, name) // a launch has it too, and no other one is made here
	}
	l.isAlone = true
	defer func() { l.isAlone = false }()
	for _, t := range l.w.texts {
		l.t, l.f, l.s = t, &function{to: len(t.tokens)}, nil
		for _, v := range t.globals {
			if far, ok := mentioned[v.name]; ok && v.fixed && v.init != nil && v.ranks == 0 {
				l.far = far
				l.constantValue(v.init, class(v.typ))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.values)) {
			if far, ok := mentioned[name]; ok {
				l.far = far
				l.defined(t.values[name], t.macros[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.structs)) {
			for _, v := range t.structs[name] {
				if far, ok := mentioned[v.name]; ok {
					l.far = far
					l.extents(v, t.structs[name])
				}
			}
		}
		for _, f := range t.functions {
			l.f = f
			if f.kernel {
				l.parametersExchanged(f)
			}
			each(f.body, l.declared)
		}
	}
}

// launched are the names that say how many threads a block of a kernel has: those in __launch_bounds__.
func (l *lister) launched() (out []string) {
	for _, t := range l.w.texts {
		for i, tok := range t.tokens {
			if tok.text != "__launch_bounds__" || !t.is(i+1, "(") {
				continue
			}
			for k := i + 2; k < t.match(i+1); k++ {
				if t.tokens[k].kind == name {
					out = append(out, t.tokens[k].text)
				}
			}
		}
	}
	return out
}

// mentionedNames are the names on the lines that are asked about, and how far these are.
func (l *lister) mentionedNames() map[string]int {
	out := map[string]int{}
	for _, t := range l.w.texts {
		lines := l.lines[t.Name]
		for _, tok := range t.tokens {
			d, ok := lines[tok.line]
			if was, seen := out[tok.text]; ok && tok.kind == name && (!seen || d < was) {
				out[tok.text] = d
			}
		}
	}
	return out
}

// constantValue lists other values of a constant.
func (l *lister) constantValue(e *expr, c string) {
	l.of = c
	switch c {
	case real:
		text := l.t.source(e.from, e.to)
		for i, now := range realConstants {
			l.put(rankConstant+i/2, e.from, e.to, now)
		}
		l.put(rankConstant+1, e.from, e.to, "1.0f / ("+text+")")
		l.put(rankConstant+2, e.from, e.to, "-("+text+")")
		l.put(rankConstant+3, e.from, e.to, "2.0f * ("+text+")")
		l.put(rankConstant+3, e.from, e.to, "0.5f * ("+text+")")
	case integer:
		if e.op == "number" {
			l.number(e)
			return
		}
		e.walk(func(e, parent *expr) bool {
			l.expression(e, parent)
			return true
		})
	}
}

// realConstants are log2 e, ln 2, and the neutral elements of sums, products and maxima.
var realConstants = []string{"1.4426950408889634f", "0.6931471805599453f", "0.0f", "1.0f", "-INFINITY"}

// defined lists other values of a macro that is a number.
func (l *lister) defined(at int, was string) {
	put := func(rank int, now string) {
		if now != was {
			l.add(rank, now+" in place of "+was, site{from: at, to: at + len(was), now: now})
		}
	}
	if n, err := strconv.ParseInt(was, 10, 32); err == nil {
		l.of = integer
		if n > 1 { // 0 and 1 choose a build
			for i, now := range []int64{n + 1, n - 1, 2 * n, n / 2} {
				put(rankDefined+i/2, strconv.FormatInt(now, 10))
			}
		}
		return
	}
	if _, err := strconv.ParseFloat(strings.TrimRight(was, "fF"), 64); err == nil {
		l.of = real
		for i, now := range realConstants {
			put(rankConstant+i/2, now)
		}
	}
}

// parametersExchanged lists two parameters of a kernel in each other's place.
func (l *lister) parametersExchanged(f *function) {
	l.of, l.far = "", 1
	t := l.t
	name := func(v *variable, now string) site {
		return site{from: t.tokens[v.at].from, to: t.tokens[v.at].to, now: now}
	}
	for i, a := range f.parameters {
		for j, b := range f.parameters[i+1:] {
			if a.typ == b.typ && a.ranks == b.ranks && a.at > f.first && b.at < f.from {
				l.add(rankParameters+j, "parameters "+a.name+" and "+b.name+" exchanged",
					name(a, b.name), name(b, a.name))
			}
		}
	}
}

// declared lists the edits of a declaration whose value a compiler needs.
func (l *lister) declared(s *statement) {
	l.s = s
	l.header(s)
	if s.kind == "expression" || s.kind == "other" {
		l.ownStorage(s)
	}
	if s.kind != "declaration" || !l.near(s.from) {
		return
	}
	for _, v := range s.declares {
		if v.init != nil && (v.fixed || v.once && l.known(v.init)) {
			l.constantValue(v.init, class(v.typ))
		}
		l.extents(v, nil)
	}
	l.otherType(s)
}

// otherType lists a declaration of numbers with another type: a signed one, a wider one.
func (l *lister) otherType(s *statement) {
	t := l.t
	v := s.declares[0]
	from := s.from
	for from < s.to && (qualifiers[t.tokens[from].text] || t.is(from, "alignas") || t.is(from, "__align__")) {
		if from++; t.is(from, "(") {
			from = t.match(from) + 1
		}
	}
	to := from
	for to < v.at && numeric[t.tokens[to].text] != "" {
		to++
	}
	if to == from || to != v.at {
		return
	}
	typ := t.source(from, to)
	for i, now := range map[string][]string{
		integer: {"int", "unsigned", "long long"}, half: {"float"}, real: {"half"},
	}[class(typ)] {
		if now != typ {
			l.of = class(typ)
			l.put(rankType+i, from, to, now)
		}
	}
}

// header lists a loop with the header of another one over a variable of the same name.
func (l *lister) header(s *statement) {
	t := l.t
	open := s.from + 1
	close := t.match(open)
	if s.kind != "for" || !l.near(s.from) || close < open || s.init == nil || len(s.init.declares) != 1 {
		return
	}
	own := t.source(open+1, close)
	for _, o := range l.w.seen(t) {
		for _, f := range o.functions {
			each(f.body, func(x *statement) {
				if x.kind != "for" || x.init == nil || len(x.init.declares) != 1 ||
					x.init.declares[0].name != s.init.declares[0].name {
					return
				}
				now := o.source(x.from+2, o.match(x.from+1))
				if now != own && l.seesAllOf(o, x, s.init.from) {
					l.of = ""
					l.add(rankHeader, now+" in place of "+own, site{
						from: t.tokens[open+1].from, to: t.tokens[close-1].to, now: now,
					})
				}
			})
		}
	}
}

// seesAllOf reports whether every name of a loop's header, but its own variable, means something at a token.
func (l *lister) seesAllOf(t *Text, x *statement, at int) bool {
	own := x.init.declares[0]
	list := append(slices.Clone(x.exprs), own.init)
	return !slices.ContainsFunc(list, func(e *expr) bool {
		ok := true
		e.walk(func(k, parent *expr) bool {
			called := parent != nil && parent.op == "call" && parent.kids[0] == k
			if k.op == "name" && !called && k.text != own.name && !everywhere[k.text] {
				ok = ok && (l.find(k.text, at) != nil || l.constant(k.text))
			}
			return ok
		})
		return !ok
	})
}

// extents lists an array with other extents: first those that its siblings, the other members of its struct,
// have for the same dimension.
func (l *lister) extents(v *variable, siblings []*variable) {
	l.of = integer
	rank := rankExtent
	if l.wanted.Short {
		rank -= shortened
	}
	for k, x := range v.extents {
		text := l.t.source(x[0], x[1])
		if text == "" {
			continue
		}
		uses := map[string]int{}
		for _, o := range siblings {
			if k < len(o.extents) {
				uses[l.t.source(o.extents[k][0], o.extents[k][1])]++
			}
		}
		names := l.extentNames(v)
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(uses[b], uses[a]) })
		own, more := rank, rank
		if l.t.tokens[x[0]].kind == number && len(names) > 0 && uses[names[0]] > 0 {
			own, more = rank-rankNamedExtent, rank-rankNamedExtent+1 // the others have a name
		}
		for i, name := range names[:min(len(names), mostNamed)] {
			if name != text {
				l.put(own+i, x[0], x[1], name)
			}
		}
		l.put(more, x[0], x[1], text+" + 1")
	}
}

// mostNamed is how many constants are tried as the extent of an array.
const mostNamed = 4

// extentNames are the integers that an array's declaration sees and whose values a compiler has, those first
// that are mentioned most.
func (l *lister) extentNames(v *variable) (names []string) {
	for _, o := range l.visible(v.at) {
		if class(o.typ) == integer && o.ranks == 0 && o.fixed && l.mentions(o.name) > 0 {
			names = append(names, o.name)
		}
	}
	for _, o := range l.w.seen(l.t) {
		for name := range o.macros {
			if l.constant(name) && !l.flag(name) && l.mentions(name) > 0 {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(l.mentions(b), l.mentions(a)), cmp.Compare(a, b))
	})
	return slices.Compact(names)
}

// ownStorage gives an array that lies on another one its own place in shared memory:
// T(&a)[N] = *reinterpret_cast<T(*)[N]>(&b) becomes __shared__ T a[N].
func (l *lister) ownStorage(s *statement) {
	t := l.t
	end := s.from + 5
	if !l.near(s.from) || !t.is(s.from+1, "(") || !t.is(s.from+2, "&") || !t.is(s.from+4, ")") {
		return
	}
	for t.is(end, "[") && t.match(end) > end {
		end = t.match(end) + 1
	}
	if end == s.from+5 || !t.is(end, "=") || !t.has(end, s.to, "reinterpret_cast") {
		return
	}
	name := t.source(s.from+3, s.from+4)
	typ, extents := t.source(s.from, s.from+1), t.source(s.from+5, end)
	now := "__shared__ __align__(128) " + typ + " " + name + extents + ";"
	l.of = ""
	l.add(rankStorage, name+" in a place of its own in place of "+t.source(end+1, s.to-1), site{
		from: t.tokens[s.from].from, to: t.tokens[s.to-1].to, now: now,
	})
}
