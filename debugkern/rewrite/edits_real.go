package rewrite

import (
	"slices"
	"strings"
)

// Edits of the order in which functions and operators of real numbers are applied, and operands that lack.

// arithmetic lists the edits of a real operation whose operands are operations too.
func (l *lister) arithmetic(e *expr) {
	l.deeper(e)
	l.commuted(e)
	l.distributed(e)
	l.ownOfTwo(e)
	l.oneElement(e)
}

// oneElement lists each operand alone of an operation of two elements of an array that is wanted.
func (l *lister) oneElement(e *expr) {
	a, b, _ := l.operation(e)
	if a == nil || a.op != "index" || b.op != "index" {
		return
	}
	x, _ := a.base()
	y, _ := b.base()
	if x.op != "name" || y.text != x.text ||
		!slices.ContainsFunc(l.wanted.Arrays, func(w string) bool { return sameArray(w, x.text) }) {
		return
	}
	of := l.of
	l.of = "" // that one takes part too many is as a wrong index
	for _, k := range []*expr{a, b} {
		l.put(rankOneElement, e.from, e.to, l.t.source(k.from, k.to))
	}
	l.of = of
}

// deeper lists operands of operands in the place of an operation: f(g(x)) becomes x.
func (l *lister) deeper(e *expr) {
	if e.op != "call" {
		return
	}
	own, n := l.class(e), 0
	e.walk(func(x, parent *expr) bool {
		direct := x == e || slices.Contains(e.kids, x)
		called := parent != nil && parent.op == "call" && parent.kids[0] == x
		base := parent != nil && parent.op == "index"
		if !direct && !called && !base && n < mostDeeper && l.class(x) == own {
			n++
			l.put(rankDeeper, e.from, e.to, l.t.source(x.from, x.to))
		}
		return !base
	})
}

// mostDeeper is how many operands of operands are tried in the place of an operation.
const mostDeeper = 6

// operation is a call or an operator of two real operands.
func (l *lister) operation(e *expr) (a, b *expr, with func(a, b string) string) {
	t := l.t
	switch {
	case e.op == "group":
		return l.operation(e.kids[0])
	case e.op == "call" && len(e.kids) == 3 && e.kids[0].op == "name":
		name := e.kids[0].text
		return e.kids[1], e.kids[2], func(a, b string) string { return name + "(" + a + ", " + b + ")" }
	case len(e.kids) == 2 && (e.op == "+" || e.op == "-" || slices.Contains(products, e.op)):
		op := t.tokens[e.kids[0].to].text
		return e.kids[0], e.kids[1], func(a, b string) string { return "(" + a + ") " + op + " (" + b + ")" }
	}
	return nil, nil, nil
}

// ofOne is the argument of a function of one real number, with what calls it; nil where e is none.
func (l *lister) ofOne(e *expr) (arg *expr, with func(string) string) {
	if e.op != "call" || len(e.kids) != 2 || e.kids[0].op != "name" || l.class(e.kids[1]) != l.class(e) {
		return nil, nil
	}
	name := e.kids[0].text
	return e.kids[1], func(x string) string { return name + "(" + x + ")" }
}

// commuted lists f(g(a), b) in the place of g(f(a, b)), and the other way round: a term that is added, or
// compared, outside of a reduction or inside of it.
func (l *lister) commuted(e *expr) {
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	if arg, g := l.ofOne(e); arg != nil {
		if a, b, f := l.operation(arg); a != nil {
			l.put(rankCommuted, e.from, e.to, f(g(text(a)), text(b)))
			l.put(rankCommuted, e.from, e.to, f(text(a), g(text(b))))
		}
	}
	a, b, f := l.operation(e)
	if a == nil {
		return
	}
	if x, g := l.ofOne(a); x != nil {
		l.put(rankCommuted, e.from, e.to, g(f(text(x), text(b))))
	}
	if x, g := l.ofOne(b); x != nil {
		l.put(rankCommuted, e.from, e.to, g(f(text(a), text(x))))
	}
}

// sums and factors are how calls of sums and products of real numbers begin.
var (
	sumCalls    = []string{"__fadd_", "__fsub_", "__hadd", "__hsub"}
	factorCalls = []string{"__fmul_", "__fdiv_", "__hmul", "__hdiv"}
)

// kindOf is "+" for a sum or difference, "*" for a product or quotient, "" for another expression.
func kindOf(e *expr) string {
	begins := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(e.kids[0].text, p) })
	}
	switch {
	case e.op == "group":
		return kindOf(e.kids[0])
	case e.op == "+" || e.op == "-":
		return "+"
	case e.op == "*" || e.op == "/":
		return "*"
	case e.op == "call" && begins(sumCalls):
		return "+"
	case e.op == "call" && begins(factorCalls):
		return "*"
	}
	return ""
}

// distributed lists a factor of a sum for one of its terms, and a factor of one term for the sum: a * c + b
// in the place of (a + b) * c, and the other way round.
func (l *lister) distributed(e *expr) {
	text := func(x *expr) string { return l.t.source(x.from, x.to) }
	if e.op == "call" && len(e.kids) == 4 && (strings.HasPrefix(e.kids[0].text, "__fmaf_") ||
		e.kids[0].text == "fmaf") {
		a, b, c := text(e.kids[1]), text(e.kids[2]), text(e.kids[3])
		l.put(rankCommuted, e.from, e.to, "__fmul_rn(__fadd_rn("+a+", "+c+"), "+b+")")
		l.put(rankCommuted, e.from, e.to, "__fmul_rn(__fadd_rn("+b+", "+c+"), "+a+")")
		l.put(rankCommuted+2, e.from, e.to, "__fmaf_rn("+a+", "+c+", "+b+")")
		l.put(rankCommuted+2, e.from, e.to, "__fmaf_rn("+c+", "+b+", "+a+")")
		return
	}
	a, b, outer := l.operation(e)
	if a == nil {
		return
	}
	own := kindOf(e)
	for i, in := range []*expr{a, b} {
		x, y, inner := l.operation(in)
		other := text(b)
		if i == 1 {
			other = text(a)
		}
		if k := kindOf(in); x == nil || own == "" || k == "" || k == own {
			continue
		}
		apply := outer
		if i == 1 {
			apply = func(a, b string) string { return outer(b, a) }
		}
		l.put(rankCommuted, e.from, e.to, inner(apply(text(x), other), text(y)))
		l.put(rankCommuted, e.from, e.to, inner(text(x), apply(text(y), other)))
	}
}

// Factor is the number, 0.5 or 2, that an edit multiplies something by and does no more, and what that is; ""
// of another edit. Something may have been counted twice, or left out, in the place of such a factor.
func (e *Edit) Factor() (number, of string) {
	if len(e.sites) != 1 {
		return "", ""
	}
	s := &e.sites[0]
	was := e.Text.text[s.from:s.to]
	for form, n := range map[string]string{"0.5f": "0.5", "2.0f": "2"} {
		if s.now == "__fmul_rn("+form+", "+was+")" {
			return n, oneLine(was)
		}
	}
	return "", ""
}

// wrapped lists a real operation with an operand more: a number, or what stands in an array that the function
// reads.
func (l *lister) wrapped(e, parent *expr) {
	if stored(e, parent) || e.op == "number" {
		return
	}
	text := l.t.source(e.from, e.to)
	for i, c := range []string{
		"__fadd_rn(1.0f, %)", "__fmul_rn(0.5f, %)", "__fmul_rn(2.0f, %)", "__fsub_rn(1.0f, %)",
		"__fsub_rn(%, 1.0f)", "__fmul_rn(1.4426950408889634f, %)", "logf(%)",
	} {
		l.put(rankWrapped+i/2, e.from, e.to, strings.ReplaceAll(c, "%", text))
	}
	if e.op != "index" && e.op != "name" && e.op != "call" {
		return
	}
	for i, v := range l.nearest(l.reals(e), e, never) {
		if i == mostWrapped {
			break
		}
		for k, f := range []string{"__fmul_rn", "__fadd_rn", "__fsub_rn", "__fdiv_rn"} {
			l.put(rankWrappedName+i+k/2, e.from, e.to, f+"("+text+", "+v.name+")")
		}
	}
	for i, d := range l.cells(e) {
		if i == mostCells {
			break
		}
		for k, f := range []string{"__fadd_rn", "__fsub_rn", "__fmul_rn", "__fdiv_rn"} {
			l.put(rankWrappedCell+i+k/2, e.from, e.to, f+"("+text+", "+d+")")
		}
	}
}

// mostWrapped is how many variables are tried as an operand more.
const mostWrapped = 3

// reals are the real variables of type float that an operation may have as an operand besides an expression.
func (l *lister) reals(e *expr) []*variable {
	return slices.DeleteFunc(l.scalars(e, real), func(v *variable) bool {
		return v.typ != "float" || e.op == "name" && v.name == e.text
	})
}

// mostCells is how many elements of arrays are tried as an operand more.
const mostCells = 4

// cells are the elements of real arrays that the function reads, those on lines near to an expression first.
func (l *lister) cells(e *expr) []string {
	return l.donors(e, func(x, parent *expr) bool {
		return x.op == "index" && l.class(x) == real && !(parent != nil && parent.op == "index" &&
			parent.kids[0] == x) && !stored(x, parent)
	})
}

// quotient lists, of a quotient of integers that is passed to a function of real numbers, one of real
// numbers: 1.0f / n in the place of 1 / n, and a quotient in the place of a product with it.
func (l *lister) quotient(e, parent *expr) {
	if e.op != "/" || e.kids[0].op != "number" || l.class(e) != integer ||
		parent == nil || l.class(parent) != real {
		return
	}
	one, by := l.t.source(e.kids[0].from, e.kids[0].to), l.t.source(e.kids[1].from, e.kids[1].to)
	l.put(rankQuotient, e.from, e.to, one+".0f / "+by)
	const product = "__fmul_rn"
	if one == "1" && parent.op == "call" && parent.kids[0].text == product && len(parent.kids) == 3 {
		x := parent.kids[1]
		if x == e {
			x = parent.kids[2]
		}
		l.put(rankQuotient, parent.from, parent.to,
			"__fdiv_rn("+l.t.source(x.from, x.to)+", static_cast<float>("+by+"))")
	}
}

// rescaled lists, of a sum that goes on, the sum so far times what the function multiplies another one by:
// l = l * c + x in the place of l = l + x where there is o *= c. Of an array it is the element of the sum's
// own index.
func (l *lister) rescaled(s *statement) {
	if s.kind != "expression" || len(s.exprs) != 1 || s.exprs[0] == nil || !l.near(s.from) {
		return
	}
	e, t := s.exprs[0], l.t
	var term *expr
	switch {
	case e.op == "+=" && l.class(e.kids[0]) == real:
		term = e.kids[1]
	case e.op == "=" && l.class(e.kids[0]) == real && e.kids[1].op == "+":
		own := t.source(e.kids[0].from, e.kids[0].to)
		if a := e.kids[1].kids[0]; t.source(a.from, a.to) == own {
			term = e.kids[1].kids[1]
		}
	}
	if term == nil {
		return
	}
	sum := t.source(e.kids[0].from, e.kids[0].to)
	var factors []string
	each(l.f.body, func(o *statement) {
		for _, x := range o.top() {
			if x.op != "*=" || l.class(x.kids[0]) != real {
				continue
			}
			f := x.kids[1]
			text := t.source(f.from, f.to)
			if f.op == "index" && f.kids[0].op == "name" && e.kids[0].op == "index" {
				at := e.kids[0].kids[1]
				text = f.kids[0].text + "[" + t.source(at.from, at.to) + "]"
				if l.find(f.kids[0].text, s.from) == nil {
					continue
				}
			} else if !l.seesAll(t, f, s.from) {
				continue
			}
			if text != sum && !slices.Contains(factors, text) {
				factors = append(factors, text)
			}
		}
	})
	for _, f := range factors {
		l.add(rankTwin, sum+" * "+f+" in place of "+sum+" in the sum",
			t.inPlace(e.from, e.to, sum+" = "+sum+" * "+f+" + "+t.source(term.from, term.to)))
	}
}
