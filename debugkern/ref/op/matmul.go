package op

import (
	"fmt"
	"math"

	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// matmul is scale·A·B, scale·A·Bᵀ with transpose: right, or scale·Aᵀ·B with transpose: left. How the products
// are summed is the stage's compute.
//
//	{matmul: [Q, K], transpose: right, scale: softmax_scale, over: D}
type matmul struct{ apart }

type matmulKernel struct {
	env        *Env
	sum        Sum
	transposed bool    // the right operand is
	turn       bool    // the left operand is
	turned     Value   // memory for it
	factor     float64 // of the sum, in the stage's unit
	scaled     bool    // the kernel multiplies by it
	scaleErr   float64 // of the factor as the accumulator's type holds it
	scaleMul   float64 // relative rounding of the product with it, before the stage's own
	power      bool
	over       string // what the sum runs along, in words
	scaleName  string

	a, b          operand   // memory for tiles that enter no other product
	left, right   *operand  // of the tile at hand
	partial       []float64 // of one row: the exact partial sums after each tensor-core block
	before, after []float64 // how large a row's accumulators may be
}

func (matmul) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 2); err != nil {
		return nil, Extent{}, err
	}
	k := &matmulKernel{
		env: env, over: n.Params.Word["over"], transposed: n.Params.Word["transpose"] == "right",
		turn: n.Params.Word["transpose"] == "left",
	}
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
	rows, products := in[0][0], in[0][1]
	if k.turn {
		rows, products = products, rows
		k.turned.M, k.turned.Err = NewMatrix(rows, products), NewMatrix(rows, products)
	}
	if products != inner {
		return nil, Extent{},
			fmt.Errorf("matmul of %d×%d and %d×%d: %d products on the left, %d on the right", in[0][0],
				in[0][1], in[1][0], in[1][1], products, inner)
	}
	k.sum = newSum(env.Compute, inner, env.Coefs)
	k.before, k.after = make([]float64, cols), make([]float64, cols)
	k.scale(number(n, "scale", 1))
	return k, Extent{rows, cols}, nil
}

// upright are the operands with the left one as the products have it: transposed where it is so. What cells
// of a row have in common becomes an error of each.
func (k *matmulKernel) upright(in []*Value) []*Value {
	if !k.turn {
		return in
	}
	x, m, err := in[0], k.turned.M, k.turned.Err
	k.turned = Value{M: m, Rows: x.Cols, Cols: x.Rows, Whole: x.Whole, Unit: x.Unit, Origin: x.Origin}
	exact := x.Err.Data == nil && x.Factor == nil
	for r := range m.Cols {
		for c, v := range x.M.Row(r) {
			m.Row(c)[r] = v
			if !exact {
				err.Row(c)[r] = whole(v, x.err(r*x.M.Cols+c), x.factor(r))
			}
		}
	}
	k.turned.Err = err
	out := k.turned
	if exact {
		out.Err = Matrix{}
	}
	return []*Value{&out, in[1]}
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

func (k *matmulKernel) Exact(t *Tile, in []*Value, out *Value) {
	in = k.upright(in)
	if k.transposed {
		k.b.panels.Pack(in[1].M, t.Cols)
		Scores(out.M, in[0].M, &k.b.panels, t.Rows, t.Cols, k.factor)
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
	in = k.upright(in)
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

// dots is onto for A·Bᵀ, row by row.
func (k *matmulKernel) dots(t *Tile, in []*Value, base Matrix, out *Value) {
	s, cols, blocks := &k.sum, t.Cols, 1
	k.left, k.right = k.described(in[0], 0, t.Rows, false, &k.a), k.described(in[1], 1, cols, false, &k.b)
	if s.Unit == probes.UnitTensor {
		blocks = s.blocks()
	}
	k.partial = resize(k.partial, blocks*cols)
	for i := range t.Rows {
		ref, err := out.M.Row(i)[:cols], out.Err.Row(i)[:cols]
		dotRow(k.partial, in[0].M.Row(i), &k.right.panels, cols, blocks, s.Block)
		old := rowOf(base, i, cols)
		k.operandErrors(err, i)
		if s.Unit == probes.UnitTensor {
			k.accumulators(k.before, nil, old, i)
			for b := range blocks {
				k.accumulators(k.after, k.partial[b*cols:(b+1)*cols], old, i)
				s.tensor(err, k.before, k.after, k.left.top[b*k.left.n+i], k.right.top[b*cols:(b+1)*cols])
				k.before, k.after = k.after, k.before
			}
		} else {
			k.chained(err, old, i)
		}
		for j, x := range k.partial[(blocks-1)*cols:] {
			ref[j] = x * k.factor
		}
		k.merged(ref, err, old, i)
	}
}

// sums is onto for A·B, row by row.
func (k *matmulKernel) sums(t *Tile, in []*Value, base Matrix, out *Value) {
	s, inner, cols := &k.sum, k.inner(in), out.M.Cols
	k.left, k.right = k.described(in[0], 0, t.Rows, false, &k.a), k.described(in[1], 1, inner, true, &k.b)
	for i := range t.Rows {
		ref, err, a := out.M.Row(i), out.Err.Row(i), in[0].M.Row(i)
		clear(ref)
		old := rowOf(base, i, cols)
		k.operandErrors(err, i)
		if s.Unit == probes.UnitTensor {
			k.accumulators(k.before, ref, old, i)
			for b := 0; b*s.Block < inner; b++ {
				sumRow(ref, a, in[1].M, b*s.Block, min((b+1)*s.Block, inner))
				k.accumulators(k.after, ref, old, i)
				s.tensor(err, k.before, k.after, k.left.top[b*k.left.n+i], k.right.top[b*cols:(b+1)*cols])
				k.before, k.after = k.after, k.before
			}
		} else {
			sumRow(ref, a, in[1].M, 0, inner)
			k.chained(err, old, i)
		}
		if k.factor != 1 {
			for d := range ref {
				ref[d] *= k.factor
			}
		}
		k.merged(ref, err, old, i)
	}
}

// rowOf is the first cols cells of a row; nil where the matrix has no data.
func rowOf(m Matrix, i, cols int) []float64 {
	if m.Data == nil {
		return nil
	}
	return m.Row(i)[:cols]
}

// operandErrors sets err to how far the products of row i may move when both operands move by their errors
// (Cauchy-Schwarz).
func (k *matmulKernel) operandErrors(err []float64, i int) {
	a, b, weight := k.left, k.right, k.env.Coefs[TermOperands]
	norm := a.norm[i]
	switch {
	case a.delta == nil && b.delta == nil:
		clear(err)
	case a.delta == nil:
		for j, db := range b.delta[:len(err)] {
			err[j] = float64(norm*db) * weight
		}
	case b.delta == nil:
		for j, nb := range b.norm[:len(err)] {
			err[j] = float64(a.delta[i]*nb) * weight
		}
	default:
		delta, nb := a.delta[i], b.norm[:len(err)]
		for j, db := range b.delta[:len(err)] {
			err[j] = (float64(norm*db) + float64(delta*nb[j]) + float64(delta*db)) * weight
		}
	}
}

// accumulators sets size to how large the accumulators of row i may be that hold the partial sums sum (nil:
// nothing yet) on top of magnitudes old (nil: 0): the exact sums, or, where warps sum parts of their own,
// anything up to the product of the norms.
func (k *matmulKernel) accumulators(size, sum, old []float64, i int) {
	switch {
	case sum == nil:
		clear(size)
	case k.sum.Split > 1:
		for j, nb := range k.right.norm[:len(sum)] {
			size[j] = k.left.norm[i] * nb
		}
	case old != nil:
		for j, x := range sum {
			size[j] = math.Abs(x) + old[j]
		}
		return
	default:
		for j, x := range sum {
			size[j] = math.Abs(x)
		}
		return
	}
	for j, x := range old {
		size[j] += x
	}
}

// chained adds what a chain of multiply-adds loses.
func (k *matmulKernel) chained(err, old []float64, i int) {
	for j, nb := range k.right.norm[:len(err)] {
		size := float64(k.left.norm[i] * nb)
		if old != nil {
			size += old[j]
		}
		err[j] = k.sum.chain(size, err[j])
	}
}

// merged adds what merging partial sums loses, and carries the errors of the sums through the product with
// the constant factor; ref has been multiplied by it.
func (k *matmulKernel) merged(ref, err, old []float64, i int) {
	if k.sum.Split > 1 {
		for j, nb := range k.right.norm[:len(err)] {
			size := float64(k.left.norm[i] * nb)
			if old != nil {
				size += old[j]
			}
			err[j] += float64(k.sum.Split-1) * k.env.Coefs[TermMerge] * size * second
		}
	}
	switch f := k.factor; {
	case k.scaled:
		for j, e := range err {
			e *= f
			v := math.Abs(ref[j]) + e
			err[j] = e + v*k.scaleErr/f + float64(v*k.scaleMul)
		}
	case f != 1:
		for j := range err {
			err[j] *= f
		}
	}
}

// Valid is rows of A by columns of B, each the other where it is transposed.
func (k *matmulKernel) Valid(_ *Tile, in []*Value) (rows, cols int) {
	switch {
	case k.transposed:
		return in[0].Rows, in[1].Rows
	case k.turn:
		return in[0].Cols, in[1].Cols
	}
	return in[0].Rows, in[1].Cols
}

func (k *matmulKernel) Needs(i int) Need {
	switch {
	case i == 0 && k.turn:
		return ColumnOfRow
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
	case k.turn: // row r of both meet
		return r < in[1-i].M.Rows && anyInRow(in[1-i].M, r)
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
	in = k.upright(in)
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

// product is rows×cols sums in the unit's order and accumulator; b(j, n) is the right operand's n-th
// element of column j.
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

// tiles is product on the tensor core, 16×16 outputs at a time; rows and columns past the end are
// zeros that go nowhere.
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
			acc = fp.F32ToFloat64(fp.Fma32(fp.Bits32(float32(x)), fp.Bits32(float32(b(n))),
				fp.Bits32(float32(acc))))
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
