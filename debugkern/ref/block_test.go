package ref_test

import (
	"math"
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// naive is attention for one query by its definition: all scores, one softmax, one weighted mean.
func naive(q, k, v []float64, keys, d int, scale float64) (o []float64, m, l float64) {
	s := make([]float64, keys)
	m = math.Inf(-1)
	for j := range s {
		for c := range d {
			s[j] += q[c] * k[j*d+c]
		}
		s[j] *= scale
		m = max(m, s[j])
	}
	o = make([]float64, d)
	for j := range s {
		p := math.Exp(s[j] - m)
		l += p
		for c := range d {
			o[c] += p * v[j*d+c]
		}
	}
	for c := range o {
		o[c] /= l
	}
	return o, m, l
}

// TestBlockIsAttention: the tiled, online computation ends where the definition does, on
// whole and partial tiles.
func TestBlockIsAttention(t *testing.T) {
	for _, shape := range []string{"validation", "partial49", "single16"} {
		p := configstest.Plan(t, "stage2", shape, probes.GateNone)
		r, in := reftest.New(t, p, 5, ref.Options{})
		s := configstest.Extents(p.Shape)
		d := s.D
		q, k, v := in.Find("Q").Decoded(), in.Find("K").Decoded(), in.Find("V").Decoded()
		for i := range p.Grid.Count() {
			b := reftest.Copy(r, r.Block(p.Grid.At(i)))
			lo := s.At(b.Batch, b.Head, 0, 0)
			for row := range b.Rows {
				o, m, l := naive(q[lo+(b.Query+row)*d:], k[lo:], v[lo:], s.S, d, p.Scale)
				m1, l1 := b.At("m", b.Iters-1).Data[row], b.At("l", b.Iters-1).Data[row]
				if math.Abs(m1-m) > 1e-12 || math.Abs(l1-l) > 1e-11*l {
					t.Fatalf("%s block %s row %d: m %g l %g, want %g %g", shape, b.ID, row, m1, l1, m, l)
				}
				for c := range d {
					if math.Abs(b.At("O", 0).At(row, c)-o[c]) > 1e-12 {
						t.Fatalf("%s block %s O[%d][%d] = %g, want %g", shape, b.ID, row, c,
							b.At("O", 0).At(row, c), o[c])
					}
				}
			}
		}
	}
}

// TestUniformInjectionIsTheMean: with P = 1/TILE_N on the keys there are, O is the mean of V.
func TestUniformInjectionIsTheMean(t *testing.T) {
	p := configstest.Plan(t, "stage2", "partial49", "pv")
	r, in := reftest.New(t, p, 5, ref.Options{Uniform: true})
	v, s := in.Find("V").Decoded(), configstest.Extents(p.Shape)
	for i := range p.Grid.Count() {
		b := reftest.Copy(r, r.Block(p.Grid.At(i)))
		for c := range s.D {
			mean := 0.0
			for k := range s.S {
				mean += v[s.At(b.Batch, b.Head, k, c)] / float64(s.S)
			}
			if math.Abs(b.At("O", 0).At(0, c)-mean) > 1e-12 {
				t.Fatalf("O[0][%d] = %g, the mean of V is %g", c, b.At("O", 0).At(0, c), mean)
			}
		}
		if l := r.Injected("l", b.ID, 1); l.At(0, 0) != 49.0/32 || l.At(b.Rows%32, 0) == 0 {
			t.Errorf("injected l %g", l.At(0, 0))
		}
	}
	if r.Injected("S", probes.Dim3{}, 0).Reached() {
		t.Error("S is not injected under the P·V gate")
	}
}

// TestInjectedIsWhatIsJudged: what the kernel is fed is, to the bit, what the reference goes on from.
func TestInjectedIsWhatIsJudged(t *testing.T) {
	p := configstest.Plan(t, "stage2", "partial49", "softmax")
	r, _ := reftest.New(t, p, 5, ref.Options{})
	for i := range p.Grid.Count() {
		b := reftest.Copy(r, r.Block(p.Grid.At(i)))
		for kv := range b.Iters {
			s := r.Injected("S", b.ID, kv)
			top := math.Inf(-1)
			for j := range b.Keys(kv) {
				if s.At(0, j) != b.At("S", kv).At(0, j) {
					t.Fatalf("S[0][%d] is fed as %g and judged by %g", j, s.At(0, j), b.At("S", kv).At(0, j))
				}
				top = max(top, s.At(0, j))
			}
			if kv == 0 && b.At("m", 0).Data[0] != top {
				t.Errorf("m is %g, the maximum of what is fed %g", b.At("m", 0).Data[0], top)
			}
		}
	}
}

// TestMirrorIsCloseToExact: the mirrored reference differs by roundings only, and every
// number is one of its dtype.
func TestMirrorIsCloseToExact(t *testing.T) {
	for _, target := range []string{"stage2", "scalar"} {
		p := configstest.Plan(t, target, "partial49", probes.GateNone)
		r, _ := reftest.New(t, p, 5, ref.Options{})
		for i := range p.Grid.Count() {
			x, m := r.Block(p.Grid.At(i)), r.Mirror(p.Grid.At(i))
			for k := range p.Stages {
				sp := &p.Stages[k]
				a, _ := x.Values(sp.Stage, 1)
				b, _ := m.Values(sp.Stage, 1)
				for c, v := range b.Data {
					if op.RoundTo(sp.DType, v) != v && !math.IsNaN(v) {
						t.Fatalf("%s: %g is no %s", sp.Stage, v, sp.DType)
					}
					if math.Abs(v-a.Data[c]) > 0.02*max(1, math.Abs(a.Data[c])) {
						t.Fatalf("%s %s cell %d: mirrored %g, exact %g", target, sp.Stage, c, v, a.Data[c])
					}
				}
			}
		}
	}
}

// TestHiddenKeys: rows that a mask hides leading keys from start later, and stay untouched until then.
func TestHiddenKeys(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	key := p.Position("key")
	key.Values = slices.Clone(key.Values)
	for i := range key.Values {
		key.Values[i] -= 32
	}
	mask := probes.Mask{{{Base: probes.Fixed(-1), Row: 1}, {Base: key, Col: 1}}} // r >= 1 || key + c >= 32
	p.Stage("m").Op.Params.Mask, p.Stage("P").Op.Params.Mask = mask, mask
	p.Stage("l").Op.Args[0].Node.Args[0].Node.Params.Mask = mask
	r, in := reftest.New(t, p, 5, ref.Options{})
	b := reftest.Copy(r, r.Block(probes.Dim3{}))
	m, l, u := b.At("m", 0).Data, b.At("l", 0).Data, b.At("U", 0)
	if !math.IsInf(m[0], -1) || l[0] != 0 || u.At(0, 3) != 0 || math.IsInf(m[1], -1) {
		t.Errorf("tile 0: m %v l %v", m[:2], l[:2])
	}
	q, k, v := in.Find("Q").Decoded(), in.Find("K").Decoded(), in.Find("V").Decoded()
	o, _, _ := naive(q, k[32*64:], v[32*64:], configstest.Extents(p.Shape).S-32, 64, p.Scale)
	for c := range o {
		if math.Abs(b.At("O", 0).At(0, c)-o[c]) > 1e-12 {
			t.Fatalf("O[0][%d] = %g, want %g", c, b.At("O", 0).At(0, c), o[c])
		}
	}
	mirror, _ := r.Mirror(probes.Dim3{}).Values("l", 0)
	bounds := reftest.Bounds(r, probes.Dim3{}, nil)
	if mirror.Data[0] != 0 || bounds["l"][0].Data[0] != 0 || bounds["U"][0].At(0, 3) != 0 ||
		bounds["l"][0].Data[1] == 0 {
		t.Errorf("a row that has seen nothing: mirrored l %g, bounds %g and %g", mirror.Data[0],
			bounds["l"][0].Data[0], bounds["U"][0].At(0, 3))
	}
}

// Rounded is the exact reference in the stage's bits, what lies beyond the valid cells 0, or 1 where it is
// divided by; a stage that there is not, and a tile that there is not, hold nothing.
func TestRounded(t *testing.T) {
	p := configstest.Plan(t, "stage2", "partial49", probes.GateNone)
	r, _ := reftest.New(t, p, 5, ref.Options{})
	id := p.Grid.At(p.Grid.Count() - 1)
	b := r.Block(id)
	beyond := 0
	for i := range p.Stages {
		sp := &p.Stages[i]
		got := r.Rounded(sp.Stage, id, 1)
		exact, ok := b.Values(sp.Stage, 1)
		if !ok {
			t.Fatalf("no tile 1 of %s", sp.Stage)
		}
		rows, cols := sp.ValidRows.At(id, 1), sp.ValidCols.At(id, 1)
		for c, x := range exact.Data {
			if c/sp.Cols >= rows || c%sp.Cols >= cols {
				beyond++
				if x = 0; sp.Stage == "l" {
					x = 1
				}
			}
			if g := got.At(c/sp.Cols, c%sp.Cols); g != op.RoundTo(sp.DType, x) {
				t.Fatalf("%s cell %d: %g, want %g", sp.Stage, c, g, op.RoundTo(sp.DType, x))
			}
		}
	}
	if beyond == 0 {
		t.Error("every cell is valid: nothing was tested beyond them")
	}
	if r.Rounded("X", id, 0).Reached() || r.Injected("X", id, 0).Reached() {
		t.Error("stage X has a tile")
	}
	if _, ok := b.Values("P", b.Iters); ok {
		t.Error("P has a tile after the last")
	}
}
