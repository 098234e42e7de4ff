package diagnose

import (
	"testing"

	"tilescope/probes"
)

// TestMixedShapes: a manifest has one batch of several heads and several batches of one head; an index that
// is right in both of them may be wrong in several batches of several heads, which therefore comes first.
func TestMixedShapes(t *testing.T) {
	shape := func(extents ...int) probes.Shape {
		return probes.ShapeOf([]string{"B", "H", "S", "D"}, extents...)
	}
	own, others := shape(2, 1, 41, 64), []probes.Shape{shape(1, 1, 32, 64), shape(1, 2, 96, 64)}
	list := mixedShapes(own, others)
	if len(list) != 4 || list[0] != shape(2, 2, 41, 64) {
		t.Errorf("%v", list)
	}
	for _, s := range list[1:3] { // a length that tiles divide, before the rest
		if s[2].N%8 != 0 {
			t.Errorf("%v", list)
		}
	}
}

// TestDoubled: of each shape there is one with two of what it has one of, unless a shape of the list has
// that.
func TestDoubled(t *testing.T) {
	shape := func(extents ...int) probes.Shape {
		return probes.ShapeOf([]string{"B", "H", "S", "D"}, extents...)
	}
	list := doubled([]probes.Shape{shape(1, 3, 41, 64), shape(1, 1, 32, 64), shape(2, 2, 32, 64)})
	if len(list) != 1 || list[0] != shape(2, 3, 41, 64) {
		t.Errorf("%v", list)
	}
}

// TestIdle: a loop or condition of nothing is left out whole, one of something is not.
func TestIdle(t *testing.T) {
	for line, want := range map[string]bool{
		"for (int h = 0; h < 2; h++) ;":                    true,
		"if (f(x) < 2) ;  // nothing":                      true,
		"for (int h = 0; h < 2; h++) l[h] = row_sum(l);":   false,
		"if (lane == 0) arrive(&full[stage]);":             false,
		"format(x);":                                       false,
		"while (x[i] > (y + 1) * 2) i = next(i, (x + 1));": false,
	} {
		if idle(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}
