package view

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// twoBlocks is a viewer of a run of two blocks.
type twoBlocks struct{ debugkern.Viewer }

func (twoBlocks) Blocks() []probes.Dim3 { return make([]probes.Dim3, 2) }

// TestKnownWithoutReference: what is compared with nothing has neither verdicts by stage nor a word such as
// agree, and what was not counted is not written as 0.
func TestKnownWithoutReference(t *testing.T) {
	x := &Context{Theme: theme.New(theme.Options{}), Run: &Run{Plan: &probes.Plan{}, Viewer: twoBlocks{},
		Report: &report.Run{Verdict: report.Agree, Cost: report.Cost{WarpInstructions: 576},
			Stages: []report.Stage{{Name: "out", Reference: report.Reference{Kind: report.NoReference}}}}}}
	got := fmt.Sprint(x.Known())
	for _, want := range []string{"no error", "576 warp instructions, over 2 blocks"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for _, not := range []string{"agree", "stages", "mma"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in %s", not, got)
		}
	}
	if x.Job.Active = true; x.Known() != nil {
		t.Errorf("of a request that still runs: %v", x.Known())
	}
}

// TestFirstBadWithoutGuilty: behind cells that were not captured no stage is guilty; the cursor goes to the
// first bad cell of any.
func TestFirstBadWithoutGuilty(t *testing.T) {
	r := &Run{Report: &report.Run{Stages: []report.Stage{
		{Name: "pre", Verdict: report.OK, NotCaptured: 49},
		{Name: "C", Verdict: report.Tainted, FirstBad: &report.BadCell{Block: probes.Dim3{1}, Col: 10}},
	}}}
	if c, ok := r.FirstBad(); !ok || c.Stage != "C" || c.Block != (probes.Dim3{1}) || c.Col != 10 {
		t.Errorf("%+v, %v", c, ok)
	}
	r.Report.Stages[1].FirstBad = nil
	if c, ok := r.FirstBad(); ok {
		t.Errorf("%+v of a run without a bad cell", c)
	}
}
