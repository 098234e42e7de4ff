package fp

import "math"

// AsyncWarp is a warp's part of a wgmma.mma_async: 16 of the 64 rows of D = A·B + D. Matrices lie in
// registers of the warp's lanes (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts"): a register
// of A and B has 4 bytes along k, the first two or one of A rows 0 to 7 and 8 to 15 of the first half of k,
// the others of the second half. Those of B have a column where A has a row, in twos for every 8 columns.
type AsyncWarp struct {
	A [4]*[32]uint32
	B [][2][32]uint32 // by 8 columns
	// D are the accumulators, which Multiply changes: for every 8 columns 4 registers of 32 bits, or 2 of 16
	D []*[32]uint32
	// Fresh: what D holds is not added
	Fresh bool
}

// none of the accumulators is added.
var fresh [32]uint32

// MultiplyAsync computes x.D. The result is that of DotAsync, output by output.
func (m *Model) MultiplyAsync(t AsyncMMA, x *AsyncWarp) {
	if t.A == F16 || t.A == BF16 {
		m.multiplyHalves(MMA{AB: t.A, C: t.D, D: t.D}, x)
		return
	}
	m.multiplyDecoded(t, x)
}

// multiplyHalves is MultiplyAsync for operands of 16 bits: that of mma.sync, for 16 columns at a time.
func (m *Model) multiplyHalves(t MMA, x *AsyncWarp) {
	var w WarpMMA
	w.A = x.A
	each := len(x.D) / len(x.B) // registers for 8 columns
	for col := 0; col < len(x.B); {
		n := min(2, len(x.B)-col)
		for i := range n {
			w.B[2*i], w.B[2*i+1] = &x.B[col+i][0], &x.B[col+i][1]
		}
		d := x.D[each*col : each*(col+n)]
		for i, r := range d {
			if w.C[i&7] = r; x.Fresh {
				w.C[i&7] = &fresh
			}
		}
		m.MultiplyWarp(t, 8*n, 16, &w)
		for i, r := range d {
			*r = w.D[i&7]
		}
		col += n
	}
}

// decodedRow is a row of an operand: values, and exponents as the alignment has them, far below all others
// for zeros.
type decodedRow struct {
	val     [32]float64
	exp     [32]int32
	special bool
	bits    [32]uint32
}

const noExponent = -1 << 20

func (r *decodedRow) set(f Format, i int, v uint32) {
	r.bits[i] = v
	m, e, neg := operandAsync(f, v)
	if r.exp[i] = int32(e); m == 0 {
		r.exp[i] = noExponent
	}
	val := math.Ldexp(float64(m), e-10)
	if neg {
		val = -val
	}
	r.val[i] = val
	l := &layouts[f]
	switch mag := uint64(v); f {
	case TF32:
		r.special = r.special || v&inf32 == inf32
	default:
		r.special = r.special || mag&(1<<7-1) >= l.inf
	}
}

// decodeRows decodes rows of which lane 4·row + i of a register has 4 bytes.
func decodeRows(f Format, to []decodedRow, regs func(row, half int) *[32]uint32) {
	size := layouts[f].bytes()
	for row := range to {
		to[row].special = false
		for half := range 2 {
			r := regs(row, half)
			for i := range 4 {
				v := r[row&7<<2|i]
				if size == 4 {
					to[row].set(f, 4*half+i, v)
					continue
				}
				for j := range 4 {
					to[row].set(f, 16*half+4*i+j, v>>(8*j)&0xff)
				}
			}
		}
	}
}

// bytes is what an operand of a register has.
func (l *layout) bytes() int {
	if l.name == "tf32" {
		return 4
	}
	return 1
}

// multiplyDecoded is MultiplyAsync for operands of 8 and 32 bits.
func (m *Model) multiplyDecoded(t AsyncMMA, x *AsyncWarp) {
	var a [16]decodedRow
	var b [8]decodedRow
	decodeRows(t.A, a[:], func(row, half int) *[32]uint32 { return x.A[row>>3|half<<1] })
	acc, k, each := m.asyncAccumulator(t), t.K(), len(x.D)/len(x.B)
	for col := range x.B {
		decodeRows(t.B, b[:], func(_, half int) *[32]uint32 { return &x.B[col][half] })
		d := x.D[each*col:]
		for row := range a {
			for n := range b {
				reg, lane := row>>3, row&7<<2|n>>1
				shift := 0
				if t.D == F16 {
					shift = n & 1 * 16
				} else {
					reg = 2*reg + n&1
				}
				at := &d[reg][lane]
				c := *at >> shift
				if t.D == F16 {
					c &= 0xffff
				}
				if x.Fresh {
					c = 0
				}
				v := m.dotDecoded(t, acc, &a[row], &b[n], k, c)
				if t.D == F16 {
					v = *at&^(0xffff<<shift) | v<<shift
				}
				*at = v
			}
		}
	}
}

// dotDecoded is DotAsync of decoded rows.
func (m *Model) dotDecoded(t AsyncMMA, acc accumulator, a, b *decodedRow, k int, c uint32) uint32 {
	x, ec, ok := decodeC(MMA{C: t.D, D: t.D}, c)
	if a.special || b.special || !ok {
		return m.DotAsync(t, a.bits[:k], b.bits[:k], c)
	}
	emax := int32(max(acc.floor, ec))
	for i := range k {
		emax = max(emax, a.exp[i&31]+b.exp[i&31])
	}
	scale := exp2(acc.frac - int(emax))
	sum := int64(x * scale)
	for i := range k {
		sum += int64(float64(a.val[i&31]*b.val[i&31]) * scale)
	}
	return acc.round(sum, int(emax)-acc.frac, t.D)
}

// MultiplyAsyncInt computes x.D for operands of 8 bits, signed or not, that are added to integers of 32 bits,
// which wrap around or saturate, as DotInt has it.
func MultiplyAsyncInt(x *AsyncWarp, signed, sat bool) {
	extend := func(v uint32) int32 {
		if signed {
			return int32(int8(v))
		}
		return int32(uint8(v))
	}
	var a [16][32]int32
	for row := range a {
		for i := range a[row] {
			r := x.A[row>>3|i>>4<<1]
			a[row][i] = extend(r[row&7<<2|i&15>>2] >> (i & 3 * 8))
		}
	}
	for col := range x.B {
		var b [8][32]int32
		for n := range b {
			for i := range b[n] {
				b[n][i] = extend(x.B[col][i>>4][n<<2|i&15>>2] >> (i & 3 * 8))
			}
		}
		for row := range a {
			for n := range b {
				at := &x.D[4*col+row>>3*2+n&1][row&7<<2|n>>1]
				c := *at
				if x.Fresh {
					c = 0
				}
				*at = uint32(DotInt(a[row][:], b[n][:], int32(c), sat))
			}
		}
	}
}
