package tile_test

import (
	"strings"
	"testing"

	"tilescope/tui/view/viewtest"
)

// TestInjectedCellHasNoWriter: no instruction wrote a cell that the gate feeds in, so its source names
// no other cell, and there is no lineage.
func TestInjectedCellHasNoWriter(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("2").Command("stage S")
	d.Says("stored")
	d.Command("gate pv").Command("stage P")
	if why := d.M.Writers.Errs[d.M.PlaceOf(d.M.Cursor)]; why != "injected, no instruction wrote it" {
		t.Errorf("its writer: %q", why)
	}
	if text := d.Text(); strings.Contains(text, "writer:") || strings.Contains(text, "stored q") {
		t.Errorf("another cell's writer:\n%s", text)
	}
	d.Press("W").HasStatus("injected, no instruction wrote it")
	if strings.Contains(d.Text(), "CAME ABOUT") {
		t.Errorf("a lineage of what nothing computed:\n%s", d.Text())
	}
}

// TestReferenceAsItIsCompared: the reference is shown rounded to the tile's type, which is what is
// called equal, with the unrounded value next to it.
func TestReferenceAsItIsCompared(t *testing.T) {
	for _, w := range []int{80, 120, 200} {
		d := viewtest.Start(t, w, 40).Press("2").Command("stage S")
		found := false
		for range 40 {
			if found = strings.Contains(d.Text(), ", as f16 "); found {
				break
			}
			d.Press("l")
		}
		if !found {
			t.Errorf("%d columns: no unrounded reference:\n%s", w, d.Text())
		}
	}
}

// TestDerivedIsExplained: what the tab line says of numbers and bounds is in the legend of every
// column.
func TestDerivedIsExplained(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("2")
	d.Says("fixed · error in ulp · bound derived")
	for range 3 {
		d.Press("?").Type("/derived").Press("enter")
		if d.Says("derived: above the bound that"); strings.Contains(d.M.Status.Text, "no match") {
			t.Errorf("status %q", d.M.Status.Text)
		}
		d.Press("esc", "tab")
	}
}
