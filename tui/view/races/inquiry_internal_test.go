package races

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
)

// TestABugEndsTheDiagnosisAlone: what panics in a diagnosis is its error.
func TestABugEndsTheDiagnosisAlone(t *testing.T) {
	d, err := session{nil}.Diagnose(t.Context(), debugkern.Request{Target: "stage2"}, diagnose.Options{})
	if d != nil || err == nil || !strings.Contains(err.Error(), "a bug of ours ended the diagnosis: ") {
		t.Errorf("%v, %v", d, err)
	}
}
