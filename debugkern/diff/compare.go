package diff

import (
	"fmt"
	"slices"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// Compare lays one captured tile beside its local, global and mirrored references, with the bounds of each cell. It walks
// the block up to that tile: milliseconds. A tile that was not captured or not reached has Got nil.
func (j *Judgement) Compare(s probes.Stage, block probes.Dim3, kv int) (*TileDiff, error) {
	sp := j.ref.Plan().Stage(s)
	if sp == nil {
		return nil, fmt.Errorf("compare: kernel %s has no stage %s", j.ref.Plan().Kernel, s)
	}
	if !contains(j.ref.Plan().Grid, block) {
		return nil, fmt.Errorf("compare: block %s lies outside the grid %s", block, j.ref.Plan().Grid)
	}
	w := newWalker(newRules(j.ref, j.opt.weights), j.src, j.opt)
	defer j.opt.Memory.give(w)
	w.begin(j.ref.Block(block))
	n := len(w.blk.Tiles)
	if sp.PerTile && (kv < 0 || kv >= n) {
		return nil, fmt.Errorf("compare: stage %s of block %s has kv tiles 0 to %d, not %d", s, block, n-1, kv)
	}
	if !sp.PerTile {
		kv = 0
	}
	w.goTo(sp, kv)
	d := j.lay(w, sp, kv)
	mirror, _ := j.ref.Mirror(block).Stage(s, kv)
	d.Mirrored = mirror.Data
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

// goTo walks to the kv tile that a stage's estimates are made at.
func (w *walker) goTo(sp *probes.StagePlan, kv int) {
	last := kv
	switch {
	case sp.Phase == probes.PhaseBefore:
		last = -1
	case !sp.PerTile:
		last = len(w.blk.Tiles) - 1
	}
	for w.t < last {
		w.next()
	}
	if sp.Phase == probes.PhaseAfter {
		w.end()
	}
}

func (j *Judgement) lay(w *walker, sp *probes.StagePlan, kv int) *TileDiff {
	s := stepOf(sp)
	local, global := w.estimateOf(s), w.global[s]
	d := &TileDiff{Place: place(sp, w.blk.ID, kv, len(w.blk.Tiles)), Rows: sp.Rows, Cols: sp.Cols, Verdict: j.Tile(sp.Stage, w.blk.ID, kv)}
	d.ValidRows = clamp(sp.ValidRows.At(w.blk.ID, kv), sp.Rows)
	d.ValidCols = clamp(sp.ValidCols.At(w.blk.ID, kv), sp.Cols)
	if got := w.left(s); got.ok {
		d.Got = slices.Clone(got.m.Data)
		d.Absent = slices.Clone(got.absent)
		d.NoLocal = w.notLocal(s)
	}
	d.Local, d.LocalBound = d.cut(local.ref), d.cut(local.bound)
	d.Global, d.GlobalBound = d.cut(global.ref), d.cut(global.bound)
	return d
}

// cut copies a matrix with zeros outside the compared cells, where an estimate's scratch is meaningless.
func (d *TileDiff) cut(m attn.Matrix) []float64 {
	out := make([]float64, d.Rows*d.Cols)
	for r := range d.ValidRows {
		copy(out[r*d.Cols:r*d.Cols+d.ValidCols], m.Row(r)[:d.ValidCols])
	}
	return out
}

// notLocal marks the cells of the current tile of a stage that are not judged locally, nil for none.
func (w *walker) notLocal(s attn.Step) []bool {
	cells, all := w.unseen(s)
	if all {
		cells = make([]bool, len(w.local[s].ref.Data))
		for i := range cells {
			cells[i] = true
		}
	}
	return cells
}
