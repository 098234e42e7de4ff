package attn

import (
	"tilescope/probes"
)

// dtype is the element type a stage is kept in; stages the kernel does not capture count as exact.
func (r *Reference) dtype(s Step) probes.DType {
	if sp := r.plan.Stage(s.Stage()); sp != nil {
		return sp.DType
	}
	return probes.F64
}

// roundStage rounds values to the stage's dtype, in place.
func (r *Reference) roundStage(s Step, v []float64) {
	t := r.dtype(s)
	for i, x := range v {
		v[i] = RoundTo(t, x)
	}
}

// inject replaces P, m and l of kv tile t by what the P·V gate feeds in: the exact ones rounded to their dtypes, or the
// uniform ones.
func (r *Reference) inject(b *Block, t int) {
	x := &b.Tiles[t]
	if r.uniform {
		b.uniform(t, r.geo.tileN)
	}
	r.roundStage(StepP, x.P.Data)
	r.roundStage(StepM, x.M)
	r.roundStage(StepL, x.L)
}

// uniform sets P = 1/TILE_N on visible keys, m = 0 throughout (so the rescale is 1) and l = visible keys so far / TILE_N.
func (b *Block) uniform(t, tileN int) {
	x := &b.Tiles[t]
	for i := range b.Rows {
		seen, p := 0, x.P.Row(i)
		for j := range p {
			p[j] = 0
			if b.Visible(t, i, j) {
				p[j] = 1 / float64(tileN)
				seen++
			}
		}
		x.M[i], x.L[i] = 0, float64(seen)/float64(tileN)
		if t > 0 {
			x.L[i] += b.Tiles[t-1].L[i]
		}
	}
}

// Injected returns the tile that the host feeds in for a stage under the plan's gate: the block's reference in the stage's
// bits. Rows past the last query and keys past the last one are 0, but for l, which is 1 there so that nothing divides by
// zero. A stage that the gate does not inject gives a tile that is not reached.
func (r *Reference) Injected(s probes.Stage, id probes.Dim3, kv int) probes.Tile {
	sp := r.plan.Stage(s)
	if sp == nil || !r.plan.Gate.Injected.Has(s) {
		return probes.Tile{}
	}
	return r.bits(sp, id, kv)
}

// Rounded returns the exact reference of a tile in its stage's bits: what a kernel without any error but the last rounding
// leaves. It is not reached where the plan has no such tile.
func (r *Reference) Rounded(s probes.Stage, id probes.Dim3, kv int) probes.Tile {
	sp := r.plan.Stage(s)
	if sp == nil {
		return probes.Tile{}
	}
	return r.bits(sp, id, kv)
}

// bits rounds a tile of the reference to its stage's dtype.
func (r *Reference) bits(sp *probes.StagePlan, id probes.Dim3, kv int) probes.Tile {
	b := r.Block(id)
	m, ok := b.Stage(sp.Stage, kv)
	t := probes.NewTile(sp.DType, sp.Rows, sp.Cols)
	if !ok {
		return t
	}
	for i := range min(sp.Rows, m.Rows) {
		for j := range min(sp.Cols, m.Cols) {
			v := m.At(i, j)
			if sp.Stage == StepL.Stage() && i >= b.Rows {
				v = 1
			}
			t.SetBits(i, j, Round(sp.DType, v))
		}
	}
	return t
}
