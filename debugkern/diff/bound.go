package diff

import (
	"math"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// estimate is a stage's reference in one tile, with what a right kernel may be off by before it rounds to the stage's dtype
// (pre) and after (bound). Row-major, as the tile.
type estimate struct {
	ref, pre, bound attn.Matrix
	room            attn.Matrix // what ref is where it is nobody else's matrix
}

func newEstimate(rows, cols int) *estimate {
	e := &estimate{room: attn.NewMatrix(rows, cols), pre: attn.NewMatrix(rows, cols), bound: attn.NewMatrix(rows, cols)}
	e.ref = e.room
	return e
}

// rounding is how a stage's values get into its dtype.
type rounding struct {
	*coefs
	dtype probes.DType
	exact bool // the values are representable as they are
	pow2  bool // the last operation is a product with a power of two in the stage's own dtype: exact unless subnormal
}

// half is the largest error of that rounding for a magnitude up to x.
func (r rounding) half(x float64) float64 {
	switch {
	case r.exact:
		return 0
	case r.pow2 && x >= minNormal:
		return 0
	}
	return attn.HalfULP(r.dtype, x) * r.coefs[termStore]
}

// bound is pre and the last rounding, of a value ref ± pre. A reference of exactly 0 that nothing can disturb has bound 0.
func (r rounding) bound(ref, pre float64) float64 {
	x := math.Abs(ref) + pre
	if x == 0 {
		return 0
	}
	return (pre + r.half(x)) * (1 + r.coefs[termReference])
}

// close fills the bounds of an estimate from ref and pre.
func (e *estimate) close(r rounding, rows, cols int) {
	store, slack := r.coefs[termStore], 1+r.coefs[termReference]
	for i := range rows {
		ref, pre, bound := e.ref.Row(i)[:cols], e.pre.Row(i)[:cols], e.bound.Row(i)[:cols]
		switch {
		case r.dtype == probes.F16 && !r.exact && !r.pow2:
			for c, v := range ref {
				bound[c] = 0
				if x := math.Abs(v) + pre[c]; x != 0 {
					bound[c] = (pre[c] + attn.HalfULP(probes.F16, x)*store) * slack
				}
			}
		default:
			for c, v := range ref {
				bound[c] = r.bound(v, pre[c])
			}
		}
	}
}

// sum is how a stage forms its sums of products.
type sum struct {
	unit  probes.Unit
	acc   probes.DType
	block int
	split int
	n     int // products in a sum

	align, cut, step float64 // the coefficients of a block's terms together, of its result's rounding, of a multiply-add's
	rounds           float64 // halves of an ulp that a block's result loses: 1 rounded, 2 truncated
}

// sumOf is how a plan's stage sums n products. An accumulator that the plan does not state is acc.
func sumOf(sp *probes.StagePlan, n int, acc probes.DType) sum {
	s := sum{unit: probes.UnitTensor, acc: acc, block: 16, split: 1, n: n, rounds: 2}
	if sp != nil {
		s.unit, s.acc, s.block, s.split = sp.Compute.Unit, sp.Compute.Acc, sp.Compute.Block, max(1, sp.Compute.Split)
	}
	if s.acc == 0 {
		s.acc = probes.F32
	}
	if s.block <= 0 {
		s.block = 16
	}
	if s.acc == probes.F16 {
		s.rounds = 1
	}
	return s
}

// blocks is the number of partial sums that tensor-core instructions leave behind.
func (s sum) blocks() int { return (s.n + s.block - 1) / s.block }

// tensor bounds a chain of tensor-core blocks: prefix holds the exact partial sums in order, rowTop·colTop the largest
// product exponent of each block (as a power of two), norms the product of the operands' norms, start what the operands' own
// errors add up to. Each block loses up to 2^-25 of the largest exponent for each of its terms, then rounds (f16) or truncates
// to 24 bits (f32).
func (s *sum) tensor(prefix, rowTop, colTop []float64, norms, start float64) float64 {
	err, acc, cut := start, 0.0, s.cut*s.rounds
	for b, v := range prefix {
		big := rowTop[b] * colTop[b]
		if acc > big { // max would also order NaN and signed zeros, at a third of this loop's time
			big = acc
		}
		err += s.align * big
		v = s.partial(math.Abs(v), norms)
		mag := v + err
		if mag == 0 {
			continue
		}
		err += cut * attn.HalfULP(s.acc, mag)
		acc = s.exponent(v + err)
	}
	return err
}

// partial is how large an accumulator may be where the exact partial sum over all blocks so far is v: that, or, where warps
// sum parts of their own, anything up to the product of the norms.
func (s *sum) partial(v, norms float64) float64 {
	if s.split > 1 {
		return norms
	}
	return v
}

// exponent is what an accumulator of magnitude up to x > 0 makes the block align its terms to.
func (s *sum) exponent(x float64) float64 {
	if x < minNormal && s.acc == probes.F16 {
		return minNormal
	}
	return binade(x)
}

// chain bounds n multiply-adds in any order by n roundings of the sum of magnitudes (at most the product of norms, and what
// is in the accumulator before).
func (s *sum) chain(norms, start float64) float64 {
	u, n := unitRoundoff(s.acc), float64(s.n+1)
	if s.unit == probes.UnitMulAdd {
		n++
	}
	return start + s.step*n*u*(norms+start)*second
}

func unitRoundoff(t probes.DType) float64 {
	_, frac := t.Format()
	if frac == 0 {
		return u32
	}
	return math.Ldexp(1, -frac-1)
}

// exponential is the error model of exp(s − m) as kernels evaluate it.
type exponential struct {
	*coefs
	split bool    // the argument is formed from scaled parts (raw scores, or m in the log2 domain), so it loses by their size
	flush float64 // the largest absolute error of a result that is not normal
}

// rel is the relative error of exp(s − m): the unit's own, and that of its argument, rounded after the subtraction, after
// the product with log2 e, and in that constant. off is how far s − m may be from the kernel's.
func (x *exponential) rel(s, m, off float64) float64 {
	arg := x.coefs[termExpArgument] * (math.Abs(s-m) + off)
	if x.split {
		arg = x.coefs[termExpSplit] * (math.Abs(s) + math.Abs(m) + 2*off)
	}
	if arg > 0.01 {
		return x.coefs[termExpUnit] + 2*math.Expm1(arg)
	}
	return x.coefs[termExpUnit] + 1.01*arg
}

// tiny is what an exponential may be off by on top of that, whatever its size.
func (x *exponential) tiny() float64 { return x.coefs[termExpFlush] * x.flush }
