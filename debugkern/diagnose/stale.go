package diagnose

import (
	"fmt"

	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Where neither operands nor an edit say what is wrong, the values do: a cell reads again what it has read
// in the iteration before, or has a factor 0.

// staleRead makes the store the place of a suspect whose first wrong cell reads again what right cells of its
// tile have stored anew; false where it does not.
func (q *inquiry) staleRead(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	kv := max(b.KVTile, 0)
	x, err := q.base.Stale(q.ctx, st, b.Block, kv, [2]int{b.Row, b.Col}, q.rightCells(st, b.Block, kv),
		q.skippedStores)
	if err != nil || x == nil {
		return false, q.fatal(err)
	}
	s.reread, q.skippedStores = x.Store, append(q.skippedStores, x.At)
	s.because(fmt.Sprintf("for %s %s reads again what it read in the iteration before, stored at %s; "+
		"for right cells it is stored anew", q.cell(st, b.Row, b.Col), callText(x.Load),
		lineText(x.Store, x.Load)))
	s.cause.Place.Source, s.cause.Place.Other = x.Store, x.Load
	s.cause.Advice = q.citing(fmt.Sprintf("look at what %s is not executed for, which has to store in every iteration",
		callText(x.Store)), ": ", x.Store) + q.seeFirst(st)
	return true, nil
}

// zeroFactor makes the multiplication the place of a suspect whose wrong cells, which should not be 0, all
// have a factor 0 there; false where they have none.
func (q *inquiry) zeroFactor(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	tiles, err := q.formed(st, b)
	if err != nil || len(tiles) == 0 {
		return false, err
	}
	fn := q.run.Entry()
	at, factor, n := -1, -1, 0
	for i := range tiles[0] {
		c := &tiles[0][i]
		if !c.Wrong || c.Want.Has(0) {
			continue
		}
		by, of := c.ZeroFactor()
		if by < 0 || c.Values[by].At < 0 || at >= 0 && blame(fn, c.Values[by].At).At() != blame(fn, at).At() {
			return false, nil // not one line multiplies all of them
		}
		at, n = c.Values[by].At, n+1
		if factor = -1; c.Values[of].Instr != nil {
			factor = c.Values[of].At
		}
	}
	const leastCells = 2
	if n < leastCells {
		return false, nil
	}
	src := blame(fn, at)
	if src == nil {
		return false, nil
	}
	says := fmt.Sprintf("in all wrong cells that were followed the %s at %s has a factor 0",
		repair.Word(fn.Body[at].Op), callText(src))
	if made := blame(fn, factor); made != nil {
		says += ", which is made at " + lineText(made, src)
		if made.At() != src.At() {
			s.cause.Place.Other = made
		}
	}
	s.because(says)
	s.cause.Place.Source = src
	s.cause.Advice = q.citing("look at what is multiplied at "+callText(src), ": ", src) + q.madeOf(src) +
		q.seeFirst(st)
	return true, nil
}
