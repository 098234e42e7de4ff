package diagnose

import (
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestOtherElement: a wait for ever and a phase of another element that is over and that nobody waits for;
// where that phase is waited for, or other warps wait at the array, each may use elements of its own.
func TestOtherElement(t *testing.T) {
	fill, wait := &target.Source{File: "k.cu", Line: 5}, &target.Source{File: "k.cu", Line: 9}
	m := target.MBarrierState{Addr: 32, Expected: 1, Pending: 1}
	w := walk.Stuck{At: "full[0]", MBarrier: &m, Warps: []int{1, 2}, Source: wait}
	h := &hanging{timeline: &walk.Timeline{MBarriers: []walk.MBarrierTime{
		{Addr: 32, Name: "full[0]"},
		{Addr: 40, Name: "full[1]", Phases: []uint64{70}, Arrivals: []walk.Arrive{
			{Source: wait, Promise: true}, {Source: fill, Warp: 0},
		}},
		{Addr: 48, Name: "empty[1]", Phases: []uint64{10}, Arrivals: []walk.Arrive{{Source: wait}}},
	}}}
	x := h.otherElementOf(&w)
	if x == nil || x.completes != "full[1]" || x.over != 0 || x.arrival.Line != 5 || x.wait.Line != 9 {
		t.Fatalf("%+v, want phase 0 of full[1], by line 5", x)
	}
	full := &h.timeline.MBarriers[1]
	full.Passes = []walk.Pass{{Warp: 1}}
	if x := h.otherElementOf(&w); x != nil {
		t.Errorf("%+v, where phase 0 of full[1] was waited for", x)
	}
	full.Passes = []walk.Pass{{Warp: 3, Number: 5}}
	if x := h.otherElementOf(&w); x != nil {
		t.Errorf("%+v, where another warp waits at that array", x)
	}
}
