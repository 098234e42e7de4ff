package compare_test

import (
	"slices"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/compare"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// A pair counts and finds what compare counts: stage2 with p-stale-m parts from stage2 in P, and stage1
// computes the same parts as stage2.
func TestPair(t *testing.T) {
	s := debugtest.Open(t)
	run := func(target, shape string, faults ...string) *debugkern.Run {
		r, err := s.Run(t.Context(), debugkern.Request{
			Target: target, Shape: shape, Backend: "emu", Faults: faults,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := run("stage2", "validation"), run("stage2", "validation", "p-stale-m")
	p, err := compare.NewPair(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := p.Compare()
	if err != nil || doc.Verdict != report.Differ || doc.First != "P" {
		t.Fatalf("verdict %s, first %s, %v", doc.Verdict, doc.First, err)
	}
	first, ok := p.First("P")
	differing := doc.Stages[slices.IndexFunc(doc.Stages, func(st report.StageComparison) bool {
		return st.Name == "P"
	})]
	d := differing.First
	if !ok || d == nil || first.Block != d.Block || first.KVTile != d.KVTile || first.Row != d.Row ||
		first.Col != d.Col {
		t.Fatalf("first %+v, the document says %+v", first, d)
	}
	v, err := p.View(first.Place)
	if err != nil || v.Other.Bits(first.Row, first.Col) == v.Got.Bits(first.Row, first.Col) {
		t.Errorf("the cell is the same in both: %v", err)
	}
	n := 1
	for c, ok := p.NextDiffering(first, 1); ok && c != first; c, ok = p.NextDiffering(c, 1) {
		n++
	}
	if n != differing.Differing {
		t.Errorf("%d cells on the way round, the document counts %d", n, differing.Differing)
	}
	if _, ok := p.First("S"); ok {
		t.Error("S differs, and should not")
	}
	if _, err := compare.NewPair(a, run("stage2", "small"), nil); err == nil {
		t.Error("two shapes were taken")
	}
}

// Family B has larger tiles: what cannot be laid over each other has no other tile.
func TestPairOfTwoKernels(t *testing.T) {
	s := debugtest.Open(t)
	var runs [2]*debugkern.Run
	for i, target := range []string{"flashcore_vec", "stage2"} {
		var err error
		if runs[i], err = s.Run(t.Context(), debugkern.Request{
			Target: target, Shape: "small", Backend: "emu",
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p, err := compare.NewPair(runs[0], runs[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := p.Compare()
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range doc.Stages {
		_, ok := p.OtherTile(debugkern.Place{Stage: probes.Stage(st.Name)})
		if ok == (st.Verdict == report.Incomparable) {
			t.Errorf("%s is %s, and there is a tile beside it: %v", st.Name, st.Verdict, ok)
		}
	}
}
