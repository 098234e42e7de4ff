package attn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Tensors are the three inputs, in the order of every [3] array here.
var Tensors = [3]string{"Q", "K", "V"}

// Inputs is one problem: the numbers before quantising and what the kernel is given in their place. All tensors are
// [B,H,S,D], row-major. It is read-only once a Reference has been made of it.
type Inputs struct {
	Shape probes.Shape
	X     [3][]float32 // Qx, Kx, Vx
	// Kernels with 8-bit inputs: codes, and one scale a head (over all batches of that head).
	Bytes  [3][]uint8
	Scales [3][]float32
	Quant  *probes.Quantiser // what Bytes mean; nil where there are none
	// Kernels with half inputs: bit patterns.
	Half [3][]uint16
}

// Normal makes seeded standard normal inputs: the same bits on every platform, each number a function of seed, tensor and
// index alone. Call Prepare next. It returns ctx's error if cancelled, as all that goes through whole tensors here does.
func Normal(ctx context.Context, shape probes.Shape, seed uint64) (*Inputs, error) {
	in := &Inputs{Shape: shape}
	for t := range in.X {
		x := make([]float32, shape.Elems())
		if err := inChunks(ctx, 0, len(x), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				x[i] = float32(normalAt(seed, t, i))
			}
		}); err != nil {
			return nil, err
		}
		in.X[t] = x
	}
	return in, nil
}

// Prepare encodes X as the plan's kernel takes it: Quantise where the plan has a quantiser, else Halve.
func (in *Inputs) Prepare(ctx context.Context, p *probes.Plan) error {
	if p.Quant != nil {
		return in.Quantise(ctx, p.Quant)
	}
	return in.Halve(ctx)
}

// Halve rounds X to half, to nearest even.
func (in *Inputs) Halve(ctx context.Context) error {
	for t, x := range in.X {
		h := make([]uint16, len(x))
		if err := inChunks(ctx, 0, len(x), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				h[i] = uint16(op.Round(probes.F16, float64(x[i])))
			}
		}); err != nil {
			return err
		}
		in.Half[t] = h
	}
	return nil
}

// Decoded returns a tensor as the kernel's true input: (u − zero)/levels·max·scale, or the half's value, exact in float64
// up to its own rounding.
func (in *Inputs) Decoded(tensor int) []float64 {
	out := make([]float64, in.Shape.Elems())
	s := in.Shape
	for b := range s.B {
		for h := range s.H {
			in.DecodeRows(out[s.At(b, h, 0, 0):s.At(b, h, 0, 0)+s.S*s.D], tensor, b, h, 0, s.S)
		}
	}
	return out
}

// DecodeRows decodes rows [first, first+n) of one head into dst, n·D numbers.
func (in *Inputs) DecodeRows(dst []float64, tensor, b, h, first, n int) {
	if n <= 0 {
		return // first may lie past the tensor's end
	}
	in.decode(dst[:n*in.Shape.D], tensor, h, in.Shape.At(b, h, first, 0))
}

// decode decodes consecutive elements of one head from position lo on.
func (in *Inputs) decode(dst []float64, tensor, h, lo int) {
	hi := lo + len(dst)
	if in.Quant == nil {
		op.WidenHalf(dst, in.Half[tensor][lo:hi])
		return
	}
	step := in.Step(tensor, h)
	for i, u := range in.Bytes[tensor][lo:hi] {
		dst[i] = float64(int(u)-in.Quant.Zero) * step
	}
}

// Step is the value of one code of a tensor's head: max/levels·scale.
func (in *Inputs) Step(tensor, head int) float64 {
	return in.Quant.Max / in.Quant.Levels * float64(in.Scales[tensor][head])
}

// FillX sets X to the decoded tensors: for inputs that come as bytes or halves without the numbers before quantising.
func (in *Inputs) FillX(ctx context.Context) error {
	s := in.Shape
	row := make([]float64, s.D)
	for t := range in.X {
		x := make([]float32, s.Elems())
		for i := range s.B * s.H * s.S {
			if i%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			in.DecodeRows(row, t, i/s.S/s.H, i/s.S%s.H, i%s.S, 1)
			for d, v := range row {
				x[i*s.D+d] = float32(v)
			}
		}
		in.X[t] = x
	}
	return nil
}

// Fits checks lengths against the plan's shape and the kind of input its kernel takes.
func (in *Inputs) Fits(p *probes.Plan) error {
	if in.Shape != p.Shape {
		return fmt.Errorf("inputs are for shape %s, the plan for %s", in.Shape, p.Shape)
	}
	n := in.Shape.Elems()
	for t, name := range Tensors {
		have := len(in.Half[t])
		if in.Quant != nil {
			have = len(in.Bytes[t])
			if len(in.Scales[t]) != in.Shape.H {
				return fmt.Errorf("input %ss has %d scales for %d heads", name, len(in.Scales[t]), in.Shape.H)
			}
		}
		if have != n {
			return fmt.Errorf("input %s has %d elements as the kernel takes them, shape %s needs %d", name, have, in.Shape, n)
		}
	}
	if in.Quant != nil && (in.Quant.Levels == 0 || in.Quant.Max == 0) {
		return fmt.Errorf("quantiser %q: levels and max must not be zero", in.Quant.Kind)
	}
	return nil
}

// Finite reports whether every number before quantising is finite.
func (in *Inputs) Finite() bool {
	for _, x := range in.X {
		if slices.ContainsFunc(x, func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }) {
			return false
		}
	}
	return true
}
