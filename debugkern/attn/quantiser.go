package attn

import (
	"context"
	"fmt"
	"math"

	"tilescope/probes"
)

// Quantise encodes X: per head (over all batches) scale = absmax/max, 1 for an all-zero head; code = zero +
// round(x/scale/max·EncodeLevels), within 1…255 for eight bits around 128, so the codes are symmetric. A NaN becomes zero's
// code.
func (in *Inputs) Quantise(ctx context.Context, q *probes.Quantiser) error {
	in.Quant = q
	s := in.Shape
	levels := q.EncodeLevels
	if levels == 0 {
		levels = q.Levels
	}
	for t, x := range in.X {
		in.Bytes[t], in.Scales[t] = make([]uint8, len(x)), make([]float32, s.H)
		for h := range s.H {
			top, err := headMax(ctx, s, x, h)
			if err != nil {
				return err
			}
			scale := float32(top / q.Max)
			if scale == 0 {
				scale = 1
			}
			in.Scales[t][h] = scale
			if err := eachRun(ctx, s, h, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					in.Bytes[t][i] = encode(q, levels, x[i], scale)
				}
			}); err != nil {
				return err
			}
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

// headMax is the largest finite magnitude of a head, over all batches.
func headMax(ctx context.Context, s probes.Shape, x []float32, h int) (float64, error) {
	top := 0.0
	err := eachRun(ctx, s, h, func(lo, hi int) {
		for _, v := range x[lo:hi] {
			if a := math.Abs(float64(v)); a > top && !math.IsInf(a, 0) {
				top = a
			}
		}
	})
	return top, err
}

// eachRun calls f with index ranges that make up one head in all batches, in order, until the context ends.
func eachRun(ctx context.Context, s probes.Shape, h int, f func(lo, hi int)) error {
	for b := range s.B {
		lo := s.At(b, h, 0, 0)
		if err := inChunks(ctx, lo, lo+s.S*s.D, f); err != nil {
			return err
		}
	}
	return nil
}

// RoundTripFault says where encoding and decoding are not inverse to within half a step.
type RoundTripFault struct {
	Tensor    string
	Index     [4]int  // b, h, s, d of the worst element
	Value     float64 // before encoding
	Decoded   float64 // after decoding
	Deviation float64 // in steps of that head; more than 0.5
	Count     int     // elements that are off by more than half a step, over all tensors
}

func (f *RoundTripFault) Error() string {
	return fmt.Sprintf("quantiser: %s[%d][%d][%d][%d] = %.6g decodes to %.6g, %.3f steps away (half a step allowed); %d elements are",
		f.Tensor, f.Index[0], f.Index[1], f.Index[2], f.Index[3], f.Value, f.Decoded, f.Deviation, f.Count)
}

// roundTripSlack is for the float32 rounding of the scale: 127 codes times 2^-24, in steps, and some.
const roundTripSlack = 1e-4

// RoundTrip checks over the actual inputs that decoding what was encoded gives each number back to within half a step,
// as the quantiser promises. nil means it does, or that the kernel takes no codes.
// The error is ctx's.
func RoundTrip(ctx context.Context, in *Inputs) (*RoundTripFault, error) {
	if in.Quant == nil || in.X[0] == nil {
		return nil, nil
	}
	var worst *RoundTripFault
	count, s := 0, in.Shape
	for t, x := range in.X {
		for h := range s.H {
			step := in.Step(t, h)
			if err := eachRun(ctx, s, h, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					got := float64(int(in.Bytes[t][i])-in.Quant.Zero) * step
					dev := math.Abs(got-float64(x[i])) / step
					if !(dev > 0.5+roundTripSlack) {
						continue
					}
					count++
					if worst == nil || dev > worst.Deviation {
						at := [4]int{i / (s.D * s.S * s.H), h, i / s.D % s.S, i % s.D}
						worst = &RoundTripFault{Tensor: Tensors[t], Index: at, Value: float64(x[i]), Decoded: got, Deviation: dev}
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
