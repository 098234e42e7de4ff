package op

import "math"

// operand describes a matrix that enters a sum of products, by row (or by column, where the sum runs along
// rows).
type operand struct {
	n     int       // rows or columns described
	norm  []float64 // along the sum
	delta []float64 // norm of the operand's own error; nil: none
	top   []float64 // block by block of the tensor core, n each: the largest exponent
	room  []float64 // of delta

	panels Panels // the rows themselves, where they are the right operand
}

// Reused keeps the descriptions of a tile that is an operand of several products: of Q in every iteration,
// and of K and V where blocks of one head follow each other. It serves one Pass, one goroutine at a time.
type Reused struct {
	of []*description
}

// description is an operand as one side of one product sees it.
type description struct {
	by        *matmulKernel
	side, run int // run: rows described, or rows that the columns go over
	operand
}

// described returns the description of operand side of the product: of its first n rows, or, with columns, of
// its columns over the first n rows. own is the memory for a tile that is used once.
func (k *matmulKernel) described(v *Value, side, n int, columns bool, own *operand) *operand {
	if v.Reused != nil {
		for _, d := range v.Reused.of {
			if d.by == k && d.side == side && d.run == n {
				return &d.operand
			}
		}
		d := &description{by: k, side: side, run: n}
		v.Reused.of = append(v.Reused.of, d)
		own = &d.operand
	}
	if columns {
		own.columns(v, n, &k.sum)
	} else {
		own.rows(v, n, &k.sum)
	}
	if side == 1 && !columns {
		own.panels.Pack(v.M, n)
	}
	return own
}

// describe makes room for n rows or columns.
func (o *operand) describe(v *Value, n int, s *Sum) {
	o.n, o.norm, o.top, o.delta = n, resize(o.norm, n), resize(o.top, n*s.blocks()), nil
	clear(o.norm)
	clear(o.top)
	if v.Err.Data != nil {
		o.room = resize(o.room, n)
		o.delta = o.room
		clear(o.delta)
	}
}

// rows describes the rows of a value (the sum runs along columns).
func (o *operand) rows(v *Value, rows int, s *Sum) {
	o.describe(v, rows, s)
	for i := range rows {
		m, off := v.M.Row(i), v.errRow(i)
		for b := range s.blocks() {
			lo, hi := b*s.Block, min(len(m), (b+1)*s.Block)
			if off == nil {
				o.top[b*rows+i] = largestExponent(m[lo:hi], nil)
			} else {
				o.top[b*rows+i] = largestExponent(m[lo:hi], off[lo:hi])
			}
		}
		if o.norm[i] = norm(m); off != nil {
			o.delta[i] = norm(off)
		}
	}
}

// columns describes the columns of a value over its first rows rows (the sum runs along rows).
func (o *operand) columns(v *Value, rows int, s *Sum) {
	m := v.M
	o.describe(v, m.Cols, s)
	for i := range rows {
		b := i / s.Block
		off, top := v.errRow(i), o.top[b*m.Cols:(b+1)*m.Cols]
		for c, x := range m.Row(i) {
			o.norm[c] += float64(x * x)
			if x = math.Abs(x); off != nil {
				x += off[c]
				o.delta[c] += float64(off[c] * off[c])
			}
			if x > top[c] || x != x {
				top[c] = x
			}
		}
	}
	for c := range m.Cols {
		o.norm[c] = math.Sqrt(o.norm[c])
		if o.delta != nil {
			o.delta[c] = math.Sqrt(o.delta[c])
		}
	}
	for c, x := range o.top {
		o.top[c] = exponentFrom(math.Float64bits(x))
	}
}

// largestExponent is the largest exponent of v as a power of two, where each |v| may be larger by its error
// (nil: none): not below that of f16's smallest normal number, unless all are 0.
func largestExponent(v, err []float64) float64 {
	top := uint64(0) // positive floats are ordered as their bits are, NaN above all
	if err == nil {
		for _, x := range v {
			top = max(top, math.Float64bits(math.Abs(x)))
		}
	} else {
		for i, x := range v {
			top = max(top, math.Float64bits(math.Abs(x)+err[i]))
		}
	}
	return exponentFrom(top)
}

// exponentFrom is the exponent of the magnitude whose bits are given.
func exponentFrom(bits uint64) float64 {
	if bits == 0 {
		return 0
	}
	return math.Float64frombits(max(bits, minNormalBits) & exponentBits)
}

// norm is the Euclidean norm.
func norm(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += float64(x * x)
	}
	return math.Sqrt(s)
}

func resize(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	return v[:n]
}
