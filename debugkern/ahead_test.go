package debugkern

import (
	"context"
	"testing"

	"tilescope/debugkern/report"
)

// What was made ready ahead is what a run launches; what cannot be built is passed over, and nothing is begun
// once nobody wants it any more.
func TestAhead(t *testing.T) {
	s := openSession(t)
	reqs := []Request{
		{Target: "stage2", Shape: "small", Backend: "emu", Faults: []string{"no-such-fault"}},
		{Target: "stage2", Shape: "small", Backend: "emu", Plain: true},
		{Target: "stage1", Shape: "small", Backend: "emu"},
	}
	s.Ahead(t.Context(), reqs)
	if n := s.loaded.Len(); n != 3 { // stage2 with probes and without, stage1 with
		t.Errorf("%d loaded", n)
	}
	for _, req := range reqs[1:] {
		run, err := s.Run(t.Context(), req, nil)
		if err != nil || run.Report.Verdict != report.Agree {
			t.Errorf("%s: %v", req.Target, err)
		}
	}
	if n := s.loaded.Len(); n != 3 {
		t.Errorf("the runs built anew: %d loaded", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Ahead(ctx, []Request{{Target: "scalar", Shape: "small", Backend: "emu"}})
	if n := s.loaded.Len(); n != 3 {
		t.Errorf("%d loaded after nobody wanted more", n)
	}
}

// TestCloseEndsWhatIsBuiltAhead closes a session whose Ahead has a context without end.
func TestCloseEndsWhatIsBuiltAhead(t *testing.T) {
	s, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.Ahead(context.Background(), []Request{{Target: "stage2"}, {Target: "stage1"}})
	if n := s.loaded.Len(); n > 0 {
		t.Errorf("%d kernels were loaded for a closed session", n)
	}
}
