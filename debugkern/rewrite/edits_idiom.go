package rewrite

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Edits of what several tokens state together: a number rounded up to a multiple, the halving steps of a
// reduction, the factor of a sum's term, a float written as its bits.

// rounded lists a number that is not rounded to a multiple in the place of one that is, and its quotient
// rounded the other way: X in the place of (X + N - 1) / N * N and of X / N * N, X / N in that of
// (X + N - 1) / N, and that in the place of X / N, where a constant divides what is none.
func (l *lister) rounded(e, parent *expr) {
	t := l.t
	text := func(x *expr) string { return t.source(x.from, x.to) }
	quotient := e
	multiple := e.op == "*" && len(e.kids) == 2 && e.kids[0].op == "/" &&
		text(e.kids[1]) == text(e.kids[0].kids[1])
	if multiple {
		quotient = e.kids[0]
	}
	if quotient.op != "/" {
		return
	}
	n := text(quotient.kids[1])
	x := roundedUp(t, quotient.kids[0], n)
	switch {
	case multiple && x != nil:
		l.put(rankRounded, e.from, e.to, grouped(text(x), x, "*"))
		l.put(rankRounded, e.from, e.to, grouped(text(x), x, "/")+" / "+n+" * "+n)
	case multiple:
		down := text(quotient.kids[0])
		l.put(rankRounded+4, e.from, e.to, down)
		for _, now := range []string{down + " - " + n, down + " - " + n + " + 1"} { // the last N up to X
			if parent != nil && binding[parent.op] >= binding["+"] && parent.kids[0] != e {
				now = "(" + now + ")"
			}
			l.put(rankRounded+5, e.from, e.to, now)
		}
	case x != nil && !(parent != nil && parent.op == "*" && text(parent.kids[1]) == n):
		l.put(rankRounded, e.from, e.to, grouped(text(x), x, "/")+" / "+n)
		l.roundedApart(e, x, n)
		l.roundedBy(e, x)
	case x == nil && l.wholeConstant(quotient.kids[1]) && !l.known(quotient.kids[0]):
		rank, all := rankRoundedUp, quotient.kids[0]
		if ofThread.MatchString(text(all)) { // which of N threads it is
			rank += ofThreadLess
		}
		l.copied = true
		l.put(rank, e.from, e.to, "("+grouped(text(all), all, "+")+" + "+n+" - 1) / "+n)
		l.copied = false
	}
}

// ofThread matches what a thread has of its own, and ofThreadLess is by how many ranks it is less likely that
// its quotient is to be rounded up.
var ofThread = regexp.MustCompile(`threadIdx|lane|warp`)

const ofThreadLess = 10

// wholeConstant reports whether an expression is a constant that is no real number.
func (l *lister) wholeConstant(e *expr) bool {
	return l.known(e) && !strings.Contains(l.t.source(e.from, e.to), ".")
}

// roundedApart lists, of a difference that is divided and rounded up, its terms divided by themselves:
// (A + N - 1) / N - B / N in the place of (A - B + N - 1) / N.
func (l *lister) roundedApart(e, x *expr, n string) {
	if x.op != "-" || len(x.kids) != 2 {
		return
	}
	a, b := x.kids[0], x.kids[1]
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	up := "(" + text(a) + " + " + n + " - 1) / " + n
	l.put(rankRounded+2, e.from, e.to, up+" - "+grouped(text(b), b, "/")+" / "+n)
}

// roundedBy lists a quotient that is rounded up by another constant: the number of tiles of another extent.
// Those come first of which a word is what is divided: TILE_K of K.
func (l *lister) roundedBy(e, x *expr) {
	n := e.kids[1]
	if n.op != "name" || !l.known(n) {
		return
	}
	text := l.t.source(x.from, x.to)
	has := func(v *variable) bool { return slices.Contains(wordOf.FindAllString(v.name, -1), text) }
	of := func(v *variable) int { return unlike(n.text, v.name, true) }
	for i, v := range l.nearest(l.constants(e), e, of) {
		rank := rankRoundedBy + i/2
		if has(v) {
			rank = rankRoundedBy - 4
		}
		if v.name != n.text {
			l.value(rank, e.from, e.to, "("+text+" + "+v.name+" - 1) / "+v.name)
		}
	}
}

// roundedUp is X of (X + N - 1), nil where an expression is none.
func roundedUp(t *Text, e *expr, n string) *expr {
	for e.op == "group" {
		e = e.kids[0]
	}
	if e.op != "-" || len(e.kids) != 2 || e.kids[1].text != "1" {
		return nil
	}
	sum := e.kids[0]
	if sum.op != "+" || len(sum.kids) != 2 || t.source(sum.kids[1].from, sum.kids[1].to) != n {
		return nil
	}
	return sum.kids[0]
}

// otherFactor lists, of a sum in which one term has a factor, it at the other term, and another one there: a
// row and a column, or a lane's and an element's number, that are put together the other way round.
func (l *lister) otherFactor(e *expr) {
	if e.op != "+" || len(e.kids) != 2 {
		return
	}
	t := l.t
	text := func(x *expr) string { return t.source(x.from, x.to) }
	a, b := e.kids[0], e.kids[1]
	of := func(x *expr) (rest, factor *expr) {
		if x.op == "*" && l.known(x.kids[1]) {
			return x.kids[0], x.kids[1]
		}
		return x, nil
	}
	x, fa := of(a)
	y, fb := of(b)
	if (fa == nil) == (fb == nil) || l.known(x) || l.known(y) {
		return
	}
	factors := append([]string{text(cmp.Or(fa, fb))}, "2", "4", "8", "16", "32")
	factors = append(factors, l.literals()...)
	for i, f := range factors {
		now := grouped(text(x), x, "+") + " + " + grouped(text(y), y, "*") + " * " + f
		if fb != nil {
			now = grouped(text(x), x, "*") + " * " + f + " + " + grouped(text(y), y, "+")
		}
		l.value(rankOtherFactor+i/2, e.from, e.to, now)
	}
}

// rest lists, of the lesser of a tile's extent and a size, what is left of the size behind the tile's first
// element: min(N, S - first) in the place of min(N, S), where first is computed from N.
func (l *lister) rest(e *expr) {
	if e.op != "call" || e.kids[0].text != "min" || len(e.kids) != 3 {
		return
	}
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	for i, n := range e.kids[1:] {
		size := e.kids[2-i]
		if n.op != "name" || !l.known(n) || size.op != "name" || l.known(size) {
			continue
		}
		firsts := slices.DeleteFunc(l.numbers(e), func(v *variable) bool {
			return v.init == nil || !v.init.has(n.text) || v.init.has(size.text)
		})
		for j, v := range l.nearest(firsts, e, never) {
			l.value(rankRest+j, size.from, size.to, text(size)+" - "+v.name)
		}
	}
}

// flat lists, of an element of an array of rows that is taken by one number, as (&a[0][0])[i], it by the row
// and column that the function computes of that number: a[r][c] with r = i / N and c = i % N. Rows may be
// longer than N.
func (l *lister) flat(e *expr) {
	if e.op != "index" || e.kids[0].op != "group" || e.kids[0].kids[0].op != "u&" || e.kids[1].op != "name" {
		return
	}
	first := e.kids[0].kids[0].kids[0]
	base, n := first.base()
	if base.op != "name" || n != 2 {
		return
	}
	part := func(op string) (out []*variable) {
		for _, v := range l.visible(e.from) {
			of := v.init
			if of != nil && of.op == op && of.kids[0].op == "name" && of.kids[0].text == e.kids[1].text {
				out = append(out, v)
			}
		}
		return out
	}
	for _, row := range part("/") {
		for _, col := range part("%") {
			l.put(rankFlat, e.from, e.to, base.text+"["+row.name+"]["+col.name+"]")
		}
	}
}

// numbered lists, of a comparison of a number that the function makes of a row and a column, as row * N +
// col, that of the column and that of the row: x % N and x / N in the place of x.
func (l *lister) numbered(e *expr) {
	if !slices.Contains(comparisons, e.op) || len(e.kids) != 2 {
		return
	}
	for _, k := range e.kids {
		base, _ := k.base()
		if base.op != "name" || l.class(k) != integer || l.known(k) {
			continue
		}
		text := l.t.source(k.from, k.to)
		for _, n := range l.rowLengths(base.text) {
			l.put(rankNumbered, k.from, k.to, text+" % "+n)
			l.put(rankNumbered+1, k.from, k.to, text+" / "+n)
		}
	}
}

// rowLengths are the constants that the function multiplies a row by, for what it assigns to a variable, or
// to elements of one: N of row * N + col.
func (l *lister) rowLengths(name string) (out []string) {
	add := func(value *expr) {
		for value.op == "+" {
			value = value.kids[0]
		}
		if value.op != "*" || !l.known(value.kids[1]) || l.known(value.kids[0]) {
			return
		}
		if n := l.t.source(value.kids[1].from, value.kids[1].to); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	each(l.f.body, func(s *statement) {
		for _, v := range s.declares {
			if v.name == name && v.init != nil && v.init.op == "+" {
				add(v.init)
			}
		}
		for _, e := range s.exprs {
			if e == nil || e.op != "=" || e.kids[1].op != "+" {
				continue
			}
			if to, _ := e.kids[0].base(); to.op == "name" && to.text == name {
				add(e.kids[1])
			}
		}
	})
	return out
}

// partly lists, of a comparison of a multiple with a size, that a tile which the size cuts counts too, and
// the other way round: (kv + 2) * N < S in the place of (kv + 3) * N <= S.
func (l *lister) partly(e *expr) {
	if e.op != "<=" && e.op != "<" || e.kids[0].op != "*" || len(e.kids) != 2 {
		return
	}
	t := l.t
	text := func(x *expr) string { return t.source(x.from, x.to) }
	of, n, size := e.kids[0].kids[0], e.kids[0].kids[1], e.kids[1]
	for of.op == "group" {
		of = of.kids[0]
	}
	begins, ends := text(of)+" + 1", text(of)+" - 1" // of the multiple before and behind
	if of.op == "+" && of.kids[1].op == "number" {
		if k, err := strconv.Atoi(of.kids[1].text); err == nil {
			more := func(k int) string {
				if k == 0 {
					return text(of.kids[0])
				}
				return text(of.kids[0]) + " + " + strconv.Itoa(k)
			}
			begins, ends = more(k+1), more(k-1)
		}
	}
	if e.op == "<=" {
		l.put(rankRounded, e.from, e.to, "("+ends+") * "+text(n)+" < "+text(size))
		return
	}
	l.put(rankRounded+4, e.from, e.to, "("+begins+") * "+text(n)+" <= "+text(size))
}

// leaders lists, of a comparison that chooses the first lanes or threads, those that are first of as many,
// and the other way round: lane % 4 == 0 in the place of lane < 4.
func (l *lister) leaders(e *expr) {
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	if len(e.kids) != 2 || !l.known(e.kids[1]) {
		return
	}
	a, b := e.kids[0], e.kids[1]
	switch {
	case e.op == "<" && l.ofThread(a):
		l.put(rankLeaders, e.from, e.to, text(a)+" % "+grouped(text(b), b, "*")+" == 0")
	case e.op == "==" && b.text == "0" && (a.op == "%" || a.op == "/"):
		x, n := a.kids[0], a.kids[1]
		l.put(rankLeaders, e.from, e.to, text(x)+" < "+text(n))
		other := map[string]string{"%": "/", "/": "%"}[a.op]
		l.put(rankLeaders, e.from, e.to, text(x)+" "+other+" "+text(n)+" == 0")
	}
}

// ofThread reports whether an expression is a variable that is computed from the thread's number.
func (l *lister) ofThread(e *expr) bool {
	if e.op != "name" {
		return false
	}
	v := l.find(e.text, e.from)
	return v != nil && (v.name == "lane" || v.init.has("threadIdx") || v.init.has("lane"))
}

// running lists, of what is assigned to a variable that has a value, that value as an operand: m = max(m,
// y) in the place of m = max(x, y).
func (l *lister) running(s *statement) {
	if s.kind != "expression" || len(s.exprs) != 1 || s.exprs[0] == nil || s.exprs[0].op != "=" ||
		!l.near(s.from) {
		return
	}
	to, from := s.exprs[0].kids[0], s.exprs[0].kids[1]
	if to.op != "name" && to.op != "index" || l.class(to) != real {
		return
	}
	own := l.t.source(to.from, to.to)
	operands := from.kids
	if from.op == "call" {
		operands = from.kids[1:]
	}
	for _, x := range operands {
		if l.class(x) == real && l.t.source(x.from, x.to) != own {
			l.of = real
			l.put(rankRunning, x.from, x.to, own)
		}
	}
}

// halving lists, of a loop whose variable is halved from one number down to another, both twice and half as
// large, and down to 0: the steps of a reduction over lanes, a step further out or in.
func (l *lister) halving(s *statement) {
	if s.init == nil || len(s.init.declares) != 1 || len(s.exprs) != 2 || s.exprs[0] == nil ||
		s.exprs[1] == nil || !l.near(s.from) {
		return
	}
	v, test, step := s.init.declares[0], s.exprs[0], s.exprs[1]
	halves := step.op == "/=" && step.kids[1].text == "2" || step.op == ">>=" && step.kids[1].text == "1"
	if v.init == nil || !halves || len(test.kids) != 2 {
		return
	}
	from, err := strconv.Atoi(v.init.text)
	to, err2 := strconv.Atoi(test.kids[1].text)
	if err != nil || err2 != nil || test.op != ">" && test.op != ">=" {
		return
	}
	put := func(first, last int) {
		now := []string{strconv.Itoa(first), strconv.Itoa(last)}
		what := v.name + " from " + now[0] + " while " + v.name + " " + test.op + " " + now[1] +
			" in place of from " + v.init.text + " while " + l.t.source(test.from, test.to)
		l.add(rankHalving, what, l.t.inPlace(v.init.from, v.init.to, now[0]),
			l.t.inPlace(test.kids[1].from, test.kids[1].to, now[1]))
	}
	put(from/2, to/2)
	put(2*from, 2*to)
	put(16, 0) // all lanes of a warp
	put(2*from, 0)
	put(from/2, 0)
}

// asBits lists, of the bits of a float, those of infinities and of the largest numbers, what differs by a
// digit first.
func (l *lister) asBits(e, parent *expr) {
	bits, hex := strings.CutPrefix(e.text, "0x")
	if !hex || parent == nil || parent.op != "call" || !strings.HasSuffix(parent.kids[0].text, "_as_float") {
		return
	}
	for i, n := range floatBits {
		now := strconv.FormatInt(n, 16)
		rank := rankOtherValue + i
		if near(strings.TrimRight(bits, "uU"), now) {
			rank = rankBits
		}
		l.put(rank, e.from, e.to, "0x"+now)
	}
}

// near reports whether two texts differ by one letter, which one of them may lack.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	switch len(b) - len(a) {
	case 0:
		return n == len(a) || a[n+1:] == b[n+1:]
	case 1:
		return a[n:] == b[n+1:]
	}
	return false
}

// mostRests is how many integers are tried as the size that tiles are of.
const mostRests = 6

// restOfTile lists, of a tile's extent that a loop goes over or that a variable has, in a loop over tiles,
// what is left of a size behind the tile's first element: min(N, size - tile * N) in the place of N.
func (l *lister) restOfTile(s *statement) {
	var e *expr
	switch {
	case s.kind == "declaration" && len(s.declares) == 1 && s.declares[0].ranks == 0 &&
		class(s.declares[0].typ) == integer:
		e = s.declares[0].init
	case s.kind == "for" && len(s.exprs) > 0 && s.exprs[0] != nil && s.exprs[0].op == "<":
		e = s.exprs[0].kids[1]
	}
	if e == nil || e.op != "name" && e.op != "number" || !l.known(e) || !l.near(e.from) {
		return
	}
	n := l.t.source(e.from, e.to)
	for p := s.parent; p != nil; p = p.parent {
		if p.kind != "for" || p.init == nil || len(p.init.declares) != 1 || len(p.exprs) != 2 ||
			p.exprs[1] == nil {
			continue
		}
		tile := p.init.declares[0].name
		first := tile + " * " + n
		if step := p.exprs[1]; step.op == "+=" && l.t.source(step.kids[1].from, step.kids[1].to) == n {
			first = tile
		}
		sizes := slices.DeleteFunc(l.numbers(e), func(v *variable) bool { return v.name == tile })
		for i, v := range l.nearest(sizes, e, never)[:min(len(sizes), mostRests)] {
			l.value(rankRest+i/2, e.from, e.to, "min("+n+", "+v.name+" - "+first+")")
		}
	}
}

// likeTheOther lists, of a sum of two terms of which one has a factor with names of its own, the other term
// with such a factor: a.l * f(a.m) in the place of a.l, where b.l * f(b.m) is added to it.
func (l *lister) likeTheOther(e *expr) {
	if e.op != "+" || len(e.kids) != 2 {
		return
	}
	t := l.t
	for i, k := range e.kids {
		other := e.kids[1-i]
		text := t.source(k.from, k.to)
		own, names := namesIn(text), namesIn(t.source(other.from, other.to))
		for _, from := range names {
			if slices.Contains(own, from) {
				continue
			}
			for _, to := range own {
				if slices.Contains(names, to) {
					continue
				}
				now := t.renamed(other.from, other.to, map[string]string{from: to})
				if now != text && strings.Contains(now, text) {
					l.put(rankTwin, k.from, k.to, now)
				}
			}
		}
	}
}
