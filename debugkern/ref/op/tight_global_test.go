package op_test

import (
	"math"
	"sync"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// carried is one block's exact reference with the global bounds of all its tiles.
type carried struct {
	ref    *ref.Reference
	blk    *reftest.Block
	bounds map[probes.Stage][]op.Matrix // by kv tile
}

// boundsOf walks a block of stage2's validation shape and copies its global bounds.
func boundsOf(t *testing.T, w ref.Weights) *carried {
	t.Helper()
	attention.Do(func() {
		stage2, _ = reftest.New(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 0,
			ref.Options{})
	})
	r := stage2
	return &carried{r, reftest.Copy(r, r.Block(probes.Dim3{})), reftest.Bounds(r, probes.Dim3{}, w)}
}

// stage2 is the reference that all global witnesses look at.
var (
	attention sync.Once
	stage2    *ref.Reference
)

// bound is that of a cell; stages outside the loop have one tile.
func (c *carried) bound(s probes.Stage, t, cell int) float64 {
	all := c.bounds[s]
	return all[min(t, len(all)-1)].Data[cell]
}

// adversary is a kernel in float64 that is off by what earlier stages are allowed, as a test directs: scores
// moves each score by a share of its bound.
type adversary struct {
	*carried
	scores func(t, i, j int, top bool) float64
}

// run is the block with everything that follows from the moved scores. Nothing is rounded.
func (a adversary) run() *reftest.Block {
	b := reftest.Copy(a.ref, a.ref.Block(a.blk.ID))
	for i := range b.Rows {
		top := math.Inf(-1)
		for t := range b.Iters {
			old := top
			s, p, v, u, m, l := b.At("S", t), b.At("P", t), b.At("V", t), b.At("U", t),
				b.At("m", t), b.At("l", t)
			for j := range b.Keys(t) {
				s.Row(i)[j] += a.bounds["S"][t].At(i, j) * a.scores(t, i, j,
					s.At(i, j) == a.blk.At("m", t).Data[i])
				top = max(top, s.At(i, j))
			}
			m.Data[i], l.Data[i] = top, 0
			clear(u.Row(i))
			if t > 0 {
				carry := op.Below(old, top)
				l.Data[i] = b.At("l", t-1).Data[i] * carry
				for d := range u.Cols {
					u.Row(i)[d] = b.At("U", t-1).At(i, d) * carry
				}
			}
			for j := range b.Keys(t) {
				x := op.Below(s.At(i, j), top)
				p.Row(i)[j] = x
				l.Data[i] += x
				for d := range u.Cols {
					u.Row(i)[d] += x * v.At(j, d)
				}
			}
		}
	}
	return b
}

// worstCell is the cell of a stage's tile with the largest share of its bound.
func (c *carried) worstCell(s probes.Stage, t int, got *reftest.Block) (cell int, err float64) {
	x, y, top := c.blk.At(s, t), got.At(s, t), -1.0
	for i, v := range x.Data[:c.blk.Rows*x.Cols] {
		if e, bound := math.Abs(y.Data[i]-v), c.bound(s, t, i); bound > 0 && e/bound > top {
			top, cell, err = e/bound, i, e
		}
	}
	return cell, err
}

// globalWitnesses are the worst cases of what is carried from stage to stage and from kv tile to kv tile.
func globalWitnesses() []witness {
	all := func(_, _, _ int, _ bool) float64 { return 1 }
	rest := func(_, _, _ int, top bool) float64 { return share(!top) }
	maximum := func(_, _, _ int, top bool) float64 { return share(top) }
	before := func(t, _, _ int, top bool) float64 { return share(!top && t == 0) }
	made := func(
		x op.Term, name string, s probes.Stage, tile int, f func(t, i, j int, top bool) float64,
	) witness {
		return witness{x, name, func(t *testing.T, w ref.Weights) (float64, float64) {
			c := boundsOf(t, nil)
			cell, err := c.worstCell(s, tile, adversary{c, f}.run())
			if w == nil {
				return err, c.bound(s, tile, cell)
			}
			return err, boundsOf(t, w).bound(s, tile, cell)
		}}
	}
	return []witness{
		made(op.TermMaxScores, "all scores up", "m", 1, all),
		made(op.TermExpScores, "all but the maximum up", "P", 0, rest),
		made(op.TermFactor, "P, the maximum up", "P", 0, maximum),
		made(op.TermSumOperands, "all but the maximum up", "l", 0, rest),
		made(op.TermFactor, "l, the maximum up", "l", 0, maximum),
		made(op.TermCarried, "l, the tile before", "l", 1, before),
		{
			op.TermFactor, "U, the maximum up", func(t *testing.T, w ref.Weights) (float64, float64) {
				return weightMaxWitness(t, w, maximum)
			},
		},
		alongV(op.TermOperands, "P along V", "U", 0, func(int) bool { return true }),
		alongV(op.TermCarried, "P along V, the tile before", "U", 1, func(t int) bool { return t == 0 }),
		alongV(op.TermNumerator, "U alone", "O", 3, func(int) bool { return true }),
		{op.TermDenominator, "l alone", func(t *testing.T, w ref.Weights) (float64, float64) {
			return outWitness(t, w, rest, func(exact, moved *reftest.Block, last, i, d int) float64 {
				return exact.At("U", last).At(i, d) / moved.At("l", last).Data[i]
			})
		}},
	}
}

// weightMaxWitness is U where the maximum alone is raised, in a column where the maximum's own V is next to
// nothing: the common factor is all that is left.
func weightMaxWitness(t *testing.T, w ref.Weights, f func(t, i, j int, top bool) float64) (float64, float64) {
	c := boundsOf(t, nil)
	s, u, v := c.blk.At("S", 0), c.blk.At("U", 0), c.blk.At("V", 0)
	got := adversary{c, f}.run()
	for i := range c.blk.Rows {
		top := 0
		for j := range c.blk.Keys(0) {
			if s.At(i, j) > s.At(i, top) {
				top = j
			}
		}
		for d, x := range v.Row(top) {
			if math.Abs(x) > math.Abs(u.At(i, d))/16 {
				got.At("U", 0).Row(i)[d] = u.At(i, d)
			}
		}
	}
	cell, err := c.worstCell("U", 0, got)
	if w != nil {
		c = boundsOf(t, w)
	}
	return err, c.bound("U", 0, cell)
}

func share(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// alongV moves scores the way that V's column 0 has its signs, so that every product's error has one sign.
func alongV(x op.Term, name string, s probes.Stage, tile int, in func(t int) bool) witness {
	return witness{x, name, func(t *testing.T, w ref.Weights) (float64, float64) {
		c := boundsOf(t, nil)
		f := func(t, _, j int, top bool) float64 {
			return math.Copysign(share(!top && in(t)), c.blk.At("V", t).At(j, 0))
		}
		if s == "O" {
			return outWitness(t, w, f, func(exact, moved *reftest.Block, last, i, d int) float64 {
				return moved.At("U", last).At(i, d) / exact.At("l", last).Data[i]
			})
		}
		cell, err := c.worstCell(s, tile, adversary{c, f}.run())
		if w != nil {
			c = boundsOf(t, w)
		}
		return err, c.bound(s, tile, cell)
	}}
}

// outWitness is O of a kernel whose U or l alone is off: they are made apart.
func outWitness(
	t *testing.T, w ref.Weights, f func(t, i, j int, top bool) float64,
	o func(exact, moved *reftest.Block, last, i, d int) float64,
) (float64, float64) {
	c := boundsOf(t, nil)
	last := c.blk.Iters - 1
	got := adversary{c, f}.run()
	for i := range c.blk.Rows {
		row := got.At("O", 0).Row(i)
		for d := range row {
			row[d] = o(c.blk, got, last, i, d)
		}
	}
	cell, err := c.worstCell("O", last, got)
	if w != nil {
		c = boundsOf(t, w)
	}
	return err, c.bound("O", last, cell)
}
