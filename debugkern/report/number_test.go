package report

import (
	"math"
	"testing"
)

// TestSize: an error in which a NaN or an infinity takes part has no size, and is written as no number.
func TestSize(t *testing.T) {
	for want, v := range map[string]float64{"0.125": 0.125, "0": 0, "1.31": 1.3125, "0.5": 0.5} {
		if got := Number(v).Size("%.3g"); got != want {
			t.Errorf("%v: %q", v, got)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := Number(v).Size("%.3g"); got != "NaN/Inf" {
			t.Errorf("%v: %q", v, got)
		}
	}
}
