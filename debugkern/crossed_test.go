package debugkern

import (
	"testing"

	"tilescope/probes"
)

// TestCellsThatTwoBackendsComputedDifferently compares a run with a copy of itself in which two
// cells were changed.
func TestCellsThatTwoBackendsComputedDifferently(t *testing.T) {
	run := ran(t, Request{Target: "stage2", Shape: "partial49"})
	at := Place{Stage: "P"}
	if _, ok := run.OtherTile(at); ok {
		t.Error("a run of one backend has another's tiles")
	}
	other, result := *run.state, *run.state.result
	captured := copied(run.state.r.layout, result.Capture)
	result.Capture, other.result = captured, &result
	run.state.traced = &other
	first, last := Cell{at, 3, 5}, Cell{Place{Stage: "P", Block: probes.Dim3{0, 1, 0}, KVTile: 1}, 0, 7}
	for _, c := range []Cell{first, last} {
		off, ok := run.state.r.layout.Slot(c.Stage, c.Block, c.KVTile)
		if !ok {
			t.Fatalf("%+v was not captured", c)
		}
		captured[off+uint64((c.Row*run.Plan.Stage(c.Stage).Cols+c.Col)*2)] ^= 1
	}
	view, err := run.View(at)
	if err != nil || !view.Other.Reached() || view.Other.Bits(3, 5)^view.Got.Bits(3, 5) != 1 ||
		view.Other.Bits(3, 4) != view.Got.Bits(3, 4) {
		t.Fatalf("the tile beside is not the changed copy: %v", err)
	}
	for _, step := range []struct {
		from Cell
		dir  int
		want Cell
	}{{Cell{at, 0, 0}, 1, first}, {first, 1, last}, {last, 1, first}, {first, -1, last}, {last, -1, first}} {
		if got, ok := run.NextDiffering(step.from, step.dir); !ok || got != step.want {
			t.Errorf("from %+v in direction %d: %+v, %v, expected %+v", step.from, step.dir, got,
				ok, step.want)
		}
	}
	if c, ok := run.NextDiffering(Cell{Place: Place{Stage: "S"}}, 1); ok {
		t.Errorf("S differs in %+v", c)
	}
}
