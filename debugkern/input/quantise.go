package input

import (
	"context"
	"fmt"
	"math"

	"tilescope/probes"
)

// groups is how many scales a coded tensor has, and run how many consecutive elements share one.
func (t *Tensor) groups() int { return t.Dims[t.Quant.Along] }

func (t *Tensor) run() int {
	n := 1
	for _, d := range t.Dims[t.Quant.Along+1:] {
		n *= d
	}
	return n
}

// Step is the value of one code of a group: max/levels·scale.
func (t *Tensor) Step(group int) float64 {
	return t.Quant.Max / t.Quant.Levels * float64(t.Scales[group])
}

// eachGroup calls f with the parts of a range that share a scale.
func (t *Tensor) eachGroup(dst []float64, first int, f func(dst []float64, group, at int)) {
	run := t.run()
	for len(dst) > 0 {
		n := min(len(dst), run-first%run)
		f(dst[:n], first/run%t.groups(), first)
		dst, first = dst[n:], first+n
	}
}

// eachRun calls f with index ranges that make up one group, in order, until the context ends.
func (t *Tensor) eachRun(ctx context.Context, group int, f func(lo, hi int)) error {
	run := t.run()
	for lo := group * run; lo < t.Elems(); lo += run * t.groups() {
		if err := inChunks(ctx, lo, lo+run, f); err != nil {
			return err
		}
	}
	return nil
}

// quantise encodes X: for each index of the dimension Along scale = absmax/max, 1 for an all-zero group; code
// = zero + round(x/scale/max·EncodeLevels), within 1…255 for eight bits around 128, so the codes are
// symmetric. A NaN becomes zero's code.
func (t *Tensor) quantise(ctx context.Context) error {
	q := t.Quant
	levels := q.EncodeLevels
	if levels == 0 {
		levels = q.Levels
	}
	t.Codes, t.Scales = make([]uint8, len(t.X)), make([]float32, t.groups())
	for g := range t.Scales {
		top, err := t.groupMax(ctx, g)
		if err != nil {
			return err
		}
		scale := float32(top / q.Max)
		if scale == 0 {
			scale = 1
		}
		t.Scales[g] = scale
		if err := t.eachRun(ctx, g, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				t.Codes[i] = encode(q, levels, t.X[i], scale)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func encode(q *probes.Quantiser, levels float64, x, scale float32) uint8 {
	v := math.Round(float64(float64(x) / float64(scale) / q.Max * levels))
	if math.IsNaN(v) {
		v = 0
	}
	lo, hi := float64(1-q.Zero), float64(255-q.Zero)
	return uint8(q.Zero + int(min(max(v, lo), hi)))
}

// groupMax is the largest finite magnitude of a group.
func (t *Tensor) groupMax(ctx context.Context, group int) (float64, error) {
	top := 0.0
	err := t.eachRun(ctx, group, func(lo, hi int) {
		for _, v := range t.X[lo:hi] {
			if a := math.Abs(float64(v)); a > top && !math.IsInf(a, 0) {
				top = a
			}
		}
	})
	return top, err
}

// RoundTripFault says where encoding and decoding are not inverse to within half a step.
type RoundTripFault struct {
	Tensor    string
	Index     []int   // of the worst element
	Value     float64 // before encoding
	Decoded   float64 // after decoding
	Deviation float64 // in steps of its group; more than 0.5
	Count     int     // elements that are off by more than half a step, over all tensors
}

func (f *RoundTripFault) Error() string {
	at := ""
	for _, i := range f.Index {
		at += fmt.Sprintf("[%d]", i)
	}
	return fmt.Sprintf(
		"%s%s = %.6g decodes to %.6g, %.3f steps away, where half a step is allowed; so do %d elements in all",
		f.Tensor, at, f.Value, f.Decoded, f.Deviation, f.Count)
}

// roundTripSlack is for the float32 rounding of the scale: 127 codes times 2^-24, in steps, and some.
const roundTripSlack = 1e-4

// RoundTrip checks over the actual inputs that decoding what was encoded gives each number back to
// within half a step, as the quantiser promises. nil means it does, or that the kernel takes no
// codes. The error is ctx's.
func RoundTrip(ctx context.Context, in *Inputs) (*RoundTripFault, error) {
	var worst *RoundTripFault
	count := 0
	for _, t := range in.Tensors {
		if !t.Coded || t.X == nil {
			continue
		}
		for g := range t.groups() {
			step := t.Step(g)
			if err := t.eachRun(ctx, g, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					got := float64(int(t.Codes[i])-t.Quant.Zero) * step
					dev := math.Abs(got-float64(t.X[i])) / step
					if !(dev > 0.5+roundTripSlack) {
						continue
					}
					count++
					if worst == nil || dev > worst.Deviation {
						worst = &RoundTripFault{
							Tensor: t.Name, Index: probes.Index(i, t.Dims), Value: float64(t.X[i]),
							Decoded: got, Deviation: dev,
						}
					}
				}
			}); err != nil {
				return nil, err
			}
		}
	}
	if worst != nil {
		worst.Count = count
	}
	return worst, nil
}
