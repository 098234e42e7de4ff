package diagnose

import (
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// A loop that does fewer tiles than there are lacks them at its end, unless it does not start with the first.
// Which tile it loaded first is seen by comparing what was captured of an input with the input's own tiles.

// firstTile says of a loop that ended too early whether tiles lack before those that it did.
func (q *inquiry) firstTile(f *report.Finding, c *Cause) {
	_, tiles := q.run.Tiles(f.Block)
	if f.KVTile >= tiles { // it went on past the last
		return
	}
	for i := range q.run.Plan.Stages {
		sp := &q.run.Plan.Stages[i]
		if !sp.Loaded || !sp.PerTile || !q.run.Captured().Has(sp.Stage) {
			continue
		}
		first, ok := q.tileOf(debugkern.Place{Stage: sp.Stage, Block: f.Block}, tiles)
		if !ok {
			continue
		}
		if first == 0 {
			c.because(fmt.Sprintf("block %s begins with tile 0 of %s, as it should: tiles lack at the end",
				f.Block, sp.Stage))
			return
		}
		c.Title = strings.Replace(c.Title, " ended after ", " ran for ", 1)
		c.because(fmt.Sprintf("block %s begins with tile %d of %s, and should with tile 0: %s", f.Block, first,
			sp.Stage, lackBefore(first, f.KVTile, tiles)))
		return
	}
}

// lackBefore says which tiles lack of a loop that does n of all, from tile first on.
func lackBefore(first, n, all int) string {
	if first+n == all {
		return "tiles lack at the beginning, and none at the end"
	}
	return "tiles lack at the beginning"
}

// tileOf is the one tile of an input, of so many, whose elements were captured as the tile at a place; ok is
// false where there is none, or more than one.
func (q *inquiry) tileOf(p debugkern.Place, tiles int) (kv int, ok bool) {
	got, err := q.run.View(p)
	if err != nil || !got.Got.Reached() {
		return 0, false
	}
	kv = -1
	for k := range tiles {
		p.KVTile = k
		want, err := q.run.View(p)
		if err != nil || want.Global == nil || !holds(got, want) {
			continue
		}
		if kv >= 0 {
			return 0, false
		}
		kv = k
	}
	return kv, kv >= 0
}

// holds reports whether a captured tile has the elements that another place of its stage should have.
func holds(got, want *debugkern.TileView) bool {
	cells := 0
	for row := range want.ValidRows {
		for col := range want.ValidCols {
			i := row*want.Plan.Cols + col
			if math.Abs(got.Got.At(row, col)-want.Global[i]) > want.GlobalBound[i] {
				return false
			}
			cells++
		}
	}
	return cells > 0
}
