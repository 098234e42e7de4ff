package ref

import (
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// A tile that is loaded depends on its position in the input alone. Blocks that follow each other load the
// same tiles in the same iterations (K and V of one head), so a pass keeps the last tile of each iteration,
// with its errors and what products work out about it.

// loadedBytes is how much of a stage's tiles a pass keeps; where those of one block are larger it keeps none,
// for each would be overwritten before it is used again.
const loadedBytes = 16 << 20

// LoadedBytes is what judging keeps of loaded tiles on each core, at most: the reference's, and the kernel's
// as numbers.
func LoadedBytes(p *probes.Plan) int64 {
	sum := int64(0)
	for _, stages := range [][]probes.StagePlan{p.Stages, p.Undeclared} {
		for i := range stages {
			if s := &stages[i]; s.Loaded {
				sum += min(int64(3*8*s.Rows*s.Cols)*int64(max(2, p.Work.MaxTiles)), loadedBytes) / 3 * 4
			}
		}
	}
	return sum
}

// loadedTile is a loaded tile in one iteration.
type loadedTile struct {
	at    op.Position
	est   *Estimate // Ref is the value's numbers, Bound its errors
	value op.Value
	made  op.Value // the vertex's: what value was made of
}

// Loads is how many tiles of a loaded stage there is room to keep from block to block: one for each
// iteration, or 0.
func (g *Graph) Loads(i int) int {
	s := &g.stages[i]
	if s.root < 0 || len(g.Uses(i)) > 0 {
		return 0
	}
	if !op.Positioned(g.vertices[s.root].kernel) {
		return 0
	}
	n := 1
	if s.PerTile {
		n = max(2, g.plan.Work.MaxTiles) // the tile before may be an operand
	}
	if 3*8*s.Rows*s.Cols > loadedBytes/n {
		return 0
	}
	return n
}

// load makes the value and the estimate of a loaded stage, or takes those of a block before.
func (p *Pass) load(i, rows, cols int) {
	s, n := &p.g.stages[i], max(p.Iter, 0)
	tile := &op.Tile{Block: p.Block, Iter: n, Rows: rows, Cols: cols}
	at := op.PositionOf(p.kernels[s.root], tile)
	x := &p.loaded[i][n%len(p.loaded[i])]
	if x.est == nil || x.at != at {
		p.reload(i, x, rows, cols)
		x.at = at
	}
	p.est[i] = x.est
	v := &p.current[i]
	v.Value, v.ok = x.value, true
}

// reload computes the tile at the current position into x.
func (p *Pass) reload(i int, x *loadedTile, rows, cols int) {
	s := &p.g.stages[i]
	if x.est == nil {
		x.est = NewEstimate(s.Rows, s.Cols)
		x.made = op.Value{M: x.est.Ref, Err: x.est.Pre}
	}
	own := p.made[s.root]
	p.made[s.root], p.nodes[s.root] = x.made, false
	out := p.evaluate(s.root, rows, cols)
	x.made = *out
	p.made[s.root], p.nodes[s.root], out = own, false, &x.made
	p.close(s, x.est, out, x.est.Bound, rows, cols)
	x.value = op.Value{
		M: x.est.Ref, Err: x.est.Bound, Rows: rows, Cols: cols, Unit: s.Natural(), Origin: i,
		Reused: &op.Reused{},
	}
}
