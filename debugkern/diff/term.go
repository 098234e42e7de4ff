package diff

import (
	"math"

	"tilescope/debugkern/attn"
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

// term names one summand of the error bounds. Every bound is a sum of terms; each is a coefficient of the table below times
// magnitudes of the tile at hand.
type term uint8

// The terms, by the stage whose bound they enter. Those called ...Operands, ...Scores, ...Max, ...Carried, ...Probs and
// out... carry the error of an earlier stage or kv tile on; the others are roundings made in the stage.
const (
	termDecode term = iota // Q, K, V
	termStore              // every stage: the rounding to its dtype
	termReference

	termScoreAlign // S
	termScoreCut
	termScoreChain
	termScoreScale
	termScoreProduct
	termScoreOperands

	termMaxScale // m
	termMaxScores

	termExpUnit // P, and every carry exp(m_old − m)
	termExpArgument
	termExpSplit
	termExpFlush
	termProbScores
	termProbMax

	termSumAdd // l
	termSumCarry
	termSumCarryExp
	termSumProbs
	termSumCarried
	termSumMax

	termWeightAlign // U
	termWeightCut
	termWeightChain
	termWeightMerge
	termWeightCarry
	termWeightCarryExp
	termWeightOperands
	termWeightCarried
	termWeightMax

	termOutDivide // O
	termOutWeights
	termOutSums

	numTerms
)

// termInfo is a term's name, its coefficient and how that comes about.
type termInfo struct {
	name  string
	coef  float64
	cause string
}

// terms is the one place that holds the coefficients of all bounds.
var terms = [numTerms]termInfo{
	termDecode:    {"decode", 4 * u32, "max/levels, times scale, times code: three f32 roundings, and second order"},
	termStore:     {"store", 1, "half an ulp of the stage's dtype"},
	termReference: {"reference", 0x1p-16, "the reference's own float64 roundings, relative to a bound of float32 roundings"},

	termScoreAlign:    {"score align", 0x1p-25, "a tensor-core block cuts each term to 2^-25 of the largest exponent"},
	termScoreCut:      {"score cut", 1, "its sum is truncated to 24 bits (f32) or rounded (f16)"},
	termScoreChain:    {"score chain", 1, "one rounding of the accumulator for each multiply-add"},
	termScoreScale:    {"score scale", 1, "softmax_scale as the accumulator's dtype holds it"},
	termScoreProduct:  {"score product", 1, "the product with softmax_scale in the accumulator's dtype"},
	termScoreOperands: {"score operands", 1, "the allowed errors of Q and K, by Cauchy-Schwarz"},

	termMaxScale:  {"max scale", 4 * u32, "softmax_scale and log2 e as f32 holds them, and a product with each"},
	termMaxScores: {"max scores", 1, "the maxima of all scores plus and minus their allowed errors"},

	termExpUnit:     {"exp unit", 0x1p-22, "ex2.approx"},
	termExpArgument: {"exp argument", 3 * u32, "s − m, its product with log2 e, and log2 e as f32 holds it"},
	termExpSplit:    {"exp split", 4 * u32, "s and m brought into one domain apart: the argument loses by their sizes"},
	termExpFlush:    {"exp flush", 1, "a result below the least normal number: rounded to a subnormal, or flushed to 0 (.ftz)"},
	termProbScores:  {"P scores", 1, "exp of the scores' allowed errors"},
	termProbMax:     {"P max", 1, "the factor exp(m's allowed error), common to a row"},

	termSumAdd:      {"l add", u32, "one addition a key, in any order, onto the carried l or apart from it"},
	termSumCarry:    {"l carry", u32, "the product l_old·exp(m_old − m)"},
	termSumCarryExp: {"l carry exp", 1, "the relative error of exp(m_old − m)"},
	termSumProbs:    {"l P", 1, "the errors of the exponentials that are added"},
	termSumCarried:  {"l carried", 1, "the allowed error of l_old"},
	termSumMax:      {"l max", 1, "the factor exp(m's allowed error)"},

	termWeightAlign:    {"U align", 0x1p-25, "a tensor-core block cuts each term to 2^-25 of the largest exponent"},
	termWeightCut:      {"U cut", 1, "its sum is truncated to 24 bits (f32) or rounded (f16)"},
	termWeightChain:    {"U chain", 1, "one rounding of the accumulator for each multiply-add, the carried U in it or not"},
	termWeightMerge:    {"U merge", u32, "the additions of the partial sums but the last, which is the storing one"},
	termWeightCarry:    {"U carry", u32, "the product U_old·exp(m_old − m)"},
	termWeightCarryExp: {"U carry exp", 1, "the relative error of exp(m_old − m)"},
	termWeightOperands: {"U operands", 1, "the allowed errors of P and V, by Cauchy-Schwarz"},
	termWeightCarried:  {"U carried", 1, "the allowed error of U_old"},
	termWeightMax:      {"U max", 1, "the factor exp(m's allowed error)"},

	termOutDivide:  {"O divide", 0x1p-22, "div.full, or a reciprocal and a product"},
	termOutWeights: {"O U", 1, "the allowed error of U, divided by the least l"},
	termOutSums:    {"O l", 1, "the allowed error of l, divided by the least l"},
}

func (t term) String() string { return terms[t].name }

// weights is a factor for each term. nil: all 1. Tests alone set others.
type weights *[numTerms]float64

// coefs are the coefficients in use.
type coefs [numTerms]float64

func newCoefs(w weights) *coefs {
	c := &coefs{}
	for t, x := range terms {
		c[t] = x.coef
		if w != nil {
			c[t] *= w[t]
		}
	}
	return c
}

// flushed is the largest error of an exponential whose result is below the least normal f32: all of it where the unit flushes
// (or may, as far as the manifest says), else a rounding to subnormals.
func flushed(exp string) float64 {
	if exp == "ex2.approx" {
		return 0x1p-149
	}
	return 0x1p-126
}

// binade is 2^⌊log2 x⌋ for x > 0, 0 for 0.
func binade(x float64) float64 { return math.Float64frombits(math.Float64bits(x) & (0x7ff << 52)) }

// pow2Top returns the largest exponent of v as a power of two, where each |v| may be larger by its bound (nil: none); not
// below f16's smallest normal unless all are 0.
func pow2Top(v, bound []float64) float64 {
	top := 0.0
	if bound == nil {
		for _, x := range v {
			top = max(top, math.Abs(x))
		}
	} else {
		for i, x := range v {
			top = max(top, math.Abs(x)+bound[i])
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

// rowOf is a row of a matrix; a nil matrix has nil rows.
func rowOf(m *attn.Matrix, i int) []float64 {
	if m == nil {
		return nil
	}
	return m.Row(i)
}
