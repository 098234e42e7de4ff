package debugkern

import (
	"context"
	"fmt"
	"sync"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/budget"
	"tilescope/probes"
)

// cachedInputs are the last inputs made: they stay valid when a flag is toggled.
type cachedInputs struct {
	key   string
	in    *attn.Inputs
	whole map[string]*attn.Whole // by attn.WholeKey
}

// inputs resolves the request and makes, or reads, its inputs.
func (e *execution) inputs() (*attn.Inputs, error) {
	if e.req.Inputs != "" {
		return e.inputsOfFile()
	}
	var err error
	if e.r, err = e.s.resolve(e.ctx, e.req, nil); err != nil {
		return nil, err
	}
	e.progress(Progress{Phase: "inputs", Detail: e.r.plan.Shape.String()})
	return e.s.normal(e.ctx, e.r.plan, e.req.Seed)
}

// inputsOfFile reads the inputs, and resolves the request for their shape.
func (e *execution) inputsOfFile() (in *attn.Inputs, err error) {
	file, err := readInputs(e.ctx, e.req.Inputs, e.s.mem)
	if err != nil {
		return nil, err
	}
	shape := probes.Shape{B: file.dims[0], H: file.dims[1], S: file.dims[2], D: file.dims[3]}
	if e.r, err = e.s.resolve(e.ctx, e.req, &shape); err == nil {
		in, err = file.inputs(e.ctx, shape, e.r.plan, e.req.Inputs)
	}
	if err != nil {
		file.release()
		return nil, err
	}
	releases := file.releases
	budget.Until(e.s.mem, in, func() { releaseAll(releases) })
	return in, nil
}

// normal makes seeded inputs, or returns those of the run before where nothing about them changed.
func (s *Session) normal(ctx context.Context, p *probes.Plan, seed uint64) (*attn.Inputs, error) {
	key := fmt.Sprint(p.Shape, seed, p.Quant)
	if p.Quant != nil {
		key = fmt.Sprint(p.Shape, seed, *p.Quant)
	}
	s.mu.Lock()
	cached := s.inputs
	s.mu.Unlock()
	if cached != nil && cached.key == key {
		return cached.in, nil
	}
	release, err := s.mem.Reserve(inputsPart, inputBytes(p))
	if err != nil {
		return nil, err
	}
	in, err := attn.Normal(ctx, p.Shape, seed)
	if err == nil {
		err = in.Prepare(ctx, p)
	}
	if err != nil {
		release()
		return nil, err
	}
	budget.Until(s.mem, in, release)
	s.mu.Lock()
	s.inputs = &cachedInputs{key, in, map[string]*attn.Whole{}}
	s.mu.Unlock()
	return in, nil
}

// future is a value that is computed once, by its first caller.
type future[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (f *future[T]) get(compute func() (T, error)) (T, error) {
	f.once.Do(func() { f.value, f.err = compute() })
	return f.value, f.err
}

// attention is attention over whole heads on the run's inputs: it computes it, or returns what a run on the same inputs left.
func (s *Session) attention(ctx context.Context, p *probes.Plan, in *attn.Inputs) (*attn.Whole, error) {
	key := attn.WholeKey(p)
	s.mu.Lock()
	cached := s.inputs
	if cached != nil && cached.in == in && cached.whole[key] != nil {
		defer s.mu.Unlock()
		return cached.whole[key], nil
	}
	s.mu.Unlock()
	release, err := s.mem.Reserve(judgingPart, attentionBytes(p))
	if err != nil {
		return nil, err
	}
	w, err := attn.NewWhole(ctx, p, in)
	if err != nil {
		release()
		return nil, err
	}
	budget.Until(s.mem, w, release)
	if cached != nil && cached.in == in {
		s.mu.Lock()
		cached.whole[key] = w
		s.mu.Unlock()
	}
	return w, nil
}

// inputs turns the arrays of an --inputs file into a problem.
func (f *npzInputs) inputs(ctx context.Context, shape probes.Shape, p *probes.Plan, path string) (*attn.Inputs, error) {
	in := &attn.Inputs{Shape: shape, X: f.x}
	if f.x[0] != nil {
		if err := in.Prepare(ctx, p); err != nil {
			return nil, err
		}
		return in, f.agrees(path, in)
	}
	if p.Quant == nil {
		return nil, usage("--inputs %s: kernel %s takes half inputs; give Qx Kx Vx", path, p.Kernel)
	}
	in.Bytes, in.Scales, in.Quant = f.bytes, f.scales, p.Quant
	return in, in.FillX(ctx)
}
