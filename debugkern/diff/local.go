package diff

import (
	"math"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// rules is what a plan says about rounding and summation, resolved once.
type rules struct {
	ref      *attn.Reference
	scale    float64 // S = scale · Σ q·k, in the stage's own unit
	unit     float64 // scaled scores per unit of S
	maxUnit  float64
	round    [probes.NumStages]rounding
	scores   sum
	output   sum // P·V
	exp      exponential
	scaleErr float64 // of softmax_scale as the accumulator's type holds it
	scaleMul float64 // relative rounding of the product with it, before the stage's own
	maxExact bool    // m is a maximum of representable numbers, nothing is computed
}

func newRules(ref *attn.Reference) *rules {
	p := ref.Plan()
	r := &rules{ref: ref, unit: ref.ScoreUnit(), maxUnit: ref.MaxUnit()}
	r.scale = p.Scale / r.unit
	for s := range probes.NumStages {
		r.round[s] = rounding{dtype: probes.F32}
		if sp := p.Stage(s); sp != nil {
			r.round[s].dtype = sp.DType
		}
	}
	r.scores = sumOf(p.Stage(probes.StageS), ref.Dim())
	r.output = sumOf(p.Stage(probes.StageU), ref.TileN())
	if p.Stage(probes.StageU) == nil {
		r.output.acc = probes.F32
	}
	r.maxExact = r.unit == 1 && r.maxUnit == 1
	r.exp.split = !r.maxExact
	r.round[probes.StageM].exact = r.maxExact
	if r.unit == 1 {
		r.scaleErr = math.Abs(attn.RoundTo(r.scores.acc, p.Scale) - p.Scale)
		frac, _ := math.Frexp(p.Scale)
		sameType := r.scores.acc == r.round[probes.StageS].dtype
		r.round[probes.StageS].pow2 = frac == 0.5 && sameType && r.scores.acc == probes.F16
		if !sameType && frac != 0.5 {
			r.scaleMul = unitRoundoff(r.scores.acc)
		}
	}
	return r
}

// decode fills the estimate of Q, K or V: codes times a scale, all exact but three float32 roundings.
func (r *rules) decode(e *estimate, s probes.Stage, ref attn.Matrix, rows int) {
	rel := decodeRel
	if r.ref.Inputs().Quant == nil {
		rel = 0
	}
	for i := range rows {
		pre := e.pre.Row(i)
		for c, v := range ref.Row(i) {
			pre[c] = math.Abs(v) * rel
		}
	}
	e.ref = ref
	rnd := r.round[s]
	rnd.exact = r.ref.Inputs().Quant == nil
	e.close(rnd, rows, ref.Cols)
}

// operand is a matrix that enters a sum of products, with the norms that bounds need along the summed dimension.
type operand struct {
	m     attn.Matrix
	norm  []float64 // of each row (or column) along the sum
	delta []float64 // norm of the operand's own error; nil: none
	top   []float64 // per row (or column) and tensor-core block: the largest exponent
}

// rowOperand describes the rows of m (the sum runs along columns); bound is nil for the kernel's own numbers.
func (r *rules) rowOperand(o *operand, m attn.Matrix, bound *attn.Matrix, rows int, s sum) {
	o.m, o.norm = m, resize(o.norm, rows)
	blocks, widen := s.blocks(), 1.0
	o.top = resize(o.top, rows*blocks)
	if bound != nil {
		o.delta, widen = resize(o.delta, rows), 2
	} else {
		o.delta = nil
	}
	for i := range rows {
		v := m.Row(i)
		o.norm[i] = norm(v)
		for b := range blocks {
			o.top[i*blocks+b] = pow2Top(v[b*s.block:min(len(v), (b+1)*s.block)], widen)
		}
		if bound != nil {
			o.delta[i] = norm(bound.Row(i))
		}
	}
}

// columnOperand describes the columns of m over its first rows rows (the sum runs along rows).
func (r *rules) columnOperand(o *operand, m attn.Matrix, bound *attn.Matrix, rows int, s sum) {
	blocks, widen := s.blocks(), 1.0
	o.m, o.norm, o.top = m, resize(o.norm, m.Cols), resize(o.top, m.Cols*blocks)
	clear(o.norm)
	clear(o.top)
	if bound != nil {
		o.delta, widen = resize(o.delta, m.Cols), 2
		clear(o.delta)
	} else {
		o.delta = nil
	}
	for i := range rows {
		b := i / s.block
		for c, v := range m.Row(i) {
			o.norm[c] += v * v
			o.top[c*blocks+b] = max(o.top[c*blocks+b], math.Abs(v))
		}
		if bound != nil {
			for c, v := range bound.Row(i) {
				o.delta[c] += v * v
			}
		}
	}
	for c := range m.Cols {
		o.norm[c] = math.Sqrt(o.norm[c])
		if bound != nil {
			o.delta[c] = math.Sqrt(o.delta[c])
		}
		t := o.top[c*blocks : (c+1)*blocks]
		for b := range t {
			t[b] = pow2Top(t[b:b+1], widen)
		}
	}
}

func resize(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	return v[:n]
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

// scoresOf fills S = scale·Q·Kᵀ for any operands: the kernel's own, or the reference's with their errors.
func (r *rules) scoresOf(e *estimate, q, k *operand, rows, keys int, prefix []float64) []float64 {
	s := r.scores
	blocks := s.blocks()
	tensor := s.unit == probes.UnitTensor
	if tensor {
		prefix = resize(prefix, e.ref.Rows*e.ref.Cols*blocks)
		attn.Scores(e.ref, q.m, k.m, rows, keys, r.scale, prefix, s.block)
	} else {
		attn.Scores(e.ref, q.m, k.m, rows, keys, r.scale, nil, 0)
	}
	for i := range rows {
		ref, pre := e.ref.Row(i), e.pre.Row(i)
		for j := range keys {
			start := cross(q, i, k, j)
			var err float64
			if tensor {
				at := (i*e.ref.Cols + j) * blocks
				err = s.tensor(prefix[at:at+blocks], q.top[i*blocks:(i+1)*blocks], k.top[j*blocks:(j+1)*blocks], start)
			} else {
				err = s.chain(q.norm[i]*k.norm[j], start)
			}
			pre[j] = r.scaled(err, ref[j])
		}
	}
	e.close(r.round[probes.StageS], rows, keys)
	return prefix
}

// scaled carries the error of a sum through the product with softmax_scale.
func (r *rules) scaled(err, ref float64) float64 {
	v := math.Abs(ref) + err*r.scale
	return err*r.scale + v*r.scaleErr/r.scale + v*r.scaleMul
}

// maxOf fills the running maximum from scores (in the stage's unit) and the maximum before.
func (r *rules) maxOf(e *estimate, s attn.Matrix, before []float64, b *attn.Block, t int) {
	keys := b.Tiles[t].Keys
	for i := range b.Rows {
		top := before[i] / r.maxUnit
		if math.IsNaN(top) {
			top = math.Inf(-1)
		}
		row := s.Row(i)
		for j := range keys {
			if v := row[j] * r.unit; v > top && b.Visible(t, i, j) {
				top = v
			}
		}
		e.ref.Data[i] = top * r.maxUnit
		e.pre.Data[i] = 0
		if !r.maxExact && !math.IsInf(top, 0) {
			e.pre.Data[i] = 4 * u32 * math.Abs(e.ref.Data[i])
		}
	}
	e.close(r.round[probes.StageM], b.Rows, 1)
}

// probabilitiesOf fills P = exp(s − m), 0 where a key is not visible, and reports per row Σp and Σp·(relative error).
func (r *rules) probabilitiesOf(e *estimate, s attn.Matrix, m, sums, errs []float64, b *attn.Block, t int) {
	keys := b.Tiles[t].Keys
	all := b.AllVisible(t)
	for i := range b.Rows {
		row, p, pre := s.Row(i), e.ref.Row(i), e.pre.Row(i)
		top := m[i] / r.maxUnit
		total, wrong := 0.0, 0.0
		for j := range p {
			p[j], pre[j] = 0, 0
			if j >= keys || !all && !b.Visible(t, i, j) || math.IsInf(top, -1) {
				continue
			}
			v := row[j] * r.unit
			p[j] = attn.Below(v, top)
			if p[j] == 0 {
				continue
			}
			pre[j] = p[j]*r.exp.rel(v, top) + expTiny
			total += p[j]
			wrong += pre[j]
		}
		sums[i], errs[i] = total, wrong
	}
	e.close(r.round[probes.StageP], b.Rows, e.ref.Cols)
}

// sumsOf fills l = l_old·exp(m_old − m) + Σ p. carry is that exponential, carryErr its relative error.
func (r *rules) sumsOf(e *estimate, before, carry, carryErr, sums, errs []float64, rows, keys int) {
	for i := range rows {
		old := before[i] * carry[i]
		if carry[i] == 0 {
			old = 0
		}
		e.ref.Data[i] = old + sums[i]
		e.pre.Data[i] = errs[i] + float64(keys)*u32*(sums[i]+errs[i]) + math.Abs(old)*(carryErr[i]+2*u32)
	}
	e.close(r.round[probes.StageL], rows, 1)
}

// carryOf fills exp(m_old − m) and its relative error from two columns of m in the stage's domain.
func (r *rules) carryOf(carry, carryErr, before, now []float64, rows int) {
	for i := range rows {
		old, m := before[i]/r.maxUnit, now[i]/r.maxUnit
		carry[i], carryErr[i] = attn.Below(old, m), 0
		if carry[i] != 0 {
			carryErr[i] = r.exp.rel(old, m)
		}
	}
}

// weightedOf fills U = U_old·carry + P·V for any operands. base, where not nil, is an error that U_old already has (in e's
// rows and columns); it is carried along.
func (r *rules) weightedOf(e *estimate, p, v *operand, before attn.Matrix, carry, carryErr []float64, rows, keys int, w *sumWork) {
	r.productOf(p, v, rows, keys, w)
	for i := range rows {
		u, pre, pv, err := e.ref.Row(i), e.pre.Row(i), w.pv.Row(i), w.err.Row(i)
		old, c, cr := before.Row(i), carry[i], carryErr[i]+u32
		for d := range u {
			carried := old[d] * c
			if c == 0 {
				carried = 0
			}
			u[d] = carried + pv[d]
			pre[d] = err[d] + math.Abs(carried)*cr + r.merge(math.Abs(carried), p.norm[i]*v.norm[d])
		}
	}
	e.close(r.round[probes.StageU], rows, e.ref.Cols)
}

// merge bounds adding the partial sums of a split one after the other; the last addition is the stage's own rounding.
func (r *rules) merge(carried, norms float64) float64 {
	if r.output.split <= 1 {
		return 0
	}
	return float64(r.output.split) * u32 * (carried + norms) * 1.01
}

// sumWork is scratch for P·V: the product, its error, and the partial sums between.
type sumWork struct {
	pv, err attn.Matrix
}

// productOf fills w.pv = P·V and w.err, what a right kernel's sum may be off by.
func (r *rules) productOf(p, v *operand, rows, keys int, w *sumWork) {
	clear(w.pv.Data)
	s := r.output
	blocks := s.blocks()
	for i := range rows {
		err := w.err.Row(i)
		for d := range err {
			err[d] = cross(p, i, v, d)
		}
	}
	if s.unit != probes.UnitTensor {
		attn.Accumulate(w.pv, p.m, v.m, rows, 0, keys)
		for i := range rows {
			err := w.err.Row(i)
			for d := range err {
				err[d] = s.chain(p.norm[i]*v.norm[d], err[d])
			}
		}
		return
	}
	terms := float64(s.block+1) * alignKeep
	for b := range blocks {
		lo, hi := b*s.block, min((b+1)*s.block, keys)
		if lo >= hi {
			break
		}
		for i := range rows {
			// What the accumulator held before this block may be what every term is aligned to.
			pv, err := w.pv.Row(i), w.err.Row(i)
			top := p.top[i*blocks+b]
			for d := range err {
				big := top * v.top[d*blocks+b]
				if b > 0 {
					if acc := max(math.Abs(pv[d])+err[d], minNormal); acc > big {
						big = acc
					}
				}
				err[d] += terms * big
			}
		}
		attn.Accumulate(w.pv, p.m, v.m, rows, lo, hi)
		s.truncate(w, rows)
	}
}

// truncate adds what a block's result loses when it is cut to the accumulator's digits.
func (s sum) truncate(w *sumWork, rows int) {
	for i := range rows {
		pv, err := w.pv.Row(i), w.err.Row(i)
		for d, v := range pv {
			mag := math.Abs(v) + err[d]
			if mag == 0 {
				continue
			}
			if s.acc == probes.F16 {
				err[d] += attn.HalfULP(probes.F16, mag)
			} else {
				err[d] += 2 * attn.HalfULP(probes.F32, mag)
			}
		}
	}
}

// outputOf fills O = U/l.
func (r *rules) outputOf(e *estimate, u attn.Matrix, l []float64, rows int) {
	for i := range rows {
		o, pre := e.ref.Row(i), e.pre.Row(i)
		for d, v := range u.Row(i) {
			o[d] = v / l[i]
			pre[d] = math.Abs(o[d]) * divRel
		}
	}
	e.close(r.round[probes.StageO], rows, e.ref.Cols)
}
