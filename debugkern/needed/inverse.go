package needed

import (
	"math"

	"tilescope/debugkern/ptx"
)

// inverse is the range of an instruction's k-th operand with which it gives numbers of a range; x are its
// operands. A function that has the same value for several operands has no inverse.
func inverse(v *Value, x []float64, k int, want Range) (Range, bool) {
	if len(v.Instr.Types()) == 0 || !v.Instr.Types()[0].Float() && v.Op() != "cvt" {
		return Range{}, false
	}
	switch n := len(x); {
	case v.Op() == "cvt" && n == 1:
		return converted(v.Instr, want)
	case n == 1:
		return inverseOfOne(v.Op(), want)
	case n == 2:
		return inverseOfTwo(v.Op(), x, k, want)
	case n == 3 && (v.Op() == "fma" || v.Op() == "mad"):
		if k == 2 {
			return finite(want.by(func(w float64) float64 { return w - x[0]*x[1] }))
		}
		return finite(want.by(func(w float64) float64 { return (w - x[2]) / x[1-k] }))
	}
	return Range{}, false
}

// converted is the range of what a conversion is made of. A number that no integer is comes of none, and an
// integer says little of the number that it was made of.
func converted(in *ptx.Instr, want Range) (Range, bool) {
	t := in.Types()
	switch from := t[len(t)-1]; {
	case !t[0].Float():
		return Range{}, false
	case !from.Float():
		return want, math.Floor(want.Hi) >= want.Lo
	}
	return finite(want)
}

func inverseOfOne(op string, want Range) (Range, bool) {
	switch op {
	case "neg":
		return finite(want.by(func(w float64) float64 { return -w }))
	case "exp":
		return finite(want.by(math.Log))
	case "ex2":
		return finite(want.by(math.Log2))
	case "lg2":
		return finite(want.by(math.Exp2))
	case "rcp":
		return across(want, func(w float64) float64 { return 1 / w })
	case "sqrt":
		return finite(want.by(func(w float64) float64 { return w * w }))
	case "rsqrt":
		return across(want, func(w float64) float64 { return 1 / (w * w) })
	case "tanh":
		return finite(want.by(math.Atanh))
	}
	return Range{}, false
}

// across is a range through a function that has a pole at 0.
func across(want Range, f func(float64) float64) (Range, bool) {
	if want.Lo <= 0 && want.Hi >= 0 {
		return Range{}, false
	}
	return finite(want.by(f))
}

func inverseOfTwo(op string, x []float64, k int, want Range) (Range, bool) {
	other := x[1-k]
	switch op {
	case "add":
		return finite(want.by(func(w float64) float64 { return w - other }))
	case "sub":
		if k == 0 {
			return finite(want.by(func(w float64) float64 { return w + other }))
		}
		return finite(want.by(func(w float64) float64 { return other - w }))
	case "mul":
		return finite(want.by(func(w float64) float64 { return w / other }))
	case "div":
		if k == 0 {
			return finite(want.by(func(w float64) float64 { return w * other }))
		}
		return across(want, func(w float64) float64 { return other / w })
	case "max":
		return want, want.Lo > other
	case "min":
		return want, want.Hi < other
	}
	return Range{}, false
}
