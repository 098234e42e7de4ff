package debugkern_test

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/probes"
)

// TestMisstoredInARightKernel: rows of a right kernel read their own values from shared memory, so that none
// is stored in another's place. The planted bugs have one that is.
func TestMisstoredInARightKernel(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "softmax_row", Shape: "ragged", Backend: "emu"})
	block := run.Blocks()[0]
	c, err := run.Contrast(t.Context(), probes.Stage("Y"), block, 0, [][2]int{{1, 0}})
	if err != nil || len(c) != 1 || !c[0].Empty() {
		t.Fatalf("%+v %v: want a cell that is made of what it should be", c, err)
	}
	list, err := run.Misstored(t.Context(), probes.Stage("Y"), block, 0, [2]int{1, 0})
	if err != nil || len(list) != 0 {
		t.Errorf("%+v %v, want nothing", list, err)
	}
}
