package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// loading reads a tile of an input at (2, 3), its rows and columns along given dimensions.
func loading(height, width, rows, cols int) *probes.Node {
	n := node("load", 0)
	n.Args = []probes.Operand{{Tensor: "X"}}
	n.Params.Number = map[string]float64{"height": float64(height), "width": float64(width)}
	for name, d := range map[string]int{"rows": rows, "cols": cols} {
		if d >= 0 {
			n.Params.Number[name] = float64(d)
		}
	}
	n.Params.Index["at"] = []probes.Extent{probes.Fixed(2), probes.Fixed(3)}
	return n
}

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		rows, cols int
		step       [2]int // elements from row to row, from column to column
	}{{0, 1, [2]int{10, 1}}, {1, 0, [2]int{1, 10}}, {0, -1, [2]int{10, 0}}, {-1, 1, [2]int{0, 1}}} {
		x := trial{rig: rig{node: loading(4, 5, c.rows, c.cols), tensor: counting(9, 10)},
			exact: func(_ []op.Matrix, r, col int) float64 {
				return float64(23 + r*c.step[0] + col*c.step[1])
			},
			kernel: func(_ *rand.Rand, _ []op.Matrix, r, col int) float64 {
				return float64(23 + r*c.step[0] + col*c.step[1])
			}}
		x.check(t, nil)
		if b := x.bounds(t, nil); b.Data[3] != 0 {
			t.Errorf("rows %d, cols %d: a copy may be off by %g", c.rows, c.cols, b.Data[3])
		}
	}
	x := rig{node: loading(2, 2, -1, -1), tensor: coded(3)}
	x.node.Params.Index["at"] = []probes.Extent{probes.Fixed(0)}
	if b := x.bound(t, nil); !(b > 3*0x1p-24) {
		t.Errorf("what is decoded may be off by %g", b)
	}
}

// A tile that is read from elsewhere: by another index, from the first index, or from
// memory of another order.
func TestLoadSuspects(t *testing.T) {
	x := reftest.NewNumbers([]int{2, 3, 3, 2, 4}, func(i int) float64 { return float64(i) })
	g := rig{node: node("load", 0), tensors: map[string]op.Tensor{"X": x}}
	g.node.Args = []probes.Operand{{Tensor: "X"}}
	for k, v := range map[string]float64{"height": 2, "width": 4, "rows": 1, "cols": 4} {
		g.node.Params.Number[k] = v
	}
	for _, i := range []int{1, 0, 2, 1, 0} { // element 72 + 16 + 4
		g.node.Params.Index["at"] = append(g.node.Params.Index["at"], probes.Fixed(i))
	}
	got := predictions(t, g, nil)
	for value, want := range map[string][]float64{
		"X by -1 in dimension 2":        {84, 85, 86, 87, 108, 109, 110, 111},
		"X by +1 in dimension 2":        {100, 101, 102, 103, 124, 125, 126, 127},
		"X from index 0 of dimension 3": {88, 89, 90, 91, 112, 113, 114, 115},
		// 72 + 2·4 + 1·12
		"dimensions 2 and 3 of X exchanged in memory": {92, 93, 94, 95, 116, 117, 118, 119},
	} {
		if !slices.Equal(got[value], want) {
			t.Errorf("%s: %v, want %v", value, got[value], want)
		}
	}
	for value := range got {
		if strings.Contains(value, "in dimension 1") || strings.Contains(value, "of dimension 4") {
			t.Errorf("%s: the tile runs along that", value)
		}
	}
	if v := got["X by +1 in dimension 0"]; !math.IsNaN(v[0]) {
		t.Errorf("past the end: %v", v)
	}
}
