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
	opt := Options{Range: probes.Range{N: ref.Plan().Grid, TileN: ref.Plan().Work.MaxTiles}, Stages: 1<<probes.NumStages - 1}
	for i := range ref.Plan().Grid.Count() {
		b := ref.Compute(ref.Plan().Grid.At(i))
		all := newWalker(newRules(ref), src, opt)
		for s := probes.StageS; s <= probes.StageU; s++ {
			one := newWalker(newRules(ref), src, opt)
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

// What a walker was used for before leaves no trace, neither in what it computes next nor in the reference it computed from.
func TestMemoryHoldsNothing(t *testing.T) {
	var mem Memory
	for _, gate := range []probes.Gate{probes.GatePV, probes.GateNone, probes.GateSoftmax, probes.GateQK, probes.GateNone, probes.GatePV} {
		ref := reference(t, configstest.Plan(t, "stage2", "validation", gate), 0, attn.Options{})
		src := toy{ref.Inputs(), ref, ""}.run()
		clean := judged(t, ref, src)
		before := *ref.Block(probes.Dim3{})
		for range 2 {
			j, err := Judge(t.Context(), ref, src, Options{Memory: &mem, Parallel: 2})
			if err != nil {
				t.Fatal(err)
			}
			for i := range j.Stages {
				if a, b := &j.Stages[i], &clean.Stages[i]; a.Local != b.Local || a.Global != b.Global || a.Verdict != b.Verdict {
					t.Errorf("gate %s: %s differs: %+v %+v", gate, a.Stage, a, b)
				}
			}
		}
		after := ref.Compute(probes.Dim3{})
		for kv := range before.Tiles {
			if x, y := before.Tiles[kv], after.Tiles[kv]; !slices.Equal(x.S.Data, y.S.Data) || !slices.Equal(x.P.Data, y.P.Data) || !slices.Equal(x.U.Data, y.U.Data) {
				t.Errorf("gate %s: the reference of kv tile %d has changed", gate, kv)
			}
		}
	}
	if len(mem.free) == 0 {
		t.Error("nothing was kept")
	}
}
