package debugkern

import (
	"context"
	"testing"

	"tilescope/debugkern/report"
)

// What was made ready ahead is what a run launches; what cannot be built is passed over, and nothing is begun once nobody wants
// it any more.
func TestAhead(t *testing.T) {
	s := openSession(t)
	reqs := []Request{
		{Target: "stage2", Shape: "small", Backend: "emu", Faults: []string{"no-such-fault"}},
		{Target: "stage2", Shape: "small", Backend: "emu", Plain: true},
		{Target: "stage1", Shape: "small", Backend: "emu"},
	}
	s.Ahead(t.Context(), reqs)
	if b, k := len(s.builds.items), len(s.loaded.items); b != 3 || k != 3 { // stage2 with probes and without, stage1 with
		t.Errorf("%d builds, %d loaded", b, k)
	}
	for _, req := range reqs[1:] {
		run, err := s.Run(t.Context(), req, nil)
		if err != nil || run.Report.Verdict != report.Agree {
			t.Errorf("%s: %v", req.Target, err)
		}
	}
	if b, k := len(s.builds.items), len(s.loaded.items); b != 3 || k != 3 {
		t.Errorf("the runs built anew: %d builds, %d loaded", b, k)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Ahead(ctx, []Request{{Target: "scalar", Shape: "small", Backend: "emu"}})
	if b := len(s.builds.items); b != 3 {
		t.Errorf("%d builds after nobody wanted more", b)
	}
}
