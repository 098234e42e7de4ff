package debugkern_test

import (
	"slices"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
)

// TestSlice: the slice of a cell has what made it out of its operands, nearest first, and nothing of
// what made the operands.
func TestSlice(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: "small", Backend: "emu"})
	ops, err := run.Slice(t.Context(), "P", run.Blocks()[0], 0, [][2]int{{3, 5}})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, o := range ops {
		count[run.Entry().Body[o.At].Op]++
	}
	if count["ex2"] == 0 || count["wmma"] > 0 ||
		!slices.IsSortedFunc(ops, func(a, b debugkern.Operation) int { return a.Depth - b.Depth }) {
		t.Errorf("%v", count)
	}
	if ops, err = run.Slice(t.Context(), "S", run.Blocks()[0], 0, [][2]int{{3, 5}}); err != nil {
		t.Fatal(err)
	}
	count = map[string]int{}
	for _, o := range ops {
		count[run.Entry().Body[o.At].Op]++
	}
	if count["wmma"] == 0 || count["ex2"] > 0 {
		t.Errorf("%v", count)
	}
	if _, err := run.Slice(t.Context(), "nothing", run.Blocks()[0], 0, nil); err == nil {
		t.Error("a stage that there is not has a slice")
	}
}
