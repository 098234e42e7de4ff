package diagnose

import (
	"math"
	"testing"
)

// TestRangeOfAPicture: the caption of a tile has the tile's own range, not that of the colours, which are the
// reference's for both.
func TestRangeOfAPicture(t *testing.T) {
	g := grid{rows: 2, cols: 2, stride: 3} // the third column is not compared
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{-7.5, 1, 99, 2, 7.25, 99}, "-7.5 to 7.25"},
		{[]float64{-7.5, math.NaN(), 99, math.Inf(1), 7.25, 99}, "-7.5 to 7.25, 2 NaN or Inf"},
		{[]float64{math.NaN(), math.NaN(), 99, math.Inf(-1), math.NaN(), 99}, "all NaN or Inf"},
		{[]float64{3, 3, 99, 3, 3, 99}, "3 to 3"},
	} {
		if got := g.rangeText(func(i int) float64 { return c.values[i] }); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
