package diff

import (
	"math"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// rules is what a plan says about rounding and summation, resolved once.
type rules struct {
	*coefs
	ref      *attn.Reference
	scale    float64 // S = scale · Σ q·k, in the stage's own unit
	unit     float64 // scaled scores per unit of S
	maxUnit  float64
	round    [attn.NumSteps]rounding
	scores   sum
	output   sum // P·V
	exp      exponential
	scaleErr float64 // of softmax_scale as the accumulator's type holds it
	scaleMul float64 // relative rounding of the product with it, before the stage's own
	maxExact bool    // m is a maximum of representable numbers, nothing is computed
}

// newRules resolves a reference's plan. w is nil but in tests of the bounds.
func newRules(ref *attn.Reference, w weights) *rules {
	p := ref.Plan()
	c := newCoefs(w)
	r := &rules{coefs: c, ref: ref, unit: ref.ScoreUnit(), maxUnit: ref.MaxUnit()}
	r.scale = p.Scale / r.unit
	for s := range attn.NumSteps {
		r.round[s] = rounding{coefs: c, dtype: probes.F32}
		if sp := p.Stage(s.Stage()); sp != nil {
			r.round[s].dtype = sp.DType
		}
	}
	r.scores = sumOf(p.Stage(attn.StepS.Stage()), ref.Dim(), probes.F16)
	r.scores.align, r.scores.cut, r.scores.step = float64(r.scores.block+1)*c[termScoreAlign], c[termScoreCut], c[termScoreChain]
	r.output = sumOf(p.Stage(attn.StepU.Stage()), ref.TileN(), probes.F32)
	r.output.align, r.output.cut, r.output.step = float64(r.output.block+1)*c[termWeightAlign], c[termWeightCut], c[termWeightChain]
	r.maxExact = r.unit == 1 && r.maxUnit == 1
	r.exp = exponential{coefs: c, split: !r.maxExact, flush: flushed(expOf(p))}
	r.round[attn.StepM].exact = r.maxExact
	if r.unit == 1 {
		r.scaleErr = math.Abs(attn.RoundTo(r.scores.acc, p.Scale)-p.Scale) * c[termScoreScale]
		frac, _ := math.Frexp(p.Scale)
		sameType := r.scores.acc == r.round[attn.StepS].dtype
		r.round[attn.StepS].pow2 = frac == 0.5 && sameType && r.scores.acc == probes.F16
		if !sameType && frac != 0.5 {
			r.scaleMul = unitRoundoff(r.scores.acc) * c[termScoreProduct]
		}
	}
	return r
}

// expOf is the exponential that the plan's P is made with, as the manifest names it; "" where it does not.
func expOf(p *probes.Plan) string {
	if sp := p.Stage(attn.StepP.Stage()); sp != nil {
		return sp.Compute.Exp
	}
	return ""
}

// decode fills the estimate of Q, K or V: codes times a scale, all exact but three float32 roundings.
func (r *rules) decode(e *estimate, s attn.Step, ref attn.Matrix, rows int) {
	rel := r.coefs[termDecode]
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
	blocks := s.blocks()
	o.top = resize(o.top, rows*blocks)
	if bound != nil {
		o.delta = resize(o.delta, rows)
	} else {
		o.delta = nil
	}
	for i := range rows {
		v, off := m.Row(i), rowOf(bound, i)
		o.norm[i] = norm(v)
		for b := range blocks {
			lo, hi := b*s.block, min(len(v), (b+1)*s.block)
			if bound == nil {
				o.top[i*blocks+b] = pow2Top(v[lo:hi], nil)
			} else {
				o.top[i*blocks+b] = pow2Top(v[lo:hi], off[lo:hi])
			}
		}
		if bound != nil {
			o.delta[i] = norm(off)
		}
	}
}

// columnOperand describes the columns of m over its first rows rows (the sum runs along rows).
func (r *rules) columnOperand(o *operand, m attn.Matrix, bound *attn.Matrix, rows int, s sum) {
	blocks := s.blocks()
	o.m, o.norm, o.top = m, resize(o.norm, m.Cols), resize(o.top, m.Cols*blocks)
	clear(o.norm)
	clear(o.top)
	if bound != nil {
		o.delta = resize(o.delta, m.Cols)
		clear(o.delta)
	} else {
		o.delta = nil
	}
	for i := range rows {
		b := i / s.block
		off := rowOf(bound, i)
		for c, v := range m.Row(i) {
			o.norm[c] += v * v
			x := math.Abs(v)
			if off != nil {
				x += off[c]
				o.delta[c] += off[c] * off[c]
			}
			o.top[c*blocks+b] = max(o.top[c*blocks+b], x)
		}
	}
	for c := range m.Cols {
		o.norm[c] = math.Sqrt(o.norm[c])
		if bound != nil {
			o.delta[c] = math.Sqrt(o.delta[c])
		}
		t := o.top[c*blocks : (c+1)*blocks]
		for b := range t {
			t[b] = leastTop(t[b])
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
	s, operands := &r.scores, r.coefs[termScoreOperands]
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
			start, norms := cross(q, i, k, j)*operands, q.norm[i]*k.norm[j]
			var err float64
			if tensor {
				at := (i*e.ref.Cols + j) * blocks
				err = s.tensor(prefix[at:at+blocks], q.top[i*blocks:(i+1)*blocks], k.top[j*blocks:(j+1)*blocks], norms, start)
			} else {
				err = s.chain(norms, start)
			}
			pre[j] = r.scaled(err, ref[j])
		}
	}
	e.close(r.round[attn.StepS], rows, keys)
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
			e.pre.Data[i] = r.coefs[termMaxScale] * math.Abs(e.ref.Data[i])
		}
	}
	e.close(r.round[attn.StepM], b.Rows, 1)
}

// probabilitiesOf fills P = exp(s − m), 0 where a key is not visible, and reports per row Σp and Σp·(relative error).
func (r *rules) probabilitiesOf(e *estimate, s attn.Matrix, m, sums, errs []float64, b *attn.Block, t int) {
	keys := b.Tiles[t].Keys
	all, tiny := b.AllVisible(t), r.exp.tiny()
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
			pre[j] = p[j]*r.exp.rel(v, top, 0) + tiny
			total += p[j]
			wrong += pre[j]
		}
		sums[i], errs[i] = total, wrong
	}
	e.close(r.round[attn.StepP], b.Rows, e.ref.Cols)
}

// sumsOf fills l = l_old·exp(m_old − m) + Σ p. carry is that exponential, carryErr its relative error. The
// additions are in any order: p by p onto the carried l, or among themselves first.
func (r *rules) sumsOf(e *estimate, before, carry, carryErr, sums, errs []float64, rows, keys int) {
	for i := range rows {
		old := before[i] * carry[i]
		if carry[i] == 0 {
			old = 0
		}
		e.ref.Data[i] = old + sums[i]
		e.pre.Data[i] = r.sumError(math.Abs(old), carryErr[i], sums[i], errs[i], keys)
	}
	e.close(r.round[attn.StepL], rows, 1)
}

// sumError bounds l before it is stored: of old, carried over by a factor off by carryErr, and of sum, itself off by err.
func (r *rules) sumError(old, carryErr, sum, err float64, keys int) float64 {
	err *= r.coefs[termSumProbs]
	return err + float64(keys)*r.coefs[termSumAdd]*(old+sum+err) + old*(r.coefs[termSumCarryExp]*carryErr+r.coefs[termSumCarry])
}

// carryOf fills exp(m_old − m) and its relative error from two columns of m in the stage's domain.
func (r *rules) carryOf(carry, carryErr, before, now []float64, rows int) {
	for i := range rows {
		old, m := before[i]/r.maxUnit, now[i]/r.maxUnit
		carry[i], carryErr[i] = attn.Below(old, m), 0
		if carry[i] != 0 {
			carryErr[i] = r.exp.rel(old, m, 0)
		}
	}
}

// weightedOf fills U = U_old·carry + P·V from the kernel's own tiles.
func (r *rules) weightedOf(e *estimate, p, v *operand, before attn.Matrix, carry, carryErr []float64, rows, keys int, w *sumWork) {
	for i := range rows {
		base, old, c := w.base.Row(i), before.Row(i), carry[i]
		for d := range base {
			base[d] = 0
			if c != 0 {
				base[d] = old[d] * c
			}
		}
	}
	r.productOf(p, v, rows, keys, w)
	for i := range rows {
		u, pre, pv, err, base := e.ref.Row(i), e.pre.Row(i), w.pv.Row(i), w.err.Row(i), w.base.Row(i)
		for d := range u {
			u[d] = base[d] + pv[d]
			pre[d] = err[d] + r.weightError(math.Abs(base[d]), carryErr[i], p.norm[i]*v.norm[d])
		}
	}
	e.close(r.round[attn.StepU], rows, e.ref.Cols)
}

// weightError bounds what carrying U over and merging partial sums adds, before U is stored.
func (r *rules) weightError(carried, carryErr, norms float64) float64 {
	err := carried * (r.coefs[termWeightCarryExp]*carryErr + r.coefs[termWeightCarry])
	if n := r.output.split; n > 1 {
		err += float64(n-1) * r.coefs[termWeightMerge] * (carried + norms) * second
	}
	return err
}

// sumWork is scratch for P·V: what is in the accumulator before (in magnitude, or signed), the product, and its error.
type sumWork struct {
	base, pv, err attn.Matrix
}

func newSumWork(rows, cols int) sumWork {
	return sumWork{attn.NewMatrix(rows, cols), attn.NewMatrix(rows, cols), attn.NewMatrix(rows, cols)}
}

// productOf fills w.pv = P·V and w.err, what a right kernel's sum may be off by. The kernel may add the products onto the
// carried U, w.base, or apart from it.
func (r *rules) productOf(p, v *operand, rows, keys int, w *sumWork) {
	clear(w.pv.Data)
	s, operands := &r.output, r.coefs[termWeightOperands]
	for i := range rows {
		err := w.err.Row(i)
		for d := range err {
			err[d] = cross(p, i, v, d) * operands
		}
	}
	if s.unit != probes.UnitTensor {
		attn.Accumulate(w.pv, p.m, v.m, rows, 0, keys)
		for i := range rows {
			err, base := w.err.Row(i), w.base.Row(i)
			for d := range err {
				err[d] = s.chain(p.norm[i]*v.norm[d]+math.Abs(base[d]), err[d])
			}
		}
		return
	}
	for b := range s.blocks() {
		lo, hi := b*s.block, min((b+1)*s.block, keys)
		if lo >= hi {
			break
		}
		for i := range rows {
			s.aligned(p, v, w, i, b)
		}
		attn.Accumulate(w.pv, p.m, v.m, rows, lo, hi)
		for i := range rows {
			s.truncated(p, v, w, i)
		}
	}
}

// aligned adds what block b's terms of row i lose: what the accumulator held before may be what all of them are aligned to.
func (s *sum) aligned(p, v *operand, w *sumWork, i, b int) {
	pv, err, base := w.pv.Row(i), w.err.Row(i), w.base.Row(i)
	blocks := s.blocks()
	top := p.top[i*blocks+b]
	for d := range err {
		big := top * v.top[d*blocks+b]
		if x := s.partial(math.Abs(pv[d]), p.norm[i]*v.norm[d]) + math.Abs(base[d]); x != 0 {
			if e := s.exponent(x + err[d]); e > big {
				big = e
			}
		}
		err[d] += s.align * big
	}
}

// truncated adds what a block's result loses when it is cut to the accumulator's digits.
func (s *sum) truncated(p, v *operand, w *sumWork, i int) {
	pv, err, base := w.pv.Row(i), w.err.Row(i), w.base.Row(i)
	cut := s.cut * s.rounds
	for d, x := range pv {
		if mag := s.partial(math.Abs(x), p.norm[i]*v.norm[d]) + math.Abs(base[d]) + err[d]; mag != 0 {
			err[d] += cut * attn.HalfULP(s.acc, mag)
		}
	}
}

// outputOf fills O = U/l.
func (r *rules) outputOf(e *estimate, u attn.Matrix, l []float64, rows int) {
	for i := range rows {
		o, pre := e.ref.Row(i), e.pre.Row(i)
		for d, v := range u.Row(i) {
			o[d] = v / l[i]
			pre[d] = math.Abs(o[d]) * r.coefs[termOutDivide]
		}
	}
	e.close(r.round[attn.StepO], rows, e.ref.Cols)
}
