package fp

import "slices"

// WarpMMA is a matrix multiplication D = A·B + C as a warp executes it: each matrix in registers of its
// lanes. Register and lane of an element are those of mma.m16n8k16 and mma.m16n8k8 (PTX ISA, "Matrix
// Fragments for mma.m16n8k16"); for 16 columns, those of two such multiplications with the same A, the second
// for columns 8 to 15: so wmma m16n16k16 has it on an H200.
//
// A, B and C point to the first registers of the operands, of which A has k/4, B n·k/64, and C one for every
// 32 elements of f32 or 64 of f16. D has the registers of the result after Multiply; it is not C.
type WarpMMA struct {
	A, B [4]*[32]uint32
	C    [8]*[32]uint32
	D    [8][32]uint32

	wide  [8][32]uint32 // C as f32, where it is f16
	wides [8]*[32]uint32
	bad   [16]uint16
}

// none stands for the registers of A and B that k = 8 does not have.
var none [32]uint32

// MultiplyWarp computes x.D for n = 8 or 16 columns and k = 16, or 8 columns and k = 8. The result is that of
// Dot, output by output.
func (m *Model) MultiplyWarp(t MMA, n, k int, x *WarpMMA) {
	if !m.multiplyVectors(t, n, k, x) {
		m.multiplyWarp(t, n, k, x)
	}
}

// elementA and elementB are the register and lane of an element, in the low half or, for odd
// k, in the high one.
func elementA(row, k int) (reg, lane int) { return row>>3 | k>>3<<1, row&7<<2 | k&7>>1 }

func elementB(n, k, depth int) (reg, lane int) { return n>>3*(depth>>3) + k>>3, n&7<<2 | k&7>>1 }

// elementC is the place of a pair of columns, the one of col and its neighbour: register and lane where a
// register holds both. Where it holds one, the registers are 2·reg and 2·reg+1.
func elementC(row, col int) (reg, lane int) { return row>>3 | col>>3<<1, row&7<<2 | col&7>>1 }

func (x *WarpMMA) rowOfA(to []uint16, row int) {
	for i := range to {
		reg, lane := elementA(row, i)
		to[i] = uint16(x.A[reg&3][lane&31] >> (i & 1 * 16))
	}
}

func (x *WarpMMA) columnOfB(to []uint16, n int) {
	for i := range to {
		reg, lane := elementB(n, i, len(to))
		to[i] = uint16(x.B[reg&3][lane&31] >> (i & 1 * 16))
	}
}

func (x *WarpMMA) addend(t MMA, row, col int) uint32 {
	reg, lane := elementC(row, col)
	if t.C == F16 {
		return x.C[reg&7][lane&31] >> (col & 1 * 16) & 0xffff
	}
	return x.C[(2*reg+col&1)&7][lane&31]
}

func (x *WarpMMA) set(t MMA, row, col int, v uint32) {
	reg, lane := elementC(row, col)
	if t.D == F16 {
		shift := col & 1 * 16
		d := &x.D[reg&7][lane&31]
		*d = *d&^(0xffff<<shift) | v&0xffff<<shift
		return
	}
	x.D[(2*reg+col&1)&7][lane&31] = v
}

// multiplyWarp is MultiplyWarp by way of matrices.
func (m *Model) multiplyWarp(t MMA, n, k int, x *WarpMMA) {
	var a, b [256]uint16
	var c, d [256]uint32
	for reg := range k / 4 {
		halves(&a, x.A[reg&3], reg&1*8*k+reg>>1*8, k)
	}
	for reg := range n * k / 64 {
		halves(&b, x.B[reg&3], reg/(k/8)*8*k+reg%(k/8)*8, k)
	}
	// The first of the pairs that registers hold of c and d.
	pairs := func(reg int) int { return reg&1*8*n + reg>>1*8 }
	for reg := range n / 4 {
		at := pairs(reg)
		if t.C == F16 {
			for lane, v := range x.C[reg&3] {
				i := at + lane>>2*n + lane&3*2
				c[i&255], c[(i+1)&255] = v&0xffff, v>>16
			}
			continue
		}
		low, high := x.C[2*reg&7], x.C[(2*reg+1)&7]
		for lane := range low {
			i := at + lane>>2*n + lane&3*2
			c[i&255], c[(i+1)&255] = low[lane], high[lane]
		}
	}
	m.multiply(t, n, k, d[:16*n], c[:16*n], a[:16*k], b[:n*k])
	for reg := range n / 4 {
		at := pairs(reg)
		for lane := range 32 {
			i := at + lane>>2*n + lane&3*2
			if t.D == F16 {
				x.D[reg&3][lane] = d[i&255]&0xffff | d[(i+1)&255]<<16
			} else {
				x.D[2*reg&7][lane], x.D[(2*reg+1)&7][lane] = d[i&255], d[(i+1)&255]
			}
		}
	}
}

// halves puts a register's pairs into a matrix with rows of k: the first at at, four to a row.
func halves(to *[256]uint16, reg *[32]uint32, at, k int) {
	for lane, v := range reg {
		i := at + lane>>2*k + lane&3*2
		to[i&255], to[(i+1)&255] = uint16(v), uint16(v>>16)
	}
}

// repair computes the outputs of x.bad anew. A NaN in a row of A, or in a column of B, settles all outputs of
// it.
func (m *Model) repair(t MMA, n, k int, x *WarpMMA) {
	var a, b [16]uint16
	var tested, undefined uint16 // columns: tested for NaN, and those that have one
	nan := uint32(NaN32)
	if t.D == F16 {
		nan = uint32(NaN16)
	}
	for row, bad := range x.bad {
		if bad == 0 {
			continue
		}
		x.rowOfA(a[:k], row)
		all := anyNaN(t.AB, a[:k])
		for i := range n {
			if bad>>i&1 == 0 {
				continue
			}
			col := i&8 | i&3<<1 | i>>2&1 // the order of the vectors' lanes
			if all || undefined>>i&1 != 0 {
				x.set(t, row, col, nan)
				continue
			}
			x.columnOfB(b[:k], col)
			if tested>>i&1 == 0 {
				tested |= 1 << i
				if anyNaN(t.AB, b[:k]) {
					undefined |= 1 << i
				}
			}
			x.set(t, row, col, m.Dot(t, a[:k], b[:k], x.addend(t, row, col)))
		}
	}
}

func anyNaN(form Format, list []uint16) bool {
	return slices.ContainsFunc(list, func(x uint16) bool { return isNaN16(form, x) })
}
