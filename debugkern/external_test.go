package debugkern_test

import (
	"testing"

	"tilescope/debugkern"
)

// openSession opens a session as a user of the package does, with the emulator alone.
func openSession(t *testing.T) *debugkern.Session {
	t.Helper()
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
