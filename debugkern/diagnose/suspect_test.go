package diagnose

import (
	"context"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// TestFeeds: a finding belongs to the stage whose data it touches, at the call site where it was found: not
// to another stage because the code of both is one inlined function.
func TestFeeds(t *testing.T) {
	s, err := debugkern.Open(context.Background(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(context.Background(), debugkern.Request{
		Target: "stage2", Faults: []string{"cp-async-wait"}, Backend: "emu",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := run.Report.Stage("K")
	if doc == nil || doc.FirstBad == nil || doc.FirstBad.Source == nil || doc.FirstBad.Source.Calls == "" {
		t.Fatalf("stage K: %+v", doc)
	}
	at := *doc.FirstBad.Source
	for _, c := range []struct {
		variable string
		calls    target.Calls
		feeds    bool
	}{
		{"K", at.Calls, true}, {"V", at.Calls, false}, {"sK", at.Calls, true}, {"sV", at.Calls, false},
		{"scratch", at.Calls, true},
		{"scratch", target.CallsOf([]target.Site{{File: at.File, Line: 1}}), false},
	} {
		src := at
		src.Calls = c.calls
		rep := *run.Report
		rep.Findings = []report.Finding{
			{Kind: "out-of-bounds", Variable: c.variable, KVTile: -1, Source: &src},
		}
		q := &inquiry{run: run, doc: &Diagnosis{Run: rep}}
		if got := q.feeds(&suspect{cause: Cause{Kind: "out-of-bounds", Findings: []int{0}}},
			"K"); got != c.feeds {
			t.Errorf("a finding on %s called from %v spoils K: %t, want %t", c.variable, c.calls.Sites(),
				got, c.feeds)
		}
	}
}

// TestLinesOf: further lines are named once each, those of the first one's file without it.
func TestLinesOf(t *testing.T) {
	at := func(file string, line int, calls target.Calls) *report.Source {
		return &report.Source{File: file, Line: line, Calls: calls}
	}
	first := at("k.cu", 7, "")
	for _, c := range []struct {
		others []*report.Source
		want   string
	}{
		{nil, "k.cu:7"},
		{[]*report.Source{at("k.cu", 7, "f@k.cu:30"), at("k.cu", 9, ""), at("k.cu", 9, "f@k.cu:30")},
			"k.cu:7 and line 9"},
		{[]*report.Source{at("k.cuh", 9, "")}, "k.cu:7 and k.cuh:9"},
	} {
		if got := linesOf(first, c.others); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
