package report

import (
	"testing"

	"tilescope/debugkern/target"
)

// TestCounted: the number of a finding has a unit, by the finding's kind.
func TestCounted(t *testing.T) {
	for _, c := range []struct {
		kind      string
		n         int
		long, few string
	}{
		{"race", 4, "4 pairs of accesses", "4 pairs"}, {"race", 1, "1 pair of accesses", "1 pair"},
		{"out-of-bounds", 2, "2 accesses", "2 accesses"},
		{"bank-conflict", 16, "16 accesses of warps", "16 accesses"},
		{"unwritten", 37, "37 elements", "37 elements"}, {"not-captured", 8, "8 cells", "8 cells"},
		{"trap", 3, "3 times", "3 times"},
	} {
		f := Finding{Kind: c.kind, Count: c.n}
		if long, few := f.Counted(false), f.Counted(true); long != c.long || few != c.few {
			t.Errorf("%s: %q and %q, expected %q and %q", c.kind, long, few, c.long, c.few)
		}
	}
}

// TestFindingID: a race between blocks is not the one between warps at the same line, whose id does not
// change.
func TestFindingID(t *testing.T) {
	at := &target.Source{File: "k.cu", Line: 3, Function: "k"}
	within := target.Finding{Kind: target.Race, Variable: "x", Source: at, Other: at}
	across := within
	across.Across = true
	fs := FindingsOf([]target.Finding{within, across})
	if fs[0].ID != "race-bbf15a42" || fs[1].ID == fs[0].ID {
		t.Errorf("ids %s and %s", fs[0].ID, fs[1].ID)
	}
}
