package rewrite

import (
	"cmp"
	"slices"
	"strings"
)

// Edits that put what stands elsewhere in the same role: what is assigned to a name, an index, an argument.

// elsewhere lists what stands in the same role elsewhere.
func (l *lister) elsewhere(role string, e *expr) {
	own := l.t.source(e.from, e.to)
	n := 0
	for _, s := range l.w.slots[role] {
		if s.s == own || len(s.s) > 200 || role == "for" && n > 6 {
			continue
		}
		own, other := l.class(e), l.classOf(s)
		if own != "" && other != "" && own != other {
			continue
		}
		l.doubtful = own == "" || other == ""
		if n++; l.seesAll(s.t, s.e, e.from) && !(role == "if" && l.known(s.e)) {
			rank := rankElsewhere
			if role == "if" || role == "for" {
				rank = rankCondition
			}
			l.copied = true
			if l.class(e) == integer {
				l.value(rank+n/3, e.from, e.to, s.s)
			} else {
				l.put(rank+n/3, e.from, e.to, s.s)
			}
			l.copied = false
		}
	}
	l.doubtful = false
	l.likeSibling(role, e)
	l.asAnother(role, e)
}

// asAnother lists what stands in the same role elsewhere, with this one's variable in the place of its own,
// where each has one.
func (l *lister) asAnother(role string, e *expr) {
	if role == "if" || role == "for" || strings.HasPrefix(role, "= ") {
		return
	}
	own := l.onlyVariable(l.t, l.f, e)
	if own == "" {
		return
	}
	ranks := func(t *Text, f *function, name string, at int) int {
		o := &lister{w: l.w, t: t, f: f}
		if v := o.find(name, at); v != nil {
			return v.ranks
		}
		return 0
	}
	text := l.t.source(e.from, e.to)
	for _, s := range l.w.slots[role] {
		other := l.onlyVariable(s.t, s.f, s.e)
		if other == "" || other == own || s.s == other || len(s.s) > 80 || s.e.op == "u*" || s.e.op == "u&" ||
			ranks(l.t, l.f, own, e.from) != ranks(s.t, s.f, other, s.e.from) {
			continue
		}
		if now := s.t.renamed(s.e.from, s.e.to, map[string]string{other: own}); now != text {
			l.doubtful = true
			l.value(rankAnother, e.from, e.to, now)
			l.doubtful = false
		}
	}
}

// onlyVariable is the one variable of an expression whose value no compiler knows, "" where it has none or
// several.
func (l *lister) onlyVariable(t *Text, f *function, e *expr) string {
	o := &lister{w: l.w, t: t, f: f}
	found, many := "", false
	e.walk(func(x, parent *expr) bool {
		called := parent != nil && parent.op == "call" && parent.kids[0] == x
		if x.op == "name" && !called && !o.known(x) {
			many = many || found != "" && found != x.text
			found = x.text
		}
		return true
	})
	if many {
		return ""
	}
	return found
}

// likeSibling lists the indices of arrays with as many, with the extents of this one in the place of theirs.
func (l *lister) likeSibling(role string, e *expr) {
	if !strings.HasPrefix(role, "[") {
		return
	}
	own := l.find(role[1:len(role)-1], e.from)
	if own == nil || len(own.extents) == 0 {
		return
	}
	text := l.t.source(e.from, e.to)
	for _, v := range l.visible(e.from) {
		if v.name == own.name || v.ranks != own.ranks || len(v.extents) != len(own.extents) {
			continue
		}
		for _, s := range l.w.slots["["+v.name+role[len(role)-1:]] {
			if s.t != l.t || !l.seesAll(s.t, s.e, e.from) {
				continue
			}
			if now := l.withExtents(s.e, v, own); now != text {
				l.value(rankElsewhere+3, e.from, e.to, now)
			}
		}
	}
}

// withExtents is an expression with an array's extents in the place of another's.
func (l *lister) withExtents(e *expr, from, to *variable) string {
	t := l.t
	var b strings.Builder
	at := t.tokens[e.from].from
	for i := e.from; i < e.to; i++ {
		for k, x := range from.extents {
			if x[1] == x[0]+1 && t.tokens[x[0]].text == t.tokens[i].text && t.tokens[i].kind == name {
				b.WriteString(t.text[at:t.tokens[i].from])
				b.WriteString(t.source(to.extents[k][0], to.extents[k][1]))
				at = t.tokens[i].to
				break
			}
		}
	}
	b.WriteString(t.text[at:t.tokens[e.to-1].to])
	return b.String()
}

// classOf is the class of an expression where it stands.
func (l *lister) classOf(s slot) string {
	o := &lister{w: l.w, t: s.t, f: s.f}
	return o.class(s.e)
}

// grown lists edits that add a term to an index, an argument or what is assigned, or another condition.
func (l *lister) grown(role string, e *expr) {
	text := l.t.source(e.from, e.to)
	switch {
	case role == "if":
		l.put(rankNot, e.from, e.to, "!("+text+")")
		for i, s := range l.w.slots["if"] {
			if s.s != text && l.seesAll(s.t, s.e, e.from) && !l.known(s.e) {
				l.put(rankGuard+i/8, e.from, e.to, grouped(text, e, "&&")+" && "+grouped(s.s, s.e, "&&"))
			}
		}
		l.guards = true
		for i, c := range l.below(e, l.s.from, l.s.to) {
			l.put(rankGuard+i/8, e.from, e.to, grouped(text, e, "&&")+" && "+c)
		}
		l.guards = false
		l.conjoined(e, l.s.from, l.s.to)
	case role == "for":
		l.bounded(e)
	case l.class(e) == integer:
		b := grouped(text, e, "*")
		if e.op != "number" { // it becomes another number
			l.value(rankOneMore, e.from, e.to, grouped(text, e, "+")+" + 1")
			l.value(rankOneMore+3, e.from, e.to, grouped(text, e, "+")+" - 1")
			l.value(rankFactor, e.from, e.to, b+" / 2")
			l.value(rankFactor, e.from, e.to, b+" * 2")
			l.value(rankFactor, e.from, e.to, "0")
			if l.t.has(e.from, e.to, "-") && !l.t.has(e.from, e.to, "max") {
				l.value(rankClamped, e.from, e.to, "max(0, "+text+")")
			}
		}
		for i, v := range l.nearest(l.numbers(e), e, never) {
			l.value(rankGrown+i/4, e.from, e.to, grouped(text, e, "+")+" + "+v.name)
			if e.op != "number" {
				l.value(rankGrown+1+i/4, e.from, e.to, grouped(text, e, "+")+" - "+v.name)
			}
		}
		for i, v := range l.named(e) {
			for _, op := range []string{" / ", " % ", " * "} {
				if e.op == "number" && op != " * " {
					continue // it is another number
				}
				l.value(rankGrown+2+i/3, e.from, e.to, b+op+v.name)
			}
		}
	case l.class(e) == real:
		list := slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
			return class(v.typ) != real || v.ranks > 0 || v.of == l.s
		})
		for i, v := range l.nearest(list, e, never) {
			l.put(rankGrown+i/4, e.from, e.to, grouped(text, e, "*")+" * "+v.name)
			l.put(rankGrown+1+i/4, e.from, e.to, grouped(text, e, "*")+" / "+v.name)
			l.put(rankGrown+1+i/4, e.from, e.to, grouped(text, e, "-")+" - "+v.name)
		}
	}
}

// bounded lists a loop that ends at the extent of an array or tile, and one that takes a step more or less.
func (l *lister) bounded(e *expr) {
	if e.op != "<" && e.op != "<=" || len(e.kids) != 2 || l.class(e.kids[1]) != integer {
		return
	}
	k := e.kids[1]
	text := l.t.source(k.from, k.to)
	if k.op != "number" {
		l.value(rankOneMore+1, k.from, k.to, grouped(text, k, "+")+" + 1")
		l.value(rankOneMore+1, k.from, k.to, grouped(text, k, "+")+" - 1")
	}
	last := ""
	if e.op == "<=" {
		last = " - 1"
	}
	fixed := slices.DeleteFunc(l.constants(k), func(v *variable) bool {
		return l.mentions(v.name) == 0 || v.name == text
	})
	for i, v := range l.nearest(fixed, k, func(v *variable) int { return -l.mentions(v.name) }) {
		l.value(rankFactor+i/2, k.from, k.to, "min("+text+", "+v.name+last+")")
	}
	for _, text := range l.extentsIndexed(l.s) {
		l.value(rankOwnExtent, k.from, k.to, text+last)
	}
	l.rowsAt(k)
	l.lastStep(e)
	l.counted(k)
	l.wholeLoop(k)
	l.otherBounds(k)
	if len(l.s.exprs) < 2 || l.s.exprs[1] == nil || binding[l.s.exprs[1].op] != assignment {
		return
	}
	// It goes over a tile in strides: as many steps as that has cells.
	tile := l.nearest(fixed, k, func(v *variable) int { return -l.mentions(v.name) / 2 })
	for i, a := range tile[:min(len(tile), mostExtents)] {
		for j, b := range tile[:i] {
			l.value(rankOtherBound+(i+j)/2, k.from, k.to, b.name+" * "+a.name)
		}
	}
}

// counted lists, of a loop that begins at A and is bounded as if it began at 0, its end: min(A + B, C) in the
// place of min(B, C - A), and A + B in that of B; and of one that begins at 0 how often it runs.
func (l *lister) counted(k *expr) {
	if l.s.init == nil || len(l.s.init.declares) != 1 || l.s.init.declares[0].init == nil {
		return
	}
	first := l.s.init.declares[0].init
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	put := func(now string) { l.put(rankCounted, k.from, k.to, now) }
	least := k.op == "call" && k.kids[0].text == "min" && len(k.kids) == 3
	switch a := text(first); {
	case least && a == "0": // of the sum of two, one may be the first
		for i, x := range k.kids[1:] {
			if x.op == "+" && len(x.kids) == 2 {
				other := text(k.kids[2-i])
				put("min(" + text(x.kids[1]) + ", " + other + " - " + text(x.kids[0]) + ")")
			}
		}
	case a == "0":
	case least:
		for i, x := range k.kids[1:] {
			if x.op == "-" && len(x.kids) == 2 && text(x.kids[1]) == a {
				put("min(" + a + " + " + text(k.kids[2-i]) + ", " + text(x.kids[0]) + ")")
			}
		}
	case k.op == "name" && l.known(k) && !l.known(first):
		put(grouped(a, first, "+") + " + " + text(k))
	}
}

// wholeLoop lists, of a loop over a part of what there is, one over all of it: from 0 to C in the place of
// from A to min(A + B, C).
func (l *lister) wholeLoop(k *expr) {
	if l.s.init == nil || len(l.s.init.declares) != 1 || l.s.init.declares[0].init == nil ||
		k.op != "call" || k.kids[0].text != "min" || len(k.kids) != 3 {
		return
	}
	first := l.s.init.declares[0].init
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	for i, x := range k.kids[1:] {
		if x.op != "+" || text(x.kids[0]) != text(first) || text(first) == "0" {
			continue
		}
		end := text(k.kids[2-i])
		l.add(rankWholeLoop, "from 0 to "+end+" in place of from "+text(first)+" to "+text(k),
			l.t.inPlace(first.from, first.to, "0"), l.t.inPlace(k.from, k.to, end))
	}
}

// extentsIndexed are the extents, as their declarations have them, of the arrays that a loop's variable alone
// is an index of.
func (l *lister) extentsIndexed(s *statement) (out []string) {
	if s.init == nil || len(s.init.declares) != 1 {
		return nil
	}
	counter := s.init.declares[0].name
	each(s.body, func(s *statement) {
		for _, top := range s.top() {
			top.walk(func(e, _ *expr) bool {
				if e.op != "index" || e.kids[1].op != "name" || e.kids[1].text != counter {
					return true
				}
				base, n := e.base()
				v := l.find(base.text, e.from)
				if base.op != "name" || v == nil || n > len(v.extents) {
					return true
				}
				x := v.extents[n-1]
				if text := l.t.source(x[0], x[1]); text != "" && !slices.Contains(out, text) {
					out = append(out, text)
				}
				return true
			})
		}
	})
	return out
}

// rowsAt lists, of a loop whose variable is divided by D, the elements of rows, a bound that has D for a
// factor: a * D in the place of a * b, and of a.
func (l *lister) rowsAt(k *expr) {
	if l.s.init == nil || len(l.s.init.declares) != 1 {
		return
	}
	counter := l.s.init.declares[0].name
	var rows []string
	each(l.s.body, func(s *statement) {
		for _, top := range s.top() {
			top.walk(func(e, _ *expr) bool {
				if (e.op == "/" || e.op == "%") && len(e.kids) == 2 && e.kids[0].text == counter &&
					l.seesAll(l.t, e.kids[1], k.from) {
					d := l.t.source(e.kids[1].from, e.kids[1].to)
					if !slices.Contains(rows, d) {
						rows = append(rows, d)
					}
				}
				return true
			})
		}
	})
	factors := chain(k, "*")
	for _, d := range rows {
		if slices.ContainsFunc(factors, func(f *expr) bool { return l.t.source(f.from, f.to) == d }) {
			continue
		}
		for _, f := range factors {
			if len(factors) > 1 {
				l.value(rankRowsAt, f.from, f.to, d)
			}
		}
		l.value(rankRowsAt+2, k.from, k.to, grouped(l.t.source(k.from, k.to), k, "*")+" * "+d)
	}
}

// lastStep lists, of a loop that goes on while a whole step is left, that it takes the last one too: v < B in
// the place of v + STEP <= B.
func (l *lister) lastStep(e *expr) {
	a := e.kids[0]
	if e.op == "<=" && a.op == "+" && a.kids[0].op == "name" && l.s.kind == "for" {
		k := e.kids[1]
		l.put(rankLastStep, e.from, e.to, a.kids[0].text+" < "+l.t.source(k.from, k.to))
	}
}

// mostExtents is how many constants are tried as the extents of a tile.
const mostExtents = 5

// otherBounds lists what other loops end at in the place of a loop's bound, the likeliest first: those of the
// loops that step as this one does, and of the function.
func (l *lister) otherBounds(k *expr) {
	type bound struct {
		text string
		far  int
	}
	var list []bound
	own := l.t.source(k.from, k.to)
	step := l.stepOf(l.t, l.s)
	for _, t := range l.w.seen(l.t) {
		for _, f := range t.functions {
			each(f.body, func(s *statement) {
				if s.kind != "for" || len(s.exprs) == 0 || s.exprs[0] == nil || len(s.exprs[0].kids) != 2 {
					return
				}
				x := s.exprs[0].kids[1]
				text := t.source(x.from, x.to)
				if x.op == "number" || text == own || !l.seesAll(t, x, k.from) {
					return
				}
				far := 0
				if f != l.f {
					far += 2
				}
				if l.stepOf(t, s) != step {
					far += 2
				}
				if i := slices.IndexFunc(list, func(b bound) bool { return b.text == text }); i < 0 {
					list = append(list, bound{text, far})
				} else {
					list[i].far = min(list[i].far, far)
				}
			})
		}
	}
	slices.SortStableFunc(list, func(a, b bound) int { return cmp.Compare(a.far, b.far) })
	for i, b := range list[:min(len(list), mostNames)] {
		l.value(rankOtherBound+i/2, k.from, k.to, b.text)
	}
}

// stepOf is the text of what a loop does behind each iteration, without the name of its variable.
func (l *lister) stepOf(t *Text, s *statement) string {
	if len(s.exprs) < 2 || s.exprs[1] == nil || len(s.exprs[1].kids) == 0 {
		return ""
	}
	e := s.exprs[1]
	return t.source(e.kids[0].to, e.to)
}

// mentions counts a name in the function.
func (l *lister) mentions(name string) int {
	n := 0
	for _, tok := range l.t.tokens[l.f.from:l.f.to] {
		if tok.text == name {
			n++
		}
	}
	return n
}

// likeOtherCalls lists arguments of a call with the operation that the argument in the same place has in
// another call of the function, by a number or constant: f(word >> 8 & 0xffu) for f(word >> 8).
func (l *lister) likeOtherCalls(e *expr) {
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	each(l.f.body, func(s *statement) {
		for _, top := range s.top() {
			top.walk(func(o, _ *expr) bool {
				if o.op != "call" || o == e || len(o.kids) != len(e.kids) ||
					text(o.kids[0]) != text(e.kids[0]) {
					return true
				}
				for i := 1; i < len(e.kids); i++ {
					own, other := e.kids[i], o.kids[i]
					by, ok := l.operatedBy(other)
					if _, too := l.operatedBy(own); ok && !too && l.class(own) == l.class(other) {
						l.put(rankLikeCall, own.from, own.to, grouped(text(own), own, other.op)+by)
					}
				}
				return true
			})
		}
	})
}

// operatedBy is the operator and the number or constant that an expression ends with: " & 0xffu"; false where
// it ends with something else.
func (l *lister) operatedBy(e *expr) (string, bool) {
	if len(e.kids) != 2 || binding[e.op] <= binding["?"] {
		return "", false
	}
	k := e.kids[1]
	if k.op != "number" && (k.op != "name" || !l.constant(k.text)) {
		return "", false
	}
	return " " + e.op + " " + l.t.source(k.from, k.to), true
}
