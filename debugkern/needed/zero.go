package needed

import (
	"math"

	"tilescope/debugkern/isa"
)

// ZeroFactor finds the product by which a cell is 0 that should not be: the nearest that has one factor 0 and
// another that is not, through operations that keep a 0. Both are indices in Values, of the product and of
// the factor; -1, -1 where there is none.
func (c *Cell) ZeroFactor() (product, factor int) {
	i := 0
	for range len(c.Values) {
		v := &c.Values[i]
		if v.Got != 0 || v.Instr == nil || v.Immediate != 0 {
			return -1, -1
		}
		switch {
		case v.Moves(), v.Instr.Kind() == isa.Convert && len(v.Operands) == 1:
			i = v.Operands[0].Value
		case v.Instr.Op == "mul" && len(v.Operands) == 2:
			a, b := v.Operands[0].Value, v.Operands[1].Value
			switch x, y := c.Values[a].Got, c.Values[b].Got; {
			case x == 0 && y != 0:
				return i, a
			case y == 0 && x != 0:
				return i, b
			}
			return -1, -1
		default:
			return -1, -1
		}
	}
	return -1, -1
}

// ZeroTerm finds such a product where more than one operation keeps the 0: through both terms of a sum of
// zeros too, and through a product of zeros, the first in the order of operands. Both are indices in Values,
// the factor one of the product's first two operands; -1, -1 where there is none.
func (c *Cell) ZeroTerm() (product, factor int) {
	seen := make([]bool, len(c.Values))
	var find func(id int) (product, factor int)
	find = func(id int) (int, int) {
		v := &c.Values[id]
		if seen[id] || v.Instr == nil || v.Got != 0 {
			return -1, -1
		}
		seen[id] = true
		switch op := v.Instr.Op; {
		case (op == "mul" || op == "fma" || op == "mad") && len(v.Operands) > 1:
			a, b := v.Operands[0].Value, v.Operands[1].Value
			switch x, y := c.Values[a].Got, c.Values[b].Got; {
			case x == 0 && y != 0 && !math.IsNaN(y):
				return id, a
			case y == 0 && x != 0 && !math.IsNaN(x):
				return id, b
			}
		case op != "add" && op != "sub" && len(v.Operands) != 1:
			return -1, -1
		}
		for _, o := range v.Operands {
			if p, f := find(o.Value); p >= 0 {
				return p, f
			}
		}
		return -1, -1
	}
	return find(0)
}
