package diagnose

import (
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern"
	"tilescope/probes"
)

// A mask is seen in the cells of a stage that are 0 where it hides something. A maximum over the same cells
// is wrong by the same mask where it is the largest number among those that the kernel did not hide.

// sameMask reports whether the maximum that is wrong with one suspect is the one over the cells that the mask
// shows which is wrong with the other.
func (q *inquiry) sameMask(a, b *suspect) bool {
	if a.cause.Kind != kindStage || b.cause.Kind != kindStage {
		return false
	}
	for _, m := range a.stages {
		if sp := q.run.Plan.Stage(m); sp == nil || !q.largest(m) || sp.Cols != 1 {
			continue
		}
		for _, p := range b.stages {
			if q.maskedAlike(m, p) {
				b.cause.why = fmt.Sprintf("in its wrong rows %s is the largest number that the mask of %s leaves",
					m, p)
				return true
			}
		}
	}
	return false
}

// maskedAlike compares the tile in which a maximum first went wrong with the cells that are 0 in a stage of
// the same tile.
func (q *inquiry) maskedAlike(m, p probes.Stage) bool {
	doc, pp := q.base.Report.Stage(m.String()), q.run.Plan.Stage(p)
	if doc == nil || doc.FirstBad == nil || pp == nil || pp.Cols == 1 {
		return false
	}
	var over probes.Stage // what the maximum is taken of
	for _, st := range q.run.Plan.Stage(m).From {
		sp := q.run.Plan.Stage(st)
		if sp != nil && sp.Rows == pp.Rows && sp.Cols == pp.Cols && pp.From.Has(st) {
			over = st
		}
	}
	if over == "" {
		return false
	}
	kv := max(doc.FirstBad.KVTile, 0)
	view := func(st probes.Stage, kv int) *debugkern.TileView {
		v, err := q.base.View(debugkern.Place{Stage: st, Block: doc.FirstBad.Block, KVTile: kv})
		if err != nil || !v.Referenced() || !v.Got.Reached() {
			return nil
		}
		return v
	}
	x := maskTiles{m: view(m, kv), p: view(p, kv), s: view(over, kv)}
	if x.m == nil || x.p == nil || x.s == nil {
		return false
	}
	if kv > 0 {
		if x.before = view(m, kv-1); x.before == nil {
			return false
		}
	}
	return x.explained()
}

// maskTiles are the tiles of one iteration: a maximum, before it and after it, what it is taken of, and what
// is 0 where the mask hides something.
type maskTiles struct{ m, before, p, s *debugkern.TileView }

// over is the largest of a row's numbers that hidden does not name, in the maximum's unit.
func (x *maskTiles) over(r int, factor float64, hidden func(c int) bool) float64 {
	best := math.Inf(-1)
	if x.before != nil {
		best = x.before.Got.At(r, 0)
	}
	for c := range x.s.ValidCols {
		if !hidden(c) {
			best = max(best, factor*x.s.Got.At(r, c))
		}
	}
	return best
}

// explained reports whether every wrong row's maximum is the one over the cells that the kernel did not hide,
// where the mask of some of these rows is wrong.
func (x *maskTiles) explained() bool {
	hides := func(r int) (kernel, right func(c int) bool) {
		cols := x.p.Plan.Cols
		return func(c int) bool { return x.p.Got.At(r, c) == 0 },
			func(c int) bool { return x.p.Local[r*cols+c] == 0 }
	}
	near := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 2e-3*max(math.Abs(a), math.Abs(b)) }
	for _, factor := range x.factors(hides) {
		wrong, explained := 0, 0
		for r := range x.m.ValidRows {
			kernel, right := hides(r)
			if !isBad(x.m, r, 0) {
				continue
			}
			wrong++
			moved := false
			for c := range x.s.ValidCols {
				moved = moved || kernel(c) != right(c)
			}
			if moved && near(x.m.Got.At(r, 0), x.over(r, factor, kernel)) &&
				near(x.m.Local[r], x.over(r, factor, right)) {
				explained++
			}
		}
		if wrong > 0 && wrong == explained {
			return true
		}
	}
	return false
}

// factors are what the maximum may be of one of its numbers: 1, or the scale that a row shows.
func (x *maskTiles) factors(hides func(r int) (kernel, right func(c int) bool)) []float64 {
	out := []float64{1}
	for r := range x.m.ValidRows {
		_, right := hides(r)
		y := *x
		y.before = nil
		if s := y.over(r, 1, right); s != 0 && !math.IsInf(s, 0) && isBad(x.m, r, 0) {
			if f := x.m.Local[r] / s; f > 0 && !slices.Contains(out, f) {
				out = append(out, f)
			}
			if len(out) == 4 {
				break
			}
		}
	}
	return out
}
