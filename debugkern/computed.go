package debugkern

import (
	"context"
	"fmt"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/input"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// computeInputs gives the inputs that follow from others their numbers: exact ones of what the kernel is
// given, rounded once. Those that have numbers already, of a file, are left as they are.
func computeInputs(ctx context.Context, p *probes.Plan, in *input.Inputs, chip *fp.Model) error {
	open := map[string]*computedInput{} // by argument
	for _, t := range in.Tensors {
		if t.Fill.Kind == probes.FillComputed && t.X == nil && t.Wide == nil {
			if t.DType == probes.F64 {
				t.Wide = make([]float64, t.Elems())
			} else {
				t.X = make([]float32, t.Elems())
			}
			open[p.Args[t.Arg].Name] = &computedInput{t, make([]bool, t.Elems())}
		}
	}
	if len(open) == 0 {
		return nil
	}
	c := p.Computed
	r, err := ref.New(c.Plan, func(name string) op.Tensor {
		x, t := c.Input(name), in.Tensor(name)
		if x == nil || t == nil {
			return nil
		}
		return reshaped{t, x.Dims}
	}, ref.Options{Chip: chip})
	if err != nil {
		return report.Usagef("kernel %s: computed: %w", p.Kernel, err)
	}
	for i := range c.Grid.Count() {
		b, err := r.Compute(ctx, c.Grid.At(i))
		if err != nil {
			return err
		}
		for k := range c.Stages {
			sp := &c.Stages[k]
			if x := open[sp.Capture.Output]; x != nil {
				x.take(r.Graph(), b, sp)
			}
		}
	}
	for name, x := range open {
		for i, known := range x.known {
			if !known {
				return report.Usagef("kernel %s: computed: no stage gives element %v of %s (shape %s)",
					p.Kernel, probes.Index(i, x.Dims), name, p.Shape)
			}
		}
		if err := x.Encode(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reshaped is a tensor with the extents of its argument, where a convention has given it others.
type reshaped struct {
	op.Tensor
	dims []int
}

func (t reshaped) Dims() []int { return t.dims }

// computedInput is an input that is being computed.
type computedInput struct {
	*input.Tensor
	known []bool
}

// take copies the valid cells of a stage's tiles in a block to where they lie in the input.
func (x *computedInput) take(g *ref.Graph, b *ref.Block, sp *probes.StagePlan) {
	tiles := 1
	if sp.PerTile {
		tiles = b.Iters
	}
	for kv := range tiles {
		m, ok := b.Values(sp.Stage, kv)
		if !ok {
			continue
		}
		at := sp.InArgument(b.ID, kv)
		rows, cols := g.Valid(g.Index(sp.Stage), b.ID, kv)
		for r := range min(rows, at.Rows) {
			for c := range min(cols, at.Cols) {
				i := at.Element(r, c)
				x.set(i, m.At(r, c))
			}
		}
	}
}

// set gives an element its number.
func (x *computedInput) set(i int, v float64) {
	if x.known[i] = true; x.Wide != nil {
		x.Wide[i] = v
		return
	}
	x.X[i] = float32(v)
}

// computedKey tells plans apart whose inputs follow from others in other ways.
func computedKey(p *probes.Plan) string {
	if p.Computed == nil {
		return ""
	}
	return fmt.Sprint(p.Computed.Text, p.Consts, p.Scale)
}
