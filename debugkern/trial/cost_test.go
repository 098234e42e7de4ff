package trial

import "testing"

// TestCostIsNeverNone: a small change is not written as none.
func TestCostIsNeverNone(t *testing.T) {
	for after, want := range map[uint64]string{
		305104: "0 warp instructions more of 305104 (0 %)",
		305152: "48 warp instructions more of 305104 (+0.016 %)",
		305056: "48 warp instructions less of 305104 (-0.016 %)",
		308104: "3000 warp instructions more of 305104 (+0.98 %)",
	} {
		if got := (Cost{Instructions: 305104, InstructionsAfter: after}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
