// Package debugtest gives tests of the rooms above a session their runs: executed on the emulator, and tried
// again with a change.
//
// The one idea: a test names what it runs, and what fails to run fails it there.
//
// No package of the program imports it.
package debugtest

import (
	"testing"

	"tilescope/debugkern"
)

// Open opens a session as a user of the package does, on the embedded catalogue and with the emulator alone.
func Open(t testing.TB) *debugkern.Session {
	t.Helper()
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run runs a request on the emulator, in a session of its own.
func Run(t testing.TB, req debugkern.Request) *debugkern.Run {
	t.Helper()
	req.Backend = "emu"
	run, err := Open(t).Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Try returns a trial of a run.
func Try(t testing.TB, run *debugkern.Run, trial debugkern.Trial) *debugkern.Run {
	t.Helper()
	out, err := run.Try(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
