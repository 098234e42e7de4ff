package op

import (
	"fmt"
	"math"
	"strings"

	"tilescope/probes"
)

// Unit roundoff and the constants of the error analysis. Sources: PTX ISA (ex2.approx 2^-22 relative; div.full 2 ulp), and
// the tensor core's model: a block aligns every term to the largest and keeps 25 fraction bits, then truncates (f32) or
// rounds (f16).
const (
	u32       = 0x1p-24 // half an ulp of float32, relative
	minNormal = 0x1p-14 // of f16: the tensor core does not normalise subnormal operands
	// second covers the second-order part of n·u for n·u below 1 %: (1 + u)^n − 1 ≤ 1.01·n·u.
	second = 1.01
)

// Term names one summand of the error bounds. Every bound is a sum of terms; each is a coefficient of the table below times
// magnitudes of the tile at hand.
type Term uint8

// The terms, by the operator whose bound they enter. Those called ...Operands, ...Scores and ...Carried carry the error of an
// operand on; the others are roundings made by the operation.
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
	TermStore:     {"store", 1, "half an ulp of the stage's dtype"},
	TermReference: {"reference", 0x1p-16, "the reference's own float64 roundings, relative to a bound of float32 roundings"},
	TermFactor:    {"factor", 1, "the factor exp(m's allowed error), common to a row"},

	TermDecode: {"decode", 4 * u32, "max/levels, times scale, times code: three f32 roundings, and second order"},

	TermAlign:    {"align", 0x1p-25, "a tensor-core block cuts each term to 2^-25 of the largest exponent"},
	TermCut:      {"cut", 1, "its sum is truncated to 24 bits (f32) or rounded (f16)"},
	TermChain:    {"chain", 1, "one rounding of the accumulator for each multiply-add, what is carried over in it or not"},
	TermMerge:    {"merge", u32, "the additions of the partial sums but the last, which is the storing one"},
	TermScale:    {"scale", 1, "the constant factor as the accumulator's dtype holds it"},
	TermProduct:  {"product", 1, "the product with the constant factor in the accumulator's dtype"},
	TermOperands: {"operands", 1, "the allowed errors of both operands, by Cauchy-Schwarz"},

	TermMaxScale:  {"max scale", 4 * u32, "softmax_scale and log2 e as f32 holds them, and a product with each"},
	TermMaxScores: {"max scores", 1, "the maxima of all scores plus and minus their allowed errors"},

	TermExpUnit:     {"exp unit", 0x1p-22, "ex2.approx"},
	TermExpArgument: {"exp argument", 3 * u32, "s − m, its product with log2 e, and log2 e as f32 holds it"},
	TermExpSplit:    {"exp split", 4 * u32, "s and m brought into one domain apart: the argument loses by their sizes"},
	TermExpFlush:    {"exp flush", 1, "a result below the least normal number: rounded to a subnormal, or flushed to 0 (.ftz)"},
	TermExpScores:   {"exp scores", 1, "exp of the scores' allowed errors"},

	TermSumAdd:      {"sum add", u32, "one addition a cell, in any order, onto what is carried over or apart from it"},
	TermSumOperands: {"sum operands", 1, "the errors of what is added"},

	TermCarry:    {"carry", u32, "the product of what is carried over with exp(m_old − m)"},
	TermCarryExp: {"carry exp", 1, "the relative error of exp(m_old − m)"},
	TermCarried:  {"carried", 1, "the allowed error of what is carried over"},

	TermDivide:      {"divide", 0x1p-22, "div.full, or a reciprocal and a product"},
	TermNumerator:   {"numerator", 1, "the allowed error of the numerator, divided by the least denominator"},
	TermDenominator: {"denominator", 1, "the allowed error of the denominator, divided by the least denominator"},

	TermRound: {"round", u32, "one rounding to f32 for each operation"},
	TermUnit:  {"unit", 0x1p-21, "a function by an approximate unit or a short sequence of them: 4 ulp"},
	TermLog:   {"log", 0x1p-22 * math.Ln2, "lg2.approx between 1/2 and 2: 2^-22 absolute"},
	TermTanh:  {"tanh", 0x1p-16, "tanh.approx: at most 2^-16.4 relative over all arguments on sm_90, of which the ISA promises 2^-11"},

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

// Bound is pre and the last rounding, of a value ref ± pre. A reference of exactly 0 that nothing can disturb has bound 0.
func (r *Rounding) Bound(ref, pre float64) float64 {
	x := math.Abs(ref) + pre
	if x == 0 || r.Certain && pre == 0 && math.IsInf(x, 1) {
		return 0
	}
	return (pre + r.Half(x)) * (1 + r.Coefs[TermReference])
}

// Close turns the estimate of a node, v, into the stage's: pre gets the whole error before the last rounding, bound the error
// after it, and v.Err the error after it without the common factor.
func (r *Rounding) Close(v *Value, pre, bound Matrix, rows, cols int) {
	for i := range rows {
		ref, err, p, b := v.M.Row(i)[:cols], v.Err.Row(i)[:cols], pre.Row(i)[:cols], bound.Row(i)[:cols]
		if f := v.factor(i); v.Factor != nil {
			r.closeFactor(math.Exp(f), ref, err, p, b)
			continue
		}
		if r.DType == probes.F16 && !r.Exact && !r.Power && !r.Certain {
			store, slack := r.Coefs[TermStore], 1+r.Coefs[TermReference]
			for c, x := range ref {
				e := err[c]
				p[c], b[c] = e, 0
				if x = math.Abs(x) + e; x != 0 {
					b[c] = (e + HalfULP(probes.F16, x)*store) * slack
				}
				err[c] = b[c]
			}
			continue
		}
		for c, x := range ref {
			p[c] = err[c]
			b[c] = r.Bound(x, err[c])
			err[c] = b[c]
		}
	}
}

// closeFactor closes a row whose cells share a factor of up to grow.
func (r *Rounding) closeFactor(grow float64, ref, err, pre, bound []float64) {
	most := (grow - 1) * r.Coefs[TermFactor]
	for c, x := range ref {
		x = math.Abs(x)
		pre[c] = grow*err[c] + most*x
		bound[c] = r.Bound(x, pre[c])
		if x+pre[c] != 0 { // else it is exactly 0
			err[c] += r.Half(x+pre[c]) * grow
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

	align, cut, step float64 // the coefficients of a block's terms together, of its result's rounding, of a multiply-add's
	rounds           float64 // halves of an ulp that a block's result loses: 1 rounded, 2 truncated
}

// newSum is how a stage sums n products.
func newSum(c probes.Compute, n int, coefs *Coefs) Sum {
	s := Sum{Unit: c.Unit, Acc: c.Acc, Block: c.Block, Split: max(1, c.Split), N: n, rounds: 2}
	if s.Acc == 0 {
		s.Acc = probes.F32
	}
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

// tensor bounds a chain of tensor-core blocks: prefix holds the exact partial sums in order, rowTop·colTop the largest
// product exponent of each block (as a power of two), norms the product of the operands' norms, base the magnitude of what was in
// the accumulator before, start what the operands' own errors add up to. Each block loses up to 2^-25 of the largest exponent for
// each of its terms, then rounds (f16) or truncates to 24 bits (f32).
func (s *Sum) tensor(prefix, rowTop, colTop []float64, norms, base, start float64) float64 {
	err, acc, cut := start, 0.0, s.cut*s.rounds
	if base != 0 {
		acc = s.exponent(base + err)
	}
	for b, v := range prefix {
		big := rowTop[b] * colTop[b]
		if acc > big { // max would also order NaN and signed zeros, at a third of this loop's time
			big = acc
		}
		err += s.align * big
		v = s.partial(math.Abs(v), norms) + base
		mag := v + err
		if mag == 0 {
			continue
		}
		err += cut * HalfULP(s.Acc, mag)
		acc = s.exponent(v + err)
	}
	return err
}

// partial is how large an accumulator may be where the exact partial sum over all blocks so far is v: that, or, where warps
// sum parts of their own, anything up to the product of the norms.
func (s *Sum) partial(v, norms float64) float64 {
	if s.Split > 1 {
		return norms
	}
	return v
}

// exponent is what an accumulator of magnitude up to x > 0 makes the block align its terms to.
func (s *Sum) exponent(x float64) float64 {
	if x < minNormal && s.Acc == probes.F16 {
		return minNormal
	}
	return binade(x)
}

// chain bounds n multiply-adds in any order by n roundings of the sum of magnitudes (at most the product of norms, and what
// is in the accumulator before).
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
		fmt.Fprintf(&b, "%d tensor-core blocks of %d products over %s: each drops up to 2^-25 of its largest exponent a term and %s",
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

// UnitRoundoff is half an ulp of a type, relative.
func UnitRoundoff(t probes.DType) float64 {
	_, frac := t.Format()
	if frac == 0 {
		return u32
	}
	return math.Ldexp(1, -frac-1)
}

// binade is 2^⌊log2 x⌋ for x > 0, 0 for 0.
func binade(x float64) float64 { return math.Float64frombits(math.Float64bits(x) & (0x7ff << 52)) }

// pow2Top returns the largest exponent of v as a power of two, where each |v| may be larger by its error (nil: none); not
// below f16's smallest normal unless all are 0.
func pow2Top(v, err []float64) float64 {
	top := 0.0
	if err == nil {
		for _, x := range v {
			top = max(top, math.Abs(x))
		}
	} else {
		for i, x := range v {
			top = max(top, math.Abs(x)+err[i])
		}
	}
	return leastTop(top)
}

func leastTop(top float64) float64 {
	if top == 0 {
		return 0
	}
	return max(binade(top), minNormal)
}

func norm(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

func resize(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	return v[:n]
}

// expm1 is exp(x) − 1 from above for x ≥ 0: the series where that is enough.
func expm1(x float64) float64 {
	if x < 0.05 {
		return x * (1 + x*(0.5+x*0.18))
	}
	return math.Expm1(x)
}
