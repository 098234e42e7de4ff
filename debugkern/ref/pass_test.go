package ref_test

import (
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

const productOfInputs = `schema: tilescope.kernel/1
name: product
ptx: k.ptx
entry: k
launch: {grid: ["N / 16", "M / 16", 1], block: [16, 16, 1]}
args:
  - {name: A, type: "f32*", dims: [M, K], role: input}
  - {name: B, type: "f32*", dims: [K, N], role: input}
  - {name: C, type: "f32*", dims: [M, N], role: output}
work: {row: by * 16, col: bx * 16}
loops: [{name: k, count: K / 16}]
stages:
  - {name: y, axes: [row, col], dtype: f32, dims: [16, 16], valid: [16, 16], per: block,
     op: {matmul: [{load: A, at: [row, 0], rows: 0, cols: 1, dims: [16, K]}, {load: B, at: [0, col], rows: 0, cols: 1, dims: [K, 16]}], over: K},
     capture: {output: C, at: [row, col], rows: 0, cols: 1}}
variants: {k: {}}
default: k
gates: []
shapes: {small: {M: 32, N: 48, K: 64}}
thresholds: {output: {max_abs: 0.01, mean_abs: 0.001, bad_fraction: 0}}
`

// A pass that begins a block computes all of it, whatever was asked of the block before: a stage made of
// inputs alone, before the loop, too.
func TestPassBeginsAnew(t *testing.T) {
	p := configstest.Parse(t, "product.yaml", productOfInputs, "small")
	r, _ := reftest.New(t, p, 1, ref.Options{})
	y := r.Graph().Index("y")
	at := func(pass *ref.Pass, id probes.Dim3) []float64 {
		pass.Begin(id)
		if !pass.Compute(y) {
			t.Fatal("y was not computed")
		}
		return slices.Clone(pass.Estimate(y).Ref.Data)
	}
	for _, make := range []func(ref.Weights) *ref.Pass{r.FromOwn, r.FromInputs} {
		pass, want := make(nil), at(make(nil), probes.Dim3{1, 1, 0})
		if first := at(pass, probes.Dim3{}); slices.Equal(first, want) {
			t.Fatal("the two blocks are equal")
		}
		if got := at(pass, probes.Dim3{1, 1, 0}); !slices.Equal(got, want) {
			t.Errorf("the second block begins with %g, want %g", got[0], want[0])
		}
	}
}
