package diff

import (
	"math"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// outside compares the current tile's cells beyond the valid ones with what the manifest says stands there (zero or −inf; not
// where it is unspecified). A cell counts only where a valid result of a later stage reads it: where the sum over keys or
// over D runs across it and what it is multiplied with is not 0, or it is no number, which 0 does not undo. It is exact: a cell
// that counts and differs is bad, locally and globally.
func (w *walker) outside(sp *probes.StagePlan, v *view, note func(row, col int, got, want float64)) (bad, nonfinite int32) {
	want := 0.0
	switch sp.Outside {
	case probes.OutsideUnspecified:
		return 0, 0
	case probes.OutsideNegInf:
		want = math.Inf(-1)
	}
	rows, cols := [2]int{0, v.rows}, [2]int{v.cols, v.got.m.Cols}
	switch stepOf(sp) {
	case attn.StepV: // summed over its rows
		rows, cols = [2]int{v.rows, v.got.m.Rows}, [2]int{0, v.cols}
	case attn.StepK, attn.StepS, attn.StepP: // summed along its columns
	default:
		return 0, 0
	}
	for r := rows[0]; r < rows[1]; r++ {
		for c := cols[0]; c < cols[1]; c++ {
			got := v.got.m.At(r, c)
			odd := math.IsNaN(got) || math.IsInf(got, 0)
			if got == want || v.got.missing(r, c) || !(odd && w.multiplied(stepOf(sp))) && !w.reads(stepOf(sp), r, c) {
				continue
			}
			note(r, c, got, want)
			bad++
			if odd {
				nonfinite++
			}
		}
	}
	return bad, nonfinite
}

// multiplied reports whether a stage's cells are factors of products, so that NaN and infinities spoil the sum even
// where the other factor is 0.
func (w *walker) multiplied(s attn.Step) bool { return s != attn.StepS }

// reads reports whether what a cell of a stage meets in the next sum is anything but 0. Where that was not captured, nothing is
// known to read the cell.
func (w *walker) reads(s attn.Step, row, col int) bool {
	switch s {
	case attn.StepK: // met by column col of Q
		q := &w.own[attn.StepQ]
		return q.ok && anyInColumn(q.m, w.blk.Rows, col)
	case attn.StepS: // exponentiated into P
		p := &w.own[attn.StepP]
		return p.ok && p.m.At(row, col) != 0
	case attn.StepP: // met by row col of V
		v := &w.own[attn.StepV]
		return v.ok && col < v.m.Rows && anyInRow(v.m, col)
	case attn.StepV: // met by column row of P
		p := &w.own[attn.StepP]
		return p.ok && anyInColumn(p.m, w.blk.Rows, row)
	}
	return false
}

// missing reports whether no thread captured a cell: what stands there is no number of the kernel's.
func (t *tile) missing(row, col int) bool {
	return t.raw.Absent != nil && t.raw.Absent[row*t.raw.Cols+col]
}

func anyInRow(m attn.Matrix, row int) bool {
	for _, x := range m.Row(row) {
		if x != 0 {
			return true
		}
	}
	return false
}

// anyInColumn looks at the first rows rows.
func anyInColumn(m attn.Matrix, rows, col int) bool {
	if col >= m.Cols {
		return false
	}
	for r := range min(rows, m.Rows) {
		if m.At(r, col) != 0 {
			return true
		}
	}
	return false
}
