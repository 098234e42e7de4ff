package judge

import (
	"fmt"
	"slices"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Compare returns one captured tile with its local, global and mirrored references, with the bounds of
// each cell. It walks the block up to that tile: milliseconds. A tile that was not captured or not reached
// has Got nil.
func (j *Judgement) Compare(s probes.Stage, block probes.Dim3, kv int) (*TileDiff, error) {
	sp := j.ref.Plan().Stage(s)
	if sp == nil {
		return nil, fmt.Errorf("compare: kernel %s has no stage %s", j.ref.Plan().Kernel, s)
	}
	if !contains(j.ref.Plan().Grid, block) {
		return nil, fmt.Errorf("compare: block %s lies outside the grid %s", block, j.ref.Plan().Grid)
	}
	i := j.g.Index(s)
	w := newWalker(j.ref, j.src, j.opt)
	defer w.close()
	w.begin(block)
	if n := w.iters; sp.PerTile && (kv < 0 || kv >= n) {
		return nil, fmt.Errorf("compare: stage %s of block %s has %ss 0 to %d, not %d", s, block,
			j.ref.Plan().Work.TileName(), n-1, kv)
	}
	if !sp.PerTile {
		kv = 0
	}
	w.goTo(i, kv)
	d := j.lay(w, i, kv)
	if w.own(i) {
		d.Mirrored = rounded(sp.DType, d.Global)
		return d, nil
	}
	mirror, _ := j.ref.Mirror(block).Values(s, kv)
	if d.Mirrored = mirror.Data; d.Mirrored == nil {
		d.Mirrored = make([]float64, sp.Rows*sp.Cols)
	}
	return d, nil
}

func contains(grid, b probes.Dim3) bool {
	for i := range 3 {
		if b[i] < 0 || b[i] >= grid[i] {
			return false
		}
	}
	return true
}

// goTo walks to the iteration that a stage's estimates are made in.
func (w *walker) goTo(i, kv int) {
	last := kv
	switch w.g.Stage(i).Phase {
	case probes.PhaseBefore:
		last = -1
	case probes.PhaseAfter:
		last = w.iters - 1
	}
	for w.t < last {
		w.next()
	}
	if w.g.Stage(i).Phase == probes.PhaseAfter && w.looped() {
		w.end()
	}
}

func (j *Judgement) lay(w *walker, i, kv int) *TileDiff {
	sp := j.g.Stage(i)
	local, global := w.estimateOf(i), w.globalOf(i)
	d := &TileDiff{
		Place: place(sp, w.id, kv, w.iters), Rows: sp.Rows, Cols: sp.Cols,
		Verdict: j.Tile(sp.Stage, w.id, kv),
	}
	d.ValidRows, d.ValidCols = j.g.Valid(i, w.id, kv)
	if got := w.left(i); got.ok {
		d.Got = slices.Clone(got.m.Data)
		d.Absent = slices.Clone(got.absent)
		d.NoLocal = w.notLocal(i)
	}
	d.Local, d.LocalBound = d.cut(local.Ref), d.cut(local.Bound)
	d.Global, d.GlobalBound = d.cut(global.Ref), d.cut(global.Bound)
	return d
}

// cut copies a matrix with zeros outside the compared cells, where an estimate's scratch is meaningless.
func (d *TileDiff) cut(m op.Matrix) []float64 {
	out := make([]float64, d.Rows*d.Cols)
	for r := range d.ValidRows {
		copy(out[r*d.Cols:r*d.Cols+d.ValidCols], m.Row(r)[:d.ValidCols])
	}
	return out
}

// notLocal marks the cells of the current tile of a stage that are not judged locally, nil for none.
func (w *walker) notLocal(i int) []bool {
	cells, all := w.unseen(i)
	if all {
		sp := w.g.Stage(i)
		cells = make([]bool, sp.Rows*sp.Cols)
		for k := range cells {
			cells[k] = true
		}
	}
	return cells
}
