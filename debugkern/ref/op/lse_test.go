package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

func TestLSE(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 1))
	for n := range 300 {
		rows, unit, own := 1+rnd.IntN(4), []float64{1, math.Ln2}[n%2], []float64{1, math.Ln2}[n/2%2]
		m, l := inUnit(random(rnd, probes.F32, rows, 1), unit), random(rnd, probes.F32, rows, 1)
		for r := range rows {
			l.M.Data[r] = float64(float32(math.Exp(rnd.NormFloat64() * 2)))
		}
		if n%5 == 0 {
			m.M.Data[0], l.M.Data[0] = math.Inf(-1), 0
		}
		x := trial{rig: rig{node: node("lse", 2), unit: own}, in: []*op.Value{m, l}, moving: 2,
			exact: func(in []op.Matrix, r, _ int) float64 {
				if in[1].Data[r] == 0 {
					return math.Inf(-1)
				}
				return (in[0].Data[r]*unit + math.Log(in[1].Data[r])) / own
			},
			kernel: func(rnd *rand.Rand, in []op.Matrix, r, _ int) float64 {
				a, l := float32(in[0].Data[r]), float32(in[1].Data[r])
				b := float32(math.Log(float64(l)))
				if rnd.IntN(2) == 0 {
					b = unit32(fp.SM90().Lg232, l) * math.Ln2
				}
				if unit != 1 {
					a *= math.Ln2
				}
				if own != 1 {
					return float64(float32(a*math.Log2E) + float32(b*math.Log2E))
				}
				return float64(a + b)
			}}
		x.check(t, rnd)
	}
}

// A maximum that is off moves m and log l by the same number in opposite directions: the sum has l's own
// error alone.
func TestLSECancels(t *testing.T) {
	g := rig{node: node("lse", 2)}
	m, l := off(tile(1, 1, 3), 0x1p-8), off(tile(1, 1, 2.5), 0x1p-20)
	m.Shift, m.Origin = []float64{0x1p-8}, 4
	l.Factor, l.Origin = []float64{0x1p-8}, 4
	own := 0x1p-20/2.5 + 0x1p-20 // and the roundings
	if b := g.bound(t, nil, m, l); b < 0x1p-20/2.5 || b > 2*own {
		t.Errorf("of one maximum: bound %g, want about %g", b, own)
	}
	l.Origin = 5
	if b := g.bound(t, nil, m, l); b < 2*0x1p-8 {
		t.Errorf("of two maxima: bound %g, want %g at least", b, 2*0x1p-8)
	}
}

// The whole of a softmax of scores with errors, moved by a maximum that is off, stays within the bound, which
// is hardly more than the scores'.
func TestLSEOfScores(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 2))
	for range 200 {
		s := random(rnd, probes.F32, 1, 24)
		for i := range s.M.Data {
			s.M.Data[i] = float64(float32(4 * rnd.NormFloat64()))
		}
		off(s, 0x1p-10)
		m := rig{node: node("rowmax", 1)}.estimate(t, nil, s)
		p := rig{node: node("exp_below", 2)}.estimate(t, nil, s, m)
		p.Cols = 24
		l := rig{node: node("rowsum", 1)}.estimate(t, nil, p)
		g := rig{node: node("lse", 2)}
		want, bound := g.estimate(t, nil, m, l).M.Data[0], g.bound(t, nil, m, l)
		if bound > 0x1p-10*1.2 {
			t.Fatalf("the scores may be off by %g, their logarithm of sums by %g", 0x1p-10, bound)
		}
		moved := moved(rnd, []*op.Value{s})[0]
		top, sum := float32(math.Inf(-1)), float32(0)
		for _, x := range moved.Data {
			top = max(top, float32(x))
		}
		for _, x := range moved.Data {
			sum += exp32(rnd, float32(x)-top)
		}
		if got := float64(top + float32(math.Log(float64(sum)))); math.Abs(got-want) > bound {
			t.Fatalf("%g, more than %g from %g", got, bound, want)
		}
	}
}

// A row without keys has the infinity that the node says, and no other.
func TestLSEOfNothing(t *testing.T) {
	for empty, want := range map[string]int{"": -1, "-inf": -1, "inf": 1} {
		g := rig{node: node("lse", 2, "empty", empty)}
		out := g.estimate(t, nil, tile(1, 1, math.Inf(-1)), tile(1, 1, 0))
		b := g.bound(t, nil, tile(1, 1, math.Inf(-1)), tile(1, 1, 0))
		if !math.IsInf(out.M.Data[0], want) || b != 0 || !out.Certain {
			t.Errorf("empty: %q gives %g ± %g, certain %v", empty, out.M.Data[0], b, out.Certain)
		}
	}
}

func TestLSESuspects(t *testing.T) {
	got := predictions(t, rig{node: node("lse", 2)}, []*op.Value{tile(1, 1, 3), tile(1, 1, math.E)})
	for value, want := range map[string]float64{
		"m left out: log l alone": 1, "log l left out: m alone": 3, "log l subtracted": 2,
		"log2 e on m": 3*math.Log2E + 1, "log2 e on log l: log2 instead of log": 3 + math.Log2E,
	} {
		if p := got[value]; len(p) != 1 || math.Abs(p[0]-want) > 1e-12 {
			t.Errorf("%s: predicted %v, want %g", value, p, want)
		}
	}
}

func TestLSEBinds(t *testing.T) {
	checkBindErrors(t, []bindError{
		{node("lse", 2), []op.Extent{{2, 1}, {3, 1}}, "lse of 2×1 and 3×1: two columns"},
		{node("lse", 2), []op.Extent{{2, 2}, {2, 2}}, "two columns"},
		{node("lse", 1), []op.Extent{{2, 1}}, "lse has 1 operands"},
	})
	columns := []*op.Value{tile(2, 1), tile(2, 1)}
	checkNeeds(t, rig{node: node("lse", 2)}, columns, op.SameCell, op.SameCell)
	checkReads(t, rig{node: node("lse", 2)}, columns, nil, 0, 2, 0, true, false)
}

// lseWitnesses are the worst cases of m + log l.
func lseWitnesses() []witness {
	zero := tile(1, 1, 0)
	return []witness{
		{op.TermLogSum, "l off", func(t *testing.T, w ref.Weights) (float64, float64) {
			return -math.Log1p(-0x1p-10), rig{node: node("lse", 2)}.bound(t, w, zero,
				off(tile(1, 1, 1), 0x1p-10))
		}},
		{op.TermLog, "lse, lg2.approx near 1", func(t *testing.T, w ref.Weights) (float64, float64) {
			worst, at := worstLog(math.Log, math.Ln2)
			return worst, rig{node: node("lse", 2)}.bound(t, w, zero, tile(1, 1, at))
		}},
		{op.TermMaxScale, "lse, m in log2", func(t *testing.T, w ref.Weights) (float64, float64) {
			worst, at := worstOf(20000, func(rnd *rand.Rand) (float64, float64) {
				x := float32(23.2 + 0.2*rnd.Float64()) // just over 16 in natural units
				return math.Abs(float64(x*math.Ln2) - float64(x)*math.Ln2), float64(x)
			})
			return worst, rig{node: node("lse", 2)}.bound(t, w, inUnit(tile(1, 1, at), math.Ln2),
				tile(1, 1, 1))
		}},
		{op.TermRound, "lse, stored as f16", func(t *testing.T, w ref.Weights) (float64, float64) {
			m, worst, at := float32(16.00001), 0.0, 1.0
			for i := range 4000 {
				l := 1.2 + float32(i)/8192
				log := float32(math.Log(float64(l)))
				if e := math.Abs(float64(m+log) - float64(m) - float64(log)); e > worst {
					worst, at = e, float64(l)
				}
			}
			g := rig{node: node("lse", 2), dtype: probes.F16}
			return worst, g.bound(t, w, tile(1, 1, float64(m)), tile(1, 1, at))
		}},
	}
}
