package debugkern

import (
	"errors"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/cuda"
)

// TestGPUSanitizeKernels compares compute-sanitizer's report with ours: a clean rung, on which neither has
// anything to say, and one with a planted race, which both have to find at the same lines.
func TestGPUSanitizeKernels(t *testing.T) {
	s := openGPUSession(t)
	for _, c := range []struct {
		req  Request
		tool string
		race bool
	}{
		{Request{Target: "stage2", Shape: "partial49", Seed: 1}, "memcheck", false},
		{Request{Target: "stage2", Shape: "partial49", Seed: 1}, "racecheck", false},
		{Request{Target: "stage3b", Shape: "validation", Faults: []string{"softmax-race"}},
			"racecheck", true},
	} {
		c.req.Backend, c.req.Check = "emu", check.All
		run, err := s.Run(t.Context(), c.req, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Sanitize(t.Context(), run, c.tool)
		if errors.Is(err, cuda.ErrNoSanitizer) || errors.Is(err, cuda.ErrNoDriver) {
			t.Skip(err)
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.req.Target, err)
			continue
		}
		f := Fold(run.Report.Findings, got)
		t.Logf("%s %v, %d findings of ours: %s (%s)", c.req.Target, c.req.Faults, len(run.Report.Findings),
			f.Summary(), got.Summary)
		for _, x := range got.Complaints {
			t.Logf("  theirs: %s %+v and %+v, %d times", x.Kind, x.At, x.Others, x.Count)
		}
		for _, x := range run.Report.Findings {
			t.Logf("  ours: %s %s at %v and %v", x.Kind, x.Variable, x.Source, x.Other)
		}
		if c.race != (len(f.Confirmed) > 0) || !c.race && len(f.OnlyTheirs) > 0 {
			t.Errorf("%s %s: %s", c.tool, c.req.Target, f.Summary())
		}
	}
}
