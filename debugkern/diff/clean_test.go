package diff

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// double stands in for a kernel: it leaves the mirrored reference's tiles, changed as a test wishes. It computes each block
// the kernel's way, so that a change in one stage is felt by the later ones.
type double struct {
	ref    *attn.Reference
	blocks map[probes.Dim3]*attn.Block
}

// newDouble runs every block of the plan through the mirrored reference; spoil, where not nil, changes a finished copy.
func newDouble(ref *attn.Reference, spoil func(b *attn.Block)) *double {
	d := &double{ref, map[probes.Dim3]*attn.Block{}}
	g := ref.Plan().Grid
	for i := range g.Count() {
		b := clone(ref.Mirror(g.At(i)))
		if spoil != nil {
			spoil(b)
		}
		d.blocks[b.ID] = b
	}
	return d
}

func (d *double) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	return d.blocks[block].Tile(d.ref.Plan().Stage(s), kv)
}

func clone(b *attn.Block) *attn.Block {
	c := *b
	c.Q, c.O = copyMatrix(b.Q), copyMatrix(b.O)
	c.Tiles = slices.Clone(b.Tiles)
	for t := range c.Tiles {
		x := &c.Tiles[t]
		x.K, x.V, x.S, x.P, x.U = copyMatrix(x.K), copyMatrix(x.V), copyMatrix(x.S), copyMatrix(x.P), copyMatrix(x.U)
		x.M, x.L = slices.Clone(x.M), slices.Clone(x.L)
	}
	return &c
}

func copyMatrix(m attn.Matrix) attn.Matrix {
	return attn.Matrix{Rows: m.Rows, Cols: m.Cols, Data: slices.Clone(m.Data)}
}

func reference(t testing.TB, p *probes.Plan, seed uint64, opt attn.Options) *attn.Reference {
	t.Helper()
	in, err := attn.Normal(t.Context(), p.Shape, seed)
	if err == nil {
		err = in.Prepare(t.Context(), p)
	}
	if err != nil {
		t.Fatal(err)
	}
	ref, err := attn.New(p, in, opt)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func judged(t testing.TB, ref *attn.Reference, src Source) *Judgement {
	t.Helper()
	j, err := Judge(context.Background(), ref, src, Options{Explained: true})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestCleanIsWithinBounds is the silence half of the judgement: what rounds where the manifest says never exceeds a bound,
// whatever the variant, shape, gate and seed, and every stage that the gate leaves on is judged.
func TestCleanIsWithinBounds(t *testing.T) {
	for _, target := range []string{"stage2", "scalar"} { // stage1 computes what scalar does
		for _, shape := range []string{"small", "validation", "single16", "single32", "partial", "partial49"} {
			for _, gate := range []probes.Gate{probes.GateNone, "qk", "softmax", "pv"} {
				for seed := range uint64(2) {
					if seed > 0 && shape == "validation" {
						continue
					}
					name := fmt.Sprintf("%s/%s/%s/%d", target, shape, gate, seed)
					p := configstest.Plan(t, target, shape, gate)
					ref := reference(t, p, seed, attn.Options{Uniform: seed == 1 && gate == "pv"})
					j := judged(t, ref, newDouble(ref, nil))
					checkClean(t, name, p, j)
				}
			}
		}
	}
}

func checkClean(t *testing.T, name string, p *probes.Plan, j *Judgement) {
	t.Helper()
	if len(j.Guilty) != 0 || j.Diverges() {
		t.Errorf("%s: guilty %v, diverges %v", name, j.Guilty, j.Diverges())
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		want := OK
		if !p.Gate.Judged.Has(s.Stage) {
			want = Off
		}
		if s.Verdict != want {
			t.Errorf("%s: stage %s is %s, want %s: local %+v global %+v first %+v", name, s.Stage, s.Verdict, want, s.Local, s.Global, s.FirstBad)
		}
		if want == OK && (s.Local.Cells == 0 || s.Global.Cells == 0 || s.Tiles == 0 || s.Local.Derivation == "") {
			t.Errorf("%s: stage %s was judged on nothing: %+v", name, s.Stage, s)
		}
	}
}

// TestBoundsAreTight keeps the bounds from growing until nothing exceeds them: the worst cell of a clean run uses a good
// part of its bound, locally; m and exact zeros have none.
func TestBoundsAreTight(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	ref := reference(t, p, 0, attn.Options{})
	j := judged(t, ref, newDouble(ref, nil))
	least := map[probes.Stage]float64{"Q": .9, "K": .9, "V": .9, "S": .4, "P": .9,
		"l": .05, "U": .3, "O": .9}
	for i := range j.Stages {
		s := &j.Stages[i]
		ratio := s.Local.Error / s.Local.Bound
		t.Logf("%s local %.3g of %.3g (%.2f), global %.3g of %.3g (%.2f), ulp %d %d; %s", s.Stage, s.Local.Error, s.Local.Bound, ratio,
			s.Global.Error, s.Global.Bound, s.Global.Error/s.Global.Bound, s.Local.MaxULP, s.Global.MaxULP, s.Local.Derivation)
		if s.Stage == "m" {
			if s.Local.MaxAbs != 0 {
				t.Errorf("m: local error %g of a maximum", s.Local.MaxAbs)
			}
			continue
		}
		if !(ratio >= least[s.Stage] && ratio <= 1) {
			t.Errorf("%s: the worst cell uses %.3f of its bound, want at least %.2f", s.Stage, ratio, least[s.Stage])
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, shape := range []string{"validation", "mission"} {
		b.Run(shape, func(b *testing.B) {
			p := configstest.Plan(b, "stage2", shape, probes.GateNone)
			ref := reference(b, p, 0, attn.Options{})
			d := newDouble(ref, nil)
			tiles := captured{}
			for id := range d.blocks {
				for i := range p.Stages {
					for kv := range p.Work.MaxTiles {
						tiles[Place{p.Stages[i].Stage, id, kv}] = d.Tile(p.Stages[i].Stage, id, kv)
					}
				}
			}
			for b.Loop() {
				judged(b, ref, tiles)
			}
		})
	}
}

// captured is a source of tiles already in their bits.
type captured map[Place]probes.Tile

func (c captured) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	return c[Place{s, block, kv}]
}
