package op_test

import (
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ref/op"
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
			exact: func(_ []op.Matrix, r, col int) float64 { return float64(23 + r*c.step[0] + col*c.step[1]) },
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
