package diff

import (
	"math"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// carried is one block's exact reference with the global bounds of all its tiles.
type carried struct {
	ref    *attn.Reference
	blk    *attn.Block
	bounds [][attn.NumSteps]attn.Matrix // by kv tile; Q and O stand in every and the last one
}

// boundsOf walks a block of a plan and copies its global bounds.
func boundsOf(t *testing.T, p *probes.Plan, seed uint64, id probes.Dim3, w weights) *carried {
	t.Helper()
	ref := reference(t, p, seed, attn.Options{})
	c := &carried{ref: ref, blk: ref.Compute(id)}
	opt := Options{Range: probes.Range{N: p.Grid, TileN: p.Work.MaxTiles}, Stages: everyStage()}
	walk := newWalker(newRules(ref, w), captured{}, opt)
	walk.begin(c.blk)
	for range c.blk.Tiles {
		walk.next()
		var all [attn.NumSteps]attn.Matrix
		for s := range all {
			all[s] = copyMatrix(walk.global[s].bound)
		}
		c.bounds = append(c.bounds, all)
	}
	walk.end()
	c.bounds[len(c.bounds)-1][attn.StepO] = copyMatrix(walk.global[attn.StepO].bound)
	return c
}

// adversary is a kernel in float64 that is off by what earlier stages are allowed, as a test directs: scores moves each score by
// a share of its bound.
type adversary struct {
	*carried
	scores func(t, i, j int, top bool) float64
}

// run is the block with everything that follows from the moved scores. Nothing is rounded.
func (a adversary) run() *attn.Block {
	b := clone(a.blk)
	g := a.ref
	for i := range b.Rows {
		top := math.Inf(-1)
		for t := range b.Tiles {
			x, ds := &b.Tiles[t], a.bounds[t][attn.StepS]
			old, exact := top, a.blk.Tiles[t].M[i]
			for j := range x.Keys {
				x.S.Row(i)[j] += ds.At(i, j) * a.scores(t, i, j, x.S.At(i, j)*g.ScoreUnit()*g.MaxUnit() == exact)
				top = max(top, x.S.At(i, j)*g.ScoreUnit())
			}
			x.M[i], x.L[i] = top*g.MaxUnit(), 0
			clear(x.U.Row(i))
			if t > 0 {
				carry := attn.Below(old, top)
				x.L[i] = b.Tiles[t-1].L[i] * carry
				for d := range x.U.Cols {
					x.U.Row(i)[d] = b.Tiles[t-1].U.At(i, d) * carry
				}
			}
			for j := range x.Keys {
				p := attn.Below(x.S.At(i, j)*g.ScoreUnit(), top)
				x.P.Row(i)[j] = p
				x.L[i] += p
				for d := range x.U.Cols {
					x.U.Row(i)[d] += p * x.V.At(j, d)
				}
			}
		}
	}
	return b
}

// worstCell is the cell of a stage's tile with the largest share of its bound.
func (c *carried) worstCell(s attn.Step, t int, got *attn.Block) (cell int, err float64) {
	x, _ := c.blk.Values(s, t)
	y, _ := got.Values(s, t)
	top := -1.0
	for i, v := range x.Data[:c.blk.Rows*x.Cols] {
		if e := math.Abs(y.Data[i] - v); c.bounds[t][s].Data[i] > 0 && e/c.bounds[t][s].Data[i] > top {
			top, cell, err = e/c.bounds[t][s].Data[i], i, e
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
	made := func(x term, name string, s attn.Step, tile int, f func(t, i, j int, top bool) float64) witness {
		return witness{x, name, func(t *testing.T, w weights) (float64, float64) {
			p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
			c := boundsOf(t, p, 0, probes.Dim3{}, nil)
			cell, err := c.worstCell(s, tile, adversary{c, f}.run())
			if w == nil {
				return err, c.bounds[tile][s].Data[cell]
			}
			return err, boundsOf(t, p, 0, probes.Dim3{}, w).bounds[tile][s].Data[cell]
		}}
	}
	return []witness{
		made(termMaxScores, "all scores up", attn.StepM, 1, all),
		made(termProbScores, "all but the maximum up", attn.StepP, 0, rest),
		made(termProbMax, "the maximum up", attn.StepP, 0, maximum),
		made(termSumProbs, "all but the maximum up", attn.StepL, 0, rest),
		made(termSumMax, "the maximum up", attn.StepL, 0, maximum),
		made(termSumCarried, "the tile before", attn.StepL, 1, before),
		{termWeightMax, "the maximum up", func(t *testing.T, w weights) (float64, float64) { return weightMaxWitness(t, w, maximum) }},
		alongV(termWeightOperands, "P along V", attn.StepU, 0, func(int) bool { return true }),
		alongV(termWeightCarried, "P along V, the tile before", attn.StepU, 1, func(t int) bool { return t == 0 }),
		alongV(termOutWeights, "U alone", attn.StepO, 3, func(int) bool { return true }),
		{termOutSums, "l alone", func(t *testing.T, w weights) (float64, float64) {
			return outWitness(t, w, rest, func(exact, moved *attn.Tile, i, d int) float64 { return exact.U.At(i, d) / moved.L[i] })
		}},
	}
}

// weightMaxWitness is U where the maximum alone is raised, in a column where the maximum's own V is next to nothing: the common
// factor is all that is left.
func weightMaxWitness(t *testing.T, w weights, f func(t, i, j int, top bool) float64) (float64, float64) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	c := boundsOf(t, p, 0, probes.Dim3{}, nil)
	x := &c.blk.Tiles[0]
	got := adversary{c, f}.run()
	for i := range c.blk.Rows {
		top := 0
		for j := range x.Keys {
			if x.S.At(i, j) > x.S.At(i, top) {
				top = j
			}
		}
		for d, v := range x.V.Row(top) {
			if math.Abs(v) > math.Abs(x.U.At(i, d))/16 {
				got.Tiles[0].U.Row(i)[d] = x.U.At(i, d)
			}
		}
	}
	cell, err := c.worstCell(attn.StepU, 0, got)
	if w != nil {
		c = boundsOf(t, p, 0, probes.Dim3{}, w)
	}
	return err, c.bounds[0][attn.StepU].Data[cell]
}

func share(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// alongV moves scores the way that V's column 0 has its signs, so that every product's error has one sign.
func alongV(x term, name string, s attn.Step, tile int, in func(t int) bool) witness {
	return witness{x, name, func(t *testing.T, w weights) (float64, float64) {
		p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
		c := boundsOf(t, p, 0, probes.Dim3{}, nil)
		f := func(t, _, j int, top bool) float64 {
			return math.Copysign(share(!top && in(t)), c.blk.Tiles[t].V.At(j, 0))
		}
		if s == attn.StepO {
			return outWitness(t, w, f, func(exact, moved *attn.Tile, i, d int) float64 { return moved.U.At(i, d) / exact.L[i] })
		}
		cell, err := c.worstCell(s, tile, adversary{c, f}.run())
		if w != nil {
			c = boundsOf(t, p, 0, probes.Dim3{}, w)
		}
		return err, c.bounds[tile][s].Data[cell]
	}}
}

// outWitness is O of a kernel whose U or l alone is off: they are made apart.
func outWitness(t *testing.T, w weights, f func(t, i, j int, top bool) float64, o func(exact, moved *attn.Tile, i, d int) float64) (float64, float64) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	c := boundsOf(t, p, 0, probes.Dim3{}, nil)
	last := len(c.blk.Tiles) - 1
	got := adversary{c, f}.run()
	for i := range c.blk.Rows {
		for d := range got.O.Cols {
			got.O.Row(i)[d] = o(&c.blk.Tiles[last], &got.Tiles[last], i, d)
		}
	}
	cell, err := c.worstCell(attn.StepO, last, got)
	if w != nil {
		c = boundsOf(t, p, 0, probes.Dim3{}, w)
	}
	return err, c.bounds[last][attn.StepO].Data[cell]
}
