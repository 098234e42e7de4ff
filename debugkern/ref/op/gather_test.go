package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// counting is an input of the numbers 0, 1, 2, ….
func counting(dims ...int) *reftest.Numbers {
	return reftest.NewNumbers(dims, func(i int) float64 { return float64(i) })
}

// gathering reads a tile of an input X through the expressions of a position.
func gathering(height, width, cols int, inputs map[string]op.Tensor, at ...string) rig {
	n := node("gather", 0)
	n.Args = []probes.Operand{{Tensor: "X"}}
	n.Params.Number = map[string]float64{"height": float64(height), "width": float64(width), "PAGE": 4}
	n.Params.Number["rank"] = float64(len(at))
	if cols >= 0 {
		n.Params.Number["cols"] = float64(cols)
	}
	for d, text := range at {
		n.Params.Word[fmt.Sprintf("at.%d", d)] = text
	}
	n.Params.Index["batch"] = []probes.Extent{probes.Fixed(1)}
	n.Params.Index["key"] = []probes.Extent{{Dims: [4]int{1, 1, 1, 2}, Values: []int{0, 8}}}
	return rig{node: n, tensors: inputs}
}

// paged is a pool of 6 pages of 4 rows of 3 numbers, and a table of 3 pages for each of 2 batches.
func paged() map[string]op.Tensor {
	table := &reftest.Numbers{Extents: []int{2, 3}, V: []float64{0, 1, 2, 5, 0, 3}}
	return map[string]op.Tensor{"X": counting(6, 4, 3), "table": table}
}

// Pages are read in the order of the table, rows within them by the remainder: each element is what it is by
// definition.
func TestGatherPages(t *testing.T) {
	g := gathering(8, 3, 2, paged(), "table[batch][div(key + r, PAGE)]", "(key + r) % PAGE", "0")
	pages := []int{5, 0, 3}
	k, ext, _ := g.bind(t, nil, nil)
	for iter, rows := range []int{8, 4} {
		at := &op.Tile{Iter: iter, Rows: 8, Cols: 3}
		for _, f := range []func(*op.Tile, []*op.Value, *op.Value){k.Exact, k.Estimate, k.Mirror} {
			out := &op.Value{M: op.NewMatrix(ext[0], ext[1]), Err: op.NewMatrix(ext[0], ext[1]), Unit: 1}
			for i := range out.M.Data {
				out.M.Data[i] = -1
			}
			f(at, nil, out)
			for r := range 8 {
				for c := range 3 {
					want := 0.0
					if r < rows {
						want = float64((pages[(iter*8+r)/4]*4+r%4)*3 + c)
					}
					if out.M.At(r, c) != want || out.Err.At(r, c) != 0 {
						t.Fatalf("iteration %d (%d,%d) is %g ± %g, want %g", iter, r, c, out.M.At(r, c),
							out.Err.At(r, c), want)
					}
				}
			}
		}
		if n, c := k.Valid(at, nil); n != rows || c != 3 {
			t.Errorf("iteration %d has %d×%d cells, want %d×3", iter, n, c, rows)
		}
	}
}

// Sequences one after the other begin where the cumulated lengths say, and end there too.
func TestGatherSequences(t *testing.T) {
	lengths := &reftest.Numbers{Extents: []int{3}, V: []float64{0, 7, 12}}
	inputs := map[string]op.Tensor{"X": counting(20, 2), "cu": lengths}
	g := gathering(8, 2, 1, inputs, "cu[batch] + key + r", "0")
	g.node.Params.Word["limit"] = "cu[batch + 1] - cu[batch] - key"
	out := g.estimate(t, nil)
	for r := range 8 {
		want := 0.0
		if r < 5 {
			want = float64((7 + r) * 2)
		}
		if out.M.At(r, 0) != want {
			t.Errorf("row %d is %g, want %g", r, out.M.At(r, 0), want)
		}
	}
	k, _, _ := g.bind(t, nil, nil)
	if rows, cols := k.Valid(&op.Tile{}, nil); rows != 5 || cols != 2 {
		t.Errorf("%d×%d cells, want 5×2", rows, cols)
	}
	if rows, cols := k.Valid(&op.Tile{Iter: 1}, nil); rows != 0 || cols != 0 {
		t.Errorf("past the end there are %d×%d cells", rows, cols)
	}
}

// Rows and columns may run along any dimension, or both through the position; what is decoded has the error
// of decoding.
func TestGatherAnyDimension(t *testing.T) {
	x := counting(5, 7)
	for name, c := range map[string]struct {
		cols int
		at   []string
		want func(r, c int) int
	}{
		"rows":       {1, []string{"r + 1", "2"}, func(r, c int) int { return (r+1)*7 + 2 + c }},
		"transposed": {0, []string{"1", "max(r, 2)"}, func(r, c int) int { return (1+c)*7 + max(r, 2) }},
		"each": {-1, []string{"min(c, r)", "ceil_div(c + r, 2) - -1"},
			func(r, c int) int { return min(c, r)*7 + (c+r+1)/2 + 1 }},
		"same": {-1, []string{"r", "3"}, func(r, _ int) int { return r*7 + 3 }},
	} {
		for _, coded := range []bool{false, true} {
			x.Decoded = coded
			g := gathering(3, 2, c.cols, map[string]op.Tensor{"X": x}, c.at...)
			out := g.estimate(t, nil)
			for r := range 3 {
				for col := range 2 {
					want := float64(c.want(r, col))
					if out.M.At(r, col) != want || (out.Err.At(r, col) == 0) == (coded && want != 0) {
						t.Errorf("%s (%d,%d) is %g ± %g, want %g", name, r, col, out.M.At(r, col),
							out.Err.At(r, col), want)
					}
				}
			}
		}
	}
}

// An entry that there is not, or that is no page, gives nothing.
func TestGatherOutside(t *testing.T) {
	inputs := paged()
	inputs["table"] = &reftest.Numbers{Extents: []int{2, 3}, V: []float64{0, 0, 0, -1, 6, 0.5}}
	const row = "table[batch]"
	for r, text := range []string{row + "[0]", row + "[1]", row + "[2]", row + "[3]", "div(1, 0)"} {
		out := gathering(1, 3, 2, inputs, text, "0", "0").estimate(t, nil)
		if out.M.Data[0] != 0 || out.M.Data[2] != 0 {
			t.Errorf("%d: through %s there is %v", r, text, out.M.Data)
		}
	}
}

func TestGatherSuspects(t *testing.T) {
	g := gathering(4, 1, 2, paged(), "table[batch][div(key + r, PAGE)]", "(key + r) % PAGE", "0")
	got := predictions(t, g, nil)
	for value, want := range map[string][]float64{
		"X through the next entry of the index":     {0, 3, 6, 9},
		"X through the previous entry of the index": {0, 0, 0, 0},
		"X without the index: entry i taken as i":   {0, 3, 6, 9},
		"X one row further":                         {63, 66, 69, 0},
		"X one row back":                            {0, 60, 63, 66},
	} {
		if p := got[value]; fmt.Sprint(p) != fmt.Sprint(want) {
			t.Errorf("%s: predicted %v, want %v", value, p, want)
		}
	}
}

func TestGatherBinds(t *testing.T) {
	for want, g := range map[string]rig{
		"gather: position of 2 dimensions, X has 3": gathering(1, 1, 2, paged(), "0", "0"),
		"gather: cols along dimension 3, X has 3":   gathering(1, 1, 3, paged(), "0", "0", "0"),
		`gather: "table[0]": table has 2 dimensions, not 1`: gathering(1, 1, 2, paged(),
			"table[0]", "0", "0"),
		`gather: "list[0]": no input list`: gathering(1, 1, 2, paged(),
			"list[0]", "0", "0"),
		`gather: "page": no whole number page`:     gathering(1, 1, 2, paged(), "page", "0", "0"),
		`gather: "r / 2": / may leave a remainder`: gathering(1, 1, 2, paged(), "r / 2", "0", "0"),
		`gather: "sqrt(r)": no function sqrt of 1 arguments`: gathering(1, 1, 2, paged(),
			"sqrt(r)", "0", "0"),
		`gather: "1.5": 1.5 is no whole number`: gathering(1, 1, 2, paged(), "1.5", "0", "0"),
		"gather: no input X":                    gathering(1, 1, 2, nil, "0", "0", "0"),
	} {
		o, _ := op.Lookup("gather")
		env := &op.Env{Coefs: op.NewCoefs(nil), Tensor: g.input}
		if _, _, err := o.Bind(g.node, nil, env); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	bare := node("gather", 0)
	checkBindErrors(t, []bindError{{bare, nil, "gather reads one input"}})
}

// A mask may have elements of inputs: a sequence's length.
func TestMaskOfLengths(t *testing.T) {
	lengths := &reftest.Numbers{Extents: []int{2}, V: []float64{5, 2}}
	g := rig{node: node("mask", 1), tensors: map[string]op.Tensor{"used": lengths}}
	g.node.Params.Word["rule.0"] = "c < used[batch] || r > 0 && c == 3"
	g.node.Params.Index["batch"] = []probes.Extent{{Dims: [4]int{2, 1, 1, 1}, Values: []int{0, 1}}}
	rnd := rand.New(rand.NewPCG(16, 3))
	in := []*op.Value{random(rnd, probes.F32, 2, 4)}
	k, _, _ := g.bind(t, nil, in)
	for block, used := range []int{5, 2} {
		out := tile(2, 4)
		k.Exact(&op.Tile{Block: probes.Dim3{block, 0, 0}, Rows: 2, Cols: 4}, in, out)
		for r := range 2 {
			for c := range 4 {
				want := in[0].M.At(r, c)
				if c >= used && (r == 0 || c != 3) {
					want = math.Inf(-1)
				}
				if out.M.At(r, c) != want {
					t.Errorf("block %d (%d,%d) is %g, want %g", block, r, c, out.M.At(r, c), want)
				}
			}
		}
	}
	wrong := mistaken(t, g, op.Tile{}, in)
	got := wrong["by the next entry of the index"]
	x, hidden := in[0].M, math.Inf(-1)
	if fmt.Sprint(got[:4]) != fmt.Sprint([]float64{x.At(0, 0), x.At(0, 1), hidden, hidden}) {
		t.Errorf("by the next length: %v", got)
	}
	for value, cols := range map[string]int{
		"moved by one column to the right": 4, "moved by one column to the left": 4,
		"left out: hidden cells take part": 4,
	} {
		if len(wrong[value]) != 2*cols {
			t.Errorf("%s: %v", value, wrong[value])
		}
	}
	for text, want := range map[string]string{
		"c + 1": "unknown comparison +", "used[batch]": "expected comparisons",
		"c < lengths[0]": "no input lengths",
	} {
		g.node.Params.Word["rule.0"] = text
		o, _ := op.Lookup("mask")
		env := &op.Env{
			Coefs: op.NewCoefs(nil), DType: probes.F32, Unit: 1, Units: []float64{1}, Tensor: g.input,
		}
		_, _, err := o.Bind(g.node, []op.Extent{{2, 4}}, env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
