package discover

import (
	"math"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// bench is a domain with arguments of elements, and what tests make of them.
type bench struct {
	*domain
	depth int
}

func newBench() *bench {
	l := &target.Launch{}
	for range 3 {
		l.Args = append(l.Args, target.Arg{Buffer: &target.Buffer{DType: probes.F32, Dims: []int{4096}}})
	}
	return &bench{newDomain(l), 8}
}

// score is Σ Q[row·depth+d]·K[key·depth+d], added in the order of d that is given.
func (b *bench) score(row, key int, order ...int) value {
	x := b.constant(0)
	for _, d := range order {
		x = b.sum(b.times(b.Leaf(0, row*b.depth+d), b.Leaf(1, key*b.depth+d)), x, 1)
	}
	return x
}

var (
	forwards  = []int{0, 1, 2, 3, 4, 5, 6, 7}
	backwards = []int{7, 6, 5, 4, 3, 2, 1, 0}
)

func (b *bench) atomOf(x value) *atom {
	a, _, ok := b.forms[x].single()
	if !ok {
		return &atom{}
	}
	return &b.atoms[a]
}

const log2e = 1.4426950408889634

// TestSameInRealArithmetic: the ways in which kernels write a weight are one value.
func TestSameInRealArithmetic(t *testing.T) {
	b := newBench()
	s0, s1 := b.score(0, 0, forwards...), b.score(0, 1, backwards...)
	scale := 0.125
	// The maximum of scaled scores, and that of raw ones.
	scaled := b.largest(b.largest(b.constant(math.Inf(-1)), b.scale(s0, scale)), b.scale(s1, scale))
	raw := b.largest(s1, b.largest(s0, b.constant(-1e30)))
	ways := []value{
		// exp(s·scale − m)
		b.exp2(b.scale(b.sum(b.scale(s0, scale), scaled, -1), log2e)),
		// exp2(s·c − m·c)
		b.exp2(b.sum(b.scale(s0, scale*log2e), b.scale(raw, scale*log2e), -1)),
		// fma(s, c, −m·c)
		b.exp2(b.sum(b.times(s0, b.constant(scale*log2e)), b.times(raw, b.constant(-scale*log2e)), 1)),
		// exp2((s − m)·c), c rounded
		b.exp2(b.scale(b.sum(s0, raw, -1), float64(float32(scale*log2e)))),
		// the score added in another order
		b.exp2(b.sum(b.scale(b.score(0, 0, backwards...), scale*log2e), b.scale(raw, scale*log2e), -1)),
		// and another
		b.exp2(b.sum(b.scale(b.score(0, 0, 1, 3, 5, 7, 0, 2, 4, 6), scale*log2e),
			b.scale(scaled, log2e), -1)),
	}
	first, _, _ := b.forms[ways[0]].single()
	for i, w := range ways {
		if a, c, ok := b.forms[w].single(); !ok || a != first || !near(c, 1) {
			t.Errorf("way %d: %+v, want atom %d", i, b.forms[w], first)
		}
	}
	if a := b.atomOf(ways[0]); a.kind != power || a.n != 1 || !near(b.alphas[a.alpha], scale*log2e) {
		t.Errorf("weight %+v", a)
	}
}

// TestSoftwareExponential: 2^n by bits times 2^rest is the exponential, neither of them is.
func TestSoftwareExponential(t *testing.T) {
	b := newBench()
	s := b.score(0, 0, forwards...)
	x := b.sum(s, b.largest(s, b.constant(math.Inf(-1))), -1)
	whole := b.sum(b.scale(x, 252*0.005724980495870113), b.constant(12582913+126), 1)
	n := b.sum(whole, b.constant(12583039), -1)
	rest := b.sum(b.scale(x, 1.4426950216293335), n, -1)
	two := b.shift([]value{whole, b.of(form{bits: true, c: 23})})
	if k := b.atomOf(two).kind; k != rough {
		t.Fatalf("2^n by bits is %d, want rough", k)
	}
	p := b.times(b.exp2(rest), two)
	if k := b.atomOf(p).kind; k != power {
		t.Errorf("the product is %d, want a weight", k)
	}
	if k := b.atomOf(b.times(b.constant(1), two)).kind; k != rough {
		t.Errorf("rough times 1 is %d", k)
	}
}

// TestRunningSums: sums over tiles with rescaling are the sum over all keys, whoever adds;
// without it they are nothing.
func TestRunningSums(t *testing.T) {
	b := newBench()
	inf := b.constant(math.Inf(-1))
	s := make([]value, 4)
	for k := range s {
		s[k] = b.score(3, k, forwards...)
	}
	m1 := b.largest(inf, b.largest(s[0], s[1]))
	m2 := b.largest(m1, b.largest(s[2], s[3]))
	weight := func(s, m value) value { return b.exp2(b.sum(s, m, -1)) }
	l1 := b.sum(weight(s[0], m1), weight(s[1], m1), 1)
	alpha := b.exp2(b.sum(m1, m2, -1))
	tile := b.sum(weight(s[3], m2), weight(s[2], m2), 1)
	l2 := b.sum(b.times(alpha, l1), tile, 1)
	a := b.atomOf(l2)
	want := uint64(0)
	for k := range s {
		x, _, _ := b.forms[s[k]].single()
		want += scoreHash(b.scoreIn(x))
	}
	if top, _, _ := b.forms[m2].single(); a.kind != power || a.n != 4 || a.sum != want || a.ref != top {
		t.Errorf("the sum is %+v, want 4 terms relative to %d", a, top)
	}
	if x := b.sum(l1, tile, 1); b.atomOf(x).kind == power {
		t.Error("a sum that is not rescaled counts as one")
	}
	if x := b.times(alpha, tile); x != 0 {
		t.Error("a sum is rescaled from a maximum that it is not relative to")
	}
	first := b.times(b.exp2(b.sum(inf, m1, -1)), b.constant(0))
	if !zero(&b.forms[first]) {
		t.Errorf("nothing, rescaled from no maximum, is %+v", b.forms[first])
	}
	// Values: weights times elements of a third argument, and the result.
	u := b.constant(0)
	for k := range 2 {
		u = b.sum(b.times(weight(s[k], m1), b.Leaf(2, k*16+5)), u, 1)
	}
	u = b.times(alpha, u)
	for k := 2; k < 4; k++ {
		u = b.dot(u, []value{weight(s[k], m2)}, []value{b.Leaf(2, k*16+5)})
	}
	if a := b.atomOf(u); a.kind != weighted || a.n != 4 || a.sum != want {
		t.Errorf("the weighted sum is %+v", a)
	}
	if a := b.atomOf(b.times(u, b.invert(l2))); a.kind != quotient {
		t.Errorf("the result is %+v", a)
	}
	lse := b.sum(m2, b.log2(l2), 1)
	if f := b.forms[lse]; f.n != 2 {
		t.Errorf("the logarithm of the sum is %+v", f)
	}
}

// TestHidden: a score that a mask replaces by −inf stays a score, and is known to be hidden.
func TestHidden(t *testing.T) {
	b := newBench()
	s0, s1 := b.score(0, 0, forwards...), b.score(0, 1, forwards...)
	h, ok := b.hide(s1)
	if !ok || b.atomOf(h).score != b.scoreIn(int32(b.forms[s1].atom[0])) || b.visible(b.atomOf(h).score) {
		t.Fatalf("hidden %+v, %v", b.atomOf(h), ok)
	}
	m := b.largest(s0, h)
	if a, _, _ := b.forms[m].single(); len(b.sets[a]) != 2 || b.allHidden(a) {
		t.Errorf("the maximum is of %v", b.sets[a])
	}
	if a, _, _ := b.forms[b.largest(h, b.constant(math.Inf(-1)))].single(); !b.allHidden(a) {
		t.Error("the maximum of a hidden score alone is one of hidden scores alone")
	}
	if _, ok := b.hide(b.constant(3)); ok {
		t.Error("a number is hidden")
	}
}

// TestNothingIsFollowed: what has no meaning here is nothing, and stays it.
func TestNothingIsFollowed(t *testing.T) {
	b := newBench()
	s := b.score(0, 0, forwards...)
	for name, x := range map[string]value{
		"a score squared":                 b.times(s, s),
		"a sum with what is not followed": b.sum(s, 0, 1),
		"the maximum of a negative score": b.largest(b.scale(s, -1), b.constant(math.Inf(-1))),
		"the maximum of two scales":       b.largest(b.scale(s, 2), b.score(0, 1, forwards...)),
		"the maximum with a number":       b.largest(s, b.constant(0)),
		"a not-a-number":                  b.sum(b.constant(math.Inf(1)), b.constant(math.Inf(-1)), 1),
		"1 / score":                       b.invert(s),
		"exponentials of different factors": b.exp2(b.sum(b.scale(s, 2),
			b.largest(s, b.constant(math.Inf(-1))), -1)),
	} {
		if x != 0 {
			t.Errorf("%s is %+v", name, b.forms[x])
		}
	}
}
