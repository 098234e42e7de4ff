package report

import "testing"

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
