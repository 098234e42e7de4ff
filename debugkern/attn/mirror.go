package attn

import (
	"math"

	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// Mirror returns the mirrored reference of one block, in a Block's form: the kernel's tile order and rounding points as the
// plan states them, the chip's tensor core and exponential, from the true (or injected) inputs. Every number is
// representable in its stage's dtype. What the plan does not fix (the order of additions within a shuffle or a merge) is
// done in the usual way, so a clean kernel gives these bits where it does the same, and differs by roundings where not.
// The result is shared and read-only.
func (r *Reference) Mirror(id probes.Dim3) *Block {
	return r.mirrors.get(id, func() *Block {
		b := r.frame(id)
		b.allocate(r.geo)
		m := mirror{r: r, b: b, chip: fp.SM90()}
		m.fill()
		return b
	})
}

// Tile returns a stage of a block as a tile in the stage's bits, as a kernel would leave it; not reached where there is none.
func (b *Block) Tile(sp *probes.StagePlan, kv int) probes.Tile {
	m, ok := b.Stage(sp.Stage, kv)
	if !ok {
		return probes.Tile{DType: sp.DType, Rows: sp.Rows, Cols: sp.Cols}
	}
	t := probes.NewTile(sp.DType, sp.Rows, sp.Cols)
	for i := range min(sp.Rows, m.Rows) {
		for j := range min(sp.Cols, m.Cols) {
			t.SetBits(i, j, Round(sp.DType, m.At(i, j)))
		}
	}
	return t
}

// mirror computes one block the kernel's way.
type mirror struct {
	r    *Reference
	b    *Block
	chip *fp.Model
}

func (m *mirror) fill() {
	r, b, g := m.r, m.b, m.r.geo
	m.decode(b.Q, StepQ, 0, b.Query, b.Rows)
	state := newRunning32(b.Rows)
	var injected *Block
	if len(r.plan.Gate.Injected) > 0 {
		injected = r.Block(b.ID)
	}
	for t := range b.Tiles {
		x := &b.Tiles[t]
		m.decode(x.K, StepK, 1, x.Key, x.Keys)
		m.decode(x.V, StepV, 2, x.Key, x.Keys)
		switch r.gate {
		case GateSoftmax:
			copy(x.S.Data, injected.Tiles[t].S.Data)
			m.softmax(t, state)
		case GatePV:
			y := &injected.Tiles[t]
			copy(x.P.Data, y.P.Data)
			copy(x.M, y.M)
			copy(x.L, y.L)
			for i := range b.Rows {
				state.step(m, i, float32(x.M[i]))
			}
		default:
			m.scores(x)
			m.softmax(t, state)
		}
		m.output(t, state, g)
	}
	m.finish()
}

// decode is (code − zero)·k with k = (max/levels)·scale, three float32 roundings, then the stage's dtype.
func (m *mirror) decode(dst Matrix, s Step, tensor, first, n int) {
	in, t := m.r.in, m.r.dtype(s)
	in.DecodeRows(dst.Data[:n*dst.Cols], tensor, m.b.Batch, m.b.Head, first, n)
	if in.Quant == nil {
		return
	}
	k := float32(float32(in.Quant.Max)/float32(in.Quant.Levels)) * in.Scales[tensor][m.b.Head]
	lo := in.Shape.At(m.b.Batch, m.b.Head, first, 0)
	for i, u := range in.Bytes[tensor][lo : lo+n*dst.Cols] {
		dst.Data[i] = RoundTo(t, float64(float32(int(u)-in.Quant.Zero)*k))
	}
}

// scores fills S by the plan's unit, then scales and rounds.
func (m *mirror) scores(x *Tile) {
	sp, g := m.r.plan.Stage(StepS.Stage()), m.r.geo
	c := probes.Compute{Unit: probes.UnitTensor, Acc: probes.F16, Block: 16}
	if sp != nil {
		c = sp.Compute
	}
	dot := m.product(c, m.b.Q, m.b.Rows, x.Keys, g.dim, func(j, d int) float64 { return x.K.At(j, d) })
	t := m.r.dtype(StepS)
	for i := range m.b.Rows {
		for j := range x.Keys {
			v := dot.At(i, j)
			if g.scoreUnit == 1 {
				v = RoundTo(c.Acc, v*RoundTo(c.Acc, g.scale))
			}
			x.S.Row(i)[j] = RoundTo(t, v)
		}
	}
}

// product is rows×cols sums of n products in the unit's order and accumulator; b(j, k) is the right operand's k-th element
// of column j.
func (m *mirror) product(c probes.Compute, a Matrix, rows, cols, n int, b func(j, k int) float64) Matrix {
	split := max(1, c.Split)
	if c.Unit == probes.UnitTensor && split == 1 && c.Block == 16 && n%16 == 0 && a.Rows%16 == 0 {
		return m.tiles(c, a, rows, cols, n, b)
	}
	out := NewMatrix(a.Rows, max(cols, 1))
	each := (n + split - 1) / split
	for i := range rows {
		for j := range cols {
			sum := 0.0
			for s := range split {
				lo, hi := s*each, min(n, (s+1)*each)
				p := m.sum(c, a.Row(i)[lo:hi], func(k int) float64 { return b(j, lo+k) })
				sum = RoundTo(c.Acc, sum+p)
			}
			out.Row(i)[j] = sum
		}
	}
	return out
}

// tiles is product on the tensor core, 16×16 outputs at a time; rows and columns past the end are zeros that go nowhere.
func (m *mirror) tiles(c probes.Compute, a Matrix, rows, cols, n int, b func(j, k int) float64) Matrix {
	form := fp.MMAF32F16
	if c.Acc == probes.F16 {
		form = fp.MMAF16F16
	}
	wide := (cols + 15) &^ 15
	out, right := NewMatrix(a.Rows, max(wide, 1)), make([]uint16, wide*n)
	for j := range cols {
		for k := range n {
			right[j*n+k] = half(b(j, k))
		}
	}
	var x, y [256]uint16
	for i := 0; i < rows; i += 16 {
		for j := 0; j < cols; j += 16 {
			var acc [256]uint32
			for k := 0; k < n; k += 16 {
				for r := range 16 {
					copy(y[16*r:16*r+16], right[(j+r)*n+k:])
					for q := range 16 {
						x[16*r+q] = half(a.At(i+r, k+q))
					}
				}
				m.chip.MMA16x16x16(form, &acc, &acc, &x, &y)
			}
			for e, v := range acc {
				out.Row(i + e/16)[j+e%16] = widenAcc(c.Acc, v)
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

// sum is one chain of products.
func (m *mirror) sum(c probes.Compute, a []float64, b func(k int) float64) float64 {
	if c.Unit == probes.UnitTensor {
		return m.tensor(c, a, b)
	}
	acc := 0.0
	for k, x := range a {
		switch {
		case c.Unit == probes.UnitFMA && c.Acc == probes.F16:
			acc = fp.F16ToFloat64(fp.Fma16(half(x), half(b(k)), half(acc)))
		case c.Unit == probes.UnitFMA:
			acc = fp.F32ToFloat64(fp.Fma32(fp.Bits32(float32(x)), fp.Bits32(float32(b(k))), fp.Bits32(float32(acc))))
		default:
			acc = RoundTo(c.Acc, float64(acc+RoundTo(c.Acc, x*b(k))))
		}
	}
	return acc
}

func half(x float64) uint16 { return uint16(Round(probes.F16, x)) }

// tensor is a chain of tensor-core blocks, starting from 0.
func (m *mirror) tensor(c probes.Compute, a []float64, b func(k int) float64) float64 {
	form, block := fp.MMAF32F16, c.Block
	if c.Acc == probes.F16 {
		form = fp.MMAF16F16
	}
	if block <= 0 {
		block = 16
	}
	var x, y [16]uint16
	acc := uint32(0)
	for lo := 0; lo < len(a); lo += min(block, 16) {
		n := min(len(a)-lo, block, 16)
		for k := range n {
			x[k], y[k] = half(a[lo+k]), half(b(lo+k))
		}
		acc = m.chip.Dot(form, x[:n], y[:n], acc)
	}
	return widenAcc(c.Acc, acc)
}

// running32 is the online softmax's state as the kernel keeps it: m in the stage's domain.
type running32 struct {
	m, l, carry []float32
}

func newRunning32(rows int) *running32 {
	s := &running32{make([]float32, rows), make([]float32, rows), make([]float32, rows)}
	for i := range s.m {
		s.m[i] = float32(math.Inf(-1))
	}
	return s
}

func (s *running32) step(m *mirror, i int, top float32) {
	s.carry[i] = m.below(s.m[i], top)
	s.m[i] = top
}

// below is exp(x − top) by ex2.approx, both in m's domain; nothing seen so far contributes nothing.
func (m *mirror) below(x, top float32) float32 {
	if math.IsInf(float64(top), -1) {
		return 0
	}
	d := x - top
	if m.r.geo.maxUnit == 1 {
		d *= math.Log2E
	}
	return math.Float32frombits(m.chip.Ex232(fp.Bits32(d), false))
}

// softmax fills M, L and P: the maximum over the scores, P rounded to its dtype where it is stored, l summed before that.
func (m *mirror) softmax(t int, s *running32) {
	x, b, g := &m.b.Tiles[t], m.b, m.r.geo
	pt := m.r.dtype(StepP)
	p := make([]float32, g.tileN)
	score := make([]float32, g.tileN)
	for i := range b.Rows {
		top := s.m[i]
		for j := range score {
			score[j] = float32(math.Inf(-1))
			if b.Visible(t, i, j) {
				score[j] = m.natural(float32(x.S.At(i, j)))
			}
			if score[j] > top {
				top = score[j]
			}
		}
		s.step(m, i, top)
		for j := range p {
			p[j] = m.below(score[j], top)
			x.P.Row(i)[j] = RoundTo(pt, float64(p[j]))
		}
		s.l[i] = float32(s.l[i]*s.carry[i]) + m.rowSum(p)
		x.M[i], x.L[i] = float64(top), float64(s.l[i])
	}
}

// natural brings a stored score into m's domain.
func (m *mirror) natural(s float32) float32 {
	if g := m.r.geo; g.scoreUnit != 1 || g.maxUnit != 1 {
		return s * float32(g.scoreUnit*g.maxUnit)
	}
	return s
}

// rowSum adds a row: a butterfly over the lanes (unit shuffle), else one after the other. v is overwritten.
func (m *mirror) rowSum(v []float32) float32 {
	n := len(v)
	sp := m.r.plan.Stage(StepL.Stage())
	if sp != nil && sp.Compute.Unit == probes.UnitShuffle && n&(n-1) == 0 {
		for o := n / 2; o > 0; o /= 2 {
			for i := range o {
				v[i] += v[i+o]
			}
		}
		return v[0]
	}
	sum := float32(0)
	for _, x := range v {
		sum += x
	}
	return sum
}

// output fills U: rescaled, then the tile's P·V, summed on its own, added.
func (m *mirror) output(t int, s *running32, g geometry) {
	x := &m.b.Tiles[t]
	c := probes.Compute{Unit: probes.UnitTensor, Acc: probes.F32, Block: 16}
	if sp := m.r.plan.Stage(StepU.Stage()); sp != nil {
		c = sp.Compute
	}
	pv := m.product(c, x.P, m.b.Rows, g.dim, g.tileN, func(d, j int) float64 { return x.V.At(j, d) })
	ut := m.r.dtype(StepU)
	for i := range m.b.Rows {
		for d := range g.dim {
			old := float32(0)
			if t > 0 {
				old = float32(float32(m.b.Tiles[t-1].U.At(i, d)) * s.carry[i])
			}
			x.U.Row(i)[d] = RoundTo(ut, float64(old+float32(pv.At(i, d))))
		}
	}
}

// finish sets O = U/l, divided in float32.
func (m *mirror) finish() {
	if len(m.b.Tiles) == 0 {
		return
	}
	t, x := m.r.dtype(StepO), &m.b.Tiles[len(m.b.Tiles)-1]
	for i := range m.b.Rows {
		for d, u := range x.U.Row(i) {
			m.b.O.Row(i)[d] = RoundTo(t, float64(float32(u)/float32(x.L[i])))
		}
	}
}
