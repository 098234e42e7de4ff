package debugkern

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/input"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// exactOutput is the kernel's whole result in float64, from the inputs before quantising: attention over
// whole heads where the stages have the operators of the conventions, else the output stage's reference put
// together over the blocks.
type exactOutput struct {
	attention *attn.Whole
	values    []float64  // of the output's elements, row-major; nil with attention
	known     []bool     // those that a block's output stage has
	mu        sync.Mutex // of both: blocks may share elements
}

// exactOutput computes it once; nil where nothing says what the result is.
func (e *execution) exactOutput() (*exactOutput, error) {
	return e.whole.get(func() (*exactOutput, error) {
		p := e.r.plan
		if p.Conventional {
			whole, err := e.s.attention(e.ctx, p, e.st.inputs)
			return &exactOutput{attention: whole}, err
		}
		release, err := e.s.mem.Reserve(judgingPart, exactOutputBytes(p))
		if err != nil {
			return nil, err
		}
		defer release()
		return graphOutput(e.ctx, p, e.r.chip, e.st.inputs)
	})
}

// graphOutput walks over the graph of every block, on all cores. It returns nil where the output stage does
// not follow from the inputs by operators, and ctx's error if cancelled.
func graphOutput(
	ctx context.Context, p *probes.Plan, chip *fp.Model, in *input.Inputs,
) (*exactOutput, error) {
	sp := p.Output()
	// not computed from anything, or its place in the argument is unknown
	if sp == nil || sp.Op == nil || sp.Capture.Dims == nil {
		return nil, nil
	}
	r, err := ref.New(p, in.Original, ref.Options{Chip: chip})
	if err != nil {
		return nil, report.Usagef("kernel %s: %w", p.Kernel, err)
	}
	if !r.Graph().Known(r.Graph().Index(sp.Stage)) {
		return nil, nil
	}
	n := probes.Elems(p.OutputDims())
	out := &exactOutput{values: make([]float64, n), known: make([]bool, n)}
	blocks := probes.Range{N: p.Grid}
	n = blocks.N.Count()
	errs := make([]error, min(runtime.GOMAXPROCS(0), n))
	var next atomic.Int64
	var wg join.Group
	for w := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = out.block(ctx, r, sp, blocks.Block(i))
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// block fills in the valid cells of a block's output stage.
func (o *exactOutput) block(
	ctx context.Context, r *ref.Reference, sp *probes.StagePlan, id probes.Dim3,
) error {
	b, err := r.Compute(ctx, id)
	if err != nil {
		return err
	}
	tiles := 1
	if sp.PerTile {
		tiles = b.Iters
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for kv := range tiles {
		m, ok := b.Values(sp.Stage, kv)
		if !ok {
			continue
		}
		at := sp.InArgument(id, kv)
		rows, cols := r.Graph().Valid(r.Graph().Index(sp.Stage), id, kv)
		for row := range min(rows, at.Rows) {
			for c := range min(cols, at.Cols) {
				i := at.Element(row, c)
				o.values[i], o.known[i] = m.At(row, c), true
			}
		}
	}
	return nil
}

// compare compares the kernel's output with it, as far as it is known.
func (o *exactOutput) compare(p *probes.Plan, got []float64) *attn.OutputErrors {
	if o.attention != nil {
		return o.attention.Output(p, got)
	}
	var a, b []float64
	for i, x := range got {
		if o.known[i] {
			a, b = append(a, x), append(b, o.values[i])
		}
	}
	return attn.Compare(a, b, p.Limits)
}
