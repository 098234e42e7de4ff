package judge

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// TestErrorsTaintWhatFollows: a mistake in K is K's alone locally, and everything computed from it is
// tainted, not wrong.
func TestErrorsTaintWhatFollows(t *testing.T) {
	truth := reference(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 0, ref.Options{})
	j := judged(t, truth, toy{truth, "k-scale-head"}.run())
	want := map[string]Verdict{
		"Q": OK, "K": Wrong, "V": OK, "S": Tainted, "m": Tainted, "P": Tainted, "U": Tainted, "O": Tainted,
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		if v, ok := want[s.Stage.String()]; ok && s.Verdict != v {
			t.Errorf("%s is %s, want %s", s.Stage, s.Verdict, v)
		}
		if s.Verdict == Tainted && (s.FirstBad == nil || s.Local.Bad != 0 || s.Global.Bad == 0) {
			t.Errorf("%s: tainted, but %+v", s.Stage, s)
		}
	}
	if len(j.Guilty) != 1 || !j.Diverges() {
		t.Errorf("guilty %v", j.Guilty)
	}
}

// TestGuiltyOrder: wrong stages come by kv tile, then stage, then block, each where it first went wrong; Q
// has kv tile -1, O the number of tiles.
func TestGuiltyOrder(t *testing.T) {
	truth := reference(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 0, ref.Options{})
	hit := func(m op.Matrix, r, c int) { m.Row(r)[c] += 0.5 }
	d := newDouble(truth, func(b *reftest.Block) {
		switch b.ID {
		case probes.Dim3{1, 0, 0}:
			hit(b.At("O", 0), 3, 4)
			hit(b.At("V", 2), 5, 6)
			hit(b.At("V", 1), 7, 8)
		case probes.Dim3{0, 2, 0}:
			hit(b.At("V", 1), 1, 2)
			hit(b.At("V", 1), 1, 1)
		case probes.Dim3{3, 3, 0}:
			hit(b.At("Q", 0), 9, 9)
			b.At("m", 1).Data[4] += 1
		}
	})
	j := judged(t, truth, d)
	got := map[probes.Stage]Place{}
	for i, p := range j.Guilty {
		got[p.Stage] = p
		if i > 0 && p.less(j.Guilty[i-1], truth.Graph()) {
			t.Errorf("guilty out of order: %v", j.Guilty)
		}
	}
	for _, want := range []Place{
		{"Q", probes.Dim3{3, 3, 0}, -1}, {"V", probes.Dim3{1, 0, 0}, 1},
		{"m", probes.Dim3{3, 3, 0}, 1}, {"O", probes.Dim3{1, 0, 0}, 4},
	} {
		if got[want.Stage] != want {
			t.Errorf("%s: guilty at %v, want %v", want.Stage, got[want.Stage], want)
		}
	}
	if j.Guilty[0].Stage != "Q" || j.Guilty[len(j.Guilty)-1].Stage != "O" {
		t.Errorf("guilty %v", j.Guilty)
	}
	first := j.Stage("V").FirstBad
	if first.Row != 7 || first.Col != 8 || j.Stage("V").Local.Bad != 4 {
		t.Errorf("V: first bad %+v of %d", first, j.Stage("V").Local.Bad)
	}
	if v := j.Tile("V", probes.Dim3{0, 2, 0}, 1); v.Verdict != Wrong || v.Bad != 2 || v.MaxAbs < 0.49 {
		t.Errorf("tile verdict %+v", v)
	}
	if v := j.Tile("V", probes.Dim3{0, 2, 0}, 0); v.Verdict != OK || v.Cells == 0 {
		t.Errorf("tile verdict %+v", v)
	}
	// P is what its own m says, so against a spoilt m the right P is the odd one out.
	if p := got["P"]; p != (Place{"P", probes.Dim3{3, 3, 0}, 1}) {
		t.Errorf("P is guilty at %v", p)
	}
}

// TestNonfinite: a cell that is not finite is wrong, unless its local reference is not finite either; then it
// is at most tainted.
func TestNonfinite(t *testing.T) {
	truth := reference(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 0, ref.Options{})
	id := probes.Dim3{0, 1, 0}
	inf := math.Inf(1)
	d := newDouble(truth, func(b *reftest.Block) {
		if b.ID == id {
			b.At("V", 0).Row(3)[5] = inf // so U's column 5 follows, and O's
			for i := range b.Rows {
				for t := range b.Iters {
					b.At("U", t).Row(i)[5] = math.NaN()
				}
				b.At("O", 0).Row(i)[5] = math.NaN()
			}
		}
	})
	j := judged(t, truth, d)
	v, u, o := j.Stage("V"), j.Stage("U"), j.Stage("O")
	if v.Verdict != Wrong || v.Local.Bad != 1 || v.Local.Nonfinite != 1 || !math.IsInf(v.Local.MaxAbs, 1) {
		t.Errorf("V %+v", v)
	}
	for _, s := range []*StageResult{u, o} {
		if s.Verdict != Tainted || s.Local.Bad != 0 || s.Global.Bad == 0 || s.Global.Nonfinite == 0 {
			t.Errorf("%s %+v: what follows from an infinity is tainted, not wrong", s.Stage, s)
		}
	}
	d = newDouble(truth, func(b *reftest.Block) {
		if b.ID == id {
			b.At("l", 1).Data[2] = math.NaN()
		}
	})
	if l := judged(t, truth, d).Stage("l"); l.Verdict != Wrong || l.FirstBad.KVTile != 1 ||
		l.FirstBad.Row != 2 || !math.IsNaN(l.FirstBad.Got) {
		t.Errorf("l %+v", l)
	}
}

// TestSameOnOneCore: tallies merge to the same judgement however many blocks are in flight.
func TestSameOnOneCore(t *testing.T) {
	truth := reference(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 0, ref.Options{})
	src := toy{truth, "p-stale-m"}.run()
	var all []*Judgement
	for _, n := range []int{1, 3, 8} {
		steps := 0
		j, err := Judge(context.Background(), truth.Reference, src, Options{
			Parallel: n, Progress: func(done, total int) { steps++ },
		})
		if err != nil || steps != truth.Plan().Grid.Count() {
			t.Fatalf("%d steps, %v", steps, err)
		}
		if err := j.Explain(context.Background()); err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
	for _, j := range all[1:] {
		for i := range j.Stages {
			a, b := &j.Stages[i], &all[0].Stages[i]
			if a.Local != b.Local || a.Global != b.Global || a.Verdict != b.Verdict ||
				!slices.Equal(a.Fingerprints, b.Fingerprints) {
				t.Errorf("%s differs: %+v %+v", a.Stage, a, b)
			}
		}
		if !slices.Equal(j.Guilty, all[0].Guilty) {
			t.Errorf("guilty differ: %v %v", j.Guilty, all[0].Guilty)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Judge(ctx, truth.Reference, src, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestPartialCapture: where an earlier stage, or the tile before, was not captured, the global reference
// stands in for it, and a right kernel is still right; a stage that was asked for and not reached diverges.
func TestPartialCapture(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	truth := reference(t, p, 1, ref.Options{})
	right, wrong := toy{truth, ""}.run(), toy{truth, "u-no-rescale"}.run()
	opt := Options{
		Stages: probes.StagesOf("S", "P", "U"),
		Range:  probes.Range{Lo: probes.Dim3{1, 2, 0}, N: probes.Dim3{2, 1, 1}, TileLo: 2, TileN: 2},
	}
	j, err := Judge(context.Background(), truth.Reference, right, opt)
	if err != nil || j.Diverges() || len(j.Guilty) != 0 {
		t.Fatalf("clean: %v, guilty %v", err, j.Guilty)
	}
	if u := j.Stage("U"); u.Tiles != 4 || u.Verdict != OK {
		t.Errorf("U %+v", u)
	}
	if v := j.Stage("V"); v.Verdict != Off || v.Tiles != 0 || v.Unreached != 0 {
		t.Errorf("V was not captured: %+v", v)
	}
	if j, _ = Judge(context.Background(), truth.Reference, wrong, opt); len(j.Guilty) == 0 ||
		j.Guilty[0].Stage != "U" || j.Guilty[0].KVTile < 2 {
		t.Errorf("guilty %v, want U from kv tile 2", j.Guilty)
	}
	j = judged(t, truth, unreached{right, 2})
	if u := j.Stage("U"); u.Unreached != 2*p.Grid.Count() || !j.Diverges() || u.Verdict != OK {
		t.Errorf("U stopped at kv tile 2: %+v", u)
	}
}

// unreached hides every tile from a kv tile on.
type unreached struct {
	Source
	from int
}

func (u unreached) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	if kv >= u.from {
		return probes.Tile{}
	}
	return u.Source.Tile(s, block, kv)
}

// TestCompareAgreesWithJudge: a tile laid open shows the same bad cells that were counted.
func TestCompareAgreesWithJudge(t *testing.T) {
	p := configstest.Plan(t, "stage2", "partial49", probes.GateNone)
	truth := reference(t, p, 0, ref.Options{})
	j := judged(t, truth, toy{truth, "p-stale-columns"}.run())
	for i := range p.Stages {
		s := p.Stages[i].Stage
		for b := range p.Grid.Count() {
			for kv := range p.Work.MaxTiles {
				d, err := j.Compare(s, p.Grid.At(b), kv)
				if err != nil {
					t.Fatal(err)
				}
				bad := 0
				for r := range d.ValidRows {
					for c := range d.ValidCols {
						k := r*d.Cols + c
						if !(math.Abs(d.Got[k]-d.Local[k]) <= d.LocalBound[k]) {
							bad++
						}
					}
				}
				if v := j.Tile(s, p.Grid.At(b), kv); bad != int(v.Bad) || d.Verdict != v ||
					len(d.Mirrored) != len(d.Got) {
					t.Errorf("%s block %s kv %d: %d bad cells laid open, %+v judged", s,
						p.Grid.At(b), kv, bad, v)
				}
			}
		}
	}
	if _, err := j.Compare("S", probes.Dim3{0, 0, 0}, 9); err == nil {
		t.Error("kv tile 9 of 2 was laid open")
	}
	if _, err := j.Compare("S", probes.Dim3{5, 0, 0}, 0); err == nil {
		t.Error("a block outside the grid was laid open")
	}
}

// TestGatesIsolate: under a gate only its own stages are judged, against what was injected, and a toy fault
// elsewhere is not seen because what it would feed is injected.
func TestGatesIsolate(t *testing.T) {
	for gate, stages := range map[probes.Gate]string{"qk": "QKS", "softmax": "mlP", "pv": "VUO"} {
		p := configstest.Plan(t, "stage2", "partial49", gate)
		truth := reference(t, p, 3, ref.Options{})
		j := judged(t, truth, newDouble(truth, nil))
		for i := range j.Stages {
			s := &j.Stages[i]
			on := slices.Contains([]byte(stages), s.Stage.String()[0])
			if on != (s.Verdict == OK) || !on && s.Verdict != Off ||
				on && (s.Local.Cells == 0 || s.Global.Cells == 0) {
				t.Errorf("gate %s: %s is %s with %d cells", gate, s.Stage, s.Verdict, s.Local.Cells)
			}
		}
	}
}

// TestInputsWithoutStages: where nothing decodes the inputs and the manifest has no stages for them, U is
// judged from the kernel's own P all the same: a wrong P taints it, and its own mistake is still its own.
func TestInputsWithoutStages(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	p.Quant = nil
	for i := range p.Inputs {
		p.Inputs[i].Coded, p.Args[p.Inputs[i].Arg].DType = false, probes.F16
	}
	all := p.Stages
	p.Stages = nil
	for _, s := range all {
		if s.Loaded {
			p.Undeclared = append(p.Undeclared, s)
		} else {
			p.Stages = append(p.Stages, s)
		}
	}
	truth := reference(t, p, 0, ref.Options{})
	spoil := func(b *reftest.Block) {
		last := b.Iters - 1
		p, u, v := b.At("P", last).Row(3), b.At("U", last).Row(3), b.At("V", last).Row(4)
		off := 0.25 - p[4]
		p[4] = 0.25 // a half, so that what is off is not rounded
		for d := range u {
			u[d] += off * v[d]
			b.At("O", 0).Row(3)[d] = u[d] / b.At("l", last).Data[3]
		}
	}
	for _, c := range []struct {
		spoil func(b *reftest.Block)
		want  map[probes.Stage]Verdict
	}{
		{nil, map[probes.Stage]Verdict{"S": OK, "P": OK, "U": OK, "O": OK}},
		{spoil, map[probes.Stage]Verdict{"S": OK, "P": Wrong, "U": Tainted, "O": Tainted}},
		{func(b *reftest.Block) { b.At("U", 0).Row(5)[6] += 0.5 },
			map[probes.Stage]Verdict{"P": OK, "U": Wrong}},
	} {
		j := judged(t, truth, newDouble(truth, c.spoil))
		for i := range j.Stages {
			s := &j.Stages[i]
			if v, ok := c.want[s.Stage]; ok && s.Verdict != v {
				t.Errorf("%s is %s, want %s", s.Stage, s.Verdict, v)
			}
		}
	}
}
