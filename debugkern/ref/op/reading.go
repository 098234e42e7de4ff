package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// reading is what operators have in common that copy or decode elements of an input. Codes are decoded:
// (code − zero)·(max/levels·scale), all exact but three float32 roundings.
type reading struct {
	sameCell
	env    *Env
	name   string
	tensor Tensor
}

// newReading is for a node whose only operand is an input, with the tile's extent, from the
// numbers height and width.
func newReading(n *probes.Node, in []Extent, env *Env) (reading, Extent, error) {
	ext := Extent{int(number(n, "height", 0)), int(number(n, "width", 1))}
	if err := want(n, in, 0); err != nil {
		return reading{}, ext, err
	}
	if len(n.Args) != 1 || n.Args[0].Tensor == "" {
		return reading{}, ext, fmt.Errorf("%s reads one input", n.Op)
	}
	k := reading{env: env, name: n.Args[0].Tensor, tensor: env.Tensor(n.Args[0].Tensor)}
	if k.tensor == nil {
		return reading{}, ext, fmt.Errorf("%s: no input %s", n.Op, k.name)
	}
	return k, ext, nil
}

// strides are the elements from one index of a dimension to the next.
func strides(dims []int) []int {
	out, step := make([]int, len(dims)), 1
	for d := len(dims) - 1; d >= 0; d-- {
		out[d] = step
		step *= dims[d]
	}
	return out
}

// rel is the relative error of decoding.
func (k *reading) rel() float64 {
	if k.tensor.Coded() {
		return k.env.Coefs[TermDecode]
	}
	return 0
}

// errors gives the numbers of a tile that was read the error of decoding.
func (k *reading) errors(t *Tile, out *Value) {
	rel := k.rel()
	for r := range t.Rows {
		err := out.Err.Row(r)[:t.Cols]
		for c, v := range out.M.Row(r)[:t.Cols] {
			err[c] = math.Abs(v) * rel
		}
	}
	out.Exact = !k.tensor.Coded()
}

// mirrored reads consecutive elements as the kernel rounds them.
func (k *reading) mirrored(dst []float64, first int) {
	if k.tensor.Coded() {
		k.tensor.Rounded(dst, first)
		return
	}
	k.tensor.Decode(dst, first)
}

func (k *reading) Reason() string {
	if !k.tensor.Coded() {
		return "copied"
	}
	return "(code − zero)·(max/levels·scale) in three f32 roundings, 4·2^-24 relative"
}

func (k *reading) input() Tensor { return k.tensor }

// Source is the input that a kernel reads; ok is false for a kernel that computes.
func Source(k Kernel) (t Tensor, ok bool) {
	r, ok := k.(interface{ input() Tensor })
	if !ok {
		return nil, false
	}
	return r.input(), true
}
