package diff

import (
	"math"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// Unit roundoff and the constants of the error analysis. Sources: PTX ISA (ex2.approx 2 ulp, here 2^-22 relative; div.full
// 2 ulp), and the tensor core's model: a block aligns every term to the largest and keeps 25 fraction bits, then truncates
// (f32) or rounds (f16).
const (
	u32       = 0x1p-24 // half an ulp of float32, relative
	expRel    = 0x1p-22 // relative error of one approximate exponential
	expTiny   = 0x1p-140
	divRel    = 0x1p-22
	decodeRel = 4 * u32     // three float32 roundings (448/127, times scale, times code) and their products
	alignKeep = 0x1p-25     // what one aligned term may lose, in units of the largest exponent
	slack     = 1 + 0x1p-16 // the reference's own float64 roundings, relative to a bound of float32 roundings
	minNormal = 0x1p-14     // of f16: the tensor core does not normalise subnormal operands
	lowerHalf = 0x1p-25     // half the smallest f16 subnormal
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
	return attn.HalfULP(r.dtype, x)
}

// bound is pre and the last rounding, of a value ref ± pre. A reference of exactly 0 that nothing can disturb has bound 0.
func (r rounding) bound(ref, pre float64) float64 {
	x := math.Abs(ref) + pre
	if x == 0 {
		return 0
	}
	return (pre + r.half(x)) * slack
}

// close fills the bounds of an estimate from ref and pre.
func (e *estimate) close(r rounding, rows, cols int) {
	for i := range rows {
		ref, pre, bound := e.ref.Row(i)[:cols], e.pre.Row(i)[:cols], e.bound.Row(i)[:cols]
		switch {
		case r.dtype == probes.F16 && !r.exact && !r.pow2:
			for c, v := range ref {
				bound[c] = 0
				if x := math.Abs(v) + pre[c]; x != 0 {
					bound[c] = (pre[c] + attn.HalfULP(probes.F16, x)) * slack
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
}

func sumOf(sp *probes.StagePlan, n int) sum {
	s := sum{unit: probes.UnitTensor, acc: probes.F16, block: 16, split: 1, n: n}
	if sp != nil {
		s.unit, s.acc, s.block, s.split = sp.Compute.Unit, sp.Compute.Acc, sp.Compute.Block, max(1, sp.Compute.Split)
	}
	if s.acc == 0 {
		s.acc = probes.F32
	}
	if s.block <= 0 {
		s.block = 16
	}
	return s
}

// blocks is the number of partial sums that tensor-core instructions leave behind.
func (s sum) blocks() int { return (s.n + s.block - 1) / s.block }

// tensor bounds a chain of tensor-core blocks: prefix holds the exact partial sums in order, rowTop·colTop the largest
// product exponent of each block (as a power of two), start what the operands' own errors add up to. Each block loses up to
// 2^-25 of the largest exponent for each of its terms, then rounds (f16) or truncates to 24 bits (f32).
func (s sum) tensor(prefix, rowTop, colTop []float64, start float64) float64 {
	err, acc := start, 0.0
	terms := float64(s.block+1) * alignKeep
	for b, v := range prefix {
		big := rowTop[b] * colTop[b]
		if acc > big {
			big = acc
		}
		err += terms * big
		mag := math.Abs(v) + err
		if mag == 0 {
			continue
		}
		if s.acc == probes.F16 {
			err += attn.HalfULP(probes.F16, mag)
		} else {
			err += 2 * attn.HalfULP(s.acc, mag)
		}
		acc = max(math.Abs(v)+err, minNormal)
	}
	return err
}

// chain bounds n multiply-adds in any order by n roundings of the sum of magnitudes (at most the product of norms).
func (s sum) chain(norms, start float64) float64 {
	u, n := unitRoundoff(s.acc), float64(s.n+1)
	if s.unit == probes.UnitMulAdd {
		n++
	}
	return start + n*u*(norms+start)*1.01
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
	split bool // the argument is formed from scaled parts (raw scores, or m in the log2 domain), so it loses by their size
}

// rel is the relative error of exp(s − m): the unit's own, and that of its argument, rounded after the subtraction, after
// the product with log2 e, and in that constant.
func (x exponential) rel(s, m float64) float64 {
	arg := 3 * u32 * math.Abs(s-m)
	if x.split {
		arg = 4 * u32 * (math.Abs(s) + math.Abs(m))
	}
	if arg > 0.01 {
		return expRel + 2*math.Expm1(arg)
	}
	return expRel + 1.01*arg
}

// pow2Top returns 2^⌊log2 max|v|⌋ over v, not below f16's smallest normal unless all are 0; widened by one binade where the
// values may still be rounded up.
func pow2Top(v []float64, widen float64) float64 {
	top := 0.0
	for _, x := range v {
		top = max(top, math.Abs(x))
	}
	if top == 0 {
		return 0
	}
	return max(math.Float64frombits(math.Float64bits(top)&(0x7ff<<52)), minNormal) * widen
}

func norm(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}
