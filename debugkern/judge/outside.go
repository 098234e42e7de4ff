package judge

import (
	"math"

	"tilescope/probes"
)

// outside compares the current tile's cells beyond the valid ones with what the manifest says stands there
// (zero or −inf; not where it is unspecified). A cell counts only where a valid result of a later stage reads
// it: where the sum over keys or over D runs across it and what it is multiplied with is not 0, or it is no
// number, which 0 does not undo. It is exact: a cell that counts and differs is bad, locally and globally.
func (w *walker) outside(i int, v *view, note func(row, col int, got, want float64)) (bad, nonfinite int32) {
	sp, want := w.g.Stage(i), 0.0
	switch sp.Outside {
	case probes.OutsideUnspecified:
		return 0, 0
	case probes.OutsideNegInf:
		want = math.Inf(-1)
	}
	further, wider := w.g.Beyond(i)
	if further {
		w.region(i, [2]int{v.rows, v.got.m.Rows}, [2]int{0, v.cols}, v, want, note, &bad, &nonfinite)
	}
	if wider {
		w.region(i, [2]int{0, v.rows}, [2]int{v.cols, v.got.m.Cols}, v, want, note, &bad, &nonfinite)
	}
	return bad, nonfinite
}

// region is outside for some rows and columns.
func (w *walker) region(
	i int, rows, cols [2]int, v *view, want float64, note func(row, col int, got, want float64),
	bad, nonfinite *int32,
) {
	for r := rows[0]; r < rows[1]; r++ {
		for c := cols[0]; c < cols[1]; c++ {
			got := v.got.m.At(r, c)
			odd := math.IsNaN(got) || math.IsInf(got, 0)
			if got == want || v.got.missing(r, c) || !w.local.Reads(i, r, c, odd) {
				continue
			}
			note(r, c, got, want)
			*bad++
			if odd {
				*nonfinite++
			}
		}
	}
}

// missing reports whether no thread captured a cell: what stands there is no number of the kernel's.
func (t *tile) missing(row, col int) bool {
	return t.raw.Absent != nil && t.raw.Absent[row*t.raw.Cols+col]
}
