package op

import (
	"fmt"
	"math"
	"strings"

	"tilescope/probes"
)

// Unit roundoff and the constants of the error analysis. Sources: PTX ISA (ex2.approx 2^-22 relative;
// div.full 2 ulp), and the tensor core's model: a block aligns every term to the largest and keeps 25
// fraction bits, then truncates (f32) or rounds (f16).
const (
	u32       = 0x1p-24 // half an ulp of float32, relative
	minNormal = 0x1p-14 // of f16: the tensor core does not normalise subnormal operands

	exponentBits  = 0x7ff << 52
	minNormalBits = (1023 - 14) << 52
	// second covers the second-order part of n·u for n·u below 1 %: (1 + u)^n − 1 ≤ 1.01·n·u.
	second = 1.01
)

// Term names one summand of the error bounds. Every bound is a sum of terms; each is a coefficient of the
// table below times magnitudes of the tile at hand.
type Term uint8

// The terms, by the operator whose bound they enter. Those called ...Operands, ...Scores and ...Carried carry
// the error of an operand on; the others are roundings made by the operation.
const (
	TermStore Term = iota // every stage: the rounding to its dtype
	TermReference
	TermFactor

	TermDecode // load

	TermAlign // matmul
	TermCut
	TermChain
	TermMerge
	TermScale
	TermProduct
	TermOperands

	TermMaxScale // rowmax
	TermMaxScores

	TermExpUnit // exp_below, and every carry exp(m_old − m)
	TermExpArgument
	TermExpSplit
	TermExpFlush
	TermExpScores

	TermSumAdd // rowsum
	TermSumOperands

	TermCarry // accumulate
	TermCarryExp
	TermCarried

	TermDivide // divide
	TermNumerator
	TermDenominator

	TermRound // map and reduce: one rounding for each operation
	TermUnit
	TermLog
	TermTanh

	TermLogSum // lse

	NumTerms
)

type termInfo struct {
	name  string
	coef  float64
	cause string
}

// terms is the one place that holds the coefficients of all bounds.
var terms = [NumTerms]termInfo{
	TermStore: {"store", 1, "half an ulp of the stage's dtype"},
	TermReference: {
		"reference", 0x1p-16,
		"the reference's own float64 roundings, relative to a bound of float32 roundings",
	},
	TermFactor: {"factor", 1, "the factor exp(m's allowed error), common to a row"},

	TermDecode: {
		"decode", 4 * u32, "max/levels, times scale, times code: three f32 roundings, and second order",
	},

	TermAlign: {"align", 0x1p-25, "a tensor-core block cuts each term to 2^-25 of the largest exponent"},
	TermCut:   {"cut", 1, "its sum is truncated to 24 bits (f32) or rounded (f16)"},
	TermChain: {
		"chain", 1, "one rounding of the accumulator for each multiply-add, what is carried over in it or not",
	},
	TermMerge:    {"merge", u32, "the additions of the partial sums but the last, which is the storing one"},
	TermScale:    {"scale", 1, "the constant factor as the accumulator's dtype holds it"},
	TermProduct:  {"product", 1, "the product with the constant factor in the accumulator's dtype"},
	TermOperands: {"operands", 1, "the allowed errors of both operands, by Cauchy-Schwarz"},

	TermMaxScale: {
		"max scale", 4 * u32, "softmax_scale and log2 e as f32 holds them, and a product with each",
	},
	TermMaxScores: {"max scores", 1, "the maxima of all scores plus and minus their allowed errors"},

	TermExpUnit:     {"exp unit", 0x1p-22, "ex2.approx"},
	TermExpArgument: {"exp argument", 3 * u32, "s − m, its product with log2 e, and log2 e as f32 holds it"},
	TermExpSplit: {
		"exp split", 4 * u32, "s and m brought into one domain apart: the argument loses by their sizes",
	},
	TermExpFlush: {
		"exp flush", 1,
		"a result below the least normal number: rounded to a subnormal, or flushed to 0 (.ftz)",
	},
	TermExpScores: {"exp scores", 1, "exp of the scores' allowed errors"},

	TermSumAdd: {
		"sum add", u32, "one addition a cell, in any order, onto what is carried over or apart from it",
	},
	TermSumOperands: {"sum operands", 1, "the errors of what is added"},

	TermCarry:    {"carry", u32, "the product of what is carried over with exp(m_old − m)"},
	TermCarryExp: {"carry exp", 1, "the relative error of exp(m_old − m)"},
	TermCarried:  {"carried", 1, "the allowed error of what is carried over"},

	TermDivide:    {"divide", 0x1p-22, "div.full, or a reciprocal and a product"},
	TermNumerator: {"numerator", 1, "the allowed error of the numerator, divided by the least denominator"},
	TermDenominator: {
		"denominator", 1, "the allowed error of the denominator, divided by the least denominator",
	},

	TermRound: {"round", u32, "one rounding to f32 for each operation"},
	TermUnit:  {"unit", 0x1p-21, "a function by an approximate unit or a short sequence of them: 4 ulp"},
	TermLog:   {"log", 0x1p-22 * math.Ln2, "lg2.approx between 1/2 and 2: 2^-22 absolute"},
	TermTanh: {
		"tanh", 0x1p-16,
		"tanh.approx: at most 2^-16.4 relative over all arguments on sm_90, of which the ISA promises 2^-11",
	},

	TermLogSum: {"log sum", 1, "the logarithm of the sum's allowed error"},
}

func (t Term) String() string { return terms[t].name }

// Coefs are the coefficients in use.
type Coefs [NumTerms]float64

// NewCoefs returns the coefficients, each times its weight; nil: all weights 1. Tests alone set others.
func NewCoefs(weights *[NumTerms]float64) *Coefs {
	c := &Coefs{}
	for t, x := range terms {
		c[t] = x.coef
		if weights != nil {
			c[t] *= weights[t]
		}
	}
	return c
}

// Rounding is how a stage's values get into its dtype.
type Rounding struct {
	*Coefs
	DType        probes.DType
	Exact, Power bool // see Value
	Certain      bool
}

// Half is the largest error of that rounding for a magnitude up to x.
func (r *Rounding) Half(x float64) float64 {
	switch {
	case r.Exact:
		return 0
	case r.Power && x >= minNormal:
		return 0
	}
	return HalfULP(r.DType, x) * r.Coefs[TermStore]
}

// Bound is pre and the last rounding, of a value ref ± pre. A reference of exactly 0 that nothing can
// disturb has bound 0.
func (r *Rounding) Bound(ref, pre float64) float64 {
	x := math.Abs(ref) + pre
	if x == 0 || r.Certain && pre == 0 && math.IsInf(x, 1) {
		return 0
	}
	return (pre + r.Half(x)) * (1 + r.Coefs[TermReference])
}

// Close turns the estimate of a node, v, into the stage's: pre gets the whole error before the last rounding,
// bound the error after it, and v.Err the error after it without the common factor.
func (r *Rounding) Close(v *Value, pre, bound Matrix, rows, cols int) {
	for i := range rows {
		ref, err, p, b := v.M.Row(i)[:cols], v.Err.Row(i)[:cols], pre.Row(i)[:cols], bound.Row(i)[:cols]
		if v.Factor != nil {
			r.closeFactor(math.Exp(v.Factor[i]), ref, err, p, b)
		} else {
			r.close(ref, err, p, b)
		}
	}
}

// close closes a row whose cells share no factor.
func (r *Rounding) close(ref, err, pre, bound []float64) {
	copy(pre, err)
	for c, x := range ref {
		bound[c] = math.Abs(x) + pre[c]
	}
	r.halves(bound)
	slack := 1 + r.Coefs[TermReference]
	for c, half := range bound {
		bound[c] = (pre[c] + half) * slack
	}
	r.certain(ref, pre, bound)
	copy(err, bound)
}

// certain sets the bounds of infinities that a right kernel has as well to 0.
func (r *Rounding) certain(ref, pre, bound []float64) {
	if !r.Certain {
		return
	}
	for c, x := range ref {
		if pre[c] == 0 && math.IsInf(x, 0) {
			bound[c] = 0
		}
	}
}

// closeFactor closes a row whose cells share a factor of up to grow.
func (r *Rounding) closeFactor(grow float64, ref, err, pre, bound []float64) {
	most := (grow - 1) * r.Coefs[TermFactor]
	for c, x := range ref {
		x = math.Abs(x)
		pre[c] = float64(grow*err[c]) + float64(most*x)
		bound[c] = x + pre[c]
	}
	r.halves(bound)
	slack := 1 + r.Coefs[TermReference]
	for c, half := range bound {
		err[c] += float64(half * grow)
		bound[c] = (pre[c] + half) * slack
	}
	r.certain(ref, pre, bound)
}

// halves replaces magnitudes by the largest errors of rounding them: Half, but 0 for what is exactly 0.
func (r *Rounding) halves(x []float64) {
	store := r.Coefs[TermStore]
	switch half := halfULPs(r.DType); {
	case r.Exact:
		clear(x)
	case r.DType == probes.F64:
		for i, v := range x {
			x[i] = r.Half(v)
		}
	default:
		for i, v := range x {
			if v != 0 && !(r.Power && v >= minNormal) {
				x[i] = half.of(v) * store
			} else {
				x[i] = 0
			}
		}
	}
}

// Sum is how a stage forms its sums of products.
type Sum struct {
	Unit  probes.Unit
	Acc   probes.DType
	Block int
	Split int
	N     int // products in a sum

	// align, cut, step: the coefficients of a block's terms together, of its result's rounding,
	// of a multiply-add's
	align, cut, step float64
	rounds           float64 // halves of an ulp that a block's result loses: 1 rounded, 2 truncated
}

// newSum is how a stage sums n products.
func newSum(c probes.Compute, n int, coefs *Coefs) Sum {
	s := Sum{Unit: c.Unit, Acc: accOf(c), Block: c.Block, Split: max(1, c.Split), N: n, rounds: 2}
	if s.Block <= 0 {
		s.Block = 16
	}
	if s.Acc == probes.F16 {
		s.rounds = 1
	}
	s.align, s.cut, s.step = float64(s.Block+1)*coefs[TermAlign], coefs[TermCut], coefs[TermChain]
	return s
}

// blocks is the number of partial sums that tensor-core instructions leave behind.
func (s *Sum) blocks() int { return (s.N + s.Block - 1) / s.Block }

// tensor adds to err what one tensor-core block loses in each sum of a row: up to 2^-25 of the largest
// exponent for each of its terms, to which the accumulator's value belongs, and then a rounding (f16) or a
// truncation to 24 bits (f32). before and after are how large the accumulators may be without the errors so
// far, top·tops the largest exponent of the block's products (powers of two).
func (s *Sum) tensor(err, before, after []float64, top float64, tops []float64) {
	cut, half, least := s.cut*s.rounds, halfULPs(s.Acc), uint64(0)
	if s.Acc == probes.F16 {
		least = minNormalBits
	}
	before, after, tops = before[:len(err)], after[:len(err)], tops[:len(err)]
	for j, e := range err {
		big := math.Float64bits(top * tops[j])
		// Of positive floats the larger has the larger bits; max of floats, which orders NaN and zeros, takes
		// three times as long.
		if x := before[j] + e; x != 0 {
			big = max(big, max(math.Float64bits(x), least)&exponentBits)
		}
		e += float64(s.align * math.Float64frombits(big))
		if x := after[j] + e; x != 0 {
			e += float64(cut * half.of(x))
		}
		err[j] = e
	}
}

// chain bounds n multiply-adds in any order by n roundings of the sum of magnitudes (at most the product of
// norms, and what is in the accumulator before).
func (s *Sum) chain(norms, start float64) float64 {
	u, n := UnitRoundoff(s.Acc), float64(s.N+1)
	if s.Unit == probes.UnitMulAdd {
		n++
	}
	return start + s.step*n*u*(norms+start)*second
}

// reason says how the sum is made, over what in words.
func (s *Sum) reason(over string) string {
	var b strings.Builder
	switch s.Unit {
	case probes.UnitTensor:
		last := "truncates to 24 bits"
		if s.Acc == probes.F16 {
			last = "rounds the partial sum to f16"
		}
		fmt.Fprintf(&b,
			"%d tensor-core blocks of %d products over %s: each drops up to 2^-25 of its largest exponent a term and %s",
			s.blocks(), s.Block, over, last)
	case probes.UnitMulAdd:
		fmt.Fprintf(&b, "%d products and sums over %s in %s, one rounding each", s.N, over, s.Acc)
	default:
		fmt.Fprintf(&b, "%d multiply-adds over %s in %s, one rounding each", s.N, over, s.Acc)
	}
	if s.Split > 1 {
		fmt.Fprintf(&b, ", %d partial sums merged", s.Split)
	}
	return b.String()
}

// accOf is the type that a stage computes in: f32 where its compute names none.
func accOf(c probes.Compute) probes.DType {
	if c.Acc == 0 {
		return probes.F32
	}
	return c.Acc
}

// UnitRoundoff is half an ulp of a type, relative.
func UnitRoundoff(t probes.DType) float64 {
	_, frac := t.Format()
	if frac == 0 {
		return u32
	}
	return math.Ldexp(1, -frac-1)
}

// expm1 is exp(x) − 1 from above for x ≥ 0: the series where that is enough.
func expm1(x float64) float64 {
	if x < 0.05 {
		return x * (1 + x*(0.5+x*0.18))
	}
	return math.Expm1(x)
}
