package judge

import (
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// looped are the stages of attention that are computed in the loop.
var looped = []probes.Stage{"S", "m", "l", "P", "U"}

// everything is what Judge makes of Options that say nothing.
func everything(p *probes.Plan, without ...probes.Stage) Options {
	opt := Options{Range: probes.Range{N: p.Grid, TileN: p.Work.MaxTiles}}
	for i := range p.Stages {
		opt.Stages = append(opt.Stages, p.Stages[i].Stage)
	}
	opt.Stages = opt.Stages.Without(without)
	return opt
}

// A stage's local estimate made alone is the one that is made with all the others.
func TestNextOf(t *testing.T) {
	p := configstest.Plan(t, "stage2", "partial49", probes.GateNone)
	truth := reference(t, p, 0, ref.Options{})
	src := toy{truth, "p-stale-m"}.run()
	g := truth.Graph()
	for n := range p.Grid.Count() {
		id := p.Grid.At(n)
		all, one := newWalker(truth.Reference, src, everything(p)),
			newWalker(truth.Reference, src, everything(p))
		for _, s := range looped {
			i := g.Index(s)
			all.begin(id)
			one.begin(id)
			if !one.standsAlone(i, one.iters-1) {
				t.Fatalf("%s of block %s does not stand alone", s, id)
			}
			for kv := range one.iters {
				all.next()
				one.nextOf(i)
				x, y := all.estimateOf(i), one.estimateOf(i)
				if !slices.Equal(x.Ref.Data, y.Ref.Data) || !slices.Equal(x.Bound.Data, y.Bound.Data) ||
					!slices.Equal(x.Pre.Data, y.Pre.Data) {
					t.Fatalf("%s of block %s, kv tile %d: another estimate", s, id, kv)
				}
			}
		}
		all.close()
		one.close()
	}
}

// What a pass was used for before leaves no trace in what it computes next: judging a wrong kernel, under any
// gate and with cells of it missing, changes nothing of a right one's judgement.
func TestPassesHoldNothing(t *testing.T) {
	for _, gate := range []probes.Gate{"pv", probes.GateNone, "softmax", "qk"} {
		for _, shape := range []string{"validation", "partial49"} {
			if gate != probes.GateNone && shape == "validation" {
				continue // the partial tile is what differs by gate
			}
			p := configstest.Plan(t, "stage2", shape, gate)
			fresh, used := reference(t, p, 0, ref.Options{}), reference(t, p, 0, ref.Options{})
			src := toy{fresh, ""}.run()
			clean := judged(t, fresh, src)
			for _, fault := range []string{"p-nan", "kt-rowmajor", "mask-zero"} {
				bad := toy{used, fault}.run()
				if j := judged(t, used, bad); gate == probes.GateNone && fault != "mask-zero" &&
					len(j.Guilty) == 0 {
					t.Errorf("%s is not seen", fault)
				}
				judged(t, used, unreached{bad, 1})
				for range 2 {
					j, err := Judge(t.Context(), used.Reference, src, Options{Parallel: 2})
					if err != nil {
						t.Fatal(err)
					}
					for i := range j.Stages {
						if a, b := &j.Stages[i], &clean.Stages[i]; a.Local != b.Local ||
							a.Global != b.Global || a.Verdict != b.Verdict {
							t.Errorf("gate %s after %s: %s differs: %+v %+v", gate, fault, a.Stage, a, b)
						}
					}
				}
			}
		}
	}
}

// A stage whose operands were not captured does not stand alone.
func TestStandsAlone(t *testing.T) {
	p := configstest.Plan(t, "stage2", "small", probes.GateNone)
	truth := reference(t, p, 0, ref.Options{})
	src, g := toy{truth, ""}.run(), truth.Graph()
	for _, s := range looped {
		of := p.Stage(s).Operands
		for n := range p.Stages {
			left := p.Stages[n].Stage
			i, w := g.Index(s), newWalker(truth.Reference, src, everything(p, left))
			w.begin(probes.Dim3{})
			got := w.standsAlone(i, w.iters-1)
			w.begin(probes.Dim3{})
			all := true
			for range w.iters {
				w.next()
				all = all && w.fromOwn(i)
			}
			if got && !all || got == of.Has(left) {
				t.Errorf("%s without %s: stands alone %v, made of its own %v", s, left, got, all)
			}
		}
	}
}

// What Compare looked at is the reference's cached block: nobody may write into it later.
func TestCompareLeavesTheReference(t *testing.T) {
	type kept struct {
		truth  problem
		before *reftest.Block
	}
	var all []kept
	for _, gate := range []probes.Gate{"pv", "softmax", "qk", probes.GateNone} {
		p := configstest.Plan(t, "stage2", "validation", gate)
		truth := reference(t, p, 0, ref.Options{})
		before := reftest.Copy(truth.Reference, truth.Block(probes.Dim3{}))
		src := toy{truth, "p-stale-m"}.run()
		j, err := Judge(t.Context(), truth.Reference, src, Options{Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range j.Stages {
			if _, err := j.Compare(j.Stages[i].Stage, probes.Dim3{}, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Explain(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, kept{truth, before})
	}
	for _, k := range all {
		b, p := k.truth.Block(probes.Dim3{}), k.truth.Plan()
		for i := range p.Stages {
			s := p.Stages[i].Stage
			for kv := range b.Iters {
				if m, ok := b.Values(s, kv); !ok || !slices.Equal(m.Data, k.before.At(s, kv).Data) {
					t.Errorf("gate %s: %s of kv tile %d has changed", p.Gate.Name, s, kv)
				}
			}
		}
	}
}
