package diagnose

import (
	"slices"
	"testing"

	"tilescope/debugkern/needed"
	"tilescope/debugkern/ptx"
)

// TestFactorOfLeaf: the factor of what is carried on is found through moves, and behind another operation
// than a product there is none.
func TestFactorOfLeaf(t *testing.T) {
	const carried = "U of the previous tile"
	value := func(op string, of ...int) needed.Value {
		v := needed.Value{Instr: &ptx.Instr{Op: op}}
		for i, o := range of {
			v.Operands = append(v.Operands, needed.Operand{Arg: i + 1, Value: o})
		}
		return v
	}
	leaf := func(name string) needed.Value { return needed.Value{Name: name, At: -1} }
	for _, c := range []struct {
		name            string
		values          []needed.Value
		product, factor int
		leaves          []string
	}{
		{
			"through a move", []needed.Value{
				value("add", 1, 2), value("mul", 3, 4), leaf("P"), value("mov", 5), value("ex2", 6),
				leaf(carried), leaf("m of the previous tile"),
			}, 1, 4, []string{"m of the previous tile"},
		},
		{
			"a product with a sum", []needed.Value{
				value("fma", 1, 2, 3), value("sub", 4, 5), leaf(carried), leaf("P"), leaf("m"), leaf("s"),
			}, 0, 1, []string{"m", "s"},
		},
		{"a sum", []needed.Value{value("add", 1, 2), leaf(carried), leaf("P")}, -1, -1, nil},
		{"nothing is carried", []needed.Value{value("mul", 1, 2), leaf("m"), leaf("P")}, -1, -1, nil},
	} {
		x := needed.Cell{Values: c.values}
		product, factor := factorOfLeaf(&x, carried)
		if product != c.product || factor != c.factor {
			t.Errorf("%s: %d and %d, want %d and %d", c.name, product, factor, c.product, c.factor)
			continue
		}
		if factor >= 0 && !slices.Equal(leavesOf(&x, factor), c.leaves) {
			t.Errorf("%s: made of %q, want %q", c.name, leavesOf(&x, factor), c.leaves)
		}
	}
}
