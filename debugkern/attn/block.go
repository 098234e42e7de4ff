package attn

import (
	"context"
	"math"

	"tilescope/probes"
)

// Block is the exact reference of one thread block: every stage of every kv tile in float64, from the true inputs. Under a
// gate the injected stages hold what is injected (rounded to the stage's dtype), and later stages what follows from it.
// Cells past the last query or key are 0. S is in the stage's own unit (raw or scaled), m in its own domain.
type Block struct {
	ID          probes.Dim3
	Batch, Head int
	Query, Rows int    // first query, and how many of the tile's rows exist
	Q           Matrix // [TILE_M][D]
	Tiles       []Tile
	O           Matrix // [TILE_M][D]

	hidden, firstKey int // rows < hidden see keys from firstKey on
}

// Tile is the exact reference of one kv tile of a block.
type Tile struct {
	Key, Keys int // first key, and how many of the tile's keys exist
	K, V      Matrix
	S, P      Matrix
	M, L      []float64 // per row, after this tile; M is -Inf where no key was visible yet
	U         Matrix
}

// Visible reports whether query row r of the block may attend to key j of kv tile t.
func (b *Block) Visible(t, r, j int) bool {
	tile := &b.Tiles[t]
	return j < tile.Keys && (r >= b.hidden || tile.Key+j >= b.firstKey)
}

// at is Extent.At where an extent that was never set counts as 0.
func at(e probes.Extent, id probes.Dim3, kv int) int {
	if len(e.Values) == 0 {
		return 0
	}
	return e.At(id, kv)
}

// frame is the block's geometry without any numbers.
func (r *Reference) frame(id probes.Dim3) *Block {
	w, s := &r.plan.Work, r.plan.Shape
	b := &Block{ID: id, Batch: at(w.Batch, id, 0), Head: at(w.Head, id, 0), Query: at(w.Query, id, 0)}
	b.Rows = min(max(s.S-b.Query, 0), r.geo.tileM)
	b.hidden, b.firstKey = at(w.HiddenRows, id, 0), at(w.FirstKey, id, 0)
	b.Tiles = make([]Tile, at(w.Tiles, id, 0))
	for t := range b.Tiles {
		tile := &b.Tiles[t]
		tile.Key = at(w.Key, id, t)
		tile.Keys = min(max(s.S-tile.Key, 0), r.geo.tileN)
	}
	return b
}

// allocate makes a block's matrices in one piece of memory.
func (b *Block) allocate(g geometry) {
	m, n, d := g.tileM, g.tileN, g.dim
	mem := make([]float64, 2*m*d+len(b.Tiles)*(2*n*d+2*m*n+2*m+m*d))
	cut := func(rows, cols int) Matrix {
		k := rows * cols
		out := Matrix{rows, cols, mem[:k:k]}
		mem = mem[k:]
		return out
	}
	b.Q, b.O = cut(m, d), cut(m, d)
	for t := range b.Tiles {
		x := &b.Tiles[t]
		x.K, x.V, x.S, x.P, x.U = cut(n, d), cut(n, d), cut(m, n), cut(m, n), cut(m, d)
		x.M, x.L = cut(m, 1).Data, cut(m, 1).Data
	}
}

// fill computes the block, or ends with the context between two kv tiles.
func (b *Block) fill(ctx context.Context, r *Reference) error {
	g := r.geo
	b.allocate(g)
	r.in.DecodeRows(b.Q.Data[:b.Rows*g.dim], 0, b.Batch, b.Head, b.Query, b.Rows)
	run := newRunning(b.Rows)
	fed := newRunning(b.Rows) // the chain of rounded, injected m that U is built on under the P·V gate
	for t := range b.Tiles {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := &b.Tiles[t]
		r.in.DecodeRows(x.K.Data[:x.Keys*g.dim], 1, b.Batch, b.Head, x.Key, x.Keys)
		r.in.DecodeRows(x.V.Data[:x.Keys*g.dim], 2, b.Batch, b.Head, x.Key, x.Keys)
		Scores(x.S, b.Q, x.K, b.Rows, x.Keys, g.scale/g.scoreUnit, nil, 0)
		if r.gate == GateSoftmax {
			r.roundStage(StepS, x.S.Data)
		}
		b.softmax(g, t, run)
		carry := run.carry
		if r.gate == GatePV {
			r.inject(b, t)
			for i := range b.Rows {
				fed.step(i, x.M[i]/g.maxUnit)
			}
			carry = fed.carry
		}
		b.accumulate(t, carry)
	}
	b.finish()
	return nil
}

// running is the online softmax's state across kv tiles: natural m, l, and the factor of the last step.
type running struct {
	m, l, carry []float64
}

func newRunning(rows int) *running {
	s := &running{make([]float64, rows), make([]float64, rows), make([]float64, rows)}
	for i := range s.m {
		s.m[i] = math.Inf(-1)
	}
	return s
}

// step moves row i to the maximum m and sets carry = exp(m_old − m), 0 where nothing was seen before.
func (s *running) step(i int, m float64) {
	s.carry[i] = Below(s.m[i], m)
	s.m[i] = m
}

// Below is exp(x − m), 0 where x is −Inf (also against m = −Inf: what was never seen contributes nothing).
func Below(x, m float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return math.Exp(x - m)
}

// softmax fills M, L and P of kv tile t.
func (b *Block) softmax(g geometry, t int, run *running) {
	x := &b.Tiles[t]
	for i := range b.Rows {
		s, p := x.S.Row(i), x.P.Row(i)
		top := run.m[i]
		for j := range x.Keys {
			if v := s[j] * g.scoreUnit; v > top && b.Visible(t, i, j) {
				top = v
			}
		}
		run.step(i, top)
		sum := 0.0
		for j := range x.Keys {
			if b.Visible(t, i, j) {
				p[j] = Below(s[j]*g.scoreUnit, top)
				sum += p[j]
			}
		}
		run.l[i] = run.l[i]*run.carry[i] + sum
		x.M[i], x.L[i] = top*g.maxUnit, run.l[i]
	}
}

// accumulate fills U of kv tile t from P, V and U of the tile before.
func (b *Block) accumulate(t int, carry []float64) {
	x := &b.Tiles[t]
	if t > 0 {
		for i := range b.Rows {
			u, old := x.U.Row(i), b.Tiles[t-1].U.Row(i)
			for d := range u {
				u[d] = old[d] * carry[i]
			}
		}
	}
	Accumulate(x.U, x.P, x.V, b.Rows, 0, x.Keys)
}

// finish sets O = U/l from the last tile.
func (b *Block) finish() {
	if len(b.Tiles) == 0 {
		return
	}
	x := &b.Tiles[len(b.Tiles)-1]
	for i := range b.Rows {
		o, u := b.O.Row(i), x.U.Row(i)
		for d := range o {
			o[d] = u[d] / x.L[i]
		}
	}
}

// Stage is Values by the stage's name; ok is false for a stage that is none of attention's as well.
func (b *Block) Stage(s probes.Stage, kv int) (m Matrix, ok bool) {
	step, ok := StepOf(s)
	if !ok {
		return Matrix{}, false
	}
	return b.Values(step, kv)
}

// Values returns the reference of a stage, rows×cols as the stage has them (vectors: one column); shared and read-only.
// kv is ignored for stages taken once a block; ok is false where the block has no such tile.
func (b *Block) Values(s Step, kv int) (m Matrix, ok bool) {
	switch s {
	case StepQ:
		return b.Q, true
	case StepO:
		return b.O, true
	}
	if kv < 0 || kv >= len(b.Tiles) {
		return Matrix{}, false
	}
	x := &b.Tiles[kv]
	switch s {
	case StepK:
		return x.K, true
	case StepV:
		return x.V, true
	case StepS:
		return x.S, true
	case StepM:
		return Matrix{len(x.M), 1, x.M}, true
	case StepL:
		return Matrix{len(x.L), 1, x.L}, true
	case StepP:
		return x.P, true
	case StepU:
		return x.U, true
	}
	return Matrix{}, false
}

// AllVisible reports whether every query row of the block sees every existing key of kv tile t.
func (b *Block) AllVisible(t int) bool { return b.hidden == 0 || b.Tiles[t].Key >= b.firstKey }
