package op

import (
	"math"

	"tilescope/probes"
)

// format is a binary floating-point format narrower than float64.
type format struct {
	exp, frac int
	minExp    int  // exponent of the smallest normal
	inf       bool // has an infinity (E4M3 has none: overflow is NaN)
}

func formatOf(t probes.DType) format {
	switch t {
	case probes.F16:
		return format{5, 10, -14, true}
	case probes.BF16:
		return format{8, 7, -126, true}
	case probes.F32:
		return format{8, 23, -126, true}
	case probes.E4M3:
		return format{4, 3, -6, false}
	case probes.E5M2:
		return format{5, 2, -14, true}
	}
	return format{11, 52, -1022, true}
}

// Round rounds x once, to nearest even, to type t and returns the bit pattern. NaN gives the canonical quiet
// NaN (all ones below the sign, as the hardware does), overflow infinity. Integers are not handled.
func Round(t probes.DType, x float64) uint64 {
	switch t {
	case probes.F64:
		return math.Float64bits(x)
	case probes.F32:
		if x != x {
			return 0x7fffffff
		}
		return uint64(math.Float32bits(float32(x)))
	}
	f := formatOf(t)
	b := math.Float64bits(x)
	sign := b >> 63 << (f.exp + f.frac)
	a := b &^ (1 << 63)
	if a > 0x7ff<<52 {
		return 1<<(f.exp+f.frac) - 1
	}
	top := uint64(1)<<f.exp - 1
	e := int(a>>52) - 1023
	if e < f.minExp {
		// Subnormal: a multiple of the smallest subnormal, by scaling that is exact.
		n := math.RoundToEven(math.Ldexp(math.Float64frombits(a), f.frac-f.minExp))
		return sign | uint64(n)
	}
	drop := 52 - f.frac
	r := a + (1<<(drop-1) - 1) + a>>drop&1
	r = (r >> drop) - uint64(1023+f.minExp-1)<<f.frac
	limit := top << f.frac
	if !f.inf {
		limit |= 1<<f.frac - 1
	}
	if r >= limit {
		return sign | limit
	}
	return sign | r
}

// RoundTo is Round, widened again.
func RoundTo(t probes.DType, x float64) float64 {
	switch t {
	case probes.F64:
		return x
	case probes.F32:
		return float64(float32(x))
	case probes.F16:
		return HalfValue(uint16(Round(t, x)))
	}
	return t.Value(Round(t, x))
}

// HalfValue widens a half.
func HalfValue(h uint16) float64 {
	if h&0x7c00 == 0x7c00 {
		return notFinite(h)
	}
	return finiteHalf(h)
}

// finiteHalf widens a finite half: shifting its fields under float32's exponent is exact, subnormals
// included. It takes no branch on the sign, which cannot be predicted.
func finiteHalf(h uint16) float64 {
	return float64(math.Float32frombits(uint32(h&0x8000)<<16|uint32(h&0x7fff)<<13)) * 0x1p112
}

// notFinite widens infinities and NaN.
func notFinite(h uint16) float64 {
	switch {
	case h&0x3ff != 0:
		return math.NaN()
	case h&0x8000 != 0:
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// WidenHalf writes the values of halves into dst.
func WidenHalf(dst []float64, src []uint16) {
	for i, h := range src {
		dst[i] = HalfValue(h)
	}
}

// Widen writes a tile's values into dst, Rows·Cols of them, and returns it; dst may be nil.
func Widen(dst []float64, t probes.Tile) []float64 {
	n := t.Rows * t.Cols
	if cap(dst) < n {
		dst = make([]float64, n)
	}
	dst = dst[:n]
	switch t.DType {
	case probes.F16:
		d := t.Data[:2*n]
		for i := range dst {
			if h := uint16(d[2*i]) | uint16(d[2*i+1])<<8; h&0x7c00 != 0x7c00 {
				dst[i] = finiteHalf(h) // HalfValue in line
			} else {
				dst[i] = notFinite(h)
			}
		}
	case probes.F32:
		d := t.Data[:4*n]
		for i := range dst {
			w := d[4*i : 4*i+4 : 4*i+4]
			dst[i] = float64(math.Float32frombits(uint32(w[0]) | uint32(w[1])<<8 | uint32(w[2])<<16 |
				uint32(w[3])<<24))
		}
	default:
		for i := range dst {
			dst[i] = t.At(i/t.Cols, i%t.Cols)
		}
	}
	return dst
}

// HalfULP is the largest error of rounding a number of magnitude at most x (x ≥ 0) to type t.
func HalfULP(t probes.DType, x float64) float64 {
	if t == probes.F64 {
		return x * 0x1p-53
	}
	u := halfULPs(t)
	return u.of(x)
}

// halfULP is HalfULP of one type but f64, for loops over cells: the exponent's bits are those of x, not below
// least, and drop less.
type halfULP struct{ least, drop uint64 }

func halfULPs(t probes.DType) halfULP {
	f := formatOf(t)
	return halfULP{uint64(1023+f.minExp) << 52, uint64(f.frac+1) << 52}
}

// of returns +Inf and NaN as they are.
func (u *halfULP) of(x float64) float64 {
	e := math.Float64bits(x) & exponentBits
	if e == exponentBits {
		return x
	}
	return math.Float64frombits(max(e, u.least) - u.drop)
}

// Overflows reports whether x rounds to an infinity or NaN of type t.
func Overflows(t probes.DType, x float64) bool {
	limit := math.MaxFloat64
	switch t {
	case probes.F16:
		limit = 65519.99999999999
	case probes.F32:
		limit = 0x1.fffffefffffffp127
	case probes.BF16:
		limit = 0x1.fefffffffffffp127
	case probes.E4M3:
		limit = 479.99999999999994
	case probes.E5M2:
		limit = 61439.99999999999
	}
	return !(x <= limit && x >= -limit)
}
