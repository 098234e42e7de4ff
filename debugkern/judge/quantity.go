package judge

import (
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// measured are the factor and the offset that one number for the whole stage may be, where the bad cells
// allow one, with the name of the quantity that it is.
func (j *Judgement) measured(i int, sv *survey) []hypothesis {
	var hs []hypothesis
	if f, ok := common(sv.ratios, sv.measured); ok {
		value := number(f)
		if q, ok := j.quantity(i, f); ok {
			name, words, _ := strings.Cut(q.Name, ":")
			if name != value {
				value = fmt.Sprintf("%s (%s)", name, value)
			}
			if words != "" {
				value += ":" + words
			}
		} else {
			value += ", the same in every tile"
		}
		h := constant("", f.middle())
		h.value, h.fitted = value, 1
		hs = append(hs, h)
	}
	if d, ok := common(sv.differences, sv.measured); ok {
		by := d.middle()
		hs = append(hs, hypothesis{
			name: Offset, value: number(d) + ", the same in every tile", fitted: 1,
			predict: func(sc *scene, v, pre []float64) (int, bool) {
				for k, i := range sc.cells {
					v[k], pre[k] = differenceGuess(sc, i, by)
				}
				return 0, true
			},
		})
	}
	return hs
}

func (s span) middle() float64 { return (s.lo + s.hi) / 2 }

// common is the values of a parameter that nine of ten measured cells allow.
func common(spans []span, measured int) (span, bool) {
	if len(spans) < cellsPerFit {
		return span{}, false
	}
	best, n := mostCovered(spans)
	return best, 10*n >= 9*measured
}

// number writes the middle of a span to as many digits as its width leaves.
func number(s span) string {
	digits := 7
	if w := (s.hi - s.lo) / math.Abs(s.middle()); w > 0 {
		digits = int(max(2, min(7, math.Ceil(-math.Log10(w)))))
	}
	return fmt.Sprintf("%.*g", digits, s.middle())
}

// closest is how narrow a span has to be, relative to its size, for a name of many that could fit by chance.
const closest = 2e-3

// quantity names a factor: the first, simplest quantity of the algorithm in the span.
func (j *Judgement) quantity(i int, f span) (op.Constant, bool) {
	if f.hi-f.lo > closest*math.Abs(f.middle()) {
		return op.Constant{}, false
	}
	sign, name := 1.0, ""
	if f.middle() < 0 {
		sign, name = -1, "−"
	}
	for _, c := range j.quantities(i) {
		if x := sign * c.Value; f.lo <= x && x <= f.hi {
			return op.Constant{Name: name + c.Name, Value: x}, true
		}
	}
	return op.Constant{}, false
}

// quantities are the numbers that a stage may be multiplied by in error, the simpler first.
func (j *Judgement) quantities(i int) []op.Constant {
	out := []op.Constant{{Name: "2", Value: 2}, {Name: "1/2", Value: 0.5}}
	add := func(name string, x float64) {
		if x > 0 && x != 1 && !math.IsInf(x, 0) {
			out = append(out, op.Constant{Name: name, Value: x}, op.Constant{Name: "1/" + name, Value: 1 / x})
		}
	}
	own := j.g.Factors(i)
	for _, c := range own {
		out = append(out, op.Constant{
			Name:  fmt.Sprintf("1/%s²: divided by %s, where it is multiplied", c.Name, c.Name),
			Value: 1 / (c.Value * c.Value),
		}, op.Constant{Name: c.Name + "²: multiplied by it three times", Value: c.Value * c.Value})
	}
	add("log2 e", math.Log2E)
	named := j.g.Constants()
	for _, a := range j.ref.Plan().Parameters() {
		if a.Pointer || a.Data != nil {
			continue
		}
		x := a.DType.Value(a.Bits)
		if !a.DType.Float() {
			x = float64(int32(a.Bits))
		}
		named = append(named, op.Constant{Name: a.Name, Value: x})
	}
	for _, c := range named {
		add(c.Name, c.Value)
	}
	for _, c := range named {
		if c.Value > 0 {
			add("√"+c.Name, math.Sqrt(c.Value))
			add(c.Name+"·log2 e", c.Value*math.Log2E)
			add(c.Name+"²", c.Value*c.Value)
		}
		if c.Value > 1 && c.Value == math.Trunc(c.Value) {
			add(fmt.Sprintf("%s/(%s − 1)", c.Name, c.Name), c.Value/(c.Value-1))
		}
	}
	for _, u := range j.g.Uses(i) {
		for _, n := range []int{j.g.Stage(u.Stage).Cols, j.g.Stage(u.Stage).Rows} {
			add(fmt.Sprint(n), float64(n))
		}
	}
	add("the number of "+j.ref.Plan().Work.TileName()+"s", float64(j.ref.Plan().Work.MaxTiles))
	return append(out, op.Constant{Name: "4", Value: 4}, op.Constant{Name: "1/4", Value: 0.25},
		op.Constant{Name: "√2", Value: math.Sqrt2}, op.Constant{Name: "1/√2", Value: math.Sqrt2 / 2})
}

// otherOperands compute the stage from another stage of the same extent in the place of one of its operands.
func (j *Judgement) otherOperands(i int) []hypothesis {
	var hs []hypothesis
	for _, u := range j.g.Uses(i) {
		right := j.g.Stage(u.Stage)
		if u.Before || u.Stage == i {
			continue
		}
		for o := range j.g.Stages() {
			other := j.g.Stage(o)
			if o == u.Stage || o == i || other.Rows != right.Rows || other.Cols != right.Cols ||
				!j.g.Defined(o) {
				continue
			}
			hs = append(hs, hypothesis{
				name: Operand, value: fmt.Sprintf("%s in place of %s", other.Stage, right.Stage),
				predict: func(sc *scene, v, pre []float64) (int, bool) {
					x := sc.local.Value(o, false)
					if !sc.terms() || x == nil {
						return 0, false
					}
					m, err := sc.local.Again(sc.i, u.Stage, false, func(y op.Value) op.Value {
						y.M, y.Unit = x.M, x.Unit
						return y
					})
					for k, c := range sc.cells {
						v[k], pre[k] = m.Data[c], err.Data[c]
					}
					return 0, true
				},
			})
		}
	}
	return hs
}

// roundedHypotheses are roundings that a right kernel does not make.
func roundedHypotheses(sp *probes.StagePlan) []hypothesis {
	if !sp.DType.Float() {
		return nil
	}
	hs := []hypothesis{{
		name: Rounded, value: fmt.Sprintf("toward zero: cut to %s, where it is rounded to nearest", sp.DType),
		test: truncated,
	}}
	_, bits := sp.DType.Format()
	for _, t := range []probes.DType{probes.F16, probes.BF16} {
		if _, b := t.Format(); b >= bits {
			continue
		}
		_, b := t.Format()
		hs = append(hs, hypothesis{
			name: Rounded,
			value: fmt.Sprintf("to %s on the way: every value has at most %d significant bits, where %s keeps %d",
				t, b+1, sp.DType, bits+1),
			test: coarse(t),
		})
	}
	return hs
}

// truncated reports whether a cell is its right value cut to the stage's type. Where that depends on the
// error before the rounding it says nothing.
func truncated(sc *scene, cell int) (holds, says bool) {
	ref, pre := sc.e.Ref.Data[cell], sc.e.Pre.Data[cell]
	lo, hi := cut(sc.sp.DType, ref-pre), cut(sc.sp.DType, ref+pre)
	if lo != hi || ref == 0 || math.IsInf(lo, 0) || math.IsNaN(lo) {
		return false, false
	}
	return sc.got.Data[cell] == lo, true
}

// cut rounds a number toward zero to a type.
func cut(t probes.DType, x float64) float64 {
	y := op.RoundTo(t, x)
	if math.Abs(y) <= math.Abs(x) {
		return y
	}
	// below y there is a representable number at most an ulp away: x less an ulp rounds to it, or below it
	ulp := 2 * op.HalfULP(t, math.Abs(x))
	return op.RoundTo(t, y-math.Copysign(ulp, y))
}

// coarse reports whether a cell is a number of a type with fewer bits, near its right value, which is none.
func coarse(t probes.DType) func(sc *scene, cell int) (holds, says bool) {
	_, frac := t.Format()
	near := math.Ldexp(4, -frac)
	return func(sc *scene, cell int) (holds, says bool) {
		got, ref := sc.got.Data[cell], sc.e.Ref.Data[cell]
		if y := op.RoundTo(t, ref); math.Abs(y-ref) <= sc.e.Bound.Data[cell] || math.IsInf(y, 0) {
			return false, false // a right kernel's may be such a number by chance
		}
		return op.RoundTo(t, got) == got && got != 0 && math.Abs(got-ref) <= near*math.Abs(ref), true
	}
}
