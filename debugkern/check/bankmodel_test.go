package check

import (
	"testing"

	"tilescope/probes"
)

// by makes a pattern of 32 lanes.
func by(bytes int, off func(lane int) int) *pattern {
	p := &pattern{mask: ^uint32(0), bytes: bytes, count: 1}
	for i := range p.off {
		p.off[i] = int32(off(i))
	}
	return p
}

// TestServe holds the bank model to cases that can be counted by hand.
func TestServe(t *testing.T) {
	for _, c := range []struct {
		what                 string
		p                    *pattern
		phases, transactions int
	}{
		{"words side by side", by(4, func(i int) int { return 4 * i }), 1, 1},
		{"one word", by(4, func(int) int { return 64 }), 1, 1},
		{"halves of words", by(2, func(i int) int { return 2 * i }), 1, 1},
		{"every third word", by(4, func(i int) int { return 12 * i }), 1, 1},
		{"every other word", by(4, func(i int) int { return 8 * i }), 1, 2},
		{"a column", by(4, func(i int) int { return 128 * i }), 1, 32},
		{"a column of which lanes share words in pairs",
			by(4, func(i int) int { return 128 * (i / 2) }), 1, 16},
		{"pairs side by side", by(8, func(i int) int { return 8 * i }), 2, 2},
		{"pairs 16 bytes apart", by(8, func(i int) int { return 16 * i }), 2, 4},
		{"four words side by side", by(16, func(i int) int { return 16 * i }), 4, 4},
		{"rows of 128 bytes, a matrix at a time", by(16, func(i int) int { return 128 * i }), 4, 32},
		{"rows of 144 bytes, a matrix at a time", by(16, func(i int) int { return 144 * i }), 4, 4},
	} {
		if s := serve(&c.p.off, c.p.mask, c.p.bytes); s.phases != c.phases ||
			s.transactions != c.transactions {
			t.Errorf("%s: %+v, want %d phases and %d transactions", c.what, s, c.phases, c.transactions)
		}
	}
}

// TestRemedy: the smallest padding that serves all accesses; an exchange of columns where no padding does;
// neither where the array is addressed by a leading dimension and only an exchange would do.
func TestRemedy(t *testing.T) {
	words := &probes.SharedArray{Name: "s", DType: probes.F32, Dims: []int{32, 32}, Bytes: 4096}
	row := by(4, func(i int) int { return 4 * i })
	column := by(4, func(i int) int { return 128 * i })
	r := findRemedy(words, []*pattern{row, column}, false)
	if r == nil || r.pad != 4 || r.ways != 0 || r.left != 0 || r.before != 31 {
		t.Fatalf("%+v", r)
	}
	if got := r.String(); got !=
		"rows padded from 32 to 33 elements (128 bytes more in all): no conflict is left" {
		t.Error(got)
	}
	if r = findRemedy(words, []*pattern{row, column}, true); r == nil || r.pad%wmmaRowAlign != 0 ||
		r.left == 0 {
		t.Errorf("for wmma: %+v", r) // no padding by 16 bytes serves single words down a column
	}
	if r = findRemedy(words, []*pattern{row}, false); r != nil {
		t.Errorf("nothing to remedy: %+v", r)
	}
	// Two rows of 16 a phase: one element more a row has them meet in 15 banks.
	padded := &probes.SharedArray{Name: "a", DType: probes.F32, Dims: []int{16, 17}, Bytes: 1088}
	r = findRemedy(padded, []*pattern{by(4, func(i int) int { return 68*(i/16) + 4*(i%16) })}, false)
	if r == nil || r.String() != "rows of 16 elements in place of 17, if nothing uses the rest (64 bytes less in all): "+
		"no conflict is left" {
		t.Errorf("%+v", r)
	}
	// Accumulators of two rows a phase, and rows read whole: padding serves one of them, the exchange both.
	tile := &probes.SharedArray{Name: "p", DType: probes.F32, Dims: []int{16, 16}, Bytes: 1024}
	both := []*pattern{
		by(8, func(i int) int { return 64*(i/4) + 8*(i%4) }), by(4, func(i int) int { return 4 * i }),
	}
	if r = findRemedy(tile, both, false); r == nil || r.left != 0 {
		t.Fatalf("%+v", r)
	}
	extra, ok := r.cost(both, 1<<30)
	if !ok || extra != r.left {
		t.Errorf("%v is said to leave %d and leaves %d", r, r.left, extra)
	}
}
