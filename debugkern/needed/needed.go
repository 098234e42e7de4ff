// Package needed works backwards through arithmetic: what each value that a wrong cell was made of would have
// had to be for the cell to be right.
//
// The one idea: where y = f(a, b) is wrong, and b is what it should be, what a should be follows from what y
// should be. So every operation on the way to a wrong cell has a number that it gave and a range of numbers
// that it would have had to give. One edit of the source makes one operation wrong: it is the one whose
// numbers, over many cells, all become the needed ones by one rule: they are one constant, or what another
// value of the kernel is, or the operation without one of its operands, or with one more (Explain).
//
// The package must not know kernels, stages or references: a cell comes with its range, its values and the
// names of others that may be meant.
package needed

import (
	"math"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// Range is the numbers from Lo to Hi.
type Range struct{ Lo, Hi float64 }

// Has reports whether a number lies in the range.
func (r Range) Has(x float64) bool { return x >= r.Lo && x <= r.Hi }

// Loose reports whether the range says little more than an order of magnitude.
func (r Range) Loose() bool {
	const loose = 0.5 // of its larger end
	return r.Hi-r.Lo > loose*math.Max(math.Abs(r.Lo), math.Abs(r.Hi))
}

// meet is what two ranges have in common; ok is false where that is nothing.
func (r Range) meet(o Range) (both Range, ok bool) {
	both = Range{math.Max(r.Lo, o.Lo), math.Min(r.Hi, o.Hi)}
	return both, both.Lo <= both.Hi
}

// by is a range of which each end went through a monotonic function.
func (r Range) by(f func(float64) float64) Range {
	a, b := f(r.Lo), f(r.Hi)
	return Range{math.Min(a, b), math.Max(a, b)}
}

// Value is a number that one lane got while a cell was made, or a constant.
type Value struct {
	Instr *ptx.Instr // that gave it, or (Immediate) that has it; nil: it was there before
	At    int        // index of Instr in the entry's body; -1: it is not the entry's own
	// Immediate is which operand of Instr the value is, where it is a constant in the text; else 0.
	Immediate int
	Func      string  // the operation that Instr ends, where several are taken as one: "exp"; else ""
	Got       float64 // NaN where it is not known as a number
	Type      ptx.Type
	// Operands are the values that Instr took, by the order of its arguments, as indices in Cell.Values. An
	// instruction that only moves has one. Of a matrix product it is the accumulator alone.
	Operands []Operand
	Name     string // of a value of which nothing more is followed: "m[row]"; else ""
	// Source numbers what a value of which nothing more is followed comes from: an element of an argument
	// or a cell of a tile, in the same cell. 0: it is not known.
	Source int
}

// Operand is one operand of an instruction.
type Operand struct {
	Arg   int // number of the argument
	Value int // index in Cell.Values
}

// Cell is a cell with the values that it was made of. Values[0] is the cell's own.
type Cell struct {
	Want   Range // what it should be
	Wrong  bool
	Values []Value
	Known  []Known // values of the kernel that may be meant, the likeliest first
}

// Known is a value by name: the same name is the same rule in every cell.
type Known struct {
	Name string
	X    float64
	Part bool // a part of what the cell should be: the number of an operation that belongs on the way to it
}

// Moves reports whether a value is one of its operands unchanged.
func (v *Value) Moves() bool {
	return v.Instr != nil && v.Immediate == 0 && len(v.Operands) == 1 && !computes(v.Instr.Kind())
}

// Op is the name of the operation that gave a value; "" for one that was there before.
func (v *Value) Op() string {
	switch {
	case v.Func != "":
		return v.Func
	case v.Instr == nil:
		return ""
	}
	return v.Instr.Op
}

func computes(k isa.Kind) bool {
	return k == isa.Arith || k == isa.Special || k == isa.Convert || k.Product()
}

// Needs returns, for each value of a cell, the range in which it would have had to be for the cell to be what
// it should be, everything else as it was. known is false where there is no such range: what uses the value
// loses too much, or is not worked out again.
func (c *Cell) Needs() (needs []Range, known []bool) {
	needs, known = make([]Range, len(c.Values)), make([]bool, len(c.Values))
	users := c.users()
	follow := func(from int) {
		open := []int{from}
		for len(open) > 0 {
			i := open[0]
			open = open[1:]
			v := &c.Values[i]
			for k, o := range v.Operands {
				if users[o.Value] != 1 || known[o.Value] {
					continue
				}
				r, ok := c.operand(v, k, needs[i])
				if !ok {
					continue
				}
				needs[o.Value], known[o.Value] = r, true
				open = append(open, o.Value)
			}
		}
	}
	needs[0], known[0] = c.Want, true
	follow(0)
	c.shared(needs, known, users, follow)
	return needs, known
}

// users counts, for each value, the operands that it is of what the cell is made of.
func (c *Cell) users() []int {
	out := make([]int, len(c.Values))
	for i, part := range c.parts() {
		if part {
			for _, o := range c.Values[i].Operands {
				out[o.Value]++
			}
		}
	}
	return out
}

// parts says which values the cell is made of: of what is taken as one operation, others are not.
func (c *Cell) parts() []bool {
	out := make([]bool, len(c.Values))
	out[0] = true
	for open := []int{0}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		for _, o := range c.Values[i].Operands {
			if !out[o.Value] {
				out[o.Value] = true
				open = append(open, o.Value)
			}
		}
	}
	return out
}

// operand is the range in which the k-th operand of a value would have had to be for the value to be in a
// range.
func (c *Cell) operand(v *Value, k int, want Range) (Range, bool) {
	if v.Moves() {
		return want, true
	}
	x := make([]float64, len(v.Operands))
	for i, o := range v.Operands {
		x[i] = c.Values[o.Value].Got
		if i != k && math.IsNaN(x[i]) {
			return Range{}, false
		}
	}
	if v.Instr.Kind().Product() {
		if math.IsNaN(x[k]) || math.IsNaN(v.Got) {
			return Range{}, false
		}
		return finite(loosened(want, v).by(func(w float64) float64 { return w - (v.Got - x[k]) }))
	}
	return inverse(v, x, k, loosened(want, v))
}

// loosened is a range and what the rounding of the operation that gives it may add on either side.
func loosened(r Range, v *Value) Range {
	e := roundoff(v.Type)
	got := math.Abs(v.Got)
	return Range{r.Lo - e*math.Max(math.Abs(r.Lo), got), r.Hi + e*math.Max(math.Abs(r.Hi), got)}
}

// roundoff is the relative error of an operation of a type: a few of its last places.
func roundoff(t ptx.Type) float64 {
	switch t {
	case ptx.F64:
		return 0x1p-50
	case ptx.F16, ptx.F16x2:
		return 0x1p-10
	case ptx.BF16, ptx.BF16x2:
		return 0x1p-7
	case ptx.E4M3, ptx.E5M2:
		return 0x1p-2
	}
	return 0x1p-21
}

// finite is a range, where both ends are numbers.
func finite(r Range) (Range, bool) {
	return r, !math.IsNaN(r.Lo) && !math.IsNaN(r.Hi) && !math.IsInf(r.Lo, 0) && !math.IsInf(r.Hi, 0)
}
