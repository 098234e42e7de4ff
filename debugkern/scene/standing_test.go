package scene

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/isa"
)

// TestStand: of a kernel that ends nobody stands anywhere; lane 0 has gone another way than the others at
// some branch, and no thread has two ways.
func TestStand(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "layernorm", Shape: "small"})
	s, err := Stand(t.Context(), run, run.Blocks()[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warps) != 4 || s.Exist[0] != ^uint32(0) || s.At(0, 5) != -1 {
		t.Fatalf("%d warps, lanes %#x, lane 5 at %d", len(s.Warps), s.Exist[0], s.At(0, 5))
	}
	apart := 0
	for i, in := range run.Entry().Body {
		if in.Kind() != isa.Branch || in.Guard == nil {
			continue
		}
		if a, b := s.Way(i, 0, 0), s.Way(i, 0, 1); a != Unknown && b != Unknown && a != b {
			apart++
		}
	}
	if apart == 0 {
		t.Error("lane 0 alone stores the mean: it parts from lane 1 at a branch")
	}
	if w := s.Way(len(run.Entry().Body), 0, 0); w != Unknown {
		t.Errorf("no branch: %v", w)
	}
}

// TestStandAtABarrier: warps that wait at a barrier which others do not reach stand there.
func TestStandAtABarrier(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{
		Target: "stage2", Shape: "partial", Faults: []string{"barrier-divergent"},
	})
	for _, b := range run.Blocks() {
		s, err := Stand(t.Context(), run, b)
		if err != nil {
			t.Fatal(err)
		}
		for w := range s.Warps {
			if at := s.At(w, 0); at >= 0 {
				if k := run.Entry().Body[at].Kind(); k != isa.Barrier && k != isa.WarpBarrier {
					t.Errorf("warp %d of block %s stands at %s", w, b, run.Entry().Body[at].Opcode())
				}
				return
			}
		}
	}
	t.Error("no warp waits")
}
