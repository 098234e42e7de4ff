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
		"bad 0/32768 · max error 0.000972 (0 ulp), bound 0.000977": {Cells: 32768, MaxAbs: 0.000972,
			Error: 0.000972, Bound: 0.000977},
		"bad 3/64 · max error 0.5 (7 ulp) · worst cell: error 0.01, bound 0.001": {
			Bad: 3, Cells: 64, MaxAbs: 0.5, MaxULP: 7, Error: 0.01, Bound: 0.001},
		"bad 2/64 · max error +Inf (0 ulp), bound 0.001 · 2 NaN or Inf": {
			Bad: 2, Cells: 64, MaxAbs: report.Number(math.Inf(1)), Error: report.Number(math.Inf(1)),
			Bound: 0.001, Nonfinite: 2},
	} {
		if got := statsText(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
