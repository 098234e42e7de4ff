package trial

import (
	"testing"

	"tilescope/debugkern"
)

// ran is a run on the emulator.
func ran(t *testing.T, req debugkern.Request) *debugkern.Run {
	t.Helper()
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	req.Backend = "emu"
	run, err := s.Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// tried is a trial of a run.
func tried(t *testing.T, r *debugkern.Run, tr debugkern.Trial) *debugkern.Run {
	t.Helper()
	out, err := r.Try(t.Context(), tr)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
