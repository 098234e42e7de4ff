package judge

import (
	"math"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// toy is a test's own attention kernel: the online softmax in plain loops with the roundings of family A,
// written without the reference, and able to make the mistakes that fingerprints are for. What it leaves
// behind feeds its own later stages, as in a kernel. Its sums are exact up to the roundings, so it is a right
// kernel within every bound, not the same bits.
type toy struct {
	problem
	fault string
}

func f16(x float64) float64 { return op.RoundTo(probes.F16, x) }
func f32(x float64) float64 { return float64(float32(x)) }

// run computes every block and returns a source of its tiles.
func (k toy) run() *double {
	d := &double{map[probes.Dim3]*reftest.Block{}}
	g := k.Plan().Grid
	for i := range g.Count() {
		b := reftest.Copy(k.Reference, k.Block(g.At(i)))
		k.block(b)
		d.blocks[b.ID] = b
	}
	return d
}

// decode reads codes of one head; head and zero may be the wrong ones.
func (k toy) decode(dst op.Matrix, tensor, batch, head, scaleOf, first, n int, zero float64) {
	step := f32(f32(448.0/127) * float64(k.in.Tensors[tensor].Scales[scaleOf]))
	lo := configstest.Extents(k.in.Shape).At(batch, head, first, 0)
	for i := range n * dst.Cols {
		dst.Data[i] = f16(f32((float64(k.in.Tensors[tensor].Codes[lo+i]) - zero) * step))
	}
}

func (k toy) block(b *reftest.Block) {
	d, n := b.At("V", 0).Cols, b.At("P", 0).Cols
	next := (b.Head + 1) % configstest.Extents(k.in.Shape).H
	pick := func(fault string) int {
		if k.fault == fault {
			return next
		}
		return b.Head
	}
	zero := 128.0
	if k.fault == "v-midpoint" {
		zero = 0
	}
	k.decode(b.At("Q", 0), 0, b.Batch, b.Head, b.Head, b.Query, b.Rows, 128)
	m, l := make([]float64, b.Rows), make([]float64, b.Rows)
	for i := range m {
		m[i] = math.Inf(-1)
	}
	u, stale := op.NewMatrix(b.Rows, d), op.NewMatrix(b.Rows, n)
	for t := range b.Iters {
		k.decode(b.At("K", t), 1, b.Batch, b.Head, pick("k-scale-head"), b.Key(t), b.Keys(t), 128)
		k.decode(b.At("V", t), 2, b.Batch, b.Head, pick("v-scale-head"), b.Key(t), b.Keys(t), zero)
		k.scores(b, t)
		for i := range b.Rows {
			k.row(b, t, i, m, l, u, stale)
		}
	}
	for i := range b.Rows {
		for c := range d {
			b.At("O", 0).Row(i)[c] = f16(f32(u.At(i, c) / l[i]))
		}
	}
}

func (k toy) scores(b *reftest.Block, t int) {
	q, right := b.At("Q", 0), b.At("K", t)
	kt := right
	switch k.fault {
	case "kt-rowmajor":
		kt = blockTranspose(kt)
	case "kt-ld":
		kt = op.NewMatrix(kt.Rows, kt.Cols)
		for j := range kt.Rows {
			for c := range kt.Cols {
				kt.Row(j)[c] = right.Data[min(j*72+c-j/16*16*8, len(right.Data)-1)]
			}
		}
	}
	for i := range b.Rows {
		for j := range b.Keys(t) {
			acc := 0.0
			for lo := 0; lo < q.Cols; lo += 16 {
				part := acc
				for c := lo; c < lo+16; c++ {
					part += q.At(i, c) * kt.At(j, c)
				}
				acc = f16(part)
			}
			acc = f16(acc * 0.125)
			if k.fault == "scale-twice" {
				acc = f16(acc * 0.125)
			}
			b.At("S", t).Row(i)[j] = acc
		}
	}
}

func exp32(x, top float64) float64 {
	if math.IsInf(top, -1) {
		return 0
	}
	return f32(math.Exp(f32(x - top)))
}

func (k toy) row(b *reftest.Block, t, i int, m, l []float64, u, stale op.Matrix) {
	n := stale.Cols
	s, p := make([]float64, n), make([]float64, n)
	old, top := m[i], m[i]
	for j := range s {
		s[j] = math.Inf(-1)
		if j < b.Keys(t) {
			s[j] = b.At("S", t).At(i, j)
		} else if k.fault == "mask-zero" {
			s[j] = 0
		}
		top = max(top, s[j])
	}
	m[i] = top
	carry := exp32(old, top)
	sum := 0.0
	for j := range s {
		mine := top
		if k.fault == "reduce-lane0" {
			for q := j; q < n; q++ {
				mine = max(old, s[q])
			}
		}
		p[j] = exp32(s[j], mine)
		sum += p[j]
	}
	scaled := f32(l[i] * carry)
	if k.fault == "l-no-rescale" {
		scaled = l[i]
	}
	l[i] = f32(scaled + f32(sum))
	for j := range p {
		switch {
		case k.fault == "p-stale-m" && t > 0:
			p[j] = exp32(s[j], old)
		case k.fault == "p-normalised":
			p[j] = f32(p[j] / l[i])
		case k.fault == "p-warp-1" && i/8 == 1, k.fault == "p-odd-warps" && i/8%2 == 1,
			k.fault == "p-row" && i == 9, k.fault == "p-half" && j >= n/2:
			p[j] = f32(p[j] * 1.5)
		case k.fault == "p-nan" && i%8 == 1:
			p[j] = math.NaN()
		}
		p[j] = f16(p[j])
		switch {
		case k.fault == "p-columns-twice" && j%2 == 1:
			p[j] = p[j-1]
		case k.fault == "p-columns-exchanged" && j%2 == 1:
			p[j], p[j-1] = p[j-1], p[j]
		case k.fault == "p-last-tile" && t == b.Iters-1, k.fault == "p-head-1" && b.Head == 1:
			p[j] = f16(2 * p[j])
		}
		if k.fault == "p-stale-columns" && j >= b.Keys(t) {
			p[j] = stale.At(i, j)
		}
	}
	copy(stale.Row(i), p)
	copy(b.At("P", t).Row(i), p)
	b.At("m", t).Data[i], b.At("l", t).Data[i] = m[i], l[i]
	times := 1
	switch k.fault {
	case "u-no-rescale":
		times = 0
	case "u-rescale-twice":
		times = 2
	}
	for c := range u.Cols {
		for range times {
			u.Row(i)[c] = f32(u.At(i, c) * carry)
		}
		u.Row(i)[c] = f32(u.At(i, c) + k.weighted(p, b.At("V", t), c))
		b.At("U", t).Row(i)[c] = u.At(i, c)
	}
}

// weighted is one P·V cell: two halves of the keys, merged.
func (k toy) weighted(p []float64, v op.Matrix, c int) float64 {
	var half [2]float64
	for j, x := range p {
		half[2*j/len(p)] += x * v.At(j, c)
	}
	switch k.fault {
	case "merge-double":
		return f32(half[0] + 2*half[1])
	case "pv-gap":
		return f32(half[0])
	}
	return f32(half[0] + half[1])
}
