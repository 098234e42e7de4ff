package discover

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
)

// Values are followed as expressions over real numbers: rounding, the order of a sum, where a factor is
// applied and which base an exponential has make no difference. A form is a number plus up to maxTerms atoms
// with coefficients; an atom is one of
//
//	element    an element of an argument
//	product    Σ X[i]·Y[j] over pairs of elements of two arguments: a score, once all pairs are there
//	maximum    the largest of a set of scores
//	power      Σ 2^(α·(score − maximum)) over a set of scores: of one score its weight, of a row's their sum
//	ratio      2^(α·(maximum − maximum')): what a sum relative to one maximum is multiplied by to be relative to another
//	weighted   Σ 2^(α·(score − maximum))·Z[j]: weights times elements of a third argument
//	inverse    1 / power
//	logarithm  log2(power)
//	quotient   weighted / power: what attention computes
//	rough      a power or ratio of the whole part of the exponent alone, and remainder that of the rest: exponentials are made of both
//
// Anything else is nothing that is followed. What makes atoms of one kind equal is what they are made of, so
// that lanes that compute the same in another order have the same atom.

// value is a form's number in algebra.forms; 0: nothing that is followed.
type value = uint32

const maxTerms = 3

// form is a sum of atoms with coefficients, ordered by atom, and a constant.
type form struct {
	n    uint8
	bits bool // a constant whose type is not known: c is the bits as a whole number
	atom [maxTerms]int32
	coef [maxTerms]float64
	c    float64
}

type atomKind uint8

const (
	element atomKind = iota + 1
	product
	maximum
	power
	ratio
	weighted
	inverse
	logarithm
	quotient
	rough
	remainder
)

// atom is one atom. Which members mean something is in the comment of each.
type atom struct {
	kind      atomKind
	extended  bool   // product: another product goes on with it
	hidden    bool   // product: the score, where a mask puts another number in its place
	alpha     uint16 // power, ratio, weighted: number of α in algebra.alphas
	arg, arg2 int32  // element: the argument; product: X and Y; weighted: Z
	idx       int32  // element: its index; power of one score: the score
	// Sums: two sums of the same kind, or pairs [at, at+n) of algebra.pairs.
	left, right int32
	at          int32
	n           int32  // terms of a sum, members of a set
	sum         uint64 // of the hashes of the terms, so that equal sets have equal sums
	lo, lo2     int32  // product: the smallest index of X, of Y
	// ref: power, weighted: the maximum, 0 for none; ratio: the old one; inverse, logarithm: the power;
	// quotient: the weighted
	ref int32
	// ref2: ratio: the new maximum; quotient: the power; power, weighted: the power that it is
	// divided by, 0 for none
	ref2  int32
	score int32 // product: its score, 0 while nobody asked
}

// pair is one term of a product (indices of X and Y), or of a weighted sum (score, index of Z).
type pair struct{ a, b int32 }

// score is a finished product: what it is made of, and which atom was the first to be it.
type score struct {
	arg, arg2 int32
	lo, lo2   int32
	n         int32
	sum       uint64
	atom      int32
}

// algebra makes and stores forms and atoms.
type algebra struct {
	forms  []form
	known  map[form]value
	atoms  []atom
	pairs  []pair
	sets   map[int32][]int32 // by maximum: its scores, ascending
	alphas []float64

	elements map[pair]int32 // by argument and index
	scores   []score        // 0 is none
	scoreOf  map[score]int32
	hidden   []bool             // by score: a mask has put another number in its place
	maxima   map[uint64][]int32 // by hash of the set
	larger   map[pair]int32     // of two maxima
	ratios   map[atom]int32
	powers   map[atom]int32
	seed     maphash.Seed
}

func newAlgebra() *algebra {
	return &algebra{
		forms: make([]form, 1), known: map[form]value{}, atoms: make([]atom, 1), sets: map[int32][]int32{},
		alphas: make([]float64, 1), pairs: make([]pair, 1), elements: map[pair]int32{},
		scores: make([]score, 1), scoreOf: map[score]int32{}, maxima: map[uint64][]int32{},
		larger: map[pair]int32{}, ratios: map[atom]int32{}, powers: map[atom]int32{},
		seed: maphash.MakeSeed(),
	}
}

// of returns the value of a form.
func (g *algebra) of(f form) value {
	if math.IsNaN(f.c) {
		return 0
	}
	if v, ok := g.known[f]; ok {
		return v
	}
	g.forms = append(roomy(g.forms), f)
	v := value(len(g.forms) - 1)
	g.known[f] = v
	return v
}

// fresh is of for a form that no other is equal to.
func (g *algebra) fresh(a int32, coef float64) value {
	f := form{n: 1}
	f.atom[0], f.coef[0] = a, coef
	g.forms = append(roomy(g.forms), f)
	return value(len(g.forms) - 1)
}

func (g *algebra) constant(c float64) value { return g.of(form{c: c}) }

func (g *algebra) term(a int32, coef float64) value {
	f := form{n: 1}
	f.atom[0], f.coef[0] = a, coef
	return g.of(f)
}

// roomy doubles a full list: these grow long, and are copied as they do.
func roomy[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 16))
	}
	return list
}

func (g *algebra) add1(a atom) int32 {
	g.atoms = append(roomy(g.atoms), a)
	return int32(len(g.atoms) - 1)
}

// single returns the atom and coefficient of a form that is one atom times a number.
func (f *form) single() (a int32, coef float64, ok bool) {
	return f.atom[0], f.coef[0], f.n == 1 && f.c == 0
}

func (f *form) constant() bool { return f.n == 0 && !f.bits }

// sum adds a·x and b·y.
func (g *algebra) sum(x, y value, b float64) value {
	if x == 0 || y == 0 {
		return 0
	}
	fx, fy := g.forms[x], g.forms[y]
	if fx.bits || fy.bits {
		return 0
	}
	if v, ok := g.merge(&fx, &fy, b); ok {
		return v
	}
	out := form{c: fx.c + b*fy.c}
	i, j := 0, 0
	for i < int(fx.n) || j < int(fy.n) {
		var a int32
		var c float64
		switch {
		case j == int(fy.n) || i < int(fx.n) && fx.atom[i] < fy.atom[j]:
			a, c = fx.atom[i], fx.coef[i]
			i++
		case i == int(fx.n) || fy.atom[j] < fx.atom[i]:
			a, c = fy.atom[j], b*fy.coef[j]
			j++
		default:
			a, c = fx.atom[i], fx.coef[i]+b*fy.coef[j]
			i, j = i+1, j+1
		}
		if c == 0 {
			continue
		}
		if int(out.n) == maxTerms {
			return 0
		}
		out.atom[out.n], out.coef[out.n] = a, c
		out.n++
	}
	return g.of(out)
}

// merge adds forms that are one sum of a kind each: the sum of both.
func (g *algebra) merge(x, y *form, b float64) (value, bool) {
	i, c, ok := x.single()
	j, d, ok2 := y.single()
	if !ok || !ok2 || !near(c, b*d) || i == j {
		return 0, false
	}
	p, q := g.atoms[i], g.atoms[j]
	if p.kind != q.kind {
		return 0, false
	}
	switch p.kind {
	case product:
		if p.arg != q.arg || p.arg2 != q.arg2 {
			return 0, false
		}
		g.atoms[i].extended, g.atoms[j].extended = true, true
		p.lo, p.lo2, p.extended, p.score = min(p.lo, q.lo), min(p.lo2, q.lo2), false, 0
	case power, weighted:
		if p.alpha != q.alpha || p.ref != q.ref || p.ref2 != q.ref2 || p.arg != q.arg {
			return 0, false
		}
		p.idx = 0
	default:
		return 0, false
	}
	p.left, p.right, p.at = i, j, 0
	p.n += q.n
	p.sum += q.sum
	return g.fresh(g.add1(p), c), true
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(math.Abs(a), math.Abs(b)) }

// scale multiplies by a number.
func (g *algebra) scale(x value, c float64) value {
	if x == 0 || c == 1 {
		return x
	}
	f := g.forms[x]
	if f.bits {
		return 0
	}
	if c == 0 {
		return g.constant(0)
	}
	for i := range int(f.n) {
		f.coef[i] *= c
	}
	f.c *= c
	return g.of(f)
}

// times multiplies two values.
func (g *algebra) times(x, y value) value {
	fx, fy := &g.forms[x], &g.forms[y]
	if x != 0 && zero(fx) || y != 0 && zero(fy) { // of what is not followed, too
		return g.constant(0)
	}
	switch {
	case x == 0 || y == 0:
		return 0
	case fx.constant():
		return g.scale(y, fx.c)
	case fy.constant():
		return g.scale(x, fy.c)
	}
	i, c, ok := fx.single()
	j, d, ok2 := fy.single()
	if !ok || !ok2 {
		return 0
	}
	if g.atoms[i].kind > g.atoms[j].kind {
		i, j = j, i
	}
	a, coef := g.multiply(i, j)
	if a == 0 {
		return 0
	}
	return g.term(a, c*d*coef)
}

// multiply is the product of two atoms, the one of the smaller kind first; 0 where it is
// nothing that is followed.
func (g *algebra) multiply(i, j int32) (int32, float64) {
	p, q := g.atoms[i], g.atoms[j]
	switch {
	case p.kind == element && q.kind == element:
		g.pairs = append(g.pairs, pair{p.idx, q.idx})
		return g.add1(atom{
			kind: product, arg: p.arg, arg2: q.arg, at: int32(len(g.pairs) - 1), n: 1, sum: mix(p.idx, q.idx),
			lo: p.idx, lo2: q.idx,
		}), 1
	case p.kind == element && q.kind == power && q.n == 1 && q.idx > 0:
		g.pairs = append(g.pairs, pair{q.idx, p.idx})
		return g.add1(atom{
			kind: weighted, alpha: q.alpha, arg: p.arg, at: int32(len(g.pairs) - 1), n: 1, sum: q.sum,
			ref: q.ref, ref2: q.ref2,
		}), 1
	case p.kind == power && q.kind == ratio, p.kind == ratio && q.kind == weighted:
		if p.kind == ratio {
			p, q, i = q, p, j
		}
		if p.alpha != q.alpha || p.ref != q.ref {
			return 0, 0
		}
		return g.rebased(p, i, q.ref2), 1
	case p.kind == power && q.kind == inverse && p.ref2 == 0:
		if r := g.atoms[q.ref]; r.ref != p.ref || r.alpha != p.alpha {
			return 0, 0
		}
		p.ref2 = q.ref
		return g.interned(p, i), 1
	case p.kind == rough && q.kind == remainder:
		return p.ref, 1
	case p.kind == weighted && q.kind == inverse && p.ref2 == 0:
		return g.add1(atom{kind: quotient, ref: i, ref2: q.ref}), 1
	}
	return 0, 0
}

// rebased is a power or weighted sum relative to another maximum.
func (g *algebra) rebased(p atom, i, ref int32) int32 {
	p.ref = ref
	return g.interned(p, i)
}

// interned is an atom that differs from atom i in what it is relative to; its terms are that one's.
func (g *algebra) interned(p atom, i int32) int32 {
	p.left, p.right, p.at = i, 0, 0
	if a, ok := g.powers[p]; ok {
		return a
	}
	a := g.add1(p)
	g.powers[p] = a
	return a
}

// mix hashes a pair so that sums of hashes tell multisets of pairs apart.
func mix(a, b int32) uint64 {
	x := uint64(uint32(a))<<32 | uint64(uint32(b))
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 32
	return x
}

// scoreIn is the score that a product is, as far as it was summed.
func (g *algebra) scoreIn(a int32) int32 {
	p := &g.atoms[a]
	if p.score != 0 {
		return p.score
	}
	key := score{arg: p.arg, arg2: p.arg2, lo: p.lo, lo2: p.lo2, n: p.n, sum: p.sum}
	s, ok := g.scoreOf[key]
	if !ok {
		s = int32(len(g.scores))
		g.scoreOf[key] = s
		key.atom = a
		g.scores = append(g.scores, key)
	}
	p.score = s
	return s
}

func scoreHash(s int32) uint64 { return mix(s, -1) }

// largest is the maximum of two values. A number that no score is below counts for nothing.
func (g *algebra) largest(x, y value) value {
	if x == 0 || y == 0 {
		return 0
	}
	fx, fy := g.forms[x], g.forms[y]
	if fx.constant() {
		fx, fy = fy, fx
		x, y = y, x
	}
	if fx.constant() && fy.constant() {
		return g.constant(max(fx.c, fy.c))
	}
	a, c, ok := fx.single()
	if !ok || c <= 0 {
		return 0
	}
	first := g.maximumOf(a)
	if first == 0 {
		return 0
	}
	if fy.constant() {
		if fy.c > lowest {
			return 0
		}
		return g.term(first, c)
	}
	b, d, ok := fy.single()
	if !ok || !near(c, d) {
		return 0
	}
	second := g.maximumOf(b)
	if second == 0 {
		return 0
	}
	return g.term(g.union(first, second), c)
}

// hide is a value in the place of which a mask has put a number that no score is below: for what follows it
// is a score like others, with a weight of 0.
func (g *algebra) hide(x value) (value, bool) {
	a, c, ok := g.forms[x].single()
	if !ok || c <= 0 || g.atoms[a].kind != product {
		return 0, false
	}
	p := g.atoms[a]
	p.score = g.scoreIn(a)
	if !p.hidden {
		for int(p.score) >= len(g.hidden) {
			g.hidden = append(g.hidden, make([]bool, p.score+64)...)
		}
		g.hidden[p.score] = true
		p.hidden, p.extended = true, true
		a = g.add1(p)
	}
	return g.term(a, c), true
}

// visible reports whether no mask hides a score.
func (g *algebra) visible(score int32) bool { return int(score) >= len(g.hidden) || !g.hidden[score] }

// allHidden reports whether a maximum is one of hidden scores alone.
func (g *algebra) allHidden(a int32) bool {
	for _, s := range g.sets[a] {
		if g.visible(s) {
			return false
		}
	}
	return true
}

// lowest is above the numbers that running maxima begin with, and scores that are hidden are given.
const lowest = -3e4

// maximumOf is a score as the maximum of itself; a maximum is one.
func (g *algebra) maximumOf(a int32) int32 {
	switch g.atoms[a].kind {
	case maximum:
		return a
	case product:
		return g.set([]int32{g.scoreIn(a)})
	}
	return 0
}

// set is the maximum of scores, ascending.
func (g *algebra) set(list []int32) int32 {
	sum := uint64(0)
	for _, s := range list {
		sum += scoreHash(s)
	}
	for _, a := range g.maxima[sum] {
		if slices.Equal(g.sets[a], list) {
			return a
		}
	}
	a := g.add1(atom{kind: maximum, n: int32(len(list)), sum: sum})
	g.sets[a] = list
	g.maxima[sum] = append(g.maxima[sum], a)
	return a
}

// union is the maximum of two maxima's sets.
func (g *algebra) union(a, b int32) int32 {
	if a == b {
		return a
	}
	if a > b {
		a, b = b, a
	}
	if u, ok := g.larger[pair{a, b}]; ok {
		return u
	}
	x, y := g.sets[a], g.sets[b]
	list := make([]int32, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		switch cmp.Compare(x[0], y[0]) {
		case -1:
			list, x = append(list, x[0]), x[1:]
		case 1:
			list, y = append(list, y[0]), y[1:]
		default:
			list, x, y = append(list, x[0]), x[1:], y[1:]
		}
	}
	u := g.set(append(append(list, x...), y...))
	g.larger[pair{a, b}] = u
	return u
}

// alpha is the number of a factor of exponents; factors that differ by their rounding have the same.
func (g *algebra) alpha(x float64) uint16 {
	for i, a := range g.alphas[1:] {
		if near(a, x) {
			return uint16(i + 1)
		}
	}
	g.alphas = append(g.alphas, x)
	return uint16(len(g.alphas) - 1)
}

// exp2 is 2 to the power of a value.
func (g *algebra) exp2(x value) value {
	if x == 0 {
		return 0
	}
	f := g.forms[x]
	if f.bits {
		return 0
	}
	if f.c <= lowest { // exactly, or as good as, 0
		return g.constant(0)
	}
	n, rest := 0, f.n
	for i := range int(f.n) { // what is left of a number that was split for precision
		if math.Abs(f.coef[i]) > 1e-6 {
			f.atom[n], f.coef[n] = f.atom[i], f.coef[i]
			n++
		}
	}
	coef := math.Exp2(f.c)
	switch n {
	case 0:
		if rest > 0 {
			return g.scale(g.unary(remainder, 0, 1), coef)
		}
		return g.constant(coef)
	case 1:
		if f.coef[0] > 0 && g.atoms[f.atom[0]].kind == product {
			return g.weight(f.atom[0], 0, f.coef[0], coef)
		}
	case 2:
		a, b, c, d := f.atom[0], f.atom[1], f.coef[0], f.coef[1]
		if c < 0 {
			a, b, c, d = b, a, d, c
		}
		if c <= 0 || !near(c, -d) || g.atoms[b].kind != maximum {
			return 0
		}
		switch g.atoms[a].kind {
		case product:
			return g.weight(a, b, c, coef)
		case maximum:
			r := atom{kind: ratio, alpha: g.alpha(c), ref: a, ref2: b}
			at, ok := g.ratios[r]
			if !ok {
				at = g.add1(r)
				g.ratios[r] = at
			}
			return g.term(at, coef)
		}
	}
	return 0
}

// weight is the power of one score.
func (g *algebra) weight(a, ref int32, alpha, coef float64) value {
	s := g.scoreIn(a)
	p := atom{kind: power, alpha: g.alpha(alpha), idx: s, n: 1, sum: scoreHash(s), ref: ref}
	at, ok := g.powers[p]
	if !ok {
		at = g.add1(p)
		g.powers[p] = at
	}
	return g.term(at, coef)
}

// invert is 1 / x.
func (g *algebra) invert(x value) value {
	if x == 0 {
		return 0
	}
	f := g.forms[x]
	if f.constant() {
		return g.constant(1 / f.c)
	}
	a, c, ok := f.single()
	if !ok || g.atoms[a].kind != power {
		return 0
	}
	return g.unary(inverse, a, 1/c)
}

// log2 is the logarithm of a value.
func (g *algebra) log2(x value) value {
	if x == 0 {
		return 0
	}
	f := g.forms[x]
	a, c, ok := f.single()
	if !ok || c <= 0 || g.atoms[a].kind != power {
		return 0
	}
	out := form{n: 1, c: math.Log2(c)}
	v := g.forms[g.unary(logarithm, a, 1)]
	out.atom, out.coef = v.atom, v.coef
	return g.of(out)
}

func (g *algebra) unary(kind atomKind, of int32, coef float64) value {
	r := atom{kind: kind, ref: of}
	at, ok := g.ratios[r]
	if !ok {
		at = g.add1(r)
		g.ratios[r] = at
	}
	return g.term(at, coef)
}

// terms calls f for each pair of a sum.
func (g *algebra) terms(a int32, f func(pair)) {
	for {
		p := &g.atoms[a]
		if p.left == 0 {
			if p.kind == power {
				f(pair{p.idx, 0})
				return
			}
			for _, t := range g.pairs[p.at : p.at+p.n] {
				f(t)
			}
			return
		}
		if p.at > 0 { // a sum and pairs of its own
			own := p.n - g.atoms[p.left].n
			for _, t := range g.pairs[p.at : p.at+own] {
				f(t)
			}
		}
		if p.right != 0 {
			g.terms(p.right, f)
		}
		a = p.left
	}
}
