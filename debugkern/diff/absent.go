package diff

import (
	"tilescope/probes"

	"tilescope/debugkern/attn"
)

// A cell that no thread captured is no number. It is compared with nothing, and what is computed from it cannot be
// judged from the kernel's own tiles: there, only the global comparison remains.

// use is a stage that another one is computed from, and which of its cells one result cell depends on.
type use struct {
	stage  attn.Step
	before bool // of the kv tile before
	needs  dependence
}

// dependence says which cells of an operand result cell (i, j) needs.
type dependence uint8

const (
	sameCell dependence = iota // (i, j) of (i, j); of a vector, row i
	wholeRow                   // all columns of row i
	rowOfCol                   // all columns of row j: K in S = Q·Kᵀ
	wholeCol                   // all rows of column j: V in U = P·V
)

// operands are what each stage is computed from, in the order of the algorithm.
var operands = [attn.NumSteps][]use{
	attn.StepS: {{attn.StepQ, false, wholeRow}, {attn.StepK, false, rowOfCol}},
	attn.StepM: {{attn.StepS, false, wholeRow}, {attn.StepM, true, sameCell}},
	attn.StepL: {{attn.StepS, false, wholeRow}, {attn.StepM, false, sameCell}, {attn.StepM, true, sameCell}, {attn.StepL, true, sameCell}},
	attn.StepP: {{attn.StepS, false, sameCell}, {attn.StepM, false, sameCell}},
	attn.StepU: {
		{attn.StepP, false, wholeRow}, {attn.StepV, false, wholeCol}, {attn.StepM, false, sameCell},
		{attn.StepM, true, sameCell}, {attn.StepU, true, sameCell},
	},
	attn.StepO: {{attn.StepU, false, sameCell}, {attn.StepL, false, sameCell}},
}

// operand is the kernel's tile that a use means at the current kv tile.
func (w *walker) operand(u use) *tile {
	if u.before {
		return &w.was[u.stage]
	}
	return &w.own[u.stage]
}

// due reports whether the tile of a use should have been captured: whether the manifest and the request ask for it.
func (w *walker) due(u use) bool {
	kv := min(w.t, len(w.blk.Tiles)-1)
	if u.before {
		kv--
	}
	sp := w.plan.Stage(u.stage.Stage())
	if sp == nil || kv < 0 || !w.have.Has(sp.Stage) || !w.judged(u.stage) || sp.Capture.Kind == probes.CaptureNone {
		return false
	}
	return !sp.PerTile || kv >= w.rng.TileLo && kv < w.rng.TileLo+w.rng.TileN
}

// unseen marks the cells of the current tile of stage s that cannot be judged from the kernel's own tiles, because what they
// are computed from was to be captured and was not: nil for none, all for every cell.
func (w *walker) unseen(s attn.Step) (cells []bool, all bool) {
	for _, u := range operands[s] {
		t := w.operand(u)
		if !t.ok {
			if w.due(u) {
				return nil, true
			}
			continue
		}
		if t.absent == nil {
			continue
		}
		m := w.local[s].ref
		if cells == nil {
			cells = make([]bool, m.Rows*m.Cols)
		}
		t.spread(cells, m.Rows, m.Cols, u.needs)
	}
	return cells, false
}

// spread marks the result cells that depend on an absent cell of t.
func (t *tile) spread(cells []bool, rows, cols int, how dependence) {
	for i, a := range t.absent {
		if !a {
			continue
		}
		row, col := i/t.m.Cols, i%t.m.Cols
		switch {
		case how == wholeCol && col < cols:
			for r := range rows {
				cells[r*cols+col] = true
			}
		case how == rowOfCol && row < cols:
			for r := range rows {
				cells[r*cols+row] = true
			}
		case row >= rows:
		case how == sameCell && t.m.Cols == cols:
			cells[row*cols+col] = true
		case how == wholeRow || how == sameCell && t.m.Cols == 1:
			for c := range cols {
				cells[row*cols+c] = true
			}
		}
	}
}

// absentIn returns the marks of the compared cells that no thread captured, and their number; nil where there are none.
func absentIn(t probes.Tile, sp *probes.StagePlan, block probes.Dim3, kv int) ([]bool, int) {
	cells, n := make([]bool, len(t.Absent)), 0
	cols := clamp(sp.ValidCols.At(block, kv), t.Cols)
	for r := range clamp(sp.ValidRows.At(block, kv), t.Rows) {
		for i := r * t.Cols; i < r*t.Cols+cols; i++ {
			if t.Absent[i] {
				cells[i] = true
				n++
			}
		}
	}
	if n == 0 {
		return nil, 0
	}
	return cells, n
}

// union is the cells of either set; nil where both are.
func union(a, b []bool) []bool {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	out := make([]bool, len(a))
	for i := range a {
		out[i] = a[i] || b[i]
	}
	return out
}

// without returns a comparison in which some cells count for nothing: there tile and estimate are both 0. left is how many of
// the compared cells remain.
func without(v *view, e *estimate, cells []bool) (*view, *estimate, int) {
	out, own, est := *v, *v.got, *newEstimate(e.ref.Rows, e.ref.Cols)
	own.m.Data = append([]float64(nil), v.got.m.Data...)
	copy(est.ref.Data, e.ref.Data)
	copy(est.pre.Data, e.pre.Data)
	copy(est.bound.Data, e.bound.Data)
	left := v.rows * v.cols
	for r := range v.rows {
		for c := range v.cols {
			if i := r*e.ref.Cols + c; cells[i] {
				own.m.Data[r*own.m.Cols+c], est.ref.Data[i], est.pre.Data[i], est.bound.Data[i] = 0, 0, 0, 1
				left--
			}
		}
	}
	out.got = &own
	return &out, &est, left
}
