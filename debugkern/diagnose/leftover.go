package diagnose

import (
	"fmt"
	"math"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Past the edge of an input a tile has zeros. Where a kernel loads under a condition and writes no zero
// otherwise, such a cell keeps what it had in the tile before: the load and its index are right.

// leftover is the wrong cells of an input's tile that still have the previous tile's values, where 0 belongs.
type leftover struct {
	kv, cells int
	at        *report.Source // takes the elements that stay
}

// leftovers finds whether all wrong cells of an input's tile are such, of which a contrast has the first; nil
// where they are not.
func (q *inquiry) leftovers(st probes.Stage, c *debugkern.Contrast) *leftover {
	sp := q.run.Plan.Stage(st)
	if sp == nil || !sp.Loaded || !sp.PerTile || c.Cell.KVTile < 1 || len(c.Foreign) == 0 ||
		len(c.Missing)+len(c.Twice) > 0 || c.Foreign[0].At == nil {
		return nil
	}
	p := debugkern.Place{Stage: st, Block: c.Cell.Block, KVTile: c.Cell.KVTile}
	now, err := q.run.View(p)
	p.KVTile--
	before, failed := q.run.View(p)
	if err != nil || failed != nil || now.Global == nil || !now.Got.Reached() || !before.Got.Reached() {
		return nil
	}
	x := &leftover{kv: c.Cell.KVTile, at: c.Foreign[0].At}
	for row := range sp.Rows {
		for col := range sp.Cols {
			i := row*sp.Cols + col
			if math.Abs(now.Got.At(row, col)-now.Global[i]) <= now.GlobalBound[i] {
				continue
			}
			if now.Global[i] != 0 || !now.Got.Same(before.Got, row, col) {
				return nil
			}
			x.cells++
		}
	}
	if x.cells == 0 {
		return nil
	}
	return x
}

// departure says so of the first of the cells.
func (x *leftover) departure(q *inquiry, c *debugkern.Contrast, loop string) difference {
	return difference{
		text: fmt.Sprintf("%s is still %s, taken at %s, as in %s tile %d, and 0 belongs there; %d "+
			"cells of %s tile %d keep what they had in the tile before, all that are wrong in it",
			q.cell(c.Cell.Stage, c.Cell.Row, c.Cell.Col), operandTexts(c.Foreign), callText(x.at), loop,
			x.kv-1, x.cells, loop, x.kv),
		look: "write 0 in these cells in place of what stays of the tile before, where nothing is taken at " +
			callText(x.at),
		at: x.at,
	}
}

// leftAlike reports whether cells of two inputs keep what they had in the tile before, from the same tile on
// and in one function that is called at one place.
func leftAlike(a, b *suspect) bool {
	if a.leftover == nil || b.leftover == nil || a.leftover.kv != b.leftover.kv {
		return false
	}
	x, y := a.leftover.at, b.leftover.at
	return calledAlike(x, y) || x.Calls == "" && y.Calls == "" && x.Function == y.Function
}
