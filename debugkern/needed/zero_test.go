package needed

import "testing"

// TestZeroFactor: the product is found through what keeps a 0, and of its factors the one that is 0; a sum
// that comes to 0 is no such product.
func TestZeroFactor(t *testing.T) {
	mul, add, mov := instr("mul", "rn"), instr("add", "rn"), instr("mov")
	leaf := func(x float64) Value { return Value{Got: x, At: -1} }
	for _, c := range []struct {
		name   string
		values []Value
		want   [2]int
	}{
		{
			"a product behind a move", []Value{
				{Instr: mov, Operands: []Operand{{Arg: 1, Value: 1}}},
				{Instr: mul, Operands: []Operand{{Arg: 1, Value: 2}, {Arg: 2, Value: 3}}}, leaf(3), leaf(0),
			}, [2]int{1, 3},
		},
		{
			"both factors are 0", []Value{
				{Instr: mul, Operands: []Operand{{Arg: 1, Value: 1}, {Arg: 2, Value: 2}}}, leaf(0), leaf(0),
			}, [2]int{-1, -1},
		},
		{
			"a sum", []Value{
				{Instr: add, Operands: []Operand{{Arg: 1, Value: 1}, {Arg: 2, Value: 2}}}, leaf(0), leaf(2),
			}, [2]int{-1, -1},
		},
		{
			"a product that is not 0", []Value{
				{Instr: mul, Got: 2, Operands: []Operand{{Arg: 1, Value: 1}, {Arg: 2, Value: 2}}}, leaf(0),
				leaf(2),
			}, [2]int{-1, -1},
		},
	} {
		x := Cell{Values: c.values}
		if p, f := x.ZeroFactor(); [2]int{p, f} != c.want {
			t.Errorf("%s: %d and %d, want %v", c.name, p, f, c.want)
		}
	}
}

// TestZeroTerm: the product is found in either term of a sum of zeros, and behind a product of zeros.
func TestZeroTerm(t *testing.T) {
	mul, add := instr("mul", "rn"), instr("add", "rn")
	leaf := func(x float64) Value { return Value{Got: x, At: -1} }
	of := func(a, b int) []Operand { return []Operand{{Arg: 1, Value: a}, {Arg: 2, Value: b}} }
	for _, c := range []struct {
		name   string
		values []Value
		want   [2]int
	}{
		{"the second term", []Value{
			{Instr: add, Operands: of(1, 2)}, leaf(0), {Instr: mul, Operands: of(3, 4)}, leaf(0), leaf(3),
		}, [2]int{2, 3}},
		{"behind a product of zeros", []Value{
			{Instr: mul, Operands: of(1, 2)}, leaf(0), {Instr: mul, Operands: of(3, 4)}, leaf(5), leaf(0),
		}, [2]int{2, 4}},
		{"zeros alone", []Value{{Instr: add, Operands: of(1, 2)}, leaf(0), leaf(0)}, [2]int{-1, -1}},
	} {
		x := Cell{Values: c.values}
		if p, f := x.ZeroTerm(); [2]int{p, f} != c.want {
			t.Errorf("%s: %d and %d, want %v", c.name, p, f, c.want)
		}
	}
}
