package fp

import "math"

// The fast form of Dot for whole tiles. Operands are decoded once into float64
// values and exponents. A product is exact in float64, its scaling by a power
// of two too, and Go's conversion to an integer truncates toward zero, which is
// the alignment of the tensor core. Only the largest exponent of a dot product
// takes thought: it is the maximum of sums of biased exponent fields, kept for
// eight (bf16: four) columns in the lanes of one word. A zero operand has the
// code 0, so that no sum with it reaches the least sum of two others.

// MMA16x16x16 is wmma.mma.m16n16k16: d = a*b + c with c and d as [m][n], a as
// [m][k] and b as [n][k]. f16 elements of c and d sit in the low 16 bits. d may
// be c. The result is that of Dot, output by output.
func (m *Model) MMA16x16x16(t MMA, d, c *[256]uint32, a, b *[256]uint16) {
	m.multiply(t, 16, 16, d[:], c[:], a[:], b[:])
}

// tile is a decoded operand: up to 16 rows (of A, or columns of B) of 16.
type tile struct {
	val     [16][16]float64
	code    [16][16]uint64 // the exponent code in every lane
	special [16]bool       // the row holds a NaN or an infinity
}

// lanes is the layout of exponent codes in words, for one operand format: a
// nonzero operand has the code base + field, field >= 1.
type lanes struct {
	width uint   // bits of a lane; its top bit stays clear
	high  uint64 // the top bit of every lane
	ones  uint64 // the lowest bit of every lane
	base  uint16
	bias  int // code sum minus exponent sum
}

var (
	lanesF16  = lanes{8, 0x8080808080808080, 0x0101010101010101, 32, 2 * (32 + 15)}
	lanesBF16 = lanes{16, 0x8000800080008000, 0x0001000100010001, 512, 2 * (512 + 127)}
)

// multiply computes d = a*b + c with c and d as [16][n], a as [16][k] and b as
// [n][k].
func (m *Model) multiply(t MMA, n, k int, d, c []uint32, a, b []uint16) {
	ln := &lanesF16
	if t.AB == BF16 {
		ln = &lanesBF16
	}
	var ta, tb tile
	ta.decode(t.AB, ln, a, 16, k)
	tb.decode(t.AB, ln, b, n, k)
	var cols [4][16]uint64
	tb.columns(ln, n, k, &cols)
	perWord := int(64 / ln.width)
	for row := range 16 {
		best := largest(ln, &ta.code[row], k, n/perWord, &cols)
		va := &ta.val[row]
		for col := range n {
			i := row*n + col
			if ta.special[row] || tb.special[col] {
				d[i] = m.Dot(t, a[row*k:row*k+k], b[col*k:col*k+k], c[i])
				continue
			}
			code := int(best[col/perWord] >> (uint(col%perWord) * ln.width) & (1<<ln.width - 1))
			emax := m.mma.floor
			if code > 2*int(ln.base) {
				emax = max(emax, code-ln.bias)
			}
			x, ec, ok := decodeC(t, c[i])
			if !ok {
				d[i] = m.Dot(t, a[row*k:row*k+k], b[col*k:col*k+k], c[i])
				continue
			}
			emax = max(emax, ec)
			sum := sum16(va, &tb.val[col], exp2(m.mma.frac-emax), x)
			d[i] = finishDot(t, sum, emax-m.mma.frac)
		}
	}
}

// decode fills the tile from rows of k operands. The value of a NaN or infinity
// is of no use: its row is special.
func (t *tile) decode(f Format, ln *lanes, x []uint16, rows, k int) {
	frac, inf := uint(layouts[f].frac)&15, inf16(f)
	// Both formats are widened by shifts: f16 lacks 3 exponent bits and so needs
	// rebiasing by 2^112, a multiplication that also normalises its subnormals.
	shift, scale := uint(13), 0x1p112
	if f == BF16 {
		shift, scale = 16, 1
	}
	for r := range rows {
		val, code := &t.val[r], &t.code[r]
		special := false
		for i, h := range x[r*k : r*k+k] {
			mag := h & 0x7fff
			special = special || mag >= inf
			val[i&15] = float64(math.Float32frombits(uint32(h&0x8000)<<16|uint32(mag)<<shift)) * scale
			e := max(mag>>frac, 1) + ln.base
			if mag == 0 {
				e = 0
			}
			code[i&15] = uint64(e) * ln.ones
		}
		t.special[r] = special
	}
}

// columns packs the codes of n rows of the tile into lanes: cols[word][k].
func (t *tile) columns(ln *lanes, n, k int, cols *[4][16]uint64) {
	perWord := int(64 / ln.width)
	lane := uint64(1)<<ln.width - 1
	for row := range n {
		word := &cols[row/perWord&3]
		keep := lane << (uint(row%perWord) * ln.width)
		for i := range k {
			word[i&15] |= t.code[row&15][i&15] & keep
		}
	}
}

// largest returns, lane by lane, the largest code sum of a row with every column.
func largest(ln *lanes, row *[16]uint64, k, words int, cols *[4][16]uint64) (best [4]uint64) {
	high, low := ln.high, ln.width-1
	for w := 0; w < words; w += 2 {
		c0, c1 := &cols[w&3], &cols[(w+1)&3]
		var y0, y1 uint64
		for i := range k {
			e := row[i&15]
			x0, x1 := e+c0[i&15], e+c1[i&15]
			ge0, ge1 := ((x0|high)-y0)&high, ((x1|high)-y1)&high // lanes with x >= y
			y0 ^= (x0 ^ y0) & (ge0 - ge0>>low)
			y1 ^= (x1 ^ y1) & (ge1 - ge1>>low)
		}
		best[w&3], best[(w+1)&3] = y0, y1
	}
	return best
}

// decodeC returns C's value and its exponent, or a very small one for zero; ok
// is false for NaN and infinity.
func decodeC(t MMA, c uint32) (x float64, e int, ok bool) {
	if t.C == F16 {
		h := uint16(c)
		e = max(int(h>>10&31), 1) - 15
		if h&0x7fff == 0 {
			e = -1 << 10
		}
		if t.D == F32 && h&0x7fff != 0 {
			// Converted to f32 first: a subnormal gets its normalised exponent.
			return F16ToFloat64(h), int(F16ToF32(h)>>23&0xff) - 127, h&0x7c00 != 0x7c00
		}
		return F16ToFloat64(h), e, h&0x7c00 != 0x7c00
	}
	e = max(int(c>>23&0xff), 1) - 127
	if c&^sign32 == 0 {
		e = -1 << 10
	}
	return float64(Float32(c)), e, c&inf32 != inf32
}

// sum16 returns the sum of the 16 products and c, each times scale and cut
// toward zero. A term is below 2^27 in magnitude, so eight fit 32 bits.
func sum16(a, b *[16]float64, scale, c float64) int64 {
	s := int32(float64(a[0]*b[0])*scale) + int32(float64(a[1]*b[1])*scale)
	s += int32(float64(a[2]*b[2])*scale) + int32(float64(a[3]*b[3])*scale)
	s += int32(float64(a[4]*b[4])*scale) + int32(float64(a[5]*b[5])*scale)
	s += int32(float64(a[6]*b[6])*scale) + int32(float64(a[7]*b[7])*scale)
	t := int32(float64(a[8]*b[8])*scale) + int32(float64(a[9]*b[9])*scale)
	t += int32(float64(a[10]*b[10])*scale) + int32(float64(a[11]*b[11])*scale)
	t += int32(float64(a[12]*b[12])*scale) + int32(float64(a[13]*b[13])*scale)
	t += int32(float64(a[14]*b[14])*scale) + int32(float64(a[15]*b[15])*scale)
	return int64(s) + int64(t) + int64(int32(c*scale))
}

// finishDot is roundSum for the forms of t, with the common cases inline.
func finishDot(t MMA, sum int64, e int) uint32 {
	// The sum has at most 33 bits: the float64 is exact.
	x := float64(sum) * exp2(e)
	v := math.Float64bits(x)
	mag := v &^ sign64
	if t.C == F16 && t.D == F16 {
		if mag-(1023-14)<<52 < 29<<52 {
			return uint32(RoundF16(x))
		}
		return roundSum(sum, e, F16)
	}
	var r uint32
	if mag-897<<52 < 254<<52 {
		r = uint32(v>>32&sign32) | uint32((mag-896<<52)>>29)
	} else {
		r = roundSum(sum, e, F32)
	}
	if t.D == F16 {
		return uint32(F32ToF16(r))
	}
	return r
}
