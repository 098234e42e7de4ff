package cell

import (
	"math"
	"testing"
)

// TestShare: the short form and the words have one unit for an error that is large against its bound.
func TestShare(t *testing.T) {
	for x, want := range map[float64][2]string{
		0:            {"0 %", ""},
		1e-5:         {"0 %", "below 0.1 % of its bound"},
		0.25:         {"25 %", "25 % of its bound"},
		0.994:        {"99.4 %", "99.4 % of its bound"},
		0.99999:      {"99.9 %", "99.9 % of its bound"},
		1:            {"100 %", "100 % of its bound"},
		1.0001:       {"×1.01", "1.01 times its bound"},
		3.25:         {"×3.25", "3.25 times its bound"},
		9.999:        {"×9.99", "9.99 times its bound"},
		25481:        {"×25k", "25k times its bound"},
		1.9e10:       {"×2e+10", "2e+10 times its bound"},
		math.Inf(1):  {"", ""},
		math.Inf(-1): {"", ""},
	} {
		if short, words := Share(x), OfBound(x); short != want[0] || words != want[1] {
			t.Errorf("%g: %q and %q, want %q", x, short, words, want)
		}
	}
	if nan := math.NaN(); Share(nan) != "" || OfBound(nan) != "" {
		t.Errorf("NaN: %q and %q", Share(nan), OfBound(nan))
	}
}
