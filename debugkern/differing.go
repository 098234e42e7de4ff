package debugkern

import (
	"context"
	"math"

	"tilescope/debugkern/judge"
	"tilescope/probes"
)

// differing returns, for each stage with a tile whose compared cells differ between two executions, the first such tile.
func differing(a, b *runState) map[probes.Stage]Place {
	out := map[probes.Stage]Place{}
	p := a.r.plan
	for i := range p.Stages {
		sp := &p.Stages[i]
		for _, block := range a.blocks() {
			lo, n := tilesOf(sp, a.r.rng, p, block)
			for kv := lo; kv < lo+n; kv++ {
				at := Place{sp.Stage, block, kv}
				if was, ok := out[sp.Stage]; ok && !earlier(at, was, p) {
					continue
				}
				if x, y := a.Tile(sp.Stage, block, kv), b.Tile(sp.Stage, block, kv); !sameCells(x, y, sp.ValidRows.At(block, kv), sp.ValidCols.At(block, kv)) {
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
			if row, col := i/min(cols, x.Cols), i%min(cols, x.Cols); x.Captured(row, col) != y.Captured(row, col) {
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

// earlier orders tiles as documents do: by kv tile (what is computed before the loop first, after it last), then stage, then block.
func earlier(a, b Place, plan *probes.Plan) bool {
	key := func(p Place) int {
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
func outputChange(a, b *runState) float64 {
	sp := a.r.plan.Output()
	if sp == nil {
		return 0
	}
	most := 0.0
	for _, block := range a.blocks() {
		x, y := a.Tile(sp.Stage, block, 0), b.Tile(sp.Stage, block, 0)
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

// unordered reports whether the kernel adds floats by atomics, in an order nobody fixes, and its output is within its bound:
// then so is any output that only another order makes.
func (st *runState) unordered(ctx context.Context) (bool, error) {
	if !st.r.plan.Gate.Judged.Meets(st.r.plan.OutputSet()) || !floatAtomics(st.build.Module.Func(st.r.plan.Entry)) {
		return false, nil
	}
	return st.outputWithin(ctx)
}

// outputWithin reports whether the output of the blocks executed is within its bound from the true inputs.
func (st *runState) outputWithin(ctx context.Context) (bool, error) {
	output := st.r.plan.Output()
	if output == nil {
		return false, nil
	}
	j, err := judge.Judge(ctx, st.ref, st, judge.Options{
		Range: st.r.rng, Blocks: st.only, Stages: probes.StagesOf(output.Stage), Parallel: 1,
	})
	if err != nil {
		return false, err
	}
	s := j.Stage(output.Stage)
	return s != nil && s.Verdict == judge.OK && s.Unreached == 0, nil
}
