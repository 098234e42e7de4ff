package check

import (
	"reflect"
	"testing"

	"tilescope/debugkern/budget"
)

// TestNeeds: the factors are those of the state that is kept, and no product wraps.
func TestNeeds(t *testing.T) {
	if n := reflect.TypeFor[cell]().Size(); n != cellBytes {
		t.Errorf("a cell takes %d bytes, %d are counted", n, cellBytes)
	}
	if n := reflect.TypeFor[globalLine]().Size(); n > lineBytes {
		t.Errorf("a line takes %d bytes, %d are counted", n, lineBytes)
	}
	for _, c := range []struct {
		set                              Set
		shared, writable, atOnce, blocks int64
		want                             int64
	}{
		{Banks, 1 << 40, 1 << 40, 4, 4, 0}, {Races, 1000, 0, 2, 8, 2 * 1000 * cellBytes}, {All, 0, 1600, 2, 4, 1600 * globalBytes / 2},
		{Races, 1 << 62, 1 << 62, 1 << 30, 1, budget.Huge}, {Races, 0, 16, 1, 0, 16 * globalBytes},
	} {
		if got := Needs(c.set, c.shared, c.writable, c.atOnce, c.blocks); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
