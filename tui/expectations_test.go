package tui

import (
	"context"
	"errors"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// TestExpectationsOfARun: what checks the expectations of a launch has the document of each run before it is
// on screen; its error is the run's.
func TestExpectationsOfARun(t *testing.T) {
	var failed error
	d := started(t, 120, 40, plainLook, func(o *Options) {
		o.Expectations = func(
			_ context.Context, _ debugkern.Request, rep *report.Run, _ func(debugkern.Progress),
		) error {
			rep.Findings = append(rep.Findings, report.Finding{Kind: "expectation", Severity: "error"})
			return failed
		}
	})
	found := d.m.Run.Report.Findings
	if len(found) == 0 || found[len(found)-1].Kind != "expectation" {
		t.Errorf("findings %+v", found)
	}
	failed = errors.New("no such output")
	if d.press("x"); d.m.Fail == nil {
		t.Error("an expectation that cannot be checked is no failure")
	}
}
