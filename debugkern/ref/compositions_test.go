package ref_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// compositionHead is what the stages of a documented composition stand in: 2 blocks of 16 rows, a loop over 4
// tiles.
const compositionHead = `schema: tilescope.kernel/1
name: composition
source: k.cu
entry: k
constants: {M: 16, N: 8, SPLITS: 4}
launch: {grid: ["ceil_div(S, M)", H, B], block: [32, 1, 1]}
args:
  - {name: X, type: "f16*", dims: [S, D], role: input}
  - {name: Y, type: "f16*", dims: [S, D], role: input}
  - {name: weight, type: "f16*", dims: [D], role: input}
  - {name: bias, type: "f16*", dims: [D], role: input}
  - {name: parts, type: "f16*", dims: [SPLITS, S, D], role: input}
  - {name: sums, type: "f32*", dims: [SPLITS, S], role: input}
  - {name: out, type: "f16*", dims: [S, D], role: output}
work: {query: bx * M, key: kv * N, tiles: SPLITS}
gates: []
shapes: {small: [1, 1, 32, 24]}
`

// documented is the composition of docs/operators.md that begins with a comment of that name.
func documented(t *testing.T, name string) *probes.Plan {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operators.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, stages, ok := strings.Cut(string(text), "```yaml\n# "+name+"\n")
	if !ok {
		t.Fatalf("no composition %s", name)
	}
	stages, _, _ = strings.Cut(stages, "```")
	return configstest.Parse(t, name+".yaml", compositionHead+stages, "small")
}

// inputs are the numbers of a composition's inputs, by name.
type inputs map[string]*reftest.Numbers

// inputsOf fills a plan's inputs with normal numbers.
func inputsOf(p *probes.Plan) inputs {
	rnd, out := rand.New(rand.NewPCG(20, 1)), inputs{}
	half := func(int) float64 { return op.RoundTo(probes.F16, rnd.NormFloat64()) }
	for _, name := range []string{"X", "Y", "weight", "bias", "parts", "sums"} {
		out[name] = reftest.NewNumbers(p.Input(name).Dims, half)
	}
	return out
}

// formula is a cell of a composition's stage, with each operation rounded by f.
type formula func(in inputs, f func(float64) float64, r, c int) float64

// composed checks a composition's stage, computed from the inputs: its exact numbers, and a kernel's in
// float32 with its bound, which has to be a small share of the numbers.
func composed(t *testing.T, name string, stage probes.Stage, want formula) {
	t.Helper()
	p := documented(t, name)
	in := inputsOf(p)
	r, err := ref.New(p, func(name string) op.Tensor {
		if x, ok := in[name]; ok {
			return x
		}
		return nil
	}, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for block := range 2 {
		composedBlock(t, r, probes.Dim3{block, 0, 0}, stage, func(f func(float64) float64, r, c int) float64 {
			return want(in, f, 16*block+r, c)
		})
	}
}

func composedBlock(t *testing.T, r *ref.Reference, id probes.Dim3, stage probes.Stage,
	want func(f func(float64) float64, r, c int) float64) {
	t.Helper()
	name := r.Plan().Kernel
	m, ok := r.Block(id).Values(stage, 0)
	if !ok {
		t.Fatalf("%s has no %s", name, stage)
	}
	bounds := reftest.Bounds(r, id, nil)[stage][0]
	dtype := r.Plan().Stage(stage).DType
	for i := range m.Rows {
		for j := range m.Cols {
			exact := want(func(x float64) float64 { return x }, i, j)
			rounded := op.RoundTo(dtype, want(func(x float64) float64 { return float64(float32(x)) }, i, j))
			if got := m.At(i, j); got != exact && !(math.Abs(got-exact) <= 1e-12*(1+math.Abs(exact))) {
				t.Fatalf("%s, block %s: %s (%d,%d) is %g, want %g", name, id, stage, i, j, got, exact)
			}
			b := bounds.At(i, j)
			if rounded != exact && !(math.Abs(rounded-exact) <= b) || b > 0.01*(1+math.Abs(exact)) {
				t.Fatalf("%s, block %s: %s (%d,%d) is %g in float32, %g ± %g exactly",
					name, id, stage, i, j, rounded, exact, b)
			}
		}
	}
}

const depth = 24

// TestDocumentedNorms: layernorm and rmsnorm are what they are by definition.
func TestDocumentedNorms(t *testing.T) {
	composed(t, "layernorm", "y", func(in inputs, f func(float64) float64, r, c int) float64 {
		x, mean, variance := in["X"].V[r*depth:(r+1)*depth], 0.0, 0.0
		for _, v := range x {
			mean = f(mean + v)
		}
		mean = f(mean / depth)
		for _, v := range x {
			d := f(v - mean)
			variance = f(variance + f(d*d))
		}
		variance = f(variance / depth)
		y := f(f(x[c]-mean) * f(1/math.Sqrt(f(variance+0.00001))))
		return f(f(y*in["weight"].V[c]) + in["bias"].V[c])
	})
	composed(t, "rmsnorm", "y", func(in inputs, f func(float64) float64, r, c int) float64 {
		x, ms := in["X"].V[r*depth:(r+1)*depth], 0.0
		for _, v := range x {
			ms = f(ms + f(v*v))
		}
		ms = f(ms / depth)
		return f(f(x[c]*f(1/math.Sqrt(f(ms+0.000001)))) * in["weight"].V[c])
	})
}

// TestDocumentedSoftmax: the logarithm of the sum over all tiles is that of all visible keys, −Inf where
// there are none.
func TestDocumentedSoftmax(t *testing.T) {
	composed(t, "softmax", "lse", func(in inputs, f func(float64) float64, r, _ int) float64 {
		top, scores, sum := math.Inf(-1), []float64(nil), 0.0
		for key := 0; key < 32 && key <= r-3; key++ {
			dot := 0.0
			for d := range depth {
				dot = f(dot + in["X"].V[r*depth+d]*in["Y"].V[key*depth+d])
			}
			scores = append(scores, f(dot*0.25))
			top = max(top, f(dot*0.25))
		}
		for _, s := range scores {
			sum = f(sum + f(math.Exp(f(s-top))))
		}
		return f(top + f(math.Log(sum)))
	})
}

// TestDocumentedCombine: splits are weighed by the exponentials of their logarithms of sums.
func TestDocumentedCombine(t *testing.T) {
	composed(t, "combine", "y", func(in inputs, f func(float64) float64, r, c int) float64 {
		top, sum, acc := math.Inf(-1), 0.0, 0.0
		for split := range 4 {
			top = max(top, in["sums"].V[split*32+r])
		}
		for split := range 4 {
			w := f(math.Exp(f(in["sums"].V[split*32+r] - top)))
			sum, acc = f(sum+w), f(acc+f(w*in["parts"].V[(split*32+r)*depth+c]))
		}
		return f(acc / sum)
	})
}
