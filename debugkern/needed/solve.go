package needed

import "math"

// A value that several operations use has no inverse of one of them: what it would have had to be is worked
// out by computing the cell again with other numbers in its place.

const (
	// mostSolved is how many values a cell has at most of which those with several users are solved for, and
	// mostShared how many of these.
	mostSolved = 256
	mostShared = 16
	// farthest is how many times a distance grows in looking for the range, and halvings how many times it is
	// halved to narrow that down.
	farthest  = 40
	halvings  = 60
	firstStep = 0x1p-10 // of the number itself
)

// shared adds to the needs of a cell those of values that several operations use, one after another: what
// only they are made of follows from them.
func (c *Cell) shared(needs []Range, known []bool, users []int, follow func(i int)) {
	if len(c.Values) > mostSolved || c.Values[0].Instr == nil {
		return
	}
	solved := 0
	for i, n := range users {
		if n < 2 || known[i] || c.Values[i].Moves() || len(c.Values[i].Operands) == 0 {
			continue
		}
		if solved++; solved > mostShared {
			return
		}
		if r, ok := c.solved(i); ok {
			needs[i], known[i] = r, true
			follow(i)
		}
	}
}

// solved is the range of a value nearest to what it was with which the cell is in its range.
func (c *Cell) solved(at int) (Range, bool) {
	got := c.Values[at].Got
	if math.IsNaN(got) || math.IsInf(got, 0) || c.isOther() {
		return Range{}, false
	}
	want := loosened(c.Want, &c.Values[0])
	f := func(x float64) float64 { return evaluatedWith(c, at, x) }
	y := f(got)
	if math.IsNaN(y) || want.Has(y) {
		return Range{}, false
	}
	near, far := want.Lo, want.Hi // the ends by how far they are from what the cell is
	if y > want.Hi {
		near, far = far, near
	}
	past := func(z, end float64) bool { return !math.IsNaN(z) && (z-end)*(y-end) <= 0 }
	unit := math.Max(math.Abs(got), 0x1p-20) * firstStep
	for _, signed := range []bool{true, false} { // a number of the same sign is likelier
		for k := range farthest {
			for _, sign := range []float64{1, -1} {
				at := func(k int) float64 { return got + sign*unit*math.Exp2(float64(k)/2) }
				x := at(k)
				if signed && x*got <= 0 || !past(f(x), near) {
					continue
				}
				a, b, inside := crossing(f, got, x, near), math.Copysign(math.MaxFloat32, sign), x
				for ; k < farthest; k++ {
					if past(f(at(k)), far) {
						b = crossing(f, got, at(k), far)
						inside = a/2 + b/2
						break
					}
				}
				if want.Has(f(inside)) { // else it jumps over the range
					return finite(Range{math.Min(a, b), math.Max(a, b)})
				}
			}
		}
	}
	return Range{}, false
}

// crossing is where between two numbers a function has a value, as near as halving gets; the second where it
// has not.
func crossing(f func(float64) float64, from, to, y float64) float64 {
	below := f(from) < y
	for range halvings {
		mid := from/2 + to/2
		if (f(mid) < y) == below {
			from = mid
		} else {
			to = mid
		}
	}
	return to
}

// isOther reports whether the cell, worked out again, is not what the kernel got: then no number of it can be
// solved for.
func (c *Cell) isOther() bool {
	got, again := c.Values[0].Got, evaluated(c, func(*Value) bool { return false })
	off := math.Abs(got) * math.Max(roundoff(c.Values[0].Type), 0x1p-20)
	return math.IsNaN(got) || math.Abs(again-got) > 4*off
}

// evaluatedWith is what a cell would be with a number in the place of one of its values, without rounding.
func evaluatedWith(c *Cell, at int, x float64) float64 {
	n := len(c.Values)
	e := evaluation{c, func(*Value) bool { return true }, make([]float64, n), make([]bool, n)}
	e.number[at], e.made[at] = x, true
	return e.value(0)
}
