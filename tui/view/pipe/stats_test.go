package pipe

import (
	"math"
	"testing"

	"tilescope/debugkern/report"
)

// TestStatsText: the worst cell is the one with the largest share of its bound, and is written with that
// bound; a larger error of another cell says why it is within its own.
func TestStatsText(t *testing.T) {
	inf := report.Number(math.Inf(1))
	for want, s := range map[string]report.ErrorStats{
		"none of 32768 cells bad · worst error 0.000972 = 99.4 % of its bound 0.000977": {Cells: 32768,
			MaxAbs: 0.000972, Error: 0.000972, Bound: 0.000977},
		"none of 32768 cells bad · worst error 0.000972 = 99.4 % of its bound 0.000977 · max error 0.00163, " +
			"where the bound is larger": {Cells: 32768, MaxAbs: 0.00163, Error: 0.000972, Bound: 0.000977},
		"3 of 64 cells bad · worst error 0.01, 10 times its bound 0.001 · max error 0.5, where the bound is larger": {
			Bad: 3, Cells: 64, MaxAbs: 0.5, MaxULP: 7, Error: 0.01, Bound: 0.001},
		"2 of 64 cells bad · worst error NaN/Inf, bound 0.001 · 2 NaN or Inf": {
			Bad: 2, Cells: 64, MaxAbs: inf, Error: inf, Bound: 0.001, Nonfinite: 2},
		"1 of 64 cells bad · worst error 0.5, bound 0 · max error NaN/Inf · 1 NaN or Inf": {
			Bad: 1, Cells: 64, MaxAbs: inf, Error: 0.5, Nonfinite: 1},
		"2 of 64 cells bad · worst error NaN, bound 0.001 · 2 NaN": {
			Bad: 2, Cells: 64, MaxAbs: inf, Error: inf, Bound: 0.001, Nonfinite: 2, NaN: 2},
		"none of 64 cells bad · no error in any":                         {Cells: 64},
		"no cell is compared: what it is computed from was not captured": {},
	} {
		if got := statsText(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
