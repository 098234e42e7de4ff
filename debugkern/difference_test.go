package debugkern

import (
	"math"
	"strings"
	"testing"
)

// TestDifferences: a run compared with one whose captured values differ names the stages, how many cells
// differ and the largest difference; compared with itself nothing differs; extents that changed are not
// compared, and too many cells neither.
func TestDifferences(t *testing.T) {
	s := openSession(t)
	blocks, err := ParseBlocks("0,0,0")
	if err != nil {
		t.Fatal(err)
	}
	run := func(faults ...string) *Run {
		r, err := s.Run(t.Context(), Request{Target: "stage2", Backend: "emu", Blocks: blocks,
			Faults: faults}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	right, wrong := run(), run("p-stale-m")
	if d, err := Differences(t.Context(), right, right); err != nil || d != nil {
		t.Errorf("a run differs from itself: %+v, %v", d, err)
	}
	list, err := Differences(t.Context(), right, wrong)
	if err != nil || len(list) == 0 || list[0].Plan.Stage != "P" {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, d := range list {
		a := right.state.Tile(d.At.Stage, d.At.Block, d.At.KVTile)
		b := wrong.state.Tile(d.At.Stage, d.At.Block, d.At.KVTile)
		if d.Was != a.At(d.At.Row, d.At.Col) || d.Now != b.At(d.At.Row, d.At.Col) || d.Was == d.Now ||
			d.Differing > d.Compared || d.Why != "" {
			t.Errorf("%+v", d)
		}
		for i := range a.Rows * a.Cols { // of its own tile at least, it is the largest
			if r, c := i/a.Cols, i%a.Cols; apart(a.At(r, c), b.At(r, c)) > apart(d.Was, d.Now) {
				t.Errorf("%s: %d,%d differs by more than %v", d.At.Stage, r, c, d.At)
			}
		}
	}
	sp := *wrong.Plan.Stage("P")
	sp.Rows++
	left := maxDifferenceCells
	if d, err := differenceOf(t.Context(), right, wrong, &sp, &left); err != nil ||
		!strings.Contains(d.Why, "extents") {
		t.Errorf("%+v, %v", d, err)
	}
	left = 1
	if d, err := differenceOf(t.Context(), right, wrong, wrong.Plan.Stage("P"), &left); err != nil ||
		!strings.Contains(d.Why, "too many") {
		t.Errorf("%+v, %v", d, err)
	}
	if apart(math.NaN(), 1) != math.Inf(1) || apart(math.NaN(), math.NaN()) != 0 ||
		apart(math.Inf(1), math.Inf(1)) != 0 {
		t.Error("distances of values that are not finite")
	}
}
