package rewrite

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Edits of numbers, and those by which a term is multiplied, divided or taken modulo.

// literals are the integers that the function has, the commonest first, without 0 and 1.
func (l *lister) literals() []string {
	count := map[string]int{}
	for _, tok := range l.t.tokens[l.f.from:l.f.to] {
		if n, err := strconv.Atoi(tok.text); tok.kind == number && err == nil && n > 1 {
			count[tok.text]++
		}
	}
	list := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return list[:min(len(list), mostLiterals)]
}

// mostLiterals is how many numbers of a function, and of its constants, are tried in a place.
const mostLiterals = 4

// factors are what a term of an index may have to be multiplied with, divided by or taken modulo.
func (l *lister) factors(e *expr) []string {
	out := l.literals()
	if !slices.Contains(out, "2") {
		out = append(out, "2")
	}
	fixed := slices.DeleteFunc(l.constants(e), func(v *variable) bool {
		return l.flag(v.name) || l.mentions(v.name) == 0
	})
	for _, v := range l.nearest(fixed, e, func(v *variable) int { return -l.mentions(v.name) }) {
		if len(out) < 2*mostLiterals {
			out = append(out, v.name)
		}
	}
	return out
}

// flag reports whether a macro is 0 or 1: it chooses a build.
func (l *lister) flag(name string) bool {
	for _, t := range l.w.seen(l.t) {
		if v, ok := t.macros[name]; ok && (v == "0" || v == "1") {
			return true
		}
	}
	return false
}

// term lists a term of an index with a factor, quotient or remainder more.
func (l *lister) term(e, parent *expr) {
	if parent == nil || binding[parent.op] < binding["<<"] || len(parent.kids) != 2 || l.known(e) {
		return
	}
	text := l.t.source(e.from, e.to)
	for i, x := range l.factors(e) {
		l.value(rankInner+i/2, e.from, e.to, "("+grouped(text, e, "*")+" % "+x+")")
		l.value(rankInner+2+i/2, e.from, e.to, grouped(text, e, "*")+" * "+x)
		l.value(rankInner+2+i/2, e.from, e.to, "("+grouped(text, e, "*")+" / "+x+")")
	}
}

// floats are names of numbers of the C library.
var floats = map[string]bool{
	"FLT_MIN": true, "FLT_MAX": true, "FLT_EPSILON": true, "INFINITY": true, "CUDART_INF_F": true,
	"NAN": true,
}

// extreme lists what may stand in the place of a number that has a name, or of 0: another one, or what the
// kernel has a function for.
func (l *lister) extreme(e *expr) {
	for _, f := range l.numberFunctions() {
		l.put(rankExtreme, e.from, e.to, f)
	}
	for i, now := range []string{"-INFINITY", "0.0f", l.lowest(), "1.0f"} {
		l.put(rankOtherValue+i, e.from, e.to, now)
	}
}

// lowest is the lowest float as the texts have it: a header defines its name.
func (l *lister) lowest() string {
	for _, t := range l.w.seen(l.t) {
		if slices.ContainsFunc(t.tokens, func(x token) bool { return x.text == "FLT_MAX" }) {
			return "-FLT_MAX"
		}
	}
	return "-3.402823466e+38f"
}

// numberFunctions are calls of the functions of the kernel that give a real number of nothing: neg_inf().
func (l *lister) numberFunctions() (out []string) {
	for _, t := range l.w.seen(l.t) {
		for _, f := range t.functions {
			if len(f.parameters) == 0 && class(f.result) == real && l.seesFunction(t, f) {
				out = append(out, f.name+"()")
			}
		}
	}
	return out
}

// floatBits are a float's -infinity, infinity and largest numbers.
var floatBits = []int64{0xff800000, 0x7f800000, 0xff7fffff, 0x7f7fffff}

// number lists other numbers in the place of a literal.
func (l *lister) number(e *expr) {
	if l.class(e) == real {
		suffix := ""
		if strings.HasSuffix(e.text, "f") {
			suffix = "f"
		}
		l.extreme(e)
		for i, now := range []string{"0.0", "1.0", "-" + strings.TrimSuffix(e.text, "f")} {
			l.put(rankOtherValue+i, e.from, e.to, now+suffix)
		}
		x, err := strconv.ParseFloat(strings.TrimSuffix(e.text, "f"), 64)
		if err == nil && x > 2 && x == math.Trunc(x) {
			for i, d := range []float64{-1, 1} {
				l.put(rankOtherValue+i, e.from, e.to, strconv.FormatFloat(x+d, 'f', 1, 64)+suffix)
			}
		}
		for _, op := range []string{" * 0.69314718f", " * 1.44269504f", " * 2.0f", " * 0.5f"} {
			l.put(rankOtherValue+4, e.from, e.to, "("+e.text+op+")")
		}
		reals := slices.DeleteFunc(l.visible(e.from), func(v *variable) bool {
			return class(v.typ) != real || v.ranks > 0 || v.of == l.s
		})
		for i, v := range l.nearest(reals, e, never) {
			rank := rankLiteral + i/2
			if slices.Contains(l.f.parameters, v) && !l.reads(v) {
				rank = rankUnused
			}
			l.put(rank, e.from, e.to, v.name)
		}
		return
	}
	n, err := strconv.ParseInt(strings.TrimRight(e.text, "uUlL"), 0, 64)
	if err != nil {
		return
	}
	suffix := e.text[len(strings.TrimRight(e.text, "uUlL")):]
	put := func(rank int, x int64) {
		if x != n && x >= 0 {
			now := strconv.FormatInt(x, 10)
			if strings.HasPrefix(e.text, "0x") {
				now = "0x" + strconv.FormatInt(x, 16)
			}
			l.put(rank, e.from, e.to, now+suffix)
		}
	}
	others := []int64{n + 1, n - 1, 2 * n, n / 2, 0, 1}
	switch {
	case n > 2 && n&(n-1) == 0:
		others = []int64{2 * n, n / 2, n + 1, n - 1, 4 * n, n / 4, 0, 1}
	case n > 1 && n&(n+1) == 0: // a mask
		others = []int64{2*n + 1, n / 2, n / 4, 31, 1, n + 1, n - 1, 2 * n, 0}
	case n > math.MaxUint32/2 && n <= math.MaxUint32:
		others = floatBits
	}
	for i, x := range others {
		put(rankNumber+i/2, x)
	}
	rank := rankFixed
	if n < 2 {
		rank = rankGuard
	}
	for i, v := range l.named(e) {
		l.value(rank+i/2, e.from, e.to, v.name)
	}
}

// templateNumbers lists other numbers as the arguments of a template.
func (l *lister) templateNumbers(e *expr) {
	f := e.kids[0]
	name, arguments, ok := strings.Cut(f.text, "<")
	if !ok || !strings.HasSuffix(arguments, ">") {
		return
	}
	list := strings.Split(strings.TrimSuffix(arguments, ">"), ",")
	for i, a := range list {
		n, err := strconv.ParseInt(strings.TrimSpace(a), 0, 32)
		if err != nil {
			continue
		}
		for j, x := range []int64{n - 1, n + 1, 0, 2 * n, n / 2} {
			if x < 0 || x == n {
				continue
			}
			now := slices.Clone(list)
			now[i] = strconv.FormatInt(x, 10)
			callee := name + "<" + strings.Join(now, ",") + ">"
			l.putNear(rankTemplate+j/2, e, callee+l.t.source(f.to, e.to), f.text, callee)
		}
	}
}
