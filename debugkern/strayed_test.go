package debugkern_test

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// TestStraysOfARightKernel: blocks of a right kernel begin to read each argument where they should, so that
// nothing strays. What a kernel says whose index is wrong is in the planted bugs.
func TestStraysOfARightKernel(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "attention_gqa", Shape: "small", Backend: "emu"})
	var loads []int
	for i, in := range run.Entry().Body {
		if in.Kind() == isa.Load && in.Space() == ptx.SpaceGlobal {
			loads = append(loads, i)
		}
	}
	blocks := run.Blocks()
	last := blocks[len(blocks)-1]
	for _, arg := range []string{"Q", "K", "V"} {
		list, _, err := run.Reaches(t.Context(), last, loads)
		if err != nil || len(list) == 0 {
			t.Fatalf("%d accesses, %v: want some, so that there is something to compare", len(list), err)
		}
		if x, err := run.Strays(t.Context(), last, arg, loads); x != nil || err != nil {
			t.Errorf("%s: %+v %v, want nothing", arg, x, err)
		}
	}
}
