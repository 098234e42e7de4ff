package report

import (
	"testing"

	"tilescope/debugkern/target"
)

// TestOutermost: the place in the kernel's own text is the first of the call sites, or the place itself.
func TestOutermost(t *testing.T) {
	at := Source{File: "f.cuh", Line: 3, Function: "g"}
	if own := at.Outermost(); own != at {
		t.Errorf("not inlined: %v", own)
	}
	at.Calls = target.CallsOf([]target.Site{{File: "k.cu", Line: 9, Function: "k"}, {File: "f.cuh", Line: 7}})
	if own := at.Outermost(); own != (Source{File: "k.cu", Line: 9, Function: "k"}) {
		t.Errorf("inlined through %s: %v", at.Calls.Text(""), own)
	}
}
