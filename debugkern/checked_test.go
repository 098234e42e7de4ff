package debugkern

import (
	"reflect"
	"runtime"
	"slices"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/report"
)

// TestCheckersSeeFirstRun: with checkers the first run has what they find, and only with them.
func TestCheckersSeeFirstRun(t *testing.T) {
	req := Request{Target: "stage2", Shape: "small", Faults: []string{"sync-frag"}}
	if r := ran(t, req); hasFinding(r.Report.Findings, "race", "sPV_frag") {
		t.Error("a race is found that nobody looked for")
	}
	req.Check = check.All
	r := ran(t, req)
	if !hasFinding(r.Report.Findings, "race", "sPV_frag") {
		t.Errorf("no race among %+v", r.Report.Findings)
	}
	req.Faults = nil
	if r := ran(t, req); len(errorsOf(r)) > 0 {
		t.Errorf("findings on a clean kernel: %+v", errorsOf(r))
	}
}

// TestFindingsDoNotDependOnCores runs a racy kernel with every checker on one core and on several, and again.
func TestFindingsDoNotDependOnCores(t *testing.T) {
	req := Request{
		Target: "stage3b", Shape: "1,3,96,64", Faults: []string{"softmax-race"},
		Check: check.All | check.Origins | check.Precision,
	}
	var first []report.Finding
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for _, cores := range []int{1, 2, 7, 7} {
		runtime.GOMAXPROCS(cores)
		got := ran(t, req).Report.Findings
		if first == nil {
			first = got
		}
		if len(got) == 0 || !reflect.DeepEqual(got, first) {
			t.Fatalf("on %d cores: %+v, first %+v", cores, got, first)
		}
	}
}

func errorsOf(r *Run) []report.Finding {
	return slices.DeleteFunc(slices.Clone(r.Report.Findings), func(f report.Finding) bool {
		return f.Severity != "error"
	})
}

func hasFinding(fs []report.Finding, kind, variable string) bool {
	return slices.ContainsFunc(fs, func(f report.Finding) bool {
		return f.Kind == kind && f.Variable == variable
	})
}
