package diagnose

import (
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// TestCircle: two waits at barriers, each of which needs an arrival that those at the other have ahead of
// them, are a circle; a wait at an mbarrier, or an arrival that has come before, makes none.
func TestCircle(t *testing.T) {
	wait := func(at string, line int, ahead bool) walk.Stuck {
		return walk.Stuck{
			At: at, Source: &target.Source{File: "k.cu", Line: line},
			Debts: []walk.Debt{{
				What: "128 of 256 threads", Source: &target.Source{File: "k.cu", Line: 193}, Ahead: ahead,
			}},
		}
	}
	h := &hanging{hang: &walk.Hang{
		Waits: []walk.Stuck{wait("barrier 1", 192, true), wait("barrier 2", 192, true)}, Cycle: []int{0, 1},
	}}
	if c := h.circle(); c == nil || len(c.waits) != 2 {
		t.Errorf("%+v", c)
	}
	h.hang.Waits[1].Debts[0].Ahead = false
	if c := h.circle(); c != nil {
		t.Errorf("an arrival that has come before: %+v", c)
	}
	h.hang.Waits[1] = wait("k_full[0]", 192, true)
	h.hang.Waits[1].MBarrier = &target.MBarrierState{}
	if c := h.circle(); c != nil {
		t.Errorf("an mbarrier: %+v", c)
	}
}

// TestStalePhases: a wait that passes phase 0 again while nobody waits for phase 1 is one for a phase that is
// over; a wait that passes the only phase in every iteration is none.
func TestStalePhases(t *testing.T) {
	pass := func(warp, line int, number uint64) walk.Pass {
		return walk.Pass{
			Warp: warp, PC: line, Number: number, Source: &target.Source{File: "k.cu", Line: line},
		}
	}
	line := &walk.Timeline{MBarriers: []walk.MBarrierTime{
		{Name: "q_full[0]", Phases: []uint64{5}, Passes: []walk.Pass{pass(4, 10, 0), pass(4, 10, 0)}},
		{Name: "v_full[0]", Phases: []uint64{5, 9}, Passes: []walk.Pass{pass(4, 11, 0), pass(4, 11, 1)}},
		{Name: "k_full[0]", Phases: []uint64{5, 9}, Passes: []walk.Pass{
			pass(4, 12, 0), pass(5, 12, 0), pass(4, 12, 0), pass(5, 12, 0),
		}},
	}}
	got := stalePhases(line)
	if len(got) != 1 || got[0].name != "k_full[0]" || got[0].number != 0 || got[0].unmet != 1 ||
		got[0].times != 2 || got[0].warps != 0x30 || got[0].at.Line != 12 {
		t.Fatalf("%+v", got)
	}
}
