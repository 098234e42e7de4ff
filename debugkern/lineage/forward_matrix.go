package lineage

import (
	"math/bits"

	"tilescope/debugkern/isa"
)

// matrix is an operand of a product: the values of its cells, row by row, of a sum over columns.
type matrix[T any] struct {
	cells []T
	cols  int
	data  bool
}

// gather reads a fragment from the registers of a warp.
func (x *interpreter[T]) gather(s *step, f *flow, frag *isa.Fragment, first int, m *matrix[T]) {
	n := frag.Rows * frag.Cols
	if cap(m.cells) < n {
		m.cells = make([]T, n)
	}
	m.cells, m.cols, m.data = m.cells[:n], frag.Cols, false
	size := max(frag.Bits/8, 1)
	for e := range frag.Elements {
		reg, part := frag.Register(e)
		if first+reg >= len(f.src) {
			continue
		}
		src := &f.src[first+reg]
		for lane := range 32 {
			row, col := frag.Cell(lane, e)
			id := x.get(s, src, lane)
			m.cells[row*frag.Cols+col] = x.taken(id, part*frag.Bits/8, size)
			m.data = m.data || id != 0 && x.isData(id)
		}
	}
}

// product is a matrix product: every element of D is the sum of products of a row of A and one of B,
// and an element of C.
func (x *interpreter[T]) product(s *step, f *flow) {
	x.about(s, f)
	a, b, c := &x.mats[0], &x.mats[1], &x.mats[2]
	x.gather(s, f, f.f.a, f.f.at[0], a)
	x.gather(s, f, f.f.b, f.f.at[1], b)
	x.gather(s, f, f.f.c, f.f.at[2], c)
	x.multiply(s, f)
}

// multiply makes the elements of D of the operands that were gathered.
func (x *interpreter[T]) multiply(s *step, f *flow) {
	a, b, c := &x.mats[0], &x.mats[1], &x.mats[2]
	d := f.f.d
	data := a.data || b.data || c.data
	size := max(d.Bits/8, 1)
	x.op.Parts, x.op.Bytes = d.PerRegister, size
	for r := range f.dst {
		if f.dst[r].reg < 0 {
			continue
		}
		for m := s.mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			x.op.Lane, x.op.Dest = lane, r
			var bytes [8]uint32
			for p := range d.PerRegister {
				row, col := d.Cell(lane, r%d.Distinct()*d.PerRegister+p)
				x.op.Part, x.op.Row, x.op.Col = p, row, col
				v := x.d.Dot(&x.op, c.cells[row*c.cols+col], a.cells[row*a.cols:][:a.cols],
					b.cells[col*b.cols:][:b.cols])
				if x.see != nil {
					x.see(&x.op, v)
				}
				id := x.value(v, size, data)
				for k := range size {
					bytes[(p*size+k)&7] = id<<3 | uint32(k)
				}
			}
			x.put(s, f.dst[r].reg, lane, x.join(bytes[:size*d.PerRegister]))
		}
	}
}

// transposed is movmatrix.
func (x *interpreter[T]) transposed(s *step, f *flow) {
	var ids [32]uint32
	for lane := range 32 {
		var b [4]uint32
		for e := range 2 {
			from, half := transposedFrom(lane, e)
			x.bytesOf(x.get(s, &f.src[0], from), 2*half, b[2*e:2*e+2])
		}
		ids[lane] = x.join(b[:])
	}
	for m := s.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		x.put(s, f.dst[0].reg, lane, ids[lane])
	}
}

// transposedFrom is the lane and half that half e of a lane is after movmatrix.
func transposedFrom(lane, e int) (from, half int) {
	row, col := isa.Matrix8(false).Cell(lane, e)
	return 4*col + row/2, row & 1
}
