package diff

import (
	"math"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// interval is a closed interval of reals; every operation rounds outward.
type interval struct{ lo, hi float64 }

func out(lo, hi float64) interval {
	return interval{math.Nextafter(lo, math.Inf(-1)), math.Nextafter(hi, math.Inf(1))}
}

func around(x, off float64) interval { return out(x-off, x+off) }

func (a interval) add(b interval) interval { return out(a.lo+b.lo, a.hi+b.hi) }

func (a interval) mul(b interval) interval {
	w, x, y, z := a.lo*b.lo, a.lo*b.hi, a.hi*b.lo, a.hi*b.hi
	return out(min(w, x, y, z), max(w, x, y, z))
}

func (a interval) div(b interval) interval { return a.mul(out(1/b.hi, 1/b.lo)) } // b above 0

// exp is widened by four ulp: more than math.Exp is off by.
func (a interval) exp() interval {
	return out(math.Exp(a.lo)*(1-0x1p-50), math.Exp(a.hi)*(1+0x1p-50))
}

func (a interval) size() float64 { return max(math.Abs(a.lo), math.Abs(a.hi)) }

// off widens by an absolute error, rel by a relative one.
func (a interval) off(err float64) interval { return out(a.lo-err, a.hi+err) }
func (a interval) rel(err float64) interval { return a.mul(out(1-err, 1+err)) }

// from is the largest distance of the interval from x.
func (a interval) from(x float64) float64 { return max(a.hi-x, x-a.lo) }

// machine evaluates one query row of a block in intervals, by the steps of the online softmax, each widened by what its
// instructions may lose. What is relative to the kernel's own m is evaluated relative to the exact one, and brought to the
// kernel's by exp(exact m − m) where it is compared or rounded. It shares no code with the bounds.
type machine struct {
	*carried
	i       int
	rules   *rules // for what the plan says: units, dtypes and sums
	m       interval
	l       interval
	u       []interval
	exact   float64 // natural maximum of the tile before
	started bool
}

// tile moves on by one kv tile and returns the intervals of its stages' row.
func (k *machine) tile(t int, cols int) map[attn.Step][]interval {
	x, r := &k.blk.Tiles[t], k.rules
	row := map[attn.Step][]interval{}
	top := interval{math.Inf(-1), math.Inf(-1)}
	if k.started {
		top = k.m
	}
	s := make([]interval, x.Keys)
	for j := range s {
		s[j] = k.score(t, j)
		row[attn.StepS] = append(row[attn.StepS], s[j])
		v := k.stored(attn.StepS, s[j]).mul(interval{r.unit, r.unit})
		s[j] = v
		top = interval{max(top.lo, v.lo), max(top.hi, v.hi)}
	}
	if r.maxUnit != 1 || r.unit != 1 {
		top = top.rel(4 * 0x1p-24)
	}
	now := x.M[k.i] / r.maxUnit
	frame := interval{now - top.hi, now - top.lo}.exp() // from the exact maximum's to the kernel's
	k.m = top
	row[attn.StepM] = []interval{top.mul(interval{r.maxUnit, r.maxUnit})}
	carry := interval{}
	if k.started {
		carry = interval{k.exact - now, k.exact - now}.exp().rel(k.expError(k.exact, now, 0.02))
	}
	p, sum := make([]interval, x.Keys), k.l.mul(carry).rel(0x1p-24)
	for j := range p {
		e := s[j].add(interval{-now, -now}).exp()
		e = e.rel(k.expError(s[j].size(), now, top.from(now)))
		sum = sum.add(e)
		made := e.mul(frame)
		row[attn.StepP] = append(row[attn.StepP], made)
		p[j] = e.off(attn.HalfULP(r.round[attn.StepP].dtype, made.size()) / frame.lo)
	}
	sum = sum.rel(float64(x.Keys) * 0x1p-24)
	row[attn.StepL] = []interval{sum.mul(frame)}
	k.l = sum.rel(0x1p-24)
	row[attn.StepU] = k.weigh(t, cols, p, carry, frame)
	k.exact, k.started = now, true
	return row
}

// expError is the relative error of exp(s − m): the unit's 2^-22, the subtraction and the product half an ulp each, log2 e
// 0.22 of one; where s and m are brought into one domain apart, by 4·2^-24 of their sizes.
func (k *machine) expError(s, m, off float64) float64 {
	arg := (2*0x1p-24 + 0.22*0x1p-24) * (math.Abs(s-m) + off)
	if k.rules.exp.split {
		arg = 4 * 0x1p-24 * (math.Abs(s) + math.Abs(m) + off)
	}
	return 0x1p-22 + math.Expm1(arg)
}

// stored rounds to a stage's dtype.
func (k *machine) stored(s attn.Step, x interval) interval {
	return x.off(attn.HalfULP(k.rules.round[s].dtype, x.size()))
}

// score is one cell of S before it is stored: products of intervals, block by block.
func (k *machine) score(t, j int) interval {
	r, x := k.rules, &k.blk.Tiles[t]
	q, dq := k.blk.Q.Row(k.i), k.bounds[0][attn.StepQ].Row(k.i)
	y, dy := x.K.Row(j), k.bounds[t][attn.StepK].Row(j)
	acc := k.sum(&r.scores, interval{}, len(q), func(n int) (interval, interval) { return around(q[n], dq[n]), around(y[n], dy[n]) })
	scale := interval{r.scale, r.scale}
	if r.unit == 1 && attn.RoundTo(r.scores.acc, r.scale) != r.scale {
		scale = scale.rel(2 * unitRoundoff(r.scores.acc))
	}
	return acc.mul(scale)
}

// sum is n products onto acc by the plan's unit.
func (k *machine) sum(s *sum, acc interval, n int, at func(n int) (interval, interval)) interval {
	if s.unit != probes.UnitTensor {
		u := unitRoundoff(s.acc)
		for i := range n {
			a, b := at(i)
			acc = acc.add(a.mul(b)).rel(u)
		}
		return acc
	}
	for lo := 0; lo < n; lo += s.block {
		sum, most := acc, acc.size()
		for i := lo; i < min(n, lo+s.block); i++ {
			a, b := at(i)
			sum = sum.add(a.mul(b))
			most = max(most, binade(max(a.size(), minNormal))*binade(max(b.size(), minNormal)))
		}
		if most > 0 {
			sum = sum.off(float64(s.block) * 0x1p-25 * binade(max(most, minNormal)))
		}
		halves := 2.0
		if s.acc == probes.F16 {
			halves = 1
		}
		acc = sum.off(halves * attn.HalfULP(s.acc, sum.size()))
	}
	return acc
}

// weigh moves the row of U on and returns it as the kernel has it.
func (k *machine) weigh(t, cols int, p []interval, carry, frame interval) []interval {
	x, r := &k.blk.Tiles[t], k.rules
	var all []interval
	for d := range cols {
		made := k.sum(&r.output, interval{}, x.Keys, func(j int) (interval, interval) {
			return p[j], around(x.V.At(j, d), k.bounds[t][attn.StepV].At(j, d))
		})
		u := k.u[d].mul(carry).rel(0x1p-24).add(made)
		all = append(all, u.mul(frame))
		k.u[d] = u.off(attn.HalfULP(r.round[attn.StepU].dtype, u.mul(frame).size()) / frame.lo)
	}
	return all
}

// intervalFactor is how far a global bound may be above the interval evaluation of the same cell. What the bounds give away is
// Cauchy-Schwarz, norms in place of each product's own magnitudes: up to 2.3 for the 64 products of S, and 5.4 for those of U,
// where P has few large cells; m, P and l take over what S gives away, O what U does. That no single term is too large is
// TestEveryBoundTermIsTight's to find.
var intervalFactor = map[attn.Step]float64{
	attn.StepS: 2.3, attn.StepM: 1.9, attn.StepP: 2, attn.StepL: 1.9, attn.StepU: 5.4, attn.StepO: 5.2,
}

// TestCarriesAgainstIntervals compares the global bounds of every stage and kv tile with an evaluation of the
// recurrence in interval arithmetic: no bound is below what is attainable there, none is more than a stated
// factor above it.
func TestCarriesAgainstIntervals(t *testing.T) {
	kernels := map[string]func(p *probes.Plan){
		"tensor": nil,
		"fma": func(p *probes.Plan) {
			with(attn.StepS, probes.F32, fma32)(p)
			with(attn.StepU, probes.F32, fma32)(p)
		},
		"log2": rawLog2(true, 0.1),
	}
	for name, change := range kernels {
		for _, shape := range []string{"validation", "partial49"} {
			t.Run(name+"/"+shape, func(t *testing.T) {
				p := configstest.Plan(t, "stage2", shape, probes.GateNone)
				if change != nil {
					change(p)
				}
				c := boundsOf(t, p, 1, probes.Dim3{}, nil)
				below, above := c.againstIntervals(newRules(c.ref, nil), 4, 8)
				for s := attn.StepS; s <= attn.StepO; s++ {
					t.Logf("%s: bound/interval from %.3f to %.3f", s, below[s], above[s])
					if !(below[s] >= 0.999) {
						t.Errorf("%s: a bound is %.3f of what is attainable", s, below[s])
					}
					if !(above[s] <= intervalFactor[s]) {
						t.Errorf("%s: a bound is %.3f times the interval's, at most %g is accounted for", s, above[s], intervalFactor[s])
					}
				}
			})
		}
	}
}

// againstIntervals returns the least and the largest ratio of bound to interval by stage, over rows rows and cols columns of U.
func (c *carried) againstIntervals(r *rules, rows, cols int) (below, above [attn.NumSteps]float64) {
	for s := range below {
		below[s] = math.Inf(1)
	}
	note := func(s attn.Step, t, cell int, x interval, ref float64) {
		ratio := c.bounds[t][s].Data[cell] / x.from(ref)
		below[s], above[s] = min(below[s], ratio), max(above[s], ratio)
	}
	for i := range min(rows, c.blk.Rows) {
		k := &machine{carried: c, i: i, rules: r, u: make([]interval, cols)}
		for t := range c.blk.Tiles {
			for s, xs := range k.tile(t, cols) {
				m, _ := c.blk.Values(s, t)
				for j, x := range xs {
					if s != attn.StepM || !r.maxExact {
						x = k.stored(s, x)
					}
					note(s, t, i*m.Cols+j, x, m.At(i, j))
				}
			}
		}
		last := len(c.blk.Tiles) - 1
		for d := range cols {
			note(attn.StepO, last, i*c.blk.O.Cols+d, k.stored(attn.StepO, k.u[d].div(k.l).rel(0x1p-22)), c.blk.O.At(i, d))
		}
	}
	return below, above
}
