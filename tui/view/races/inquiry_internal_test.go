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

// TestADiagnosisIsOfOneLaunch: what was diagnosed of a file is no answer for another launch of it, or another
// kernel in it; the order of warps does not count.
func TestADiagnosisIsOfOneLaunch(t *testing.T) {
	of := func(schedule string, launch ...string) topic {
		return subject(debugkern.Request{Target: "k.cu", Launch: launch, Schedule: schedule})
	}
	first := of("", "--grid", "4", "--block", "128")
	for _, c := range []struct {
		other topic
		same  bool
	}{
		{of("random:7", "--grid", "4", "--block", "128"), true},
		{of("", "--grid", "2", "--block", "128"), false},
		{of("", "--entry", "b", "--grid", "4", "--block", "128"), false},
		{subject(debugkern.Request{
			Target: "k.cu", Launch: []string{"--grid", "4", "--block", "128"}, Define: []string{"X"},
		}), false},
	} {
		if (first == c.other) != c.same {
			t.Errorf("%+v and %+v", first, c.other)
		}
	}
}
