package trial

import (
	"math"

	"tilescope/debugkern"
	"tilescope/probes"
)

// differing returns, for each stage with a tile whose compared cells differ between two executions,
// the first such tile.
func differing(a, b *debugkern.Outcome) map[probes.Stage]debugkern.Place {
	out := map[probes.Stage]debugkern.Place{}
	p := a.Plan()
	for _, sp := range p.Tiles() {
		if sp.OfLaunch() {
			at := debugkern.Place{Stage: sp.Stage}
			if !sp.Capture.Before && !sameCells(a.Tile(at), b.Tile(at), sp.Rows, sp.Cols) {
				out[sp.Stage] = at
			}
			continue
		}
		for _, block := range a.Blocks() {
			lo, n := a.Tiles(sp, block)
			for kv := lo; kv < lo+n; kv++ {
				at := debugkern.Place{Stage: sp.Stage, Block: block, KVTile: kv}
				if was, ok := out[sp.Stage]; ok && !earlier(at, was, p) {
					continue
				}
				if x, y := a.Tile(at), b.Tile(at); !sameCells(x, y, sp.ValidRows.At(block, kv),
					sp.ValidCols.At(block, kv)) {
					out[sp.Stage] = at
				}
			}
		}
	}
	return out
}

func sameCells(x, y probes.Tile, rows, cols int) bool {
	if x.Reached() != y.Reached() || !x.Reached() {
		return x.Reached() == y.Reached()
	}
	if x.Absent != nil || y.Absent != nil {
		for i := range min(rows, x.Rows) * min(cols, x.Cols) {
			if row, col := i/min(cols, x.Cols), i%min(cols, x.Cols); x.Captured(row,
				col) != y.Captured(row, col) {
				return false
			}
		}
	}
	size := x.DType.Size()
	for r := range min(rows, x.Rows) {
		from := r * x.Cols * size
		to := from + min(cols, x.Cols)*size
		if string(x.Data[from:to]) != string(y.Data[from:to]) {
			return false
		}
	}
	return true
}

// earlier orders tiles as documents do: by kv tile (what is computed before the loop first, after it last),
// then stage, then block.
func earlier(a, b debugkern.Place, plan *probes.Plan) bool {
	key := func(p debugkern.Place) int {
		if sp := plan.Stage(p.Stage); sp != nil {
			return sp.KVTile(p.KVTile, math.MaxInt)
		}
		return p.KVTile
	}
	if x, y := key(a), key(b); x != y {
		return x < y
	}
	if a.Stage != b.Stage {
		return plan.Index(a.Stage) < plan.Index(b.Stage)
	}
	return plan.Grid.Linear(a.Block) < plan.Grid.Linear(b.Block)
}

// outputChange is the largest difference between two executions' outputs over the blocks executed.
func outputChange(a, b *debugkern.Outcome) float64 {
	sp := a.Plan().Output()
	if sp == nil {
		return 0
	}
	most := 0.0
	for _, block := range a.Blocks() {
		at := debugkern.Place{Stage: sp.Stage, Block: block}
		x, y := a.Tile(at), b.Tile(at)
		for r := range sp.ValidRows.At(block, 0) {
			for c := range sp.ValidCols.At(block, 0) {
				u, v := x.At(r, c), y.At(r, c)
				if u == v || u != u && v != v {
					continue
				}
				if d := math.Abs(u - v); d <= math.MaxFloat64 {
					most = max(most, d)
				} else {
					most = math.Inf(1)
				}
			}
		}
	}
	return most
}
