package text

import (
	"math"
	"testing"
)

func TestDiffering(t *testing.T) {
	for _, c := range []struct {
		a, b         float64
		first, other string
	}{
		{1, 2, "1", "2"},
		{-1.11859, -1.11859, "-1.11859", "-1.11859"},
		{-1.118587, -1.118592, "-1.118587", "-1.118592"},
		{1e-8, 1.5e-8, "1e-08", "1.5e-08"},
		{math.NaN(), 0.25, "NaN", "0.25"},
		{math.NaN(), math.NaN(), "NaN", "NaN"},
	} {
		if a, b := Differing(c.a, c.b); a != c.first || b != c.other {
			t.Errorf("%g and %g: %s and %s, expected %s and %s", c.a, c.b, a, b, c.first, c.other)
		}
	}
}
