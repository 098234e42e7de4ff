// Package attn is the reference: what attention computes, stage by stage and kv tile by kv tile, with the tiling of the
// kernel that is looked at.
//
// The one idea: a reference is a pure function of plan and inputs, made block by block when somebody asks. Two of them
// exist. Exact (Block) is float64 throughout and is what verdicts compare with; mirrored (Mirror) has the kernel's tile
// order and rounding points and is what a clean kernel should give bit for bit. Both start from the true inputs, the
// quantised bytes and their scales; under a gate, from what the gate injects.
//
// Symbols are the paper's: S = Q·Kᵀ·scale, m the running row maximum, P = exp(S − m), l the running row sum,
// U = Σ P·V unnormalised, O = U / l. Everything after S is per kv tile, relative to the maximum so far.
//
// It must not know bounds, verdicts, kernels by name, or where tiles come from.
package attn

import (
	"context"
	"fmt"
	"math"

	"tilescope/probes"
)

// Options say what a reference is for, beyond plan and inputs.
type Options struct {
	// Uniform makes the P·V gate feed the uniform P = 1/TILE_N on visible keys, with m constant and l = keys/TILE_N.
	Uniform bool
	// Keep is how many blocks stay in memory; 0: as many as fit in 64 MiB, at least 2.
	Keep int
}

// Reference makes the exact and mirrored references of one plan and its inputs. It is safe for concurrent use.
type Reference struct {
	plan    *probes.Plan
	in      *Inputs
	uniform bool
	geo     geometry
	gate    Gate
	blocks  *cache[*Block]
	mirrors *cache[*Block]
}

// New checks that the plan is one this package can compute, and that the inputs fit it.
func New(p *probes.Plan, in *Inputs, opt Options) (*Reference, error) {
	r := &Reference{plan: p, in: in, uniform: opt.Uniform}
	if err := in.fits(p); err != nil {
		return nil, err
	}
	var err error
	if r.gate, err = GateOf(p); err != nil {
		return nil, err
	}
	for i := range p.Stages {
		if _, ok := StepOf(p.Stages[i].Stage); !ok {
			return nil, fmt.Errorf("kernel %s: the reference computes attention, which has no stage %s", p.Kernel, p.Stages[i].Stage)
		}
	}
	if r.geo, err = newGeometry(p); err != nil {
		return nil, err
	}
	keep := opt.Keep
	if keep == 0 {
		perBlock := 8 * p.Work.MaxTiles * (2*r.geo.tileN*r.geo.dim + 2*r.geo.tileM*r.geo.tileN + r.geo.tileM*r.geo.dim)
		keep = max(2, (64<<20)/max(perBlock, 1))
	}
	r.blocks, r.mirrors = newCache[*Block](keep), newCache[*Block](max(2, keep/4))
	return r, nil
}

// Plan returns the plan the reference was made for.
func (r *Reference) Plan() *probes.Plan { return r.plan }

// Inputs returns the inputs the reference was made for; read-only.
func (r *Reference) Inputs() *Inputs { return r.in }

// Block returns the exact reference of one block, computed at the first call and kept while there is room. The result is
// shared and read-only.
func (r *Reference) Block(id probes.Dim3) *Block {
	return r.blocks.get(id, func() *Block { return r.Compute(id) })
}

// Compute is Block without the cache.
func (r *Reference) Compute(id probes.Dim3) *Block {
	b, _ := r.ComputeContext(context.Background(), id) // there is no other error
	return b
}

// ComputeContext is Compute for a pass over all blocks, which may be cancelled: the error is ctx's.
func (r *Reference) ComputeContext(ctx context.Context, id probes.Dim3) (*Block, error) {
	b := r.frame(id)
	if err := b.fill(ctx, r); err != nil {
		return nil, err
	}
	return b, nil
}

// geometry is what a plan says about tiles, in the form the reference uses.
type geometry struct {
	tileM, tileN, dim int
	scoreUnit         float64 // S in units of scaled scores: 1, or softmax_scale where the stage holds raw scores
	maxUnit           float64 // m per natural unit: 1, or log2 e
	scale             float64
}

func newGeometry(p *probes.Plan) (geometry, error) {
	g := geometry{dim: p.Shape.D, scale: p.Scale, scoreUnit: 1, maxUnit: 1}
	for _, st := range []struct {
		stage      Step
		rows, cols *int
	}{
		{StepS, &g.tileM, &g.tileN}, {StepP, &g.tileM, &g.tileN}, {StepQ, &g.tileM, nil},
		{StepU, &g.tileM, nil}, {StepO, &g.tileM, nil}, {StepK, &g.tileN, nil}, {StepV, &g.tileN, nil},
	} {
		sp := p.Stage(st.stage.Stage())
		if sp == nil {
			continue
		}
		for _, d := range []struct {
			have int
			want *int
		}{{sp.Rows, st.rows}, {sp.Cols, st.cols}} {
			if d.want == nil {
				continue
			}
			if *d.want == 0 {
				*d.want = d.have
			} else if *d.want != d.have {
				return g, fmt.Errorf("kernel %s: stage %s is %d×%d, which disagrees with the other stages' tiles (%d queries, %d keys)",
					p.Kernel, st.stage, sp.Rows, sp.Cols, g.tileM, g.tileN)
			}
		}
	}
	if g.tileM == 0 || g.tileN == 0 {
		return g, fmt.Errorf("kernel %s: no stage says how many queries and keys a tile has", p.Kernel)
	}
	if sp := p.Stage(StepS.Stage()); sp != nil && !sp.Meaning.Scaled {
		g.scoreUnit = p.Scale
	}
	if sp := p.Stage(StepM.Stage()); sp != nil && sp.Meaning.Log2 {
		g.maxUnit = math.Log2E
	}
	if sp := p.Stage(StepP.Stage()); sp != nil && sp.Meaning.Normalised {
		return g, fmt.Errorf("kernel %s: stage P normalised within a tile is not something the reference computes yet", p.Kernel)
	}
	return g, nil
}

// ScoreUnit is what one unit of stage S is worth in scaled scores: 1, or softmax_scale where S holds raw scores.
func (r *Reference) ScoreUnit() float64 { return r.geo.scoreUnit }

// MaxUnit is stage m per natural unit: 1, or log2 e where m lives in the log2 domain.
func (r *Reference) MaxUnit() float64 { return r.geo.maxUnit }

// TileM, TileN and Dim are the tile's extents: queries, keys and head dimension.
func (r *Reference) TileM() int { return r.geo.tileM }

// TileN is the number of keys a kv tile has room for.
func (r *Reference) TileN() int { return r.geo.tileN }

// Dim is the head dimension.
func (r *Reference) Dim() int { return r.geo.dim }
