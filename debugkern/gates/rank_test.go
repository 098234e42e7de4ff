package gates

import (
	"math"
	"testing"
)

// TestMannWhitney holds the test to values worked out by hand: U by counting pairs, p by the normal
// approximation with correction for ties and continuity.
func TestMannWhitney(t *testing.T) {
	for _, c := range []struct {
		a, b         []float64
		u, p, effect float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0, 0.08085560, 1},
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, 9, 0.08085560, -1},
		{[]float64{1, 2, 2}, []float64{2, 3, 3}, 1, 0.15729921, 1 - 2.0/9},
		{[]float64{1, 4}, []float64{2, 3}, 2, 1, 0},
		{[]float64{5, 5, 5}, []float64{5, 5}, 3, 1, 0},
		{nil, []float64{1}, 0, 1, 0},
	} {
		got := mannWhitney(c.a, c.b)
		if got.U != c.u || math.Abs(got.P-c.p) > 1e-7 || math.Abs(got.Effect-c.effect) > 1e-12 {
			t.Errorf("%v against %v: %+v, want U %v p %v effect %v", c.a, c.b, got, c.u, c.p, c.effect)
		}
	}
}

func TestSummarise(t *testing.T) {
	got := summarise([]float64{4, 1, 3, 2, 5})
	if got.P50 != 3 || math.Abs(got.P90-4.6) > 1e-12 || math.Abs(got.Mean-3) > 1e-12 ||
		math.Abs(got.Std-math.Sqrt(2.5)) > 1e-12 || got.Min != 1 || got.Max != 5 {
		t.Errorf("%+v", got)
	}
	if got.Samples[0] != 4 {
		t.Error("samples stay in order of launching")
	}
	if summarise(nil) != nil {
		t.Error("nothing sums up to nothing")
	}
}
