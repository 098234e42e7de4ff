package op_test

import (
	"math"
	"strings"
	"testing"

	"tilescope/debugkern/ref/op"
)

// TestExpressionMistakes computes expressions with one change.
func TestExpressionMistakes(t *testing.T) {
	const x, mean, v = 3.0, 1.0, 4.0
	root, outside := math.Sqrt(v+0.5), 1/math.Sqrt(v)+0.5
	in := []*op.Value{tile(1, 1, x), tile(1, 1, mean), tile(1, 1, v)}
	for _, c := range []struct {
		text  string
		names []string
		want  map[string]float64
	}{
		{"(x - u) * rsqrt(w + 0.5)", []string{"x", "u", "w"}, map[string]float64{
			"u taken as 0: (x - 0) * rsqrt(w + 0.5)":                       x / root,
			"w in place of u: (x - w) * rsqrt(w + 0.5)":                    (x - v) / root,
			"the root left out: (x - u) * (1 / (w + 0.5))":                 (x - mean) / (v + 0.5),
			"without + 0.5: (x - u) * rsqrt(w)":                            (x - mean) / math.Sqrt(v),
			"+ 0.5 outside of rsqrt: (x - u) * (rsqrt(w) + 0.5)":           (x - mean) * outside,
			"without - u: x * rsqrt(w + 0.5)":                              x / root,
			"the sign, + u in place of - u: (x + u) * rsqrt(w + 0.5)":      (x + mean) / root,
			"the operands of - exchanged: (u - x) * rsqrt(w + 0.5)":        (mean - x) / root,
			"- u twice: (x - u - u) * rsqrt(w + 0.5)":                      (x - 2*mean) / root,
			"1 (twice) in place of 0.5: (x - u) * rsqrt(w + 1)":            (x - mean) / math.Sqrt(v+1),
			"the root in place of its reciprocal: (x - u) * sqrt(w + 0.5)": (x - mean) * root,
		}},
		{"gelu(x)", []string{"x"}, map[string]float64{
			"gelu_tanh in place of gelu: gelu_tanh(x)": 0.5 * x *
				(1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))),
			"0.797885 (√(2/π)) in place of 0.707107: 0.5 * x * (1 + erf(x * 0.7978845608028654))": 0.5 * x *
				(1 + math.Erf(x*math.Sqrt(2/math.Pi))),
		}},
	} {
		k, ext, env := rig{
			node: node("map", len(c.names), "expr", c.text, "names", strings.Join(c.names, ",")),
		}.bind(t, nil, in[:len(c.names)])
		got := map[string]float64{}
		for _, m := range k.(op.Mistaken).Mistakes() {
			made := func() op.Matrix { return op.NewMatrix(ext[0], ext[1]) }
			out := &op.Value{M: made(), Err: made(), Unit: env.Unit}
			m.Kernel.Estimate(&op.Tile{Rows: 1, Cols: 1}, in[:len(c.names)], out)
			got[m.Value] = out.M.Data[0]
		}
		for value, want := range c.want {
			if x, ok := got[value]; !ok || math.Abs(x-want) > 1e-12 {
				t.Errorf("%s: got %g (%t), want %g", value, x, ok, want)
			}
		}
		if t.Failed() {
			for value := range got {
				t.Log(value)
			}
		}
	}
}

// TestExponentMistakes has the exponential in another base.
func TestExponentMistakes(t *testing.T) {
	g := rig{node: node("exp_below", 2)}
	in := []*op.Value{tile(1, 2, 3, 1), tile(1, 1, 4)}
	k, _, env := g.bind(t, nil, in)
	for _, m := range k.(op.Mistaken).Mistakes() {
		out := &op.Value{M: op.NewMatrix(1, 2), Err: op.NewMatrix(1, 2), Unit: env.Unit}
		m.Kernel.Estimate(&op.Tile{Rows: 1, Cols: 2}, in, out)
		if m.Name != "expression" || m.Value != "2 to the difference from the maximum, where e to it belongs: log2 e left out" {
			continue
		}
		if x, y := out.M.Data[0], out.M.Data[1]; math.Abs(x-0.5) > 1e-12 || math.Abs(y-0.125) > 1e-12 {
			t.Errorf("%s: %g, %g", m.Value, x, y)
		}
		return
	}
	t.Error("no other base")
}
