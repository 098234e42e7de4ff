package input

import (
	"math"
	"testing"

	"tilescope/probes"
)

// Large inputs are the normal ones, eight times as large.
func TestFillLarge(t *testing.T) {
	normal, many := probes.Fill{Kind: probes.FillRandn}, probes.Fill{Kind: probes.FillLarge}
	for i := range 100 {
		if a, b := realAt(normal, 3, 1, i), realAt(many, 3, 1, i); b != 8*a || a == 0 {
			t.Fatalf("element %d: %g and %g", i, a, b)
		}
		a := math.Float64frombits(bitsOf(normal, probes.F64, 3, 1, i))
		if b := math.Float64frombits(bitsOf(many, probes.F64, 3, 1, i)); b != 8*a {
			t.Fatalf("element %d: %g and %g", i, a, b)
		}
	}
}
