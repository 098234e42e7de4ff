package attn

import (
	"context"
	"math"
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/fp"
	"tilescope/probes"
)

func referenceOf(t testing.TB, p *probes.Plan, opt Options) *Reference {
	t.Helper()
	in := normal(t, p.Shape, 5)
	if err := in.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r, err := New(p, in, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

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

// TestBlockIsAttention: the tiled, online computation ends where the definition does, on whole and partial tiles.
func TestBlockIsAttention(t *testing.T) {
	for _, shape := range []string{"validation", "partial49", "single16"} {
		p := configstest.Plan(t, "stage2", shape, probes.GateNone)
		r := referenceOf(t, p, Options{})
		s, d := p.Shape, p.Shape.D
		q, k, v := r.in.Decoded(0), r.in.Decoded(1), r.in.Decoded(2)
		for i := range p.Grid.Count() {
			b := r.Block(p.Grid.At(i))
			lo := s.At(b.Batch, b.Head, 0, 0)
			for row := range b.Rows {
				o, m, l := naive(q[lo+(b.Query+row)*d:], k[lo:], v[lo:], s.S, d, p.Scale)
				last := b.Tiles[len(b.Tiles)-1]
				if math.Abs(last.M[row]-m) > 1e-12 || math.Abs(last.L[row]-l) > 1e-11*l {
					t.Fatalf("%s block %s row %d: m %g l %g, want %g %g", shape, b.ID, row, last.M[row], last.L[row], m, l)
				}
				for c := range d {
					if math.Abs(b.O.At(row, c)-o[c]) > 1e-12 {
						t.Fatalf("%s block %s O[%d][%d] = %g, want %g", shape, b.ID, row, c, b.O.At(row, c), o[c])
					}
				}
			}
		}
	}
}

// TestUniformInjectionIsTheMean: with P = 1/TILE_N on the keys there are, O is the mean of V.
func TestUniformInjectionIsTheMean(t *testing.T) {
	p := configstest.Plan(t, "stage2", "partial49", "pv")
	r := referenceOf(t, p, Options{Uniform: true})
	v, s := r.in.Decoded(2), p.Shape
	for i := range p.Grid.Count() {
		b := r.Block(p.Grid.At(i))
		for c := range s.D {
			mean := 0.0
			for k := range s.S {
				mean += v[s.At(b.Batch, b.Head, k, c)] / float64(s.S)
			}
			if math.Abs(b.O.At(0, c)-mean) > 1e-12 {
				t.Fatalf("O[0][%d] = %g, the mean of V is %g", c, b.O.At(0, c), mean)
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
	r := referenceOf(t, p, Options{})
	for i := range p.Grid.Count() {
		b := r.Block(p.Grid.At(i))
		for kv := range b.Tiles {
			s := r.Injected("S", b.ID, kv)
			top := math.Inf(-1)
			for j := range b.Tiles[kv].Keys {
				if s.At(0, j) != b.Tiles[kv].S.At(0, j) {
					t.Fatalf("S[0][%d] is fed as %g and judged by %g", j, s.At(0, j), b.Tiles[kv].S.At(0, j))
				}
				top = max(top, s.At(0, j))
			}
			if kv == 0 && b.Tiles[0].M[0] != top {
				t.Errorf("m is %g, the maximum of what is fed %g", b.Tiles[0].M[0], top)
			}
		}
	}
}

// TestMirrorIsCloseToExact: the mirrored reference differs by roundings only, and every number is one of its dtype.
func TestMirrorIsCloseToExact(t *testing.T) {
	for _, target := range []string{"stage2", "scalar"} {
		p := configstest.Plan(t, target, "partial49", probes.GateNone)
		r := referenceOf(t, p, Options{})
		for i := range p.Grid.Count() {
			x, m := r.Block(p.Grid.At(i)), r.Mirror(p.Grid.At(i))
			for k := range p.Stages {
				sp := &p.Stages[k]
				a, _ := x.Stage(sp.Stage, 1)
				b, _ := m.Stage(sp.Stage, 1)
				for c, v := range b.Data {
					if RoundTo(sp.DType, v) != v && !math.IsNaN(v) {
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

// TestOutput: O of the mirrored reference passes the gate, within what quantising alone costs, and the rules of others are
// evaluated; a spoilt O fails.
func TestOutput(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	r := referenceOf(t, p, Options{})
	o := make([]float64, p.Shape.Elems())
	for i := range p.Grid.Count() {
		b := r.Mirror(p.Grid.At(i))
		copy(o[p.Shape.At(b.Batch, b.Head, b.Query, 0):], b.O.Data[:b.Rows*p.Shape.D])
	}
	w, err := NewWhole(context.Background(), p, r.in)
	if err != nil {
		t.Fatal(err)
	}
	e := w.Output(p, o)
	if !e.OK || e.MaxAbs > 0.04 || e.MeanAbs > 0.006 || e.MaxAbs == 0 || e.Cosine < 0.999 {
		t.Fatalf("%+v", e)
	}
	sum := 0
	for _, n := range e.Histogram {
		sum += n
	}
	if sum != len(o) {
		t.Errorf("the histogram holds %d of %d errors", sum, len(o))
	}
	rules := w.Rules(p, o)
	if !rules.Flash.Holds() || !rules.Triton.Holds() || rules.Flash.Error == 0 {
		t.Errorf("%+v", rules)
	}
	if r := rules.PyTorch; r.Holds() || r.Stored <= r.Limit || !strings.Contains(r.Context(), "stricter than this kernel's dtypes allow") {
		t.Errorf("PyTorch's limits against f16 storage: %+v, %q", r, r.Context())
	}
	if rules.Flash.Context() != "" || rules.Triton.Context() != "" {
		t.Errorf("rules that hold need no reason: %q %q", rules.Flash.Context(), rules.Triton.Context())
	}
	kept := o[77]
	o[77] += 0.5 // not from storage: no excuse
	if r := w.Rules(p, o).Triton; r.Holds() || strings.Contains(r.Context(), "stricter") || !strings.Contains(r.Context(), "made by this kernel") {
		t.Errorf("a spoilt O: %+v, %q", r, r.Context())
	}
	o[77] = kept
	o[77] = math.NaN()
	if e = w.Output(p, o); e.OK || e.Nonfinite != 1 {
		t.Errorf("a NaN in O: %+v", e)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = NewWhole(ctx, p, r.in); err == nil {
		t.Error("cancelled, yet no error")
	}
	hidden := *p
	hidden.Work.HiddenRows, hidden.Work.FirstKey = probes.Fixed(1), probes.Fixed(32)
	if WholeKey(p) == WholeKey(&hidden) || WholeKey(p) != WholeKey(configstest.Plan(t, "stage3a", "validation", probes.GateNone)) {
		t.Error("plans are told apart by what attention does not depend on, or not by what it does")
	}
}

// TestHiddenKeys: rows that a plan hides leading keys from start later, and stay untouched until then.
func TestHiddenKeys(t *testing.T) {
	p := *configstest.Plan(t, "stage2", "validation", probes.GateNone)
	p.Work.HiddenRows, p.Work.FirstKey = probes.Fixed(1), probes.Fixed(32)
	r := referenceOf(t, &p, Options{})
	b := r.Block(probes.Dim3{})
	if !math.IsInf(b.Tiles[0].M[0], -1) || b.Tiles[0].L[0] != 0 || b.Tiles[0].U.At(0, 3) != 0 || math.IsInf(b.Tiles[0].M[1], -1) {
		t.Errorf("tile 0: m %v l %v", b.Tiles[0].M[:2], b.Tiles[0].L[:2])
	}
	q, k, v := r.in.Decoded(0), r.in.Decoded(1), r.in.Decoded(2)
	o, _, _ := naive(q, k[32*64:], v[32*64:], p.Shape.S-32, 64, p.Scale)
	for c := range o {
		if math.Abs(b.O.At(0, c)-o[c]) > 1e-12 {
			t.Fatalf("O[0][%d] = %g, want %g", c, b.O.At(0, c), o[c])
		}
	}
}

// TestTilesAreDots: the mirrored product by whole tensor-core tiles is the one output by output.
func TestTilesAreDots(t *testing.T) {
	p := configstest.Plan(t, "stage2", "partial49", probes.GateNone)
	r := referenceOf(t, p, Options{})
	b := r.Mirror(probes.Dim3{1, 1, 0})
	m := mirror{r: r, b: b, chip: fp.SM90()}
	for _, acc := range []probes.DType{probes.F16, probes.F32} {
		c := probes.Compute{Unit: probes.UnitTensor, Acc: acc, Block: 16}
		x := b.Tiles[1]
		right := func(j, k int) float64 { return x.K.At(j, k) }
		got := m.tiles(c, b.Q, b.Rows, x.Keys, 64, right)
		for i := range b.Rows {
			for j := range x.Keys {
				if want := m.tensor(c, b.Q.Row(i), func(k int) float64 { return right(j, k) }); got.At(i, j) != want {
					t.Fatalf("%s (%d,%d): %g by tiles, %g alone", acc, i, j, got.At(i, j), want)
				}
			}
		}
	}
}
