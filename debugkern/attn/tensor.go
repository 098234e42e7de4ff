package attn

import (
	"slices"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Tensor returns an input as the kernel takes it; nil where there is none of that name.
func (in *Inputs) Tensor(name string) op.Tensor {
	if t := slices.Index(Tensors[:], name); t >= 0 {
		return &tensor{in, t}
	}
	return nil
}

// Original returns an input before quantising; nil where there is none of that name.
func (in *Inputs) Original(name string) op.Tensor {
	if t := slices.Index(Tensors[:], name); t >= 0 {
		return &original{tensor{in, t}}
	}
	return nil
}

// original is one input of a problem before quantising.
type original struct{ tensor }

func (x *original) Coded() bool { return false }

func (x *original) Decode(dst []float64, first int) {
	for i, v := range x.in.X[x.t][first : first+len(dst)] {
		dst[i] = float64(v)
	}
}

func (x *original) Rounded(dst []float64, first int) { x.Decode(dst, first) }

// tensor is one input of a problem, decoded.
type tensor struct {
	in *Inputs
	t  int
}

func (x *tensor) Name() string { return Tensors[x.t] }

func (x *tensor) Dims() []int {
	s := x.in.Shape
	return []int{s.B, s.H, s.S, s.D}
}

func (x *tensor) Coded() bool { return x.in.Quant != nil }

// Decode writes the numbers that the kernel's input stands for: (code − zero)·max/levels·scale, or the half's value.
func (x *tensor) Decode(dst []float64, first int) {
	x.each(dst, first, func(dst []float64, head, at int) { x.in.decode(dst, x.t, head, at) })
}

// Rounded is Decode with the kernel's three float32 roundings.
func (x *tensor) Rounded(dst []float64, first int) {
	if x.in.Quant == nil {
		x.Decode(dst, first)
		return
	}
	x.each(dst, first, func(dst []float64, head, at int) {
		k := float32(float32(x.in.Quant.Max)/float32(x.in.Quant.Levels)) * x.in.Scales[x.t][head]
		for i, u := range x.in.Bytes[x.t][at : at+len(dst)] {
			dst[i] = float64(float32(int(u)-x.in.Quant.Zero) * k)
		}
	})
}

// each calls f with the parts of a range that lie in one head.
func (x *tensor) each(dst []float64, first int, f func(dst []float64, head, at int)) {
	s := x.in.Shape
	head := s.S * s.D
	for len(dst) > 0 {
		n := min(len(dst), head-first%head)
		f(dst[:n], first/head%s.H, first)
		dst, first = dst[n:], first+n
	}
}

// Scale is the scale of an element's head.
func (x *tensor) Scale(first int) (float64, int) {
	s := x.in.Shape
	h := first / (s.S * s.D) % s.H
	return float64(x.in.Scales[x.t][h]), h
}

func (x *tensor) Scales() []float32            { return x.in.Scales[x.t] }
func (x *tensor) Quantiser() *probes.Quantiser { return x.in.Quant }

// Others are the scales of the other two tensors.
func (x *tensor) Others() []op.NamedScales {
	var out []op.NamedScales
	for t, name := range Tensors {
		if t != x.t {
			out = append(out, op.NamedScales{Name: name, Scales: x.in.Scales[t]})
		}
	}
	return out
}
