// Package input has the tensors that a launch reads: numbers made from a seed or read from a file, and what
// the kernel is given in their place: codes with scales, halves, float32 or integers.
//
// The one idea: a tensor has a name, and its numbers are a function of seed, argument and element alone: the
// same bits on every platform.
//
// It must not know kernels, stages or what a tensor is used for.
package input

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Inputs are the tensors of one launch, in the order of its arguments. They are read-only once a reference
// has been made of them.
type Inputs struct {
	Shape   probes.Shape
	Quant   *probes.Quantiser // what codes mean; nil where there are none
	Tensors []*Tensor
}

// Tensor is one input. Its numbers before encoding are X, Wide or Ints; the kernel is given Codes with
// Scales, Bits, X, Wide or Ints.
type Tensor struct {
	probes.Input
	DType probes.DType // of the argument
	X     []float32    // row-major; nil for an integer type and for f64
	Wide  []float64    // of f64
	Ints  []int64      // of an integer type

	Quant  *probes.Quantiser // of a coded tensor
	Codes  []uint8
	Scales []float32 // one for each index of dimension Quant.Along
	Bits   []uint16  // bit patterns of f16, bf16, e4m3 or e5m2
}

// Empty returns a plan's inputs without numbers: set X, Ints, or Codes and Scales, then call Encode or FillX.
func Empty(p *probes.Plan) *Inputs {
	in := &Inputs{Shape: p.Shape}
	for _, x := range p.Inputs {
		t := &Tensor{Input: x, DType: p.Args[x.Arg].DType}
		if x.Coded {
			t.Quant, in.Quant = p.Quant, p.Quant
		}
		in.Tensors = append(in.Tensors, t)
	}
	return in
}

// New makes a plan's inputs from a seed, but for the computed ones: the same bits on every platform. It
// returns ctx's error if cancelled, as all that goes through whole tensors here does.
func New(ctx context.Context, p *probes.Plan, seed uint64) (*Inputs, error) {
	in := Empty(p)
	for _, t := range in.Tensors {
		if t.Fill.Kind == probes.FillComputed {
			continue // of the others, by who has their reference
		}
		if err := t.generate(ctx, seed); err != nil {
			return nil, err
		}
		if err := t.Encode(ctx); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Find returns the tensor of that name, nil where there is none.
func (in *Inputs) Find(name string) *Tensor {
	for _, t := range in.Tensors {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// generate makes the numbers before encoding.
func (t *Tensor) generate(ctx context.Context, seed uint64) error {
	n := t.Elems()
	if !t.DType.Float() && !t.Coded {
		var err error
		t.Ints, err = Whole(ctx, t.Fill, t.DType, n, seed, t.Arg)
		return err
	}
	if t.DType == probes.F64 {
		t.Wide = make([]float64, n)
		return inChunks(ctx, 0, n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				t.Wide[i] = math.Float64frombits(bitsOf(t.Fill, t.DType, seed, t.Arg, i))
			}
		})
	}
	t.X = make([]float32, n)
	return inChunks(ctx, 0, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			t.X[i] = realAt(t.Fill, seed, t.Arg, i)
		}
	})
}

// narrow reports a floating-point type of at most 16 bits, which X is rounded to.
func narrow(t probes.DType) bool { return t.Float() && t.Size() <= 2 }

// Encode makes what the kernel is given of X.
func (t *Tensor) Encode(ctx context.Context) error {
	switch {
	case t.Coded:
		return t.quantise(ctx)
	case narrow(t.DType):
		h := make([]uint16, len(t.X))
		t.Bits = h
		return inChunks(ctx, 0, len(h), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				h[i] = uint16(op.Round(t.DType, float64(t.X[i])))
			}
		})
	}
	return nil
}

// FillX sets X to the decoded numbers: for codes that come without the numbers before quantising.
func (t *Tensor) FillX(ctx context.Context) error {
	x := make([]float32, t.Elems())
	row := make([]float64, min(chunk, len(x)))
	t.X = x
	return inChunks(ctx, 0, len(x), func(lo, hi int) {
		for lo < hi {
			n := min(len(row), hi-lo)
			t.Decode(row[:n], lo)
			for i, v := range row[:n] {
				x[lo+i] = float32(v)
			}
			lo += n
		}
	})
}

// Decode writes the kernel's true input from position first on, as many numbers as dst has: (u −
// zero)/levels·max·scale, or the value of what it is given, exact in float64 up to its own rounding.
func (t *Tensor) Decode(dst []float64, first int) {
	switch {
	case t.Coded:
		t.eachGroup(dst, first, func(dst []float64, group, at int) {
			step := t.Step(group)
			for i, u := range t.Codes[at : at+len(dst)] {
				dst[i] = float64(int(u)-t.Quant.Zero) * step
			}
		})
	case t.DType == probes.F16:
		op.WidenHalf(dst, t.Bits[first:first+len(dst)])
	case t.Bits != nil:
		for i, b := range t.Bits[first : first+len(dst)] {
			dst[i] = t.DType.Value(uint64(b))
		}
	case t.Wide != nil:
		copy(dst, t.Wide[first:])
	case t.Ints != nil:
		for i, v := range t.Ints[first : first+len(dst)] {
			dst[i] = float64(v)
		}
	default:
		t.original(dst, first)
	}
}

// original writes the numbers before encoding.
func (t *Tensor) original(dst []float64, first int) {
	if t.X == nil {
		t.Decode(dst, first)
		return
	}
	for i, v := range t.X[first : first+len(dst)] {
		dst[i] = float64(v)
	}
}

// Decoded returns the whole tensor as the kernel's true input.
func (t *Tensor) Decoded() []float64 {
	out := make([]float64, t.Elems())
	t.Decode(out, 0)
	return out
}

// Fits checks lengths against the plan.
func (in *Inputs) Fits(p *probes.Plan) error {
	if in.Shape != p.Shape {
		return fmt.Errorf("inputs are for shape %s, the plan for %s", in.Shape, p.Shape)
	}
	for _, x := range p.Inputs {
		t := in.Find(x.Name)
		if t == nil {
			return fmt.Errorf("there is no input %s", x.Name)
		}
		have := max(len(t.X), len(t.Wide), len(t.Ints))
		switch {
		case x.Coded:
			if have = len(t.Codes); len(t.Scales) != t.groups() {
				return fmt.Errorf("input %ss has %d scales for %d", x.Name, len(t.Scales), t.groups())
			}
		case narrow(t.DType):
			have = len(t.Bits)
		}
		if have != x.Elems() {
			return fmt.Errorf("input %s has %d elements as the kernel takes them, shape %s needs %d", x.Name,
				have, in.Shape, x.Elems())
		}
	}
	if in.Quant != nil && (in.Quant.Levels == 0 || in.Quant.Max == 0) {
		return fmt.Errorf("quantiser %q: levels and max must not be zero", in.Quant.Kind)
	}
	return nil
}

// Finite reports whether every number before quantising is finite.
func (in *Inputs) Finite() bool {
	for _, t := range in.Tensors {
		if slices.ContainsFunc(t.X, func(v float32) bool {
			return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)
		}) {
			return false
		}
	}
	return true
}
