package judge

import (
	"context"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"tilescope/debugkern/join"
	"tilescope/debugkern/region"
)

// mostMeasured is how many bad cells a stage's fitted numbers are made from, about.
const mostMeasured = 1 << 15

// survey is what is seen of a wrong stage in all its tiles before hypotheses are made.
type survey struct {
	cells *region.Set
	// ratios and differences are what a factor and an offset may be, by bad cell, of a selection of them
	// spread over all tiles.
	ratios, differences []span
	measured            int // bad cells in the selection
}

// survey walks all wrong tiles of a stage, several blocks at a time. Of tiles without a bad cell the verdicts
// say enough, unless cells of theirs were not judged.
func (j *Judgement) survey(ctx context.Context, i int, wrong []spot) (*survey, error) {
	sp := j.g.Stage(i)
	plan := j.ref.Plan()
	space := region.Space{
		Rows: sp.Rows, Cols: sp.Cols, Grid: plan.Grid, Positions: plan.Positions,
		Warps: plan.Block.Count() / 32,
	}
	if sp.PerTile {
		space.Tile = plan.Work.TileName()
	}
	out := &survey{cells: region.NewSet(space)}
	walked := map[spot]bool{}
	byBlock := map[int][]int{}
	visit := func(p spot) {
		walked[p] = true
		byBlock[p.block] = append(byBlock[p.block], p.kv)
	}
	for _, p := range wrong {
		visit(p)
	}
	for _, p := range j.tilesOf(i, (*TileVerdict).right) {
		block := j.opt.Range.Block(p.block)
		if j.verdictAt(i, p).Absent > 0 {
			visit(p)
			continue
		}
		rows, cols := j.g.Valid(i, block, p.kv)
		out.cells.Add(region.Tile{
			Block: block, Iter: p.kv, Last: plan.Work.Tiles.At(block, 0) - 1,
			Rows: min(rows, sp.Rows), Cols: min(cols, sp.Cols),
		})
	}
	blocks := slices.Sorted(maps.Keys(byBlock))
	each := max(cellsPerFit, mostMeasured/max(len(wrong), 1))
	workers := j.opt.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var mu sync.Mutex
	var wg join.Group
	for range min(workers, len(blocks)) {
		wg.Go(func() {
			w := newWalker(j.ref, j.src, j.opt)
			defer w.close()
			for n := int(next.Add(1)) - 1; n < len(blocks) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				w.scenes(ctx, j.opt.Range, i, blocks[n], byBlock[blocks[n]], func(sc *scene, at spot) {
					mu.Lock()
					defer mu.Unlock()
					out.add(sc, at, each)
				})
			}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// verdictAt is the verdict of a tile.
func (j *Judgement) verdictAt(i int, p spot) *TileVerdict {
	return &j.tiles[i][p.block*j.perBlock(i)+p.kv-j.opt.Range.TileLo]
}

// add takes a tile into the survey, and measures so many of its bad cells.
func (s *survey) add(sc *scene, at spot, each int) {
	t := region.Tile{
		Block: sc.id, Iter: at.kv, Last: sc.iters - 1, Rows: sc.rows, Cols: sc.cols, Wrong: sc.bad,
	}
	if len(sc.cells) < sc.rows*sc.cols {
		t.Skip = make([]bool, sc.sp.Rows*sc.sp.Cols)
		for r := range sc.rows {
			for c := range sc.cols {
				t.Skip[r*sc.stride+c] = true
			}
		}
		for _, i := range sc.cells {
			t.Skip[i] = false
		}
	}
	s.cells.Add(t)
	step := max(1, len(sc.bad)/each)
	for k := 0; k < len(sc.bad); k += step {
		i := sc.bad[k]
		s.measured++
		for _, m := range []struct {
			to *[]span
			x  span
		}{{&s.ratios, ratioRange(sc, i)}, {&s.differences, differenceRange(sc, i)}} {
			if w := m.x.lo + m.x.hi; !math.IsNaN(w) && !math.IsInf(w, 0) {
				*m.to = append(*m.to, m.x)
			}
		}
	}
}
