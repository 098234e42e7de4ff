package diff

import (
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// A stage's local estimate made alone is the one that is made with all the others.
func TestNextOf(t *testing.T) {
	ref := reference(t, configstest.Plan(t, "stage2", "partial49", probes.GateNone), 0, attn.Options{})
	src := toy{ref.Inputs(), ref, "p-stale-m"}.run()
	opt := Options{Range: probes.Range{N: ref.Plan().Grid, TileN: ref.Plan().Work.MaxTiles}, Stages: everyStage()}
	for i := range ref.Plan().Grid.Count() {
		b := ref.Compute(ref.Plan().Grid.At(i))
		all := newWalker(newRules(ref, nil), src, opt)
		for s := attn.StepS; s <= attn.StepU; s++ {
			one := newWalker(newRules(ref, nil), src, opt)
			all.begin(b)
			one.begin(b)
			if !one.standsAlone(s, len(b.Tiles)-1) {
				t.Fatalf("%s of block %s does not stand alone", s, b.ID)
			}
			for kv := range b.Tiles {
				all.next()
				one.nextOf(s)
				x, y := all.estimateOf(s), one.estimateOf(s)
				if !slices.Equal(x.ref.Data, y.ref.Data) || !slices.Equal(x.bound.Data, y.bound.Data) || !slices.Equal(x.pre.Data, y.pre.Data) {
					t.Fatalf("%s of block %s, kv tile %d: another estimate", s, b.ID, kv)
				}
			}
		}
	}
}

// What a walker was used for before leaves no trace in what it computes next.
func TestMemoryHoldsNothing(t *testing.T) {
	var mem Memory
	for _, gate := range []probes.Gate{"pv", probes.GateNone, "softmax", "qk", probes.GateNone, "pv"} {
		ref := reference(t, configstest.Plan(t, "stage2", "validation", gate), 0, attn.Options{})
		src := toy{ref.Inputs(), ref, ""}.run()
		clean := judged(t, ref, src)
		for range 2 {
			j, err := Judge(t.Context(), ref, src, Options{Memory: &mem, Parallel: 2, Explained: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range j.Stages {
				if a, b := &j.Stages[i], &clean.Stages[i]; a.Local != b.Local || a.Global != b.Global || a.Verdict != b.Verdict {
					t.Errorf("gate %s: %s differs: %+v %+v", gate, a.Stage, a, b)
				}
			}
		}
	}
	if len(mem.free) == 0 {
		t.Error("nothing was kept")
	}
}

// A stage whose operands were not captured does not stand alone.
func TestStandsAlone(t *testing.T) {
	ref := reference(t, configstest.Plan(t, "stage2", "small", probes.GateNone), 0, attn.Options{})
	src := toy{ref.Inputs(), ref, ""}.run()
	b := ref.Compute(probes.Dim3{})
	for s := attn.StepS; s <= attn.StepU; s++ {
		of := ref.Plan().Stage(s.Stage()).Operands
		for n := range attn.NumSteps {
			opt := Options{Range: probes.Range{N: ref.Plan().Grid, TileN: ref.Plan().Work.MaxTiles}, Stages: everyStage().Without(probes.StagesOf(n.Stage()))}
			w := newWalker(newRules(ref, nil), src, opt)
			w.begin(b)
			got := w.standsAlone(s, len(b.Tiles)-1)
			w.begin(b)
			all := true
			for range b.Tiles {
				w.next()
				all = all && w.fromOwn(s)
			}
			if got && !all || got == of.Has(n.Stage()) {
				t.Errorf("%s without %s: stands alone %v, made of its own %v", s, n, got, all)
			}
		}
	}
}

// What Compare looked at is the reference's cached block: nobody may write into it later.
func TestCompareLeavesTheReference(t *testing.T) {
	var mem Memory
	type kept struct {
		ref    *attn.Reference
		before []attn.Tile
		o      []float64
	}
	var all []kept
	for _, gate := range []probes.Gate{"pv", "softmax", "qk", probes.GateNone} {
		ref := reference(t, configstest.Plan(t, "stage2", "validation", gate), 0, attn.Options{})
		src := toy{ref.Inputs(), ref, ""}.run()
		j, err := Judge(t.Context(), ref, src, Options{Memory: &mem, Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range j.Stages {
			if _, err := j.Compare(j.Stages[i].Stage, probes.Dim3{}, 0); err != nil {
				t.Fatal(err)
			}
		}
		b := ref.Compute(probes.Dim3{})
		all = append(all, kept{ref, b.Tiles, b.O.Data})
	}
	for n, k := range all {
		b := k.ref.Block(probes.Dim3{})
		for kv := range k.before {
			x, y := k.before[kv], b.Tiles[kv]
			if !slices.Equal(x.K.Data, y.K.Data) || !slices.Equal(x.V.Data, y.V.Data) || !slices.Equal(x.S.Data, y.S.Data) || !slices.Equal(x.P.Data, y.P.Data) ||
				!slices.Equal(x.U.Data, y.U.Data) || !slices.Equal(x.M, y.M) || !slices.Equal(x.L, y.L) {
				t.Errorf("%d: kv tile %d has changed", n, kv)
			}
		}
		if !slices.Equal(k.o, b.O.Data) {
			t.Errorf("%d: O has changed", n)
		}
	}
}

// everyStage is the set of all stages of attention.
func everyStage() probes.StageSet {
	var out probes.StageSet
	for s := range attn.NumSteps {
		out = append(out, s.Stage())
	}
	return out
}
