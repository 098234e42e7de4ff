package debugkern

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tilescope/probes"
)

// maxDifferenceCells is how many cells Differences compares at most, of all stages together.
const maxDifferenceCells = 1 << 26

// Difference says how the captured values of one stage or argument differ between two runs. Where one of two
// values alone is NaN, their difference is infinite.
type Difference struct {
	Plan      *probes.StagePlan // of the later run
	Compared  int               // cells that both captured
	Differing int               // of those, cells with other bits
	At        Cell              // the cell with the largest difference
	Was, Now  float64           // its values
	Why       string            // why nothing was compared, "" where something was
}

// Differences compares what two runs of one request captured, stage by stage and argument by argument, and
// returns those that differ or could not be compared. It reads what the runs hold and computes no reference.
// Its error is ctx's.
func Differences(ctx context.Context, before, after *Run) ([]Difference, error) {
	var out []Difference
	if before.state == nil || after.state == nil {
		return nil, nil
	}
	left := maxDifferenceCells
	for _, list := range [][]probes.StagePlan{after.Plan.Stages, after.Plan.Memory} {
		for i := range list {
			sp := &list[i]
			if sp.OfLaunch() && sp.Capture.Before || !sp.OfLaunch() && !after.state.r.stages.Has(sp.Stage) {
				continue
			}
			d, err := differenceOf(ctx, before, after, sp, &left)
			if err != nil {
				return nil, err
			}
			if d.Differing > 0 || d.Why != "" {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// Keeps reports whether all that one run left in arguments is left by another run of the same blocks too, NaN
// aside, and nothing less is written; false where it changed nothing. Its error is ctx's.
func Keeps(ctx context.Context, before, after *Run) (bool, error) {
	if before.state == nil || after.state == nil {
		return false, nil
	}
	compared := 0
	for i := range after.Plan.Memory {
		sp := &after.Plan.Memory[i]
		if sp.Capture.Before {
			continue
		}
		found := slices.IndexFunc(after.Plan.Memory, func(o probes.StagePlan) bool {
			return o.Capture.Before && o.Capture.Output == sp.Capture.Output
		})
		if err := ctx.Err(); err != nil {
			return false, err
		}
		a, b := before.state.Tile(sp.Stage, probes.Dim3{}, 0), after.state.Tile(sp.Stage, probes.Dim3{}, 0)
		if !a.Reached() {
			continue
		}
		if !b.Reached() {
			return false, nil
		}
		was := func(int, int) bool { return false } // whether a cell is as it was before the launch
		if found >= 0 {
			first := before.state.Tile(after.Plan.Memory[found].Stage, probes.Dim3{}, 0)
			was = func(row, col int) bool { return first.Reached() && a.Same(first, row, col) }
		}
		for i := range min(sp.Rows*sp.Cols, probes.Elems(sp.Capture.Dims)) {
			row, col := i/sp.Cols, i%sp.Cols
			if !a.Captured(row, col) || math.IsNaN(a.At(row, col)) {
				continue
			}
			if !a.Same(b, row, col) {
				return false, nil
			}
			if !was(row, col) {
				compared++
			}
		}
	}
	return compared > 0, nil
}

// differenceOf compares one stage; left is how many cells may still be compared.
func differenceOf(
	ctx context.Context, before, after *Run, sp *probes.StagePlan, left *int,
) (Difference, error) {
	d := Difference{Plan: sp}
	was := before.Plan.Stage(sp.Stage)
	if was == nil || was.DType != sp.DType || was.Rows != sp.Rows || was.Cols != sp.Cols ||
		!slices.Equal(was.Capture.Dims, sp.Capture.Dims) {
		d.Why = "its type or extents are others than before"
		return d, nil
	}
	places := after.Places(sp.Stage)
	if n := len(places) * sp.Rows * sp.Cols; n > *left {
		d.Why = fmt.Sprintf("%d cells are too many to compare, the limit is %d", n, maxDifferenceCells)
		return d, nil
	}
	largest := -1.0
	for _, p := range places {
		if err := ctx.Err(); err != nil {
			return d, err
		}
		a, b := before.state.Tile(p.Stage, p.Block, p.KVTile), after.state.Tile(p.Stage, p.Block, p.KVTile)
		if !a.Reached() || !b.Reached() {
			continue
		}
		cells := sp.Rows * sp.Cols
		if sp.OfLaunch() {
			cells = min(cells, probes.Elems(sp.Capture.Dims))
		}
		*left -= cells
		for i := range cells {
			row, col := i/sp.Cols, i%sp.Cols
			if !a.Captured(row, col) && !b.Captured(row, col) {
				continue
			}
			d.Compared++
			if a.Same(b, row, col) {
				continue
			}
			d.Differing++
			if by := apart(a.At(row, col), b.At(row, col)); by > largest {
				largest = by
				d.At, d.Was, d.Now = Cell{p, row, col}, a.At(row, col), b.At(row, col)
			}
		}
	}
	return d, nil
}

// apart is how far two values are apart: infinite where one alone is NaN.
func apart(a, b float64) float64 {
	switch by := math.Abs(a - b); {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(by):
		if a == b { // the same infinity
			return 0
		}
		return math.Inf(1)
	default:
		return by
	}
}
