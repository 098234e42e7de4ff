package diff

import (
	"math"

	"tilescope/debugkern/attn"
)

// globalScores fills the global estimate of S: the reference's operands, each off by its own bound.
func (w *walker) globalScores() {
	e, rows, keys := w.global[attn.StepS], w.blk.Rows, w.blk.Tiles[w.t].Keys
	if w.injected(attn.StepS) || w.gate == attn.GatePV {
		e.ref = w.exact(attn.StepS)
		clear(e.pre.Data)
		clear(e.bound.Data)
		return
	}
	if w.t == 0 {
		w.rowOperand(&w.refQ, w.exact(attn.StepQ), &w.global[attn.StepQ].bound, rows, w.scores)
	}
	w.rowOperand(&w.refK, w.exact(attn.StepK), &w.global[attn.StepK].bound, keys, w.scores)
	w.prefix = w.scoresOf(e, &w.refQ, &w.refK, rows, keys, w.prefix)
}

// globalSoftmax fills the global estimates of m, P and l. With scores off by ds each, a kernel's m lies between the maxima
// of s − ds and s + ds; its P and l are the exact ones times exp(ds + dm), plus their own roundings.
func (w *walker) globalSoftmax() {
	x := &w.blk.Tiles[w.t]
	em, el, ep := w.global[attn.StepM], w.global[attn.StepL], w.global[attn.StepP]
	em.ref, el.ref, ep.ref = w.exact(attn.StepM), w.exact(attn.StepL), w.exact(attn.StepP)
	w.globalCarry()
	if w.gate == attn.GatePV {
		for _, e := range []*estimate{em, el, ep} {
			clear(e.pre.Data)
			clear(e.bound.Data)
		}
		clear(w.ownP.Data)
		return
	}
	es := w.global[attn.StepS]
	for i := range w.blk.Rows {
		w.globalSum(i, x, es)
	}
	w.global[attn.StepM].close(w.round[attn.StepM], w.blk.Rows, 1)
	w.global[attn.StepP].close(w.round[attn.StepP], w.blk.Rows, ep.ref.Cols)
	w.global[attn.StepL].close(w.round[attn.StepL], w.blk.Rows, 1)
}

// globalSum fills one row of m, P and l, and moves l's chain on.
func (w *walker) globalSum(i int, x *attn.Tile, es *estimate) {
	c, el, ep := &w.chain, w.global[attn.StepL], w.global[attn.StepP]
	before := c.dm[i]
	w.moveMax(i, x, es)
	m := x.M[i] / w.maxUnit
	w.global[attn.StepM].pre.Data[i] = c.dm[i] * w.maxUnit
	if w.carry[i] != 0 {
		w.cerr[i] = w.exp.rel(c.m[i], m, before+c.dm[i])
	}
	c.m[i] = m
	grow := math.Exp(c.dm[i])
	made, total := w.globalRow(i, x, es, ep, m)
	off := c.l[i] * w.carry[i] * w.coefs[termSumCarried]
	carried := max(x.L[i]-total, 0) + off // the exact l carried over, and its error
	// What is rounded is rounded in the kernel's frame, which is off by up to grow from the exact maximum's.
	rounded := w.sumError(carried, w.cerr[i], total+made, 0, x.Keys)
	c.l[i] = off + made*w.coefs[termSumProbs] + rounded*grow
	el.pre.Data[i] = grow*c.l[i] + (grow-1)*x.L[i]*w.coefs[termSumMax]
	c.l[i] += w.round[attn.StepL].half(x.L[i]+el.pre.Data[i]) * grow
}

// globalCarry fills carry = exp(m_old − m) of the reference.
func (w *walker) globalCarry() {
	before := w.none
	if w.t > 0 {
		before = w.blk.Tiles[w.t-1].M
	}
	w.carryOf(w.carry, w.cerr, before, w.blk.Tiles[w.t].M, w.blk.Rows)
}

// moveMax follows the interval that a right kernel's maximum of row i lies in.
func (w *walker) moveMax(i int, x *attn.Tile, es *estimate) {
	c := &w.chain
	s, ds := x.S.Row(i), es.bound.Row(i)
	for j := range x.Keys {
		if !w.blk.Visible(w.t, i, j) {
			continue
		}
		v, d := s[j]*w.unit, ds[j]*w.unit
		c.hi[i], c.lo[i] = max(c.hi[i], v+d), max(c.lo[i], v-d)
	}
	c.dm[i] = 0
	if m := x.M[i] / w.maxUnit; !math.IsInf(m, 0) {
		c.dm[i] = max(c.hi[i]-m, m-c.lo[i]) * w.coefs[termMaxScores]
		if !w.maxExact {
			c.dm[i] += w.coefs[termMaxScale] * (math.Abs(m) + c.dm[i])
		}
	}
}

// globalRow fills one row of P's global estimate and returns the sums of P's errors and of P. Those errors, and ownP, leave
// the common factor of m out: it is put back on l and U as a whole.
func (w *walker) globalRow(i int, x *attn.Tile, es, ep *estimate, m float64) (made, total float64) {
	s, ds, p, pre, own := x.S.Row(i), es.bound.Row(i), x.P.Row(i), ep.pre.Row(i), w.ownP.Row(i)
	dm, rnd := w.chain.dm[i], w.round[attn.StepP]
	both, tiny := math.Exp(dm), w.exp.tiny()
	for j := range pre {
		pre[j], own[j] = 0, 0
		if j >= x.Keys || p[j] == 0 {
			continue
		}
		v, d := s[j]*w.unit, ds[j]*w.unit
		grow := expm1(d)
		err := p[j]*grow*w.coefs[termProbScores] + p[j]*(1+grow)*w.exp.rel(v, m, d+dm) + tiny
		made += err
		total += p[j]
		pre[j] = both*err + (both-1)*p[j]*w.coefs[termProbMax]
		own[j] = err + both*rnd.half(p[j]+pre[j])
	}
	return made, total
}

// expm1 is exp(x) − 1 from above for x ≥ 0: the series where that is enough.
func expm1(x float64) float64 {
	if x < 0.05 {
		return x * (1 + x*(0.5+x*0.18))
	}
	return math.Expm1(x)
}

// globalOutput fills the global estimate of U. Its error, but for the common factor of m, is carried in the chain: each
// tile adds what P's and V's own errors contribute and the roundings of this tile's sums.
func (w *walker) globalOutput() {
	c, e := &w.chain, w.global[attn.StepU]
	rows := w.blk.Rows
	e.ref = w.exact(attn.StepU)
	keys := w.blk.Tiles[w.t].Keys
	w.rowOperand(&w.refP, w.exact(attn.StepP), &w.ownP, rows, w.output)
	w.columnOperand(&w.refV, w.exact(attn.StepV), &w.global[attn.StepV].bound, keys, w.output)
	for i := range rows {
		base, off := w.work.base.Row(i), c.u.Row(i)
		for d := range base {
			off[d] *= w.carry[i] * w.coefs[termWeightCarried]
			base[d] = off[d]
		}
		if w.t > 0 && w.carry[i] != 0 {
			for d, v := range w.blk.Tiles[w.t-1].U.Row(i) {
				base[d] += math.Abs(v) * w.carry[i]
			}
		}
	}
	w.productOf(&w.refP, &w.refV, rows, keys, &w.work)
	for i := range rows {
		w.globalRowU(i, c, e)
	}
	e.close(w.round[attn.StepU], rows, e.ref.Cols)
}

func (w *walker) globalRowU(i int, c *chain, e *estimate) {
	grow, rnd, most := math.Exp(c.dm[i]), w.round[attn.StepU], w.coefs[termWeightMax]
	u, pre, off, err, base := e.ref.Row(i), e.pre.Row(i), c.u.Row(i), w.work.err.Row(i), w.work.base.Row(i)
	for d := range u {
		off[d] += (err[d] + w.weightError(base[d], w.cerr[i], w.refP.norm[i]*w.refV.norm[d])) * grow
		pre[d] = grow*off[d] + (grow-1)*math.Abs(u[d])*most
		off[d] += rnd.half(math.Abs(u[d])+pre[d]) * grow
	}
}

// globalFinal fills the global estimate of O = U/l: what m is off by cancels.
func (w *walker) globalFinal() {
	e, c := w.global[attn.StepO], &w.chain
	e.ref = w.blk.O
	last := &w.blk.Tiles[len(w.blk.Tiles)-1]
	for i := range w.blk.Rows {
		l := last.L[i]
		dl := c.l[i]
		o, pre, off := e.ref.Row(i), e.pre.Row(i), c.u.Row(i)
		for d, v := range o {
			pre[d] = math.Inf(1)
			if l > dl {
				pre[d] = (off[d]*w.coefs[termOutWeights] + math.Abs(v)*dl*w.coefs[termOutSums]) / (l - dl)
				pre[d] += (math.Abs(v) + pre[d]) * w.coefs[termOutDivide]
			}
		}
	}
	e.close(w.round[attn.StepO], w.blk.Rows, e.ref.Cols)
}
