package judge

import (
	"context"
	"fmt"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/input"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// double stands in for a kernel: it leaves the mirrored reference's tiles, changed as a test wishes. It
// computes each block the kernel's way, so that a change in one stage is felt by the later ones.
type double struct {
	blocks map[probes.Dim3]*reftest.Block
}

// newDouble runs every block of the plan through the mirrored reference; spoil, where not nil,
// changes a finished copy.
func newDouble(truth problem, spoil func(b *reftest.Block)) *double {
	d := &double{map[probes.Dim3]*reftest.Block{}}
	g := truth.Plan().Grid
	for i := range g.Count() {
		b := reftest.Copy(truth.Reference, truth.Mirror(g.At(i)))
		if spoil != nil {
			spoil(b)
		}
		d.blocks[b.ID] = b
	}
	return d
}

func (d *double) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	return d.blocks[block].Tile(s, kv)
}

// problem is the reference of a plan, and the inputs that it was made of.
type problem struct {
	*ref.Reference
	in *input.Inputs
}

func reference(t testing.TB, p *probes.Plan, seed uint64, opt ref.Options) problem {
	t.Helper()
	r, in := reftest.New(t, p, seed, opt)
	return problem{r, in}
}

func judged(t testing.TB, truth problem, src Source) *Judgement {
	t.Helper()
	j, err := Judge(context.Background(), truth.Reference, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestCleanIsWithinBounds is the silence half of the judgement: what rounds where the manifest says
// never exceeds a bound, whatever the variant, shape, gate and seed, and every stage that the gate
// leaves on is judged.
func TestCleanIsWithinBounds(t *testing.T) {
	for _, target := range []string{"stage2", "scalar"} { // stage1 computes what scalar does
		for _, shape := range []string{
			"small", "validation", "single16", "single32", "partial", "partial49",
		} {
			for _, gate := range []probes.Gate{probes.GateNone, "qk", "softmax", "pv"} {
				for seed := range uint64(2) {
					if seed > 0 && shape == "validation" {
						continue
					}
					name := fmt.Sprintf("%s/%s/%s/%d", target, shape, gate, seed)
					p := configstest.Plan(t, target, shape, gate)
					truth := reference(t, p, seed, ref.Options{Uniform: seed == 1 && gate == "pv"})
					j := judged(t, truth, newDouble(truth, nil))
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
			t.Errorf("%s: stage %s is %s, want %s: local %+v global %+v first %+v", name, s.Stage, s.Verdict,
				want, s.Local, s.Global, s.FirstBad)
		}
		if want == OK &&
			(s.Local.Cells == 0 || s.Global.Cells == 0 || s.Tiles == 0 || s.Local.Derivation == "") {
			t.Errorf("%s: stage %s was judged on nothing: %+v", name, s.Stage, s)
		}
	}
}

// TestBoundsAreTight keeps the bounds from growing until nothing exceeds them: the worst cell of a clean run
// uses a good part of its bound, locally; m and exact zeros have none.
func TestBoundsAreTight(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	truth := reference(t, p, 0, ref.Options{})
	j := judged(t, truth, newDouble(truth, nil))
	least := map[probes.Stage]float64{"Q": .9, "K": .9, "V": .9, "S": .4, "P": .9,
		"l": .05, "U": .3, "O": .9}
	for i := range j.Stages {
		s := &j.Stages[i]
		ratio := s.Local.Error / s.Local.Bound
		t.Logf("%s local %.3g of %.3g (%.2f), global %.3g of %.3g (%.2f), ulp %d %d; %s", s.Stage,
			s.Local.Error, s.Local.Bound, ratio,
			s.Global.Error, s.Global.Bound, s.Global.Error/s.Global.Bound, s.Local.MaxULP, s.Global.MaxULP,
			s.Local.Derivation)
		if s.Stage == "m" {
			if s.Local.MaxAbs != 0 {
				t.Errorf("m: local error %g of a maximum", s.Local.MaxAbs)
			}
			continue
		}
		if !(ratio >= least[s.Stage] && ratio <= 1) {
			t.Errorf("%s: the worst cell uses %.3f of its bound, want at least %.2f", s.Stage, ratio,
				least[s.Stage])
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, shape := range []string{"validation", "mission"} {
		b.Run(shape, func(b *testing.B) {
			p := configstest.Plan(b, "stage2", shape, probes.GateNone)
			truth := reference(b, p, 0, ref.Options{})
			d := newDouble(truth, nil)
			tiles := captured{}
			for id := range d.blocks {
				for i := range p.Stages {
					for kv := range p.Work.MaxTiles {
						tiles[Place{p.Stages[i].Stage, id, kv}] = d.Tile(p.Stages[i].Stage, id, kv)
					}
				}
			}
			for b.Loop() {
				judged(b, truth, tiles)
			}
		})
	}
}

// captured is a source of tiles already in their bits.
type captured map[Place]probes.Tile

func (c captured) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	return c[Place{s, block, kv}]
}
