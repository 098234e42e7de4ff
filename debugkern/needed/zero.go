package needed

import "tilescope/debugkern/isa"

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
