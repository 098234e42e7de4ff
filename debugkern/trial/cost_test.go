package trial

import "testing"

// TestCostIsNeverNone: a change of less than a tenth of a per cent is not written as 0.0 %.
func TestCostIsNeverNone(t *testing.T) {
	for after, want := range map[uint64]string{
		305104: "0 warp instructions more of 305104 (+0.0 %)",
		305152: "48 warp instructions more of 305104 (less than 0.1 %)",
		305056: "48 warp instructions less of 305104 (less than 0.1 %)",
		308104: "3000 warp instructions more of 305104 (+1.0 %)",
	} {
		if got := (Cost{Instructions: 305104, InstructionsAfter: after}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
