// Package reftest gives other rooms' tests a reference of a plan on seeded inputs, inputs of given
// numbers, copies of blocks that they may change, and the errors that a right kernel is allowed.
//
// The one idea: a test looks at a block by stage and kv tile, as the program does; where a block lies in the
// problem is read from the plan.
//
// No package of the program imports it.
package reftest

import (
	"slices"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/input"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// New is the reference of a plan on normal inputs of a seed, and those inputs.
func New(t testing.TB, p *probes.Plan, seed uint64, opt ref.Options) (*ref.Reference, *input.Inputs) {
	t.Helper()
	in, err := input.New(t.Context(), p, seed)
	if err != nil {
		t.Fatal(err)
	}
	opt.Chip = fp.SM90()
	r, err := ref.New(p, in.Tensor, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r, in
}

// Numbers is an input of given numbers, row-major.
type Numbers struct {
	Extents []int
	V       []float64
	Decoded bool // the kernel decodes them, to these very numbers
}

// NewNumbers is an input of the numbers that next gives for 0, 1, 2, ….
func NewNumbers(extents []int, next func(i int) float64) *Numbers {
	n := 1
	for _, d := range extents {
		n *= d
	}
	x := &Numbers{Extents: extents, V: make([]float64, n)}
	for i := range x.V {
		x.V[i] = next(i)
	}
	return x
}

// Dims, Coded, Decode and Rounded implement op.Tensor.
func (x *Numbers) Dims() []int                      { return x.Extents }
func (x *Numbers) Coded() bool                      { return x.Decoded }
func (x *Numbers) Decode(dst []float64, first int)  { copy(dst, x.V[first:]) }
func (x *Numbers) Rounded(dst []float64, first int) { x.Decode(dst, first) }

// Block is a copy of a reference's block.
type Block struct {
	ID                 probes.Dim3
	Iters              int
	Batch, Head, Query int // of its first row
	Rows               int // queries that there are
	plan               *probes.Plan
	values             map[probes.Stage][]op.Matrix
}

// Copy copies a block of a reference.
func Copy(r *ref.Reference, b *ref.Block) *Block {
	p, g := r.Plan(), r.Graph()
	c := &Block{ID: b.ID, Iters: b.Iters, plan: p, values: map[probes.Stage][]op.Matrix{},
		Batch: p.Position("batch").At(b.ID, 0), Head: p.Position("head").At(b.ID, 0),
		Query: p.Position("query").At(b.ID, 0)}
	c.Rows, _ = g.Valid(g.Index("Q"), b.ID, 0)
	for i := range g.Stages() {
		s := g.Stage(i).Stage
		for kv := range b.Iters {
			if m, ok := b.Values(s, kv); ok {
				c.values[s] = append(c.values[s], CopyMatrix(m))
			}
			if g.Stage(i).Phase != probes.PhaseEach {
				break
			}
		}
	}
	return c
}

// CopyMatrix copies a matrix.
func CopyMatrix(m op.Matrix) op.Matrix {
	return op.Matrix{Rows: m.Rows, Cols: m.Cols, Data: slices.Clone(m.Data)}
}

// At is the copy's tile of a stage; kv is ignored for stages outside the loop.
func (b *Block) At(s probes.Stage, kv int) op.Matrix {
	if all := b.values[s]; kv >= len(all) && len(all) == 1 {
		return all[0]
	}
	return b.values[s][kv]
}

// Key is the first key of a kv tile, and Keys how many there are.
func (b *Block) Key(kv int) int { return b.plan.Position("key").At(b.ID, kv) }

// Keys is how many keys of a kv tile exist.
func (b *Block) Keys(kv int) int { return b.plan.Definition("K").ValidRows.At(b.ID, kv) }

// Tile is the copy's tile of a stage in the stage's bits; not reached where the block has no such tile.
func (b *Block) Tile(s probes.Stage, kv int) probes.Tile {
	sp := b.plan.Stage(s)
	if sp == nil || sp.PerTile && kv >= len(b.values[s]) {
		return probes.Tile{}
	}
	m := b.At(s, kv)
	t := probes.NewTile(sp.DType, sp.Rows, sp.Cols)
	for r := range sp.Rows {
		for c := range sp.Cols {
			t.SetBits(r, c, op.Round(sp.DType, m.At(r, c)))
		}
	}
	return t
}

// Bounds are the errors that a right kernel is allowed in a block, from the true inputs: by stage and kv
// tile, rows×cols as the stage has them. w weighs the terms, nil: all 1.
func Bounds(r *ref.Reference, id probes.Dim3, w ref.Weights) map[probes.Stage][]op.Matrix {
	g, out := r.Graph(), map[probes.Stage][]op.Matrix{}
	p := r.FromInputs(w)
	defer r.Release(p)
	keep := func(ph probes.Phase) {
		for _, i := range g.Order(ph) {
			s := g.Stage(i).Stage
			out[s] = append(out[s], CopyMatrix(p.Estimate(i).Bound))
		}
	}
	p.Begin(id)
	p.Before()
	keep(probes.PhaseBefore)
	for range p.Iters {
		p.Next()
		keep(probes.PhaseEach)
	}
	p.After()
	keep(probes.PhaseAfter)
	return out
}
