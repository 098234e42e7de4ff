package pipe

import (
	"math"
	"testing"

	"tilescope/debugkern/report"
)

// The bound is that of the largest error where both are of one cell; else the cell that is worst for its
// bound has its own figures.
func TestStatsText(t *testing.T) {
	for want, s := range map[string]report.ErrorStats{
		"max error 0.000972 (0 ulp), bound 0.000977 · none of 32768 cells bad": {Cells: 32768, MaxAbs: 0.000972,
			Error: 0.000972, Bound: 0.000977},
		"3 of 64 cells bad · max error 0.5 (7 ulp) · worst cell: error 0.01, bound 0.001": {
			Bad: 3, Cells: 64, MaxAbs: 0.5, MaxULP: 7, Error: 0.01, Bound: 0.001},
		"2 of 64 cells bad · max error +Inf (0 ulp), bound 0.001 · 2 NaN or Inf": {
			Bad: 2, Cells: 64, MaxAbs: report.Number(math.Inf(1)), Error: report.Number(math.Inf(1)),
			Bound: 0.001, Nonfinite: 2},
		"max error 0.5 (7 ulp), within its bound · worst cell: error 0.01, bound 0.02 · none of 64 cells bad": {
			Cells: 64, MaxAbs: 0.5, MaxULP: 7, Error: 0.01, Bound: 0.02},
	} {
		if got := statsText(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
