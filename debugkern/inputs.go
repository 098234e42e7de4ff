package debugkern

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/input"
	"tilescope/probes"
)

// cachedInputs are the last inputs made: they stay valid when a flag is toggled.
type cachedInputs struct {
	key   string
	in    *input.Inputs
	whole map[string]*attn.Whole // by attn.WholeKey
}

// inputs resolves the request and makes, or reads, its inputs.
func (e *execution) inputs() (*input.Inputs, error) {
	switch {
	case e.from != nil:
		return e.inputsFrom(e.from)
	case e.req.Inputs != "":
		return e.inputsOfFile()
	}
	var err error
	if e.r, err = e.s.resolve(e.ctx, e.req, nil, nil); err != nil {
		return nil, err
	}
	if e.req.OneSided {
		oneSided(e.r.plan)
	}
	if e.req.Large {
		fillNormal(e.r.plan, func() probes.FillKind { return probes.FillLarge })
	}
	e.progress(Progress{Phase: "inputs", Detail: e.r.plan.Shape.String()})
	return e.s.normal(e.ctx, e.r.plan, e.req.Seed)
}

// oneSided gives the normally distributed inputs of a plan one sign each.
func oneSided(p *probes.Plan) {
	kind := probes.FillBelow
	fillNormal(p, func() probes.FillKind {
		own := kind
		kind = probes.FillAbove
		return own
	})
}

// fillNormal gives each of the normally distributed inputs of a plan another fill.
func fillNormal(p *probes.Plan, kind func() probes.FillKind) {
	p.Inputs = slices.Clone(p.Inputs)
	for i := range p.Inputs {
		if f := &p.Inputs[i].Fill; f.Kind == probes.FillRandn {
			f.Kind = kind()
		}
	}
}

// inputsOfFile reads the inputs. Where the kernel's shape is a list, the file's arrays give it;
// else the request does.
func (e *execution) inputsOfFile() (*input.Inputs, error) {
	f, err := openInputs(e.ctx, e.req.Inputs, e.s.mem)
	if err != nil {
		return nil, err
	}
	defer f.close()
	shape, err := e.s.shapeOfFile(e.ctx, e.req, f)
	if err != nil {
		return nil, err
	}
	if e.r, err = e.s.resolve(e.ctx, e.req, shape, f.values); err != nil {
		return nil, err
	}
	in, err := f.read(e.r.plan)
	if err == nil {
		err = computeInputs(e.ctx, e.r.plan, in, e.s.chip.Arithmetic)
	}
	if err != nil {
		f.release()
		return nil, err
	}
	budget.Until(e.s.mem, in, f.reserved.Release)
	return in, nil
}

// normal makes seeded inputs, or returns those of the run before where nothing about them changed.
func (s *Session) normal(ctx context.Context, p *probes.Plan, seed uint64) (*input.Inputs, error) {
	key := inputsKey(p, seed)
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
	in, err := input.New(ctx, p, seed)
	if err == nil {
		err = computeInputs(ctx, p, in, s.chip.Arithmetic)
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

// inputsKey is the same for plans whose seeded inputs are the same, and for no others.
func inputsKey(p *probes.Plan, seed uint64) string {
	key := fmt.Sprint(p.Shape, seed)
	if p.Quant != nil {
		key += fmt.Sprint(*p.Quant)
	}
	for _, in := range p.Inputs {
		key += fmt.Sprint(in, p.Args[in.Arg].DType)
	}
	return key + computedKey(p)
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

// attention is attention over whole heads on the run's inputs: it computes it, or returns what a run on
// the same inputs left.
func (s *Session) attention(ctx context.Context, p *probes.Plan, in *input.Inputs) (*attn.Whole, error) {
	key := attn.WholeKey(p)
	s.mu.Lock()
	cached := s.inputs
	if cached != nil && cached.in == in && cached.whole[key] != nil {
		defer s.mu.Unlock()
		return cached.whole[key], nil
	}
	s.mu.Unlock()
	release, err := s.mem.Reserve(judgingPart, exactOutputBytes(p))
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
