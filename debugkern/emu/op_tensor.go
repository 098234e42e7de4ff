package emu

import (
	"math/bits"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Matrix products whose operands or shapes op_mma.go has no fast form for: every element of D is made by
// itself, of a row of A, a column of B and an element of C.

// dotProduct makes one element of D. Operands and result are as registers hold them, without other
// elements around them.
type dotProduct func(m *fp.Model, a, b []uint64, c uint64) uint64

// tensorMax are the most elements of an operand and of an accumulator.
const (
	tensorMaxA = 16 * 256
	tensorMaxB = 8 * 256
	tensorMaxC = 256
)

// multiplyAny decodes such a product.
func (d *decoder) multiplyAny() {
	m := d.out.mma
	m.frag, m.a, m.b, m.c = d.fragment(0), d.fragment(1), d.fragment(2), d.fragment(3)
	if m.a.Rows*m.a.Cols > tensorMaxA || m.b.Rows*m.b.Cols > tensorMaxB {
		d.unmodelled()
	}
	if m.dot = d.dotProduct(); m.dot == nil {
		d.unmodelled()
	}
	d.out.class, d.out.run = target.ClassMMA, runMultiplyAny
}

// dotProduct chooses the arithmetic by the types of D, A, B and C; nil where it is not modelled.
func (d *decoder) dotProduct() dotProduct {
	ts := d.in.Types()
	if len(ts) == 2 { // wmma of f16
		ts = []ptx.Type{ts[0], ptx.F16, ptx.F16, ts[1]}
	}
	if len(ts) != 4 {
		return nil
	}
	sat := d.has("satfinite")
	switch to, a, b, c := ts[0], ts[1], ts[2], ts[3]; {
	case a.Signed() || a == ptx.U8 || a == ptx.U4 || a == ptx.S4 || a == ptx.B1:
		if to != ptx.S32 || c != ptx.S32 {
			return nil
		}
		if a == ptx.B1 {
			return d.bitProduct()
		}
		return integerProduct(a, b, sat)
	case sat:
		return nil
	case a == ptx.F64:
		return func(_ *fp.Model, a, b []uint64, c uint64) uint64 { return fp.Dot64(a, b, c) }
	case a == ptx.TF32 && to == ptx.F32 && c == ptx.F32:
		if d.in.Op == "wmma" {
			return wordProducts(4) // ptxas makes two steps of 4 products of it, on sm_80 to sm_90
		}
		return wordProducts(8)
	case a == ptx.E4M3 || a == ptx.E5M2:
		return byteProduct(fp.MMA{AB: fp.F16, C: formatOf(c), D: formatOf(to)}, a, b)
	case a == ptx.F16 || a == ptx.BF16 && to == ptx.F32 && c == ptx.F32:
		return halfProduct(fp.MMA{AB: formatOf(a), C: formatOf(c), D: formatOf(to)})
	}
	return nil
}

// integerProduct multiplies integers of 4 or 8 bits, each operand signed or not.
func integerProduct(ta, tb ptx.Type, sat bool) dotProduct {
	extend := func(t ptx.Type, v uint64) int32 {
		shift := 32 - t.Bits()
		if t == ptx.S8 || t == ptx.S4 {
			return int32(uint32(v)<<shift) >> shift
		}
		return int32(uint32(v) << shift >> shift)
	}
	return func(_ *fp.Model, a, b []uint64, c uint64) uint64 {
		var x, y [64]int32
		for i := range a {
			x[i&63], y[i&63] = extend(ta, a[i]), extend(tb, b[i])
		}
		return uint64(uint32(fp.DotInt(x[:len(a)], y[:len(a)], int32(c), sat)))
	}
}

// bitProduct counts the bits in which operands differ, or that both have.
func (d *decoder) bitProduct() dotProduct {
	if !d.has("popc") || d.has("xor") == d.has("and") {
		return nil
	}
	both := d.has("and")
	return func(_ *fp.Model, a, b []uint64, c uint64) uint64 {
		n := uint32(c)
		for i := range a {
			if both {
				n += uint32(a[i] & b[i])
			} else {
				n += uint32(a[i] ^ b[i])
			}
		}
		return uint64(n)
	}
}

// wordProducts multiplies tf32, at most so many products in one step of the tensor core.
func wordProducts(step int) dotProduct {
	return func(m *fp.Model, a, b []uint64, c uint64) uint64 {
		var x, y [8]uint32
		for i := range a {
			x[i&7], y[i&7] = uint32(a[i]), uint32(b[i])
		}
		sum := uint32(c)
		for i := 0; i < len(a); i += step {
			n := min(i+step, len(a))
			sum = m.DotTF32(x[i:n], y[i:n], sum)
		}
		return uint64(sum)
	}
}

func byteProduct(t fp.MMA, ta, tb ptx.Type) dotProduct {
	format := map[ptx.Type]fp.Format{ptx.E4M3: fp.E4M3, ptx.E5M2: fp.E5M2}
	fa, fb := format[ta], format[tb]
	return func(m *fp.Model, a, b []uint64, c uint64) uint64 {
		var x, y [32]uint8
		for i := range a {
			x[i&31], y[i&31] = uint8(a[i]), uint8(b[i])
		}
		return uint64(m.DotF8(t, fa, fb, x[:len(a)], y[:len(a)], uint32(c)))
	}
}

func halfProduct(t fp.MMA) dotProduct {
	return func(m *fp.Model, a, b []uint64, c uint64) uint64 {
		var x, y [16]uint16
		for i := range a {
			x[i&15], y[i&15] = uint16(a[i]), uint16(b[i])
		}
		return uint64(m.Dot(t, x[:len(a)], y[:len(a)], uint32(c)))
	}
}

func runMultiplyAny(w *warp, in *inst, mask uint32) {
	m := in.mma
	var a [tensorMaxA]uint64
	var b [tensorMaxB]uint64
	var c [tensorMaxC]uint64
	w.gatherMatrix(a[:], &m.a, mask)
	w.gatherMatrix(b[:], &m.b, mask)
	w.gatherMatrix(c[:], &m.c, mask)
	model, depth, cols := w.blk.p.model, m.a.Cols, m.frag.Cols
	for row := range m.frag.Rows {
		for col := range cols {
			x := &c[row*cols+col]
			*x = m.dot(model, a[row*depth:][:depth], b[col*depth:][:depth], *x)
		}
	}
	w.blk.counts.MMAOutputs += uint64(m.frag.Rows * cols)
	w.scatterMatrix(&m.frag, c[:], mask)
}

// gatherMatrix puts the elements of a fragment at their cells. Registers of lanes that are not
// there count as zero.
func (w *warp) gatherMatrix(t []uint64, f *fragment, mask uint32) {
	each := uint64(1)<<f.Bits - 1
	for r := range f.Distinct() {
		var regs row64
		if f.Bits == 64 {
			regs = *w.full64(f.regs[r&7])
		} else {
			for i, v := range w.full32(f.regs[r&7]) {
				regs[i] = uint64(v)
			}
		}
		for l := mask; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			for part := range f.PerRegister {
				row, col := f.Cell(lane, r*f.PerRegister+part)
				t[row*f.Cols+col] = regs[lane] >> (part * f.Bits) & each
			}
		}
	}
}

// scatterMatrix puts the elements of a matrix into the registers of a fragment.
func (w *warp) scatterMatrix(f *fragment, t []uint64, mask uint32) {
	each := uint64(1)<<f.Bits - 1
	for r := range f.Registers {
		var regs row64
		for lane := range regs {
			for part := range f.PerRegister {
				row, col := f.Cell(lane, r%f.Distinct()*f.PerRegister+part)
				regs[lane] |= t[row*f.Cols+col] & each << (part * f.Bits)
			}
		}
		w.setRegister(f, r, &regs, mask)
	}
}

// setRegister gives a register of a fragment its values.
func (w *warp) setRegister(f *fragment, r int, v *row64, mask uint32) {
	if f.Bits == 64 {
		w.store64(f.regs[r&7], v, mask)
		return
	}
	var low row32
	for i := range low {
		low[i] = uint32(v[i])
	}
	w.store32(f.regs[r&7], &low, mask)
}

// Loads and stores of fragments that are no 16×16 matrix of 16 or 32 bits.

// cellOffset is the byte offset of element e of a lane from the matrix's address.
func (m *mmaOp) cellOffset(lane, e, stride int) int {
	row, col := m.frag.Cell(lane, e)
	if m.swap {
		row, col = col, row
	}
	return (row*stride + col) * m.frag.Bits / 8
}

func runLoadAny(w *warp, in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	f := &m.frag
	b.count(x.space)
	step, size := f.Moved()
	var vals [8]row64
	for l := mask; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		base, stride, ok := w.wmmaBase(in, lane)
		for e := 0; e < f.Elements; e += step {
			v := ^uint64(0)
			if ok {
				p := b.locate(w, in, x, lane, base+uint64(m.cellOffset(lane, e, stride)), size, size)
				if p.data != nil {
					if p.written != nil && !allWritten(p.written) {
						b.uninitialised(w, in, x, lane, p)
					}
					v = scalarAt(p.data, size)
				}
			}
			r, part := f.Register(e)
			if size < 8 {
				v &= 1<<(8*size) - 1
			}
			vals[r&7][lane] |= v << (part * f.Bits & 63)
		}
	}
	for r := range f.Registers {
		w.setRegister(f, r, &vals[r%f.Distinct()&7], mask)
	}
}

func runStoreAny(w *warp, in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	f := &m.frag
	b.count(x.space)
	b.wrote++
	var t [tensorMaxC]uint64
	w.gatherMatrix(t[:], f, mask)
	_, size := f.Moved()
	for l := mask; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		base, stride, ok := w.wmmaBase(in, lane)
		for e := 0; e < f.Elements && ok; e++ {
			p := b.locate(w, in, x, lane, base+uint64(m.cellOffset(lane, e, stride)), size, size)
			if p.data != nil {
				row, col := f.Cell(lane, e)
				putScalar(p.data, size, t[row*f.Cols+col])
				p.wrote()
			}
		}
	}
}

// square reports whether a fragment is one that the fast loads and stores have: of a 16×16 matrix, of 32 bits
// an element, or of 16 in as many registers as f16 has.
func (f *fragment) square() bool {
	if f.Rows != 16 || f.Cols != 16 {
		return false
	}
	return f.Bits == 32 || f.Bits == 16 && (f.Role == isa.ClassC || f.Registers == 8)
}
