package op

import (
	"fmt"
	"math"

	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// matmul is scale·A·B, or scale·A·Bᵀ with transpose: right. How the products are summed is the stage's compute.
//
//	{matmul: [Q, K], transpose: right, scale: softmax_scale, over: D}
type matmul struct{ apart }

type matmulKernel struct {
	env        *Env
	sum        Sum
	transposed bool
	factor     float64 // of the sum, in the stage's unit
	scaled     bool    // the kernel multiplies by it
	scaleErr   float64 // of the factor as the accumulator's type holds it
	scaleMul   float64 // relative rounding of the product with it, before the stage's own
	power      bool
	over       string // what the sum runs along, in words
	scaleName  string

	a, b   operand
	prefix []float64
}

func (matmul) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 2); err != nil {
		return nil, Extent{}, err
	}
	k := &matmulKernel{env: env, over: n.Params.Word["over"], transposed: n.Params.Word["transpose"] == "right"}
	if k.over == "" {
		k.over = "k"
	}
	if k.scaleName = n.Params.Word["scale"]; k.scaleName == "" {
		k.scaleName = fmt.Sprint(number(n, "scale", 1))
	}
	inner, cols := in[1][0], in[1][1]
	if k.transposed {
		inner, cols = cols, inner
	}
	if in[0][1] != inner {
		return nil, Extent{}, fmt.Errorf("matmul of %d×%d and %d×%d: %d products on the left, %d on the right", in[0][0], in[0][1], in[1][0], in[1][1], in[0][1], inner)
	}
	k.sum = newSum(env.Compute, inner, env.Coefs)
	k.scale(number(n, "scale", 1))
	return k, Extent{in[0][0], cols}, nil
}

// scale resolves the product with a constant.
func (k *matmulKernel) scale(scale float64) {
	c, acc := k.env.Coefs, k.sum.Acc
	k.factor = scale / k.env.Unit
	if k.scaled = k.env.Unit == 1 && scale != 1; !k.scaled {
		return
	}
	k.scaleErr = math.Abs(RoundTo(acc, scale)-scale) * c[TermScale]
	frac, _ := math.Frexp(scale)
	same := acc == k.env.DType
	k.power = frac == 0.5 && same && acc == probes.F16
	if !same && frac != 0.5 {
		k.scaleMul = UnitRoundoff(acc) * c[TermProduct]
	}
}

// operand is a matrix that enters a sum of products, with the norms that bounds need along the summed dimension.
type operand struct {
	m     Matrix
	norm  []float64 // of each row (or column) along the sum
	delta []float64 // norm of the operand's own error; nil: none
	top   []float64 // per row (or column) and tensor-core block: the largest exponent
	room  []float64 // of delta
}

// rows describes the rows of a value (the sum runs along columns).
func (o *operand) rows(v *Value, rows int, s *Sum) {
	o.m, o.norm, o.delta = v.M, resize(o.norm, rows), nil
	blocks := s.blocks()
	o.top = resize(o.top, rows*blocks)
	if v.Err.Data != nil {
		o.room = resize(o.room, rows)
		o.delta = o.room
	}
	for i := range rows {
		m, off := v.M.Row(i), v.errRow(i)
		o.norm[i] = norm(m)
		for b := range blocks {
			lo, hi := b*s.Block, min(len(m), (b+1)*s.Block)
			if off == nil {
				o.top[i*blocks+b] = pow2Top(m[lo:hi], nil)
			} else {
				o.top[i*blocks+b] = pow2Top(m[lo:hi], off[lo:hi])
			}
		}
		if off != nil {
			o.delta[i] = norm(off)
		}
	}
}

// columns describes the columns of a value over its first rows rows (the sum runs along rows).
func (o *operand) columns(v *Value, rows int, s *Sum) {
	m, blocks := v.M, s.blocks()
	o.m, o.norm, o.top, o.delta = m, resize(o.norm, m.Cols), resize(o.top, m.Cols*blocks), nil
	clear(o.norm)
	clear(o.top)
	if v.Err.Data != nil {
		o.room = resize(o.room, m.Cols)
		o.delta = o.room
		clear(o.delta)
	}
	for i := range rows {
		b := i / s.Block
		off := v.errRow(i)
		for c, x := range m.Row(i) {
			o.norm[c] += x * x
			x = math.Abs(x)
			if off != nil {
				x += off[c]
				o.delta[c] += off[c] * off[c]
			}
			o.top[c*blocks+b] = max(o.top[c*blocks+b], x)
		}
	}
	for c := range m.Cols {
		o.norm[c] = math.Sqrt(o.norm[c])
		if o.delta != nil {
			o.delta[c] = math.Sqrt(o.delta[c])
		}
		t := o.top[c*blocks : (c+1)*blocks]
		for b := range t {
			t[b] = leastTop(t[b])
		}
	}
}

// cross bounds how far a product of two operands moves when both move by their deltas (Cauchy-Schwarz).
func cross(a *operand, i int, b *operand, j int) float64 {
	d := 0.0
	if b.delta != nil {
		d += a.norm[i] * b.delta[j]
	}
	if a.delta != nil {
		d += a.delta[i] * b.norm[j]
		if b.delta != nil {
			d += a.delta[i] * b.delta[j]
		}
	}
	return d
}

func (k *matmulKernel) Exact(t *Tile, in []*Value, out *Value) {
	if k.transposed {
		Scores(out.M, in[0].M, in[1].M, t.Rows, t.Cols, k.factor, nil, 0)
		return
	}
	clear(out.M.Data)
	Accumulate(out.M, in[0].M, in[1].M, t.Rows, 0, k.inner(in))
	if k.factor != 1 {
		for i := range out.M.Data {
			out.M.Data[i] *= k.factor
		}
	}
}

// inner is how many products a sum of A·B has.
func (k *matmulKernel) inner(in []*Value) int {
	if in[1].Whole { // the kernel adds up all that it has there
		return min(in[1].M.Rows, in[0].M.Cols)
	}
	return min(in[1].Rows, in[0].M.Cols)
}

func (k *matmulKernel) Estimate(t *Tile, in []*Value, out *Value) {
	k.onto(t, in, Matrix{}, nil, out)
	out.Power = k.power
}

func (k *matmulKernel) onto(t *Tile, in []*Value, base Matrix, grow []float64, out *Value) {
	if in[0].Factor != nil {
		out.Factor, out.Origin = in[0].Factor, in[0].Origin
	}
	if k.transposed {
		k.dots(t, in, base, out)
	} else {
		k.sums(t, in, base, out)
	}
	for i := range t.Rows {
		if grow == nil {
			break
		}
		for d, e := range out.Err.Row(i) {
			out.Err.Row(i)[d] = e * grow[i]
		}
	}
}

// dots is onto for A·Bᵀ, cell by cell.
func (k *matmulKernel) dots(t *Tile, in []*Value, base Matrix, out *Value) {
	s, rows, cols := &k.sum, t.Rows, t.Cols
	k.a.rows(in[0], rows, s)
	k.b.rows(in[1], cols, s)
	blocks, tensor := s.blocks(), s.Unit == probes.UnitTensor
	if tensor {
		k.prefix = resize(k.prefix, out.M.Rows*out.M.Cols*blocks)
		Scores(out.M, in[0].M, in[1].M, rows, cols, k.factor, k.prefix, s.Block)
	} else {
		Scores(out.M, in[0].M, in[1].M, rows, cols, k.factor, nil, 0)
	}
	operands := k.env.Coefs[TermOperands]
	for i := range rows {
		ref, err := out.M.Row(i), out.Err.Row(i)
		for j := range cols {
			start, norms, old := cross(&k.a, i, &k.b, j)*operands, k.a.norm[i]*k.b.norm[j], 0.0
			if base.Data != nil {
				old = base.At(i, j)
			}
			var e float64
			if tensor {
				at := (i*out.M.Cols + j) * blocks
				e = s.tensor(k.prefix[at:at+blocks], k.a.top[i*blocks:(i+1)*blocks], k.b.top[j*blocks:(j+1)*blocks], norms, old, start)
			} else {
				e = s.chain(norms+old, start)
			}
			err[j] = k.after(e+k.merging(norms+old), ref[j])
		}
	}
}

// after carries the error of a sum through the product with the constant factor.
func (k *matmulKernel) after(err, ref float64) float64 {
	if !k.scaled {
		return err * k.factor
	}
	v := math.Abs(ref) + err*k.factor
	return err*k.factor + v*k.scaleErr/k.factor + v*k.scaleMul
}

// sums is onto for A·B, row by row and tensor-core block by block.
func (k *matmulKernel) sums(t *Tile, in []*Value, base Matrix, out *Value) {
	s, rows, inner := &k.sum, t.Rows, k.inner(in)
	k.a.rows(in[0], rows, s)
	k.b.columns(in[1], inner, s)
	clear(out.M.Data)
	operands := k.env.Coefs[TermOperands]
	for i := range rows {
		err := out.Err.Row(i)
		for d := range err {
			err[d] = cross(&k.a, i, &k.b, d) * operands
		}
	}
	if s.Unit != probes.UnitTensor {
		Accumulate(out.M, in[0].M, in[1].M, rows, 0, inner)
		for i := range rows {
			err := out.Err.Row(i)
			for d := range err {
				old := 0.0
				if base.Data != nil {
					old = base.At(i, d)
				}
				err[d] = s.chain(k.a.norm[i]*k.b.norm[d]+old, err[d])
			}
		}
	} else {
		for b := range s.blocks() {
			lo, hi := b*s.Block, min((b+1)*s.Block, inner)
			if lo >= hi {
				break
			}
			for i := range rows {
				k.aligned(base, out, i, b)
			}
			Accumulate(out.M, in[0].M, in[1].M, rows, lo, hi)
			for i := range rows {
				k.truncated(base, out, i)
			}
		}
	}
	for i := range rows {
		k.merged(base, out, i)
	}
}

// merging is what adding up the partial sums loses, which are as large as size together.
func (k *matmulKernel) merging(size float64) float64 {
	return float64(k.sum.Split-1) * k.env.Coefs[TermMerge] * size * second
}

// merged adds what merging partial sums loses, and scales the row.
func (k *matmulKernel) merged(base Matrix, out *Value, i int) {
	ref, err := out.M.Row(i), out.Err.Row(i)
	if k.sum.Split > 1 {
		for d := range err {
			old := 0.0
			if base.Data != nil {
				old = base.At(i, d)
			}
			err[d] += k.merging(old + k.a.norm[i]*k.b.norm[d])
		}
	}
	if k.factor != 1 {
		for d := range err {
			ref[d] *= k.factor
			err[d] = k.after(err[d], ref[d])
		}
	}
}

// aligned adds what block b's terms of row i lose: the accumulator's value before them may have the exponent that all of them are aligned to.
func (k *matmulKernel) aligned(base Matrix, out *Value, i, b int) {
	s, pv, err := &k.sum, out.M.Row(i), out.Err.Row(i)
	blocks := s.blocks()
	top := k.a.top[i*blocks+b]
	var old []float64
	if base.Data != nil {
		old = base.Row(i)
	}
	for d := range err {
		big := top * k.b.top[d*blocks+b]
		x := s.partial(math.Abs(pv[d]), k.a.norm[i]*k.b.norm[d])
		if old != nil {
			x += old[d]
		}
		if x != 0 {
			if e := s.exponent(x + err[d]); e > big {
				big = e
			}
		}
		err[d] += s.align * big
	}
}

// truncated adds what a block's result loses when it is cut to the accumulator's digits.
func (k *matmulKernel) truncated(base Matrix, out *Value, i int) {
	s, pv, err := &k.sum, out.M.Row(i), out.Err.Row(i)
	cut := s.cut * s.rounds
	var old []float64
	if base.Data != nil {
		old = base.Row(i)
	}
	for d, x := range pv {
		mag := s.partial(math.Abs(x), k.a.norm[i]*k.b.norm[d]) + err[d]
		if old != nil {
			mag += old[d]
		}
		if mag != 0 {
			err[d] += cut * HalfULP(s.Acc, mag)
		}
	}
}

// Valid is rows of A by columns of B, or rows of B where that is transposed.
func (k *matmulKernel) Valid(_ *Tile, in []*Value) (rows, cols int) {
	if k.transposed {
		return in[0].Rows, in[1].Rows
	}
	return in[0].Rows, in[1].Cols
}

func (k *matmulKernel) Needs(i int) Need {
	switch {
	case i == 0:
		return WholeRow
	case k.transposed:
		return RowOfColumn
	}
	return WholeColumn
}

// Reads reports whether what the cell is multiplied with is anything but 0.
func (k *matmulKernel) Reads(t *Tile, in []*Value, _ *Value, i, r, c int, odd bool) bool {
	if odd {
		return true
	}
	if in[1-i] == nil {
		return false
	}
	switch {
	case i == 0 && k.transposed: // met by column c of B
		return anyInColumn(in[1].M, t.Cols, c)
	case i == 0: // met by row c of B
		return c < in[1].M.Rows && anyInRow(in[1].M, c)
	case k.transposed: // met by column c of A
		return anyInColumn(in[0].M, t.Rows, c)
	}
	return anyInColumn(in[0].M, t.Rows, r) // met by column r of A
}

func anyInRow(m Matrix, row int) bool {
	for _, x := range m.Row(row) {
		if x != 0 {
			return true
		}
	}
	return false
}

// anyInColumn looks at the first rows rows.
func anyInColumn(m Matrix, rows, col int) bool {
	if col >= m.Cols {
		return false
	}
	for r := range min(rows, m.Rows) {
		if m.At(r, col) != 0 {
			return true
		}
	}
	return false
}

func (k *matmulKernel) Reason() string {
	how := k.sum.reason(k.over)
	switch {
	case !k.scaled:
		return how
	case k.power:
		return how + ", times " + k.scaleName + " (a power of two: exact)"
	}
	return how + ", times " + k.scaleName
}

func (k *matmulKernel) reasonOnto(carried string) string {
	return k.Reason() + "; onto " + carried + " or apart"
}

// Mirror sums by the stage's unit, scales, and rounds each to the accumulator.
func (k *matmulKernel) Mirror(t *Tile, in []*Value, out *Value) {
	a, b := in[0].M, in[1].M
	at := func(j, n int) float64 { return b.At(n, j) }
	if k.transposed {
		at = func(j, n int) float64 { return b.At(j, n) }
	}
	dot := k.product(a, t.Rows, t.Cols, at)
	scale := RoundTo(k.sum.Acc, k.factor)
	for i := range t.Rows {
		for j := range t.Cols {
			v := dot.At(i, j)
			if k.scaled {
				v = RoundTo(k.sum.Acc, v*scale)
			}
			out.M.Row(i)[j] = v
		}
	}
}

// product is rows×cols sums in the unit's order and accumulator; b(j, n) is the right operand's n-th element of column j.
func (k *matmulKernel) product(a Matrix, rows, cols int, b func(j, n int) float64) Matrix {
	s := &k.sum
	if s.Unit == probes.UnitTensor && s.Split == 1 && s.Block == 16 && s.N%16 == 0 && a.Rows%16 == 0 {
		return k.tiles(a, rows, cols, b)
	}
	out := NewMatrix(a.Rows, max(cols, 1))
	each := (s.N + s.Split - 1) / s.Split
	for i := range rows {
		for j := range cols {
			sum := 0.0
			for p := range s.Split {
				lo, hi := min(s.N, p*each), min(s.N, (p+1)*each)
				part := k.dot(a.Row(i)[lo:hi], func(n int) float64 { return b(j, lo+n) })
				sum = RoundTo(s.Acc, sum+part)
			}
			out.Row(i)[j] = sum
		}
	}
	return out
}

// tiles is product on the tensor core, 16×16 outputs at a time; rows and columns past the end are zeros that go nowhere.
func (k *matmulKernel) tiles(a Matrix, rows, cols int, b func(j, n int) float64) Matrix {
	form, n := fp.MMAF32F16, k.sum.N
	if k.sum.Acc == probes.F16 {
		form = fp.MMAF16F16
	}
	wide := (cols + 15) &^ 15
	out, right := NewMatrix(a.Rows, max(wide, 1)), make([]uint16, wide*n)
	for j := range cols {
		for p := range n {
			right[j*n+p] = half(b(j, p))
		}
	}
	var x, y [256]uint16
	for i := 0; i < rows; i += 16 {
		for j := 0; j < cols; j += 16 {
			var acc [256]uint32
			for p := 0; p < n; p += 16 {
				for r := range 16 {
					copy(y[16*r:16*r+16], right[(j+r)*n+p:])
					for q := range 16 {
						x[16*r+q] = half(a.At(i+r, p+q))
					}
				}
				k.env.Chip.MMA16x16x16(form, &acc, &acc, &x, &y)
			}
			for e, v := range acc {
				out.Row(i + e/16)[j+e%16] = widenAcc(k.sum.Acc, v)
			}
		}
	}
	return out
}

func widenAcc(t probes.DType, v uint32) float64 {
	if t == probes.F16 {
		return fp.F16ToFloat64(uint16(v))
	}
	return fp.F32ToFloat64(v)
}

func half(x float64) uint16 { return uint16(Round(probes.F16, x)) }

// dot is one chain of products.
func (k *matmulKernel) dot(a []float64, b func(n int) float64) float64 {
	s := &k.sum
	if s.Unit == probes.UnitTensor {
		return k.tensor(a, b)
	}
	acc := 0.0
	for n, x := range a {
		switch {
		case s.Unit == probes.UnitFMA && s.Acc == probes.F16:
			acc = fp.F16ToFloat64(fp.Fma16(half(x), half(b(n)), half(acc)))
		case s.Unit == probes.UnitFMA:
			acc = fp.F32ToFloat64(fp.Fma32(fp.Bits32(float32(x)), fp.Bits32(float32(b(n))), fp.Bits32(float32(acc))))
		default:
			acc = RoundTo(s.Acc, float64(acc+RoundTo(s.Acc, x*b(n))))
		}
	}
	return acc
}

// tensor is a chain of tensor-core blocks, starting from 0.
func (k *matmulKernel) tensor(a []float64, b func(n int) float64) float64 {
	form := fp.MMAF32F16
	if k.sum.Acc == probes.F16 {
		form = fp.MMAF16F16
	}
	var x, y [16]uint16
	acc := uint32(0)
	for lo := 0; lo < len(a); lo += min(k.sum.Block, 16) {
		n := min(len(a)-lo, k.sum.Block, 16)
		for p := range n {
			x[p], y[p] = half(a[lo+p]), half(b(lo+p))
		}
		acc = k.env.Chip.Dot(form, x[:n], y[:n], acc)
	}
	return widenAcc(k.sum.Acc, acc)
}
