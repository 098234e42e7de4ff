package diagnose

import (
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestAbsent: of a wait's debt, warps that exited are absent, with their arrivals at the whole array; those
// that are still there are not.
func TestAbsent(t *testing.T) {
	at := &target.Source{File: "k.cu", Line: 5}
	m := target.MBarrierState{Addr: 40, Phase: 1, Expected: 1, Pending: 1}
	w := walk.Stuck{At: "full[1]", MBarrier: &m, Warps: []int{1},
		Debts: []walk.Debt{{Warps: []int{0}, Source: at, Why: "warp 0 exited before it"}}}
	h := &hanging{timeline: &walk.Timeline{
		Warps: []walk.WarpTime{{Ended: true}, {}},
		MBarriers: []walk.MBarrierTime{
			{Addr: 32, Name: "full[0]", Arrivals: []walk.Arrive{
				{PC: 3, Source: at}, {PC: 3, Source: at}, {PC: 3, Source: at, Promise: true},
			}},
			{Addr: 40, Name: "full[1]", Arrivals: []walk.Arrive{
				{PC: 3, Source: at}, {PC: 9, Warp: 1, Source: at},
			}},
			{Addr: 48, Name: "empty[0]", Arrivals: []walk.Arrive{{PC: 3, Source: at}}},
		},
	}}
	if x := h.absent(&w); x == nil || x.times != 3 || x.pc != 3 {
		t.Errorf("%+v, want 3 arrivals at full by instruction 3", x)
	}
	h.timeline.Warps[0].Ended = false
	if x := h.absent(&w); x != nil {
		t.Errorf("%+v of a warp that has not exited", x)
	}
}

// TestLeaving: the line of the branch that ends the loop around an instruction; none outside of the loop.
func TestLeaving(t *testing.T) {
	fn := entry(t, `	.reg .b32 %r<3>;
	.reg .pred %p<2>;
	.loc 1 7 0
	mov.u32 %r1, 0;
LOOP:
	.loc 1 8 0
	mbarrier.arrive.shared.b64 _, [%r2];
	.loc 1 9 0
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, 3;
	@%p1 bra LOOP;
	.loc 1 10 0
	ret;`)
	if src := leaving(fn, 1); src == nil || src.Line != 9 {
		t.Errorf("the loop is left at %v, want line 9", src)
	}
	if src := leaving(fn, 0); src != nil {
		t.Errorf("%v for an instruction in no loop", src)
	}
}

// TestAwaitsCopy: a race that lacks a wait at an mbarrier is not one that a barrier may order.
func TestAwaitsCopy(t *testing.T) {
	for missing, want := range map[string]bool{
		"a wait at the mbarrier that the copy completes on between k.cu:8 and k.cu:9": true,
		"__syncthreads() between k.cu:8 and k.cu:9":                                   false,
	} {
		if awaitsCopy(missing) != want {
			t.Errorf("%q: %v", missing, !want)
		}
	}
}
