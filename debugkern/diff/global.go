package diff

import (
	"math"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// globalScores fills the global estimate of S: the reference's operands, each off by its own bound.
func (w *walker) globalScores() {
	e, rows, keys := w.global[probes.StageS], w.blk.Rows, w.blk.Tiles[w.t].Keys
	if w.plan.Gate.Injected().Has(probes.StageS) || w.plan.Gate == probes.GatePV {
		e.ref = w.exact(probes.StageS)
		clear(e.pre.Data)
		clear(e.bound.Data)
		return
	}
	if w.t == 0 {
		w.rowOperand(&w.refQ, w.exact(probes.StageQ), &w.global[probes.StageQ].bound, rows, w.scores)
	}
	w.rowOperand(&w.refK, w.exact(probes.StageK), &w.global[probes.StageK].bound, keys, w.scores)
	w.prefix = w.scoresOf(e, &w.refQ, &w.refK, rows, keys, w.prefix)
}

// globalSoftmax fills the global estimates of m, P and l. With scores off by ds each, a kernel's m lies between the maxima
// of s − ds and s + ds; its P and l are the exact ones times exp(ds + dm), plus their own roundings.
func (w *walker) globalSoftmax() {
	c, x := &w.chain, &w.blk.Tiles[w.t]
	em, el, ep := w.global[probes.StageM], w.global[probes.StageL], w.global[probes.StageP]
	em.ref, el.ref, ep.ref = w.exact(probes.StageM), w.exact(probes.StageL), w.exact(probes.StageP)
	w.globalCarry()
	if w.plan.Gate == probes.GatePV {
		for _, e := range []*estimate{em, el, ep} {
			clear(e.pre.Data)
			clear(e.bound.Data)
		}
		clear(w.ownP.Data)
		return
	}
	es := w.global[probes.StageS]
	for i := range w.blk.Rows {
		old := c.dm[i]
		w.moveMax(i, x, es)
		m := x.M[i] / w.maxUnit
		em.pre.Data[i] = c.dm[i] * w.maxUnit
		if !w.maxExact {
			em.pre.Data[i] += 4 * u32 * math.Abs(x.M[i])
		}
		grow := math.Exp(c.dm[i])
		made, total := w.globalRow(i, x, es, ep, m)
		carried := (x.L[i] - total) + c.l[i]*w.carry[i] // the exact l carried over, and its error
		turn := w.cerr[i] + 3*u32*(old+c.dm[i]) + 2*u32
		c.l[i] = c.l[i]*w.carry[i] + made + (float64(x.Keys)*u32*(total+made)+max(carried, 0)*turn+u32*(x.L[i]+c.l[i]))*grow
		el.pre.Data[i] = grow*c.l[i] + (grow-1)*x.L[i]
	}
	w.global[probes.StageM].close(w.round[probes.StageM], w.blk.Rows, 1)
	w.global[probes.StageP].close(w.round[probes.StageP], w.blk.Rows, ep.ref.Cols)
	w.global[probes.StageL].close(w.round[probes.StageL], w.blk.Rows, 1)
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
		c.dm[i] = max(c.hi[i]-m, m-c.lo[i])
		if !w.maxExact {
			c.dm[i] += 4 * u32 * math.Abs(m)
		}
	}
}

// globalRow fills one row of P's global estimate and returns the sums of P's errors and of P. Those errors, and ownP, leave
// the common factor of m out: it is put back on l and U as a whole.
func (w *walker) globalRow(i int, x *attn.Tile, es, ep *estimate, m float64) (made, total float64) {
	s, ds, p, pre, own := x.S.Row(i), es.bound.Row(i), x.P.Row(i), ep.pre.Row(i), w.ownP.Row(i)
	dm, rnd := w.chain.dm[i], w.round[probes.StageP]
	both := math.Exp(dm)
	for j := range pre {
		pre[j], own[j] = 0, 0
		if j >= x.Keys || p[j] == 0 {
			continue
		}
		v, d := s[j]*w.unit, ds[j]*w.unit
		grow := expm1(d)
		rel := w.exp.rel(v, m) + 6*u32*(d+dm)
		err := p[j]*grow + p[j]*(1+grow)*rel + expTiny
		made += err
		total += p[j]
		pre[j] = both*err + (both-1)*p[j]
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
	c, e := &w.chain, w.global[probes.StageU]
	rows := w.blk.Rows
	e.ref = w.exact(probes.StageU)
	keys := w.blk.Tiles[w.t].Keys
	w.rowOperand(&w.refP, w.exact(probes.StageP), &w.ownP, rows, w.output)
	w.columnOperand(&w.refV, w.exact(probes.StageV), &w.global[probes.StageV].bound, keys, w.output)
	w.productOf(&w.refP, &w.refV, rows, keys, &w.work)
	for i := range rows {
		w.globalRowU(i, c, e)
	}
	e.close(w.round[probes.StageU], rows, e.ref.Cols)
}

func (w *walker) globalRowU(i int, c *chain, e *estimate) {
	grow := math.Exp(c.dm[i])
	u, pre, off, err := e.ref.Row(i), e.pre.Row(i), c.u.Row(i), w.work.err.Row(i)
	pv := w.work.pv.Row(i)
	turn := (w.cerr[i] + 6*u32*c.dm[i] + 2*u32) * grow
	for d := range u {
		carried := math.Abs(u[d]-pv[d]) + off[d]*w.carry[i]
		off[d] = off[d]*w.carry[i] + err[d]*grow + carried*turn + (u32*math.Abs(u[d])+w.merge(carried, w.refP.norm[i]*w.refV.norm[d]))*grow
		pre[d] = grow*off[d] + (grow-1)*math.Abs(u[d])
	}
}

// globalFinal fills the global estimate of O = U/l: what m is off by cancels.
func (w *walker) globalFinal() {
	e, c := w.global[probes.StageO], &w.chain
	e.ref = w.blk.O
	last := &w.blk.Tiles[len(w.blk.Tiles)-1]
	for i := range w.blk.Rows {
		l := last.L[i]
		dl := c.l[i]
		o, pre, off := e.ref.Row(i), e.pre.Row(i), c.u.Row(i)
		for d, v := range o {
			pre[d] = math.Inf(1)
			if l > dl {
				pre[d] = (off[d]+math.Abs(v)*dl)/(l-dl) + math.Abs(v)*divRel
			}
		}
	}
	e.close(w.round[probes.StageO], w.blk.Rows, e.ref.Cols)
}
