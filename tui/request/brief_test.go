package request

import (
	"testing"

	"tilescope/debugkern"
)

// TestBrief: a file is named without its folders, whatever separates them; a target of the catalogue as it
// is.
func TestBrief(t *testing.T) {
	for target, want := range map[string]string{
		"stage2": "stage2 seed 3", "/home/somebody/deep/k.yaml": "k.yaml seed 3",
		`C:\deep\k.cu`: "k.cu seed 3",
	} {
		if got := Brief(debugkern.Request{Target: target, Seed: 3}); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}
