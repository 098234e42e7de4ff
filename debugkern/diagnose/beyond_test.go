package diagnose

import (
	"slices"
	"testing"

	"tilescope/debugkern"
)

// rows makes accesses to half-precision numbers by two indices.
func rows(cols int64, at ...[2]int64) []debugkern.Reach {
	var out []debugkern.Reach
	for _, x := range at {
		out = append(out, debugkern.Reach{Offset: 2 * (x[0]*cols + x[1]), Terms: []debugkern.Term{
			{At: 1, Value: x[0], Factor: 2 * cols, Step: 1}, {At: 2, Value: x[1], Factor: 2},
		}})
	}
	return out
}

// TestLeaves: the index that leaves its range is named, whatever the address wraps to.
func TestLeaves(t *testing.T) {
	l := layout{dims: []int{20, 33}, strides: []int64{66, 2}, size: 2}
	for _, c := range []struct {
		name       string
		list       []debugkern.Reach
		axis, most int // axis -1: none
	}{
		{"in range", rows(33, [2]int64{0, 0}, [2]int64{19, 32}), -1, 0},
		{"a row too many", rows(33, [2]int64{19, 0}, [2]int64{20, 3}), 0, 20},
		{"columns past the last", rows(33, [2]int64{0, 40}, [2]int64{19, 34}), 1, 40},
		{"a column that counts rows", rows(33, [2]int64{0, 90}, [2]int64{19, 34}), -1, 0},
		{"both", rows(33, [2]int64{20, 34}), -1, 0},
	} {
		switch x := l.leaves(c.list); {
		case x == nil && c.axis >= 0:
			t.Errorf("%s: nothing", c.name)
		case x != nil && (x.axis != c.axis || x.most != int64(c.most)):
			t.Errorf("%s: index %d goes up to %d, want %d and %d", c.name, x.axis, x.most, c.axis, c.most)
		}
	}
	flat := []debugkern.Reach{{Offset: 1400, Terms: []debugkern.Term{{Value: 700, Factor: 2}}}}
	if x := l.leaves(flat); x != nil {
		t.Errorf("a flat index: %+v, want nothing", x)
	}
}

// TestExchanged: two indices are exchanged where each fits in the other's place.
func TestExchanged(t *testing.T) {
	l := layout{dims: []int{32, 72}, strides: []int64{144, 2}, size: 2}
	if x := l.leaves(rows(72, [2]int64{0, 0}, [2]int64{48, 16})); x == nil || x.exchange != 1 {
		t.Errorf("%+v, want the second index in its place", x)
	}
	if x := l.leaves(rows(72, [2]int64{32, 0}, [2]int64{48, 40})); x == nil || x.exchange >= 0 {
		t.Errorf("%+v, want no exchange: 40 does not fit", x)
	}
}

// TestIndices: a constant that is a multiple of a row may belong to a column that was counted from there.
func TestIndices(t *testing.T) {
	l := layout{dims: []int{64, 64}, strides: []int64{128, 2}, size: 2}
	at, _, ok := l.indices(&debugkern.Reach{Const: []int64{256, -2}, Terms: []debugkern.Term{
		{Value: 3, Factor: 128}, {Value: 5, Factor: 2, Step: 128}, {Value: 64, Factor: -2},
		{Value: 64, Factor: -2},
	}})
	if !ok || !slices.Equal(at, []int64{3, 4}) {
		t.Errorf("%v %t, want row 3, column 4", at, ok)
	}
}

// TestSkewed: a step between blocks that lies between two dimensions' is found, and no other.
func TestSkewed(t *testing.T) {
	l := layout{dims: []int{1, 2, 49, 64}, strides: []int64{12544, 6272, 128, 2}, size: 2}
	for by, want := range map[int64]int64{8192: 4096, 6272: 0, 12544: 0, 2048: 0} {
		list := []debugkern.Reach{{Offset: l.total(), Terms: []debugkern.Term{{Value: 1, Factor: by}}}}
		x := l.skewed(list, func(debugkern.Term) bool { return true })
		if x == nil && want != 0 || x != nil && (x.by != want || x.own != 3136 || x.axis != 1) {
			t.Errorf("%d bytes: %+v, want a step of %d elements", by, x, want)
		}
	}
}
