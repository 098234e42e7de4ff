package needed

import (
	"math"
	"slices"
)

// Fold takes the instructions of a function of CUDA's math library as one operation where it recognises them:
// expf is 2 to a fraction, times 2 to an integer that is put together from bits. The others stay among the
// values, and nothing is made of them.
func (c *Cell) Fold() {
	for i := range c.Values {
		v := &c.Values[i]
		if v.Instr == nil || v.Immediate > 0 || v.Instr.Op != "mul" || len(v.Operands) != 2 {
			continue
		}
		for k, o := range v.Operands {
			power, bits := c.past(o.Value), c.past(v.Operands[1-k].Value)
			if !c.is(power, "ex2") || !c.is(bits, "shl") {
				continue
			}
			if x, ok := c.exponent(power); ok && near(math.Exp(c.Values[x].Got), v.Got) {
				v.Func, v.Operands = "exp", []Operand{{Arg: 1, Value: x}}
				break
			}
		}
	}
}

// past is a value, past moves.
func (c *Cell) past(i int) int {
	for c.Values[i].Moves() {
		i = c.Values[i].Operands[0].Value
	}
	return i
}

// is reports whether an instruction of a name gave a value.
func (c *Cell) is(i int, op string) bool {
	v := &c.Values[i]
	return v.Instr != nil && v.Immediate == 0 && v.Instr.Op == op
}

// exponent is the value x of which 2^(x·log2 e − n) is computed, as x·low + (x·high − n): log2 e has two
// parts.
func (c *Cell) exponent(power int) (int, bool) {
	v := &c.Values[power]
	if len(v.Operands) != 1 {
		return 0, false
	}
	low := c.past(v.Operands[0].Value)
	if !c.is(low, "fma") || len(c.Values[low].Operands) != 3 {
		return 0, false
	}
	high := c.past(c.Values[low].Operands[2].Value)
	if !c.is(high, "fma") || len(c.Values[high].Operands) != 3 {
		return 0, false
	}
	factors := func(i int) []int {
		o := c.Values[i].Operands
		return []int{c.past(o[0].Value), c.past(o[1].Value)}
	}
	for _, x := range factors(low) {
		if !slices.Contains(factors(high), x) {
			continue
		}
		for _, f := range factors(high) {
			if f != x && near(c.Values[f].Got, math.Log2E) {
				return x, true
			}
		}
	}
	return 0, false
}

// near reports whether two numbers are as good as equal in float32; of what is no number nothing is known.
func near(a, b float64) bool {
	return math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0) ||
		math.Abs(a-b) <= 0x1p-16*math.Max(math.Abs(a), 0x1p-100)
}
