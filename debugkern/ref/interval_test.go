package ref_test

import (
	"math"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
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

// carried is one block's exact reference with the global bounds of all its tiles.
type carried struct {
	plan   *probes.Plan
	blk    *reftest.Block
	bounds map[probes.Stage][]op.Matrix // by kv tile
}

func boundsOf(t *testing.T, p *probes.Plan, seed uint64, id probes.Dim3) *carried {
	t.Helper()
	r, _ := reftest.New(t, p, seed, ref.Options{})
	return &carried{p, reftest.Copy(r, r.Block(id)), reftest.Bounds(r, id, nil)}
}

// unit is a stage's in natural units.
func (c *carried) unit(s probes.Stage) float64 {
	if u := c.plan.Stage(s).Unit; u != 0 {
		return u
	}
	return 1
}

// exactMax reports whether a maximum is stored as the scores are.
func (c *carried) exactMax() bool { return c.unit("S") == 1 && c.unit("m") == 1 }

// machine evaluates one query row of a block in intervals, by the steps of the online softmax, each widened
// by what its instructions may lose. What is relative to the kernel's own m is evaluated relative to the
// exact one, and brought to the kernel's by exp(exact m − m) where it is compared or rounded. It shares no
// code with the bounds.
type machine struct {
	*carried
	i       int
	m       interval
	l       interval
	u       []interval
	exact   float64 // natural maximum of the tile before
	started bool
}

// tile moves on by one kv tile and returns the intervals of its stages' row.
func (k *machine) tile(t int, cols int) map[probes.Stage][]interval {
	row := map[probes.Stage][]interval{}
	top := interval{math.Inf(-1), math.Inf(-1)}
	if k.started {
		top = k.m
	}
	s := make([]interval, k.blk.Keys(t))
	for j := range s {
		s[j] = k.score(t, j)
		row["S"] = append(row["S"], s[j])
		v := k.stored("S", s[j]).mul(interval{k.unit("S"), k.unit("S")})
		s[j] = v
		top = interval{max(top.lo, v.lo), max(top.hi, v.hi)}
	}
	if !k.exactMax() {
		top = top.rel(4 * 0x1p-24)
	}
	now := k.blk.At("m", t).Data[k.i] * k.unit("m")
	frame := interval{now - top.hi, now - top.lo}.exp() // from the exact maximum's to the kernel's
	k.m = top
	row["m"] = []interval{top.mul(interval{1 / k.unit("m"), 1 / k.unit("m")})}
	carry := interval{}
	if k.started {
		carry = interval{k.exact - now, k.exact - now}.exp().rel(k.expError(k.exact, now, 0.02))
	}
	p, sum := make([]interval, len(s)), k.l.mul(carry).rel(0x1p-24)
	for j := range p {
		e := s[j].add(interval{-now, -now}).exp()
		e = e.rel(k.expError(s[j].size(), now, top.from(now)))
		sum = sum.add(e)
		made := e.mul(frame)
		row["P"] = append(row["P"], made)
		p[j] = e.off(op.HalfULP(k.plan.Stage("P").DType, made.size()) / frame.lo)
	}
	sum = sum.rel(float64(len(s)) * 0x1p-24)
	row["l"] = []interval{sum.mul(frame)}
	k.l = sum.rel(0x1p-24)
	row["U"] = k.weigh(t, cols, p, carry, frame)
	k.exact, k.started = now, true
	return row
}

// expError is the relative error of exp(s − m): the unit's 2^-22, the subtraction and the product half an ulp
// each, log2 e 0.22 of one; where s and m are brought into one domain apart, by 4·2^-24 of their sizes.
func (k *machine) expError(s, m, off float64) float64 {
	arg := (2*0x1p-24 + 0.22*0x1p-24) * (math.Abs(s-m) + off)
	if !k.exactMax() {
		arg = 4 * 0x1p-24 * (math.Abs(s) + math.Abs(m) + off)
	}
	return 0x1p-22 + math.Expm1(arg)
}

// stored rounds to a stage's dtype.
func (k *machine) stored(s probes.Stage, x interval) interval {
	return x.off(op.HalfULP(k.plan.Stage(s).DType, x.size()))
}

// score is one cell of S before it is stored: products of intervals, block by block.
func (k *machine) score(t, j int) interval {
	c := k.plan.Stage("S").Compute
	q, dq := k.blk.At("Q", 0).Row(k.i), k.bounds["Q"][0].Row(k.i)
	y, dy := k.blk.At("K", t).Row(j), k.bounds["K"][t].Row(j)
	acc := k.sum(&c, interval{}, len(q), func(n int) (interval, interval) {
		return around(q[n], dq[n]), around(y[n], dy[n])
	})
	factor := k.plan.Scale / k.unit("S")
	scale := interval{factor, factor}
	if k.unit("S") == 1 && op.RoundTo(c.Acc, factor) != factor {
		scale = scale.rel(2 * op.UnitRoundoff(c.Acc))
	}
	return acc.mul(scale)
}

// sum is n products onto acc by the plan's unit.
func (k *machine) sum(s *probes.Compute, acc interval, n int, at func(n int) (interval, interval)) interval {
	if s.Unit != probes.UnitTensor {
		u := op.UnitRoundoff(s.Acc)
		for i := range n {
			a, b := at(i)
			acc = acc.add(a.mul(b)).rel(u)
		}
		return acc
	}
	for lo := 0; lo < n; lo += s.Block {
		sum, most := acc, acc.size()
		for i := lo; i < min(n, lo+s.Block); i++ {
			a, b := at(i)
			sum = sum.add(a.mul(b))
			most = max(most, binade(max(a.size(), minNormal))*binade(max(b.size(), minNormal)))
		}
		if most > 0 {
			sum = sum.off(float64(s.Block) * 0x1p-25 * binade(max(most, minNormal)))
		}
		halves := 2.0
		if s.Acc == probes.F16 {
			halves = 1
		}
		acc = sum.off(halves * op.HalfULP(s.Acc, sum.size()))
	}
	return acc
}

// weigh moves the row of U on and returns it as the kernel has it.
func (k *machine) weigh(t, cols int, p []interval, carry, frame interval) []interval {
	c, v, dv := k.plan.Stage("U").Compute, k.blk.At("V", t), k.bounds["V"][t]
	var all []interval
	for d := range cols {
		made := k.sum(&c, interval{}, len(p), func(j int) (interval, interval) {
			return p[j], around(v.At(j, d), dv.At(j, d))
		})
		u := k.u[d].mul(carry).rel(0x1p-24).add(made)
		all = append(all, u.mul(frame))
		k.u[d] = u.off(op.HalfULP(k.plan.Stage("U").DType, u.mul(frame).size()) / frame.lo)
	}
	return all
}

// intervalFactor is how far a global bound may be above the interval evaluation of the same cell. What the
// bounds give away is Cauchy-Schwarz, norms in place of each product's own magnitudes: up to 2.3 for the 64
// products of S, and 5.4 for those of U, where P has few large cells; m, P and l take over what S gives away,
// O what U does. That no single term is too large is op.TestEveryBoundTermIsTight's to find.
var intervalFactor = map[probes.Stage]float64{
	"S": 2.3, "m": 1.9, "P": 2, "l": 1.9, "U": 5.4, "O": 5.2,
}

// TestCarriesAgainstIntervals compares the global bounds of every stage and kv tile with an evaluation of the
// recurrence in interval arithmetic: no bound is below what is attainable there, none is more than a stated
// factor above it.
func TestCarriesAgainstIntervals(t *testing.T) {
	kernels := map[string]func(p *probes.Plan){
		"tensor": nil,
		"fma": func(p *probes.Plan) {
			fma := probes.Compute{Unit: probes.UnitFMA, Acc: probes.F32, Split: 1}
			with(p, "S", probes.F32, fma)
			with(p, "U", probes.F32, fma)
		},
		"log2": rawLog2,
	}
	for name, change := range kernels {
		for _, shape := range []string{"validation", "partial49"} {
			t.Run(name+"/"+shape, func(t *testing.T) {
				p := configstest.Plan(t, "stage2", shape, probes.GateNone)
				if change != nil {
					change(p)
				}
				c := boundsOf(t, p, 1, probes.Dim3{})
				below, above := c.againstIntervals(4, 8)
				for _, s := range []probes.Stage{"S", "m", "P", "l", "U", "O"} {
					t.Logf("%s: bound/interval from %.3f to %.3f", s, below[s], above[s])
					if !(below[s] >= 0.999) {
						t.Errorf("%s: a bound is %.3f of what is attainable", s, below[s])
					}
					if !(above[s] <= intervalFactor[s]) {
						t.Errorf("%s: a bound is %.3f times the interval's, at most %g is accounted for", s,
							above[s], intervalFactor[s])
					}
				}
			})
		}
	}
}

// againstIntervals returns the least and the largest ratio of bound to interval by stage, over rows rows
// and cols columns of U.
func (c *carried) againstIntervals(rows, cols int) (below, above map[probes.Stage]float64) {
	below, above = map[probes.Stage]float64{}, map[probes.Stage]float64{}
	note := func(s probes.Stage, t, cell int, x interval, exact float64) {
		ratio := c.bounds[s][t].Data[cell] / x.from(exact)
		if _, ok := below[s]; !ok {
			below[s] = math.Inf(1)
		}
		below[s], above[s] = min(below[s], ratio), max(above[s], ratio)
	}
	for i := range min(rows, c.blk.Rows) {
		k := &machine{carried: c, i: i, u: make([]interval, cols)}
		for t := range c.blk.Iters {
			for s, xs := range k.tile(t, cols) {
				m := c.blk.At(s, t)
				for j, x := range xs {
					if s != "m" || !c.exactMax() {
						x = k.stored(s, x)
					}
					note(s, t, i*m.Cols+j, x, m.At(i, j))
				}
			}
		}
		o := c.blk.At("O", 0)
		for d := range cols {
			note("O", 0, i*o.Cols+d, k.stored("O", k.u[d].div(k.l).rel(0x1p-22)), o.At(i, d))
		}
	}
	return below, above
}

// binade is the power of two at or below x > 0.
func binade(x float64) float64 { return math.Ldexp(1, math.Ilogb(x)) }

const minNormal = 0x1p-14 // of half

// with sets a stage's dtype and how it sums.
func with(p *probes.Plan, s probes.Stage, dtype probes.DType, c probes.Compute) {
	sp := p.Stage(s)
	sp.DType, sp.Compute = dtype, c
}

// rawLog2 is a kernel with raw scores and m in the log2 domain, at a scale that no dtype holds.
func rawLog2(p *probes.Plan) {
	p.Scale = 0.1
	s := p.Stage("S")
	s.Meaning.Scaled, s.DType, s.Unit, s.Op.Params.Number["scale"] = false, probes.F32, p.Scale, p.Scale
	p.Stage("m").Meaning.Log2, p.Stage("m").Unit = true, math.Ln2
	p.Stage("P").DType = probes.F32
}
