package ref

import (
	"context"
	"sync"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Reference is the reference of one plan on its inputs. It is safe for concurrent use.
type Reference struct {
	g       *Graph
	blocks  *cache[*Block]
	mirrors *cache[*Block]

	mu   sync.Mutex
	free map[mode][]*Pass
}

// Options say what a reference is for, beyond plan and inputs.
type Options struct {
	// Chip is the arithmetic that mirrored values are computed with. It must be given.
	Chip *fp.Model
	// Uniform makes a gate feed uniform values: what a softmax of equal scores gives.
	Uniform bool
	// Keep is how many blocks stay in memory; 0: as many as fit in 64 MiB, at least 2.
	Keep int
}

// New binds a plan's stages to their operators. tensor gives the inputs by name. The errors
// are those of NewGraph.
func New(p *probes.Plan, tensor func(name string) op.Tensor, opt Options) (*Reference, error) {
	g, err := NewGraph(p, tensor, opt.Chip)
	if err != nil {
		return nil, err
	}
	g.uniform = opt.Uniform
	keep := opt.Keep
	if keep == 0 {
		perBlock := 0
		for i := range g.stages {
			s := &g.stages[i]
			n := 8 * s.Rows * s.Cols
			if s.Phase == probes.PhaseEach {
				n *= p.Work.MaxTiles
			}
			perBlock += n
		}
		keep = max(2, (64<<20)/max(perBlock, 1))
	}
	return &Reference{
		g: g, blocks: newCache[*Block](keep), mirrors: newCache[*Block](max(2, keep/4)),
		free: map[mode][]*Pass{},
	}, nil
}

// Plan returns the plan that the reference was made for.
func (r *Reference) Plan() *probes.Plan { return r.g.plan }

// Graph returns the graph.
func (r *Reference) Graph() *Graph { return r.g }

// Block is a reference of one thread block: the numbers of every stage in every iteration, cells beyond the
// valid ones 0. It is read-only.
type Block struct {
	ID     probes.Dim3
	Iters  int
	g      *Graph
	values [][]op.Matrix // by stage and iteration
}

// Block returns the exact reference of a block, computed at the first call and kept while there is
// room. Under a gate the injected stages hold what is injected, rounded to their dtypes, and later
// stages what follows from it.
func (r *Reference) Block(id probes.Dim3) *Block {
	return r.blocks.get(id, func() *Block {
		b, _ := r.compute(context.Background(), exact, id) // there is no other error
		return b
	})
}

// Compute is Block without the cache, for a walk over all blocks, which may be cancelled: the error is ctx's.
func (r *Reference) Compute(ctx context.Context, id probes.Dim3) (*Block, error) {
	return r.compute(ctx, exact, id)
}

// Mirror returns the mirrored reference of a block: the kernel's tile order and rounding points as the plan
// states them, the chip's tensor core and exponential. Every number is representable in its stage's dtype.
// What the plan does not fix (the order of additions within a shuffle or a merge) is done in the usual way,
// so a clean kernel gives these bits where it does the same.
func (r *Reference) Mirror(id probes.Dim3) *Block {
	return r.mirrors.get(id, func() *Block {
		b, _ := r.compute(context.Background(), rounding, id)
		return b
	})
}

// pass returns a pass, one that was used before where there is one of such weights.
func (r *Reference) pass(m mode, w Weights) *Pass {
	if w != nil {
		p := r.g.newPass(m, w)
		p.weighed = true
		return p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if list := r.free[m]; len(list) > 0 {
		p := list[len(list)-1]
		r.free[m] = list[:len(list)-1]
		return p
	}
	return r.g.newPass(m, nil)
}

// Release gives a pass back that nobody looks at any more.
func (r *Reference) Release(p *Pass) {
	if p.weighed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free[p.mode] = append(r.free[p.mode], p)
}

// compute walks over a block and keeps every tile.
func (r *Reference) compute(ctx context.Context, m mode, id probes.Dim3) (*Block, error) {
	p := r.pass(m, nil)
	defer r.Release(p)
	p.Begin(id)
	b := &Block{ID: id, Iters: p.Iters, g: r.g, values: make([][]op.Matrix, len(r.g.stages))}
	for i := range r.g.stages {
		n := 1
		if r.g.stages[i].Phase == probes.PhaseEach {
			n = p.Iters
		}
		b.values[i] = make([]op.Matrix, n)
	}
	p.Before()
	b.keep(p, probes.PhaseBefore)
	for range p.Iters {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.Next()
		b.keep(p, probes.PhaseEach)
	}
	p.After()
	b.keep(p, probes.PhaseAfter)
	return b, nil
}

// keep copies the values of a phase's stages.
func (b *Block) keep(p *Pass, ph probes.Phase) {
	for i := range b.g.stages {
		s := &b.g.stages[i]
		if s.Phase != ph {
			continue
		}
		v := &p.current[i]
		if !v.ok && p.Iters == 0 && ph == probes.PhaseAfter {
			continue // it follows from nothing
		}
		m := op.NewMatrix(s.Rows, s.Cols)
		if v.ok {
			copy(m.Data, v.M.Data)
		}
		k := 0
		if ph == probes.PhaseEach {
			k = p.Iter
		}
		b.values[i][k] = m
	}
}

// Values returns the numbers of a stage, rows×cols as the stage has them; kv is ignored for
// stages outside the loop. ok is false where the block has no such tile, or has no iterations and
// the stage follows from one.
func (b *Block) Values(s probes.Stage, kv int) (m op.Matrix, ok bool) {
	i := b.g.Index(s)
	if i < 0 {
		return op.Matrix{}, false
	}
	if b.g.stages[i].Phase != probes.PhaseEach {
		kv = 0
	}
	if kv < 0 || kv >= len(b.values[i]) {
		return op.Matrix{}, false
	}
	m = b.values[i][kv]
	return m, m.Data != nil
}

// Injected returns the tile that the host feeds in for a stage under the plan's gate: the block's reference
// in the stage's bits. Beyond the valid cells stands 0, or 1 where the stage is divided by. A stage that the
// gate does not inject gives a tile that is not reached.
func (r *Reference) Injected(s probes.Stage, id probes.Dim3, kv int) probes.Tile {
	if !r.g.plan.Gate.Injected.Has(s) {
		return probes.Tile{}
	}
	return r.Rounded(s, id, kv)
}

// Rounded returns the exact reference of a tile in its stage's bits: what a kernel without any error but the
// last rounding leaves. It is not reached where the plan has no such tile.
func (r *Reference) Rounded(s probes.Stage, id probes.Dim3, kv int) probes.Tile {
	sp := r.g.plan.Stage(s)
	if sp == nil {
		return probes.Tile{}
	}
	m, ok := r.Block(id).Values(s, kv)
	t := probes.NewTile(sp.DType, sp.Rows, sp.Cols)
	if !ok {
		return t
	}
	st := &r.g.stages[r.g.Index(s)]
	rows, cols := st.valid(id, kv)
	for i := range sp.Rows {
		for j := range sp.Cols {
			v := m.At(i, j)
			if i >= rows || j >= cols {
				v = st.pad
			}
			t.SetBits(i, j, op.Round(sp.DType, v))
		}
	}
	return t
}

// Weights is a factor for each term of the bounds; nil: all 1. Tests alone set others.
type Weights = *[op.NumTerms]float64

// FromInputs returns a pass that computes every stage from the inputs, with the errors that a right kernel is
// allowed: the global estimates. Release gives it back.
func (r *Reference) FromInputs(w Weights) *Pass { return r.pass(fromInputs, w) }

// FromOwn returns a pass that computes each stage from the kernel's own tiles: the local estimates.
func (r *Reference) FromOwn(w Weights) *Pass { return r.pass(fromOwn, w) }
