package judge

import (
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// A cell that no thread captured is no number. It is compared with nothing, and what is computed from it
// cannot be judged from the kernel's own tiles: there, only the global comparison remains.

// operand is the kernel's tile that a use means in the current iteration.
func (w *walker) operand(u ref.Use) *tile {
	if u.Before {
		return &w.previous[u.Stage]
	}
	return &w.captured[u.Stage]
}

// due reports whether the tile of a use should have been captured: whether the manifest and the
// request ask for it.
func (w *walker) due(u ref.Use) bool {
	if w.iters == 0 && w.g.Stage(u.Stage).Phase == probes.PhaseEach {
		return false
	}
	kv := min(max(w.t, 0), max(w.iters, 1)-1)
	if u.Before {
		kv--
	}
	sp := w.plan.Stage(w.g.Stage(u.Stage).Stage)
	if sp == nil || kv < 0 || !w.have.Has(sp.Stage) || !w.judged(u.Stage) ||
		sp.Capture.Kind == probes.CaptureNone {
		return false
	}
	return !sp.PerTile || kv >= w.rng.TileLo && kv < w.rng.TileLo+w.rng.TileN
}

// unseen marks the cells of the current tile of a stage that cannot be judged from the kernel's own tiles,
// because what they are computed from was to be captured and was not: nil for none, all for every cell.
func (w *walker) unseen(i int) (cells []bool, all bool) {
	for _, u := range w.g.Uses(i) {
		if u.Before && w.t <= 0 {
			continue
		}
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
		sp := w.g.Stage(i)
		if cells == nil {
			cells = make([]bool, sp.Rows*sp.Cols)
		}
		t.spread(cells, sp.Rows, sp.Cols, u.Needs)
	}
	return cells, false
}

// spread marks the result cells that depend on an absent cell of t.
func (t *tile) spread(cells []bool, rows, cols int, how op.Need) {
	for i, a := range t.absent {
		if !a {
			continue
		}
		row, col := i/t.m.Cols, i%t.m.Cols
		switch {
		case how == op.WholeTile:
			for k := range cells {
				cells[k] = true
			}
		case how == op.WholeColumn && col < cols:
			for r := range rows {
				cells[r*cols+col] = true
			}
		case how == op.ColumnOfRow && col < rows:
			for c := range cols {
				cells[col*cols+c] = true
			}
		case how == op.RowOfColumn && row < cols:
			for r := range rows {
				cells[r*cols+row] = true
			}
		case row >= rows:
		case how == op.SameCell && t.m.Cols == cols:
			cells[row*cols+col] = true
		case how == op.WholeRow || how == op.SameCell && t.m.Cols == 1:
			for c := range cols {
				cells[row*cols+c] = true
			}
		}
	}
}

// absentIn returns the marks of the cells among the first rows and cols that no thread captured, and their
// number; nil where there are none.
func absentIn(t probes.Tile, rows, cols int) ([]bool, int) {
	cells, n := make([]bool, len(t.Absent)), 0
	for r := range min(rows, t.Rows) {
		for i := r * t.Cols; i < r*t.Cols+min(cols, t.Cols); i++ {
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

// without returns a comparison in which some cells count for nothing: there tile and estimate are both 0.
// left is how many of the compared cells remain.
func without(v *view, e *ref.Estimate, cells []bool) (*view, *ref.Estimate, int) {
	out, own, est := *v, *v.got, *ref.NewEstimate(e.Ref.Rows, e.Ref.Cols)
	own.m.Data = append([]float64(nil), v.got.m.Data...)
	copy(est.Ref.Data, e.Ref.Data)
	copy(est.Pre.Data, e.Pre.Data)
	copy(est.Bound.Data, e.Bound.Data)
	left := v.rows * v.cols
	for r := range v.rows {
		for c := range v.cols {
			if i := r*e.Ref.Cols + c; cells[i] {
				own.m.Data[r*own.m.Cols+c], est.Ref.Data[i], est.Pre.Data[i], est.Bound.Data[i] = 0, 0, 0, 1
				left--
			}
		}
	}
	out.got = &own
	return &out, &est, left
}
