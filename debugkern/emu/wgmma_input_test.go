package emu

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"tilescope/debugkern/fp"
)

// Inputs for wgmma that are hard on its arithmetic. They are a function of a name and a block's number, so
// that results of a GPU can be compared again on another machine.

// operandFormat is the layout of an operand of wgmma in the low bits of a word.
type operandFormat struct {
	bits, frac, bias int
	inf              uint32 // magnitude of infinity, or the first NaN where there is none
	shift            int    // bits below it in its word
}

var operandFormats = map[fp.Format]operandFormat{
	fp.F16:  {16, 10, 15, 0x7c00, 0},
	fp.BF16: {16, 7, 127, 0x7f80, 0},
	fp.TF32: {19, 10, 127, 0xff << 10, 13},
	fp.E4M3: {8, 3, 7, 0x7f, 0},
	fp.E5M2: {8, 2, 15, 0x7c, 0},
	fp.F32:  {32, 23, 127, 0xff << 23, 0},
}

// wgmmaTile is the inputs of one m64n64 product: a[row][k], b[col][k] and c[row][col] as registers have them.
type wgmmaTile struct {
	class int
	k     int
	a, b  []uint32
	c     []uint32
}

const (
	probeM = 64
	probeN = 64
)

// tileSource makes operands.
type tileSource struct {
	*rand.Rand
}

// of assembles an operand from an exponent field, which is clamped to finite ones, and a fraction.
func (g tileSource) of(f operandFormat, neg bool, field int, frac uint32) uint32 {
	top := int(f.inf >> f.frac)
	if f.inf&(1<<f.frac-1) == 0 {
		top--
	}
	field = min(max(field, 0), top)
	v := uint32(field)<<f.frac | frac&(1<<f.frac-1)
	v = min(v, f.inf-1)
	if neg {
		v |= 1 << (f.bits - 1)
	}
	v <<= f.shift
	if f.shift > 0 { // bits that the tensor core does not read
		v |= g.Uint32() & (1<<f.shift - 1) & -(g.Uint32() & 1)
	}
	return v
}

// near is an operand with a random fraction and an exponent of lo to hi.
func (g tileSource) near(f operandFormat, lo, hi int) uint32 {
	return g.of(f, g.IntN(2) == 0, f.bias+lo+g.IntN(hi-lo+1), g.Uint32())
}

func (g tileSource) finite(f operandFormat) uint32 {
	return g.of(f, g.IntN(2) == 0, g.IntN(1<<(f.bits-1-f.frac)), g.Uint32())
}

func (g tileSource) subnormal(f operandFormat) uint32 {
	return g.of(f, g.IntN(2) == 0, 0, 1+g.Uint32()%(1<<f.frac-1))
}

func (g tileSource) zero(f operandFormat) uint32 { return g.of(f, g.IntN(2) == 0, 0, 0) }

// special is a zero, an infinity or a NaN where the format has one.
func (g tileSource) special(f operandFormat) uint32 {
	v := f.inf
	switch g.IntN(4) {
	case 0:
		v = 0
	case 1:
		v |= 1<<f.frac - 1
	}
	return (v | g.Uint32()&1<<(f.bits-1)) << f.shift
}

// tailMantissa has one bit, or all.
func (g tileSource) tailMantissa(f operandFormat) uint32 {
	if g.IntN(2) == 0 {
		return 1<<f.frac - 1
	}
	return 1 << g.IntN(f.frac)
}

// tileClasses are the kinds of tiles.
var tileClasses = []string{
	"finite", "normal", "few-bits", "subnormal-a", "specials", "zeros", "cancelling-pairs", "dominant",
	"edge-mantissas", "largest", "subnormal", "single-product", "zero-products", "two-groups", "one-binade",
	"wide-spread",
}

// element is one element of an operand of a tile; of b for isB.
func (g tileSource) element(class string, f operandFormat, isB bool, k, at int) uint32 {
	whole := 1 << (f.bits - 1 - f.frac)
	switch class {
	case "finite":
		return g.finite(f)
	case "few-bits":
		return g.of(f, g.IntN(2) == 0, f.bias-1+g.IntN(3), uint32(g.IntN(4))<<max(f.frac-2, 0))
	case "subnormal-a":
		if !isB {
			return g.subnormal(f)
		}
		return g.finite(f)
	case "specials":
		if g.IntN(80) == 0 {
			return g.special(f)
		}
	case "zeros":
		if g.IntN(4) > 0 {
			return g.zero(f)
		}
	case "dominant":
		if k == at {
			return g.near(f, 5, 7)
		}
		return g.near(f, -8, -4)
	case "edge-mantissas":
		return g.of(f, g.IntN(2) == 0, g.IntN(whole), g.tailMantissa(f))
	case "largest":
		return g.of(f, g.IntN(2) == 0, whole-1-g.IntN(3), g.Uint32())
	case "subnormal":
		return g.subnormal(f)
	case "single-product":
		if k != at {
			return g.zero(f)
		}
		return g.finite(f)
	case "zero-products":
		if (k&1 == 0) == isB {
			return g.of(f, true, 0, 0)
		}
		return g.of(f, g.IntN(8) == 0, f.bias, g.Uint32())
	case "two-groups":
		if (k^at)&1 == 0 {
			return g.near(f, 3, 5)
		}
		return g.near(f, -6, -3)
	case "one-binade":
		return g.near(f, 0, 0)
	case "wide-spread":
		return g.near(f, -f.bias/2, f.bias/2)
	}
	return g.near(f, -3, 1)
}

// operandOf makes a matrix of rows of k elements.
func (g tileSource) operandOf(class string, f operandFormat, isB bool, rows, k, at int) []uint32 {
	m := make([]uint32, rows*k)
	for i := range m {
		m[i] = g.element(class, f, isB, i%k, at)
	}
	if class != "cancelling-pairs" {
		return m
	}
	for i := 0; i < len(m); i += 2 {
		m[i+1] = m[i]
		if !isB {
			m[i+1] ^= 1 << (f.bits - 1 + f.shift)
		}
		if g.IntN(8) == 0 && m[i+1]>>f.shift&(1<<f.frac-1) != 0 {
			m[i+1] -= 1 << f.shift
		}
	}
	return m
}

// newWgmmaTile makes the inputs of a block of a case.
func newWgmmaTile(c *wgmmaCase, block int) *wgmmaTile {
	h := fnv.New64a()
	h.Write([]byte(c.inputs))
	g := tileSource{rand.New(rand.NewPCG(h.Sum64(), uint64(block)))}
	t := &wgmmaTile{class: block % len(tileClasses), k: c.k()}
	t.c = make([]uint32, probeM*probeN)
	if c.integer() {
		g.integers(t)
		return t
	}
	class, at := tileClasses[t.class], g.IntN(t.k)
	t.a = g.operandOf(class, operandFormats[c.form.A], false, probeM, t.k, at)
	t.b = g.operandOf(class, operandFormats[c.form.B], true, probeN, t.k, at)
	if g.IntN(4) == 0 {
		return t
	}
	va, vb := values(c.form.A, t.a), values(c.form.B, t.b)
	fc := operandFormats[c.form.D]
	for i := range t.c {
		t.c[i] = g.addend(fc, c.form.D, class, va[i/probeN*t.k:][:t.k], vb[i%probeN*t.k:][:t.k])
	}
	return t
}

// addend is an element of C for a product of a and b.
func (g tileSource) addend(f operandFormat, form fp.Format, class string, a, b []float64) uint32 {
	sum, largest := 0.0, 0.0
	for i := range a {
		p := float64(a[i] * b[i])
		if !math.IsInf(p, 0) && p == p {
			sum += p
			largest = max(largest, math.Abs(p))
		}
	}
	_, e := math.Frexp(largest)
	field := min(max(e-1+f.bias, 0), 1<<(f.bits-1-f.frac))
	switch g.IntN(8) {
	case 0:
		return g.zero(f)
	case 1:
		return g.finite(f)
	case 2:
		v := uint32(fp.RoundTo(form, -sum, fp.RN))
		if v&^(1<<(f.bits-1)) >= f.inf {
			return g.zero(f)
		}
		return g.of(f, v>>(f.bits-1) != 0, int(v&^(1<<(f.bits-1))>>f.frac), v+uint32(g.IntN(9))-4)
	case 3:
		return g.of(f, g.IntN(2) == 0, field+g.IntN(61)-30, g.Uint32())
	case 4:
		return g.of(f, g.IntN(2) == 0, field+g.IntN(33), g.Uint32())
	case 5:
		return g.subnormal(f)
	case 6:
		if class == "specials" && g.IntN(8) == 0 {
			return g.special(f)
		}
	}
	return g.of(f, g.IntN(2) == 0, field+g.IntN(7)-3, g.Uint32())
}

// values are the operands as numbers.
func values(f fp.Format, x []uint32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		switch f {
		case fp.F16:
			out[i] = fp.F16ToFloat64(uint16(v))
		case fp.BF16:
			out[i] = fp.BF16ToFloat64(uint16(v))
		case fp.TF32:
			out[i] = float64(math.Float32frombits(v &^ 0x1fff))
		case fp.E4M3:
			out[i] = fp.F16ToFloat64(fp.E4M3ToF16(uint8(v)))
		default:
			out[i] = fp.F16ToFloat64(fp.E5M2ToF16(uint8(v)))
		}
	}
	return out
}

// integers makes a tile of bytes.
func (g tileSource) integers(t *wgmmaTile) {
	t.a, t.b = make([]uint32, probeM*t.k), make([]uint32, probeN*t.k)
	edges := []uint32{0, 1, 0x7f, 0x80, 0xff}
	for _, m := range [][]uint32{t.a, t.b} {
		for i := range m {
			m[i] = g.Uint32() & 0xff
			if t.class%2 == 1 {
				m[i] = edges[g.IntN(len(edges))]
			}
		}
	}
	for i := range t.c {
		switch g.IntN(4) {
		case 0:
			t.c[i] = 0x7fffffff - g.Uint32()%(1<<20)
		case 1:
			t.c[i] = 0x80000000 + g.Uint32()%(1<<20)
		case 2:
			t.c[i] = g.Uint32()
		}
	}
}
