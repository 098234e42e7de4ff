package debugkern

import "tilescope/probes"

// Crossed is offered by runs that two backends executed on the same PTX and inputs (--backend both): the
// run's own tiles are the GPU's, those next to it the emulator's.
type Crossed interface {
	// OtherTile is the emulator's tile at a place; ok is false where only one backend executed.
	OtherTile(p Place) (t probes.Tile, ok bool)
	// NextDiffering finds the nearest compared cell of the stage whose bits differ between both, after (dir
	// 1) or before (dir -1) a cell, in NextBad's order, wrapping; ok is false where there is none.
	NextDiffering(from Cell, dir int) (c Cell, ok bool)
}

var _ Crossed = (*Run)(nil)

// OtherTile implements Crossed.
func (r *Run) OtherTile(p Place) (probes.Tile, bool) {
	if r.state == nil || r.state.traced == nil {
		return probes.Tile{}, false
	}
	return r.state.traced.Tile(p.Stage, p.Block, p.KVTile), true
}

// NextDiffering implements Crossed.
func (r *Run) NextDiffering(from Cell, dir int) (Cell, bool) {
	if r.state == nil || r.state.traced == nil {
		return Cell{}, false
	}
	return r.NextUnlike(from, dir, r.OtherTile, nil)
}

// NextUnlike finds the nearest compared cell whose bits differ from those of the other tile of the same
// place, in NextBad's order, wrapping; places without another tile are passed over. Where beyond is not nil,
// it says which bits count as different.
func (r *Run) NextUnlike(
	from Cell, dir int, other func(Place) (probes.Tile, bool), beyond func(t probes.DType, p, q uint64) bool,
) (Cell, bool) {
	sp := r.Plan.Stage(from.Stage)
	if sp == nil {
		return Cell{}, false
	}
	for step, p := range r.around(from.Place, dir) {
		rows, cols := sp.ValidRows.At(p.Block, p.KVTile), sp.ValidCols.At(p.Block, p.KVTile)
		x := r.state.Tile(p.Stage, p.Block, p.KVTile)
		y, ok := other(p)
		if !ok || rows <= 0 || cols <= 0 || !x.Reached() && !y.Reached() {
			continue
		}
		i := 0
		if dir < 0 {
			i = rows*cols - 1
		}
		if step == 0 {
			i = from.Row*cols + min(from.Col, cols-1) + dir
		}
		for ; i >= 0 && i < rows*cols; i += dir {
			row, col := i/cols, i%cols
			if x.Same(y, row, col) {
				continue
			}
			if beyond == nil || !x.Captured(row, col) || !y.Captured(row, col) ||
				beyond(x.DType, x.Bits(row, col), y.Bits(row, col)) {
				return Cell{p, row, col}, true
			}
		}
	}
	return Cell{}, false
}
