package input

import (
	"encoding/binary"
	"math"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Tensor returns an input as the kernel takes it; nil where there is none of that name.
func (in *Inputs) Tensor(name string) op.Tensor {
	if t := in.Find(name); t != nil {
		return &given{in, t}
	}
	return nil
}

// Original returns an input before quantising; nil where there is none of that name.
func (in *Inputs) Original(name string) op.Tensor {
	if t := in.Find(name); t != nil {
		return &original{t}
	}
	return nil
}

// Argument returns what an input argument holds, little endian: a tensor, or the scales of one. ok is false
// where there is none of that name. The caller must not change it.
func (in *Inputs) Argument(a probes.Arg) (b []byte, ok bool) {
	if t := in.Find(a.Tensor); t != nil {
		return t.Bytes(), true
	}
	for _, t := range in.Tensors {
		if t.Coded && a.Tensor == t.Name+"s" {
			return Float32Bytes(t.Scales), true
		}
	}
	return nil, false
}

// Bytes are what the kernel is given, little endian. The caller must not change them.
func (t *Tensor) Bytes() []byte {
	switch {
	case t.Coded:
		return t.Codes
	case t.Bits != nil:
		size := t.DType.Size()
		b := make([]byte, 0, size*len(t.Bits)+2)
		for _, x := range t.Bits {
			b = binary.LittleEndian.AppendUint16(b, x)[:len(b)+size]
		}
		return b
	case t.Wide != nil:
		return Float64Bytes(t.Wide)
	case t.Ints != nil:
		size := t.DType.Size()
		b := make([]byte, 0, size*len(t.Ints)+8)
		for _, x := range t.Ints {
			b = binary.LittleEndian.AppendUint64(b, uint64(x))[:len(b)+size]
		}
		return b
	}
	return Float32Bytes(t.X)
}

// Float32Bytes are numbers, little endian.
func Float32Bytes(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// Float64Bytes are numbers of double precision, little endian.
func Float64Bytes(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// original is an input before it was encoded.
type original struct{ t *Tensor }

func (x *original) Dims() []int                      { return x.t.Dims }
func (x *original) Coded() bool                      { return false }
func (x *original) Decode(dst []float64, first int)  { x.t.original(dst, first) }
func (x *original) Rounded(dst []float64, first int) { x.t.original(dst, first) }

// given is an input as the kernel takes it.
type given struct {
	in *Inputs
	t  *Tensor
}

func (x *given) Name() string                    { return x.t.Name }
func (x *given) Dims() []int                     { return x.t.Dims }
func (x *given) Coded() bool                     { return x.t.Coded }
func (x *given) Decode(dst []float64, first int) { x.t.Decode(dst, first) }

// Rounded is Decode with the kernel's three float32 roundings.
func (x *given) Rounded(dst []float64, first int) {
	t := x.t
	if !t.Coded {
		t.Decode(dst, first)
		return
	}
	t.eachGroup(dst, first, func(dst []float64, group, at int) {
		k := float32(float32(t.Quant.Max)/float32(t.Quant.Levels)) * t.Scales[group]
		for i, u := range t.Codes[at : at+len(dst)] {
			dst[i] = float64(float32(int(u)-t.Quant.Zero) * k)
		}
	})
}

// Scale is the scale of an element's group.
func (x *given) Scale(first int) (float64, int) {
	g := first / x.t.run() % x.t.groups()
	return float64(x.t.Scales[g]), g
}

func (x *given) Scales() []float32            { return x.t.Scales }
func (x *given) Quantiser() *probes.Quantiser { return x.t.Quant }

// Others are the scales of the other coded tensors.
func (x *given) Others() []op.NamedScales {
	var out []op.NamedScales
	for _, t := range x.in.Tensors {
		if t != x.t && t.Coded {
			out = append(out, op.NamedScales{Name: t.Name, Scales: t.Scales})
		}
	}
	return out
}
