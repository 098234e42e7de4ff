package diagnose

import (
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestMiscounted: eight warps arrive twice each at a barrier that counts four; the one that counts what comes
// is not listed, nor is one at which a warp arrives more often than the others.
func TestMiscounted(t *testing.T) {
	arrivals := func(times func(warp int) int) (out []walk.Arrive) {
		for w := range 8 {
			for range times(w) {
				out = append(out, walk.Arrive{
					Warp: w, Count: 1, Source: &target.Source{File: "k.cu", Line: 20},
				})
			}
		}
		return out
	}
	twice := arrivals(func(int) int { return 2 })
	line := &walk.Timeline{
		Last: target.AsyncState{MBarriers: []target.MBarrierState{
			{Addr: 0, Expected: 8}, {Addr: 8, Expected: 4}, {Addr: 16, Expected: 4}, {Addr: 24, Expected: 4},
		}},
		MBarriers: []walk.MBarrierTime{
			{Addr: 0, Name: "k_empty[0]", Arrivals: twice},
			{Addr: 8, Name: "v_empty[0]", Arrivals: append(twice, walk.Arrive{Count: 4096, Promise: true})},
			{Addr: 16, Name: "v_empty[1]", Arrivals: twice},
			{Addr: 24, Name: "q_empty", Arrivals: arrivals(func(w int) int { return w + 1 })},
		},
	}
	got := miscountedIn(line)
	if len(got) != 1 || got[0].name != "v_empty[0]" || got[0].expected != 4 || got[0].come != 8 ||
		got[0].warps != 0xff || len(got[0].lines) != 1 {
		t.Fatalf("%+v", got)
	}
}

// TestArrivalsOf: a count is read from the instruction, or from the one move that sets its register.
func TestArrivalsOf(t *testing.T) {
	fn := entry(t, `	.reg .b32 %r<5>;
	mov.u32 %r2, 8;
	mov.u32 %r3, 1;
	mov.u32 %r3, 2;
	mbarrier.init.shared.b64 [%r1], 4;
	mbarrier.init.shared.b64 [%r1], %r2;
	mbarrier.init.shared.b64 [%r1], %r3;
	ret;`)
	for at, want := range map[int]int{3: 4, 4: 8, 5: -1} {
		if got := arrivalsOf(fn, at); got != want {
			t.Errorf("instruction %d: %d, not %d", at, got, want)
		}
	}
}
