package diagnose

import (
	"bytes"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trial"
)

// TestPageOfCauses: the page names every cause, and marks those that explain none of the error. Fields of a
// template are looked up when it is executed: no compiler sees one that was renamed.
func TestPageOfCauses(t *testing.T) {
	d := &Diagnosis{
		Run: report.Run{Target: "stage2"},
		Causes: []Cause{
			{Title: "a race on sP", Proof: []string{"with a barrier it is gone"}, Advice: "insert it"},
			{Title: "a table that nothing reads", AlsoFound: true},
		},
	}
	var b bytes.Buffer
	if err := d.WriteHTML(&b, "test"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<h2>1. a race on sP</h2>", "<li>with a barrier it is gone</li>", "Change: <b>insert it</b>",
		"<h2>2. Also found: a table that nothing reads</h2>",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// TestPageWithoutReference: where no stage is compared there is no table of stages, and an attempt speaks of
// findings, not of a verdict.
func TestPageWithoutReference(t *testing.T) {
	race := report.Finding{Kind: "race", Variable: "sA", Severity: "error"}
	for _, c := range []struct{ stage, line string }{
		{report.Off, "these blocks: no finding instead of findings"},
		{report.OK, "verdict of these blocks: agree instead of diverge"},
	} {
		stages := []report.Stage{{Name: "C", Verdict: c.stage}}
		before := report.Run{Verdict: report.Diverge, Stages: stages, Findings: []report.Finding{race}}
		after := report.Run{Verdict: report.Agree, Stages: stages}
		var b bytes.Buffer
		if err := (&Diagnosis{Run: before}).WriteHTML(&b, "test"); err != nil {
			t.Fatal(err)
		}
		if table := strings.Contains(b.String(), "<h2>Stages</h2>"); table != (c.stage == report.OK) {
			t.Errorf("stage %s: a table of stages: %v", c.stage, table)
		}
		a := Attempt{What: "with a barrier", subject: "the race on sA", Gone: true, Outcome: &trial.WhatIf{
			Before: &debugkern.Run{Report: &before}, After: &debugkern.Run{Report: &after}, Turned: true,
		}}
		if lines := a.Lines(); lines[1] != c.line {
			t.Errorf("stage %s: %q, expected %q", c.stage, lines[1], c.line)
		}
	}
}
