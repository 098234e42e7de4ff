package debugkern

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestMergedFindings: one cause is told once, by whoever knows more.
func TestMergedFindings(t *testing.T) {
	at := func(line int) *target.Source { return &target.Source{File: "k.cu", Line: line} }
	own := []target.Finding{
		{Kind: target.Uninitialised, Severity: target.SeverityError, Variable: "sS", Space: "shared", Source: at(20), Count: 7},
		{Kind: target.Uninitialised, Severity: target.SeverityError, Variable: "x", Space: "local", Source: at(20)},
		{Kind: target.Barrier, Severity: target.SeverityError, Source: at(30), Message: "backend's"},
	}
	checked := []target.Finding{
		{Kind: target.BankConflict, Source: at(5)},
		{Kind: target.Race, Variable: "sS", Source: at(10), Other: at(20), Missing: "__syncthreads"},
		{Kind: target.Barrier, Source: at(30), Message: "checker's"},
	}
	got := mergeFindings(own, checked, probes.Dim3{1, 1, 1})
	var kinds []string
	for _, f := range got {
		kinds = append(kinds, string(f.Kind)+" "+f.Variable)
	}
	if s := strings.Join(kinds, ", "); s != "uninitialised x, barrier , race sS, bank-conflict " {
		t.Errorf("merged to %s", s)
	}
	if got[1].Message != "backend's" || !strings.Contains(got[2].Consequence, "7 times") || got[3].Severity != target.SeverityAdvice {
		t.Errorf("%+v", got)
	}
}

// TestMergedShuffle: a NaN that a shuffle takes from a lane that does not take part is a consequence of the shuffle; one made
// elsewhere is not.
func TestMergedShuffle(t *testing.T) {
	at := func(line int) *target.Source { return &target.Source{File: "k.cu", Line: line} }
	own := []target.Finding{{Kind: target.Shuffle, Severity: target.SeverityError, Source: at(20)}}
	checked := []target.Finding{
		{Kind: target.NaNOrigin, Variable: "out", Source: at(20), Consequence: "→ out[0]"},
		{Kind: target.NaNOrigin, Variable: "out", Source: at(21), Consequence: "→ out[1]"},
	}
	got := mergeFindings(own, checked, probes.Dim3{1, 1, 1})
	if len(got) != 2 || got[0].Kind != target.Shuffle || !strings.HasSuffix(got[0].Consequence, "comes to out[0]") || got[1].Source.Line != 21 {
		t.Errorf("%+v", got)
	}
}

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
	req := Request{Target: "stage3b", Shape: "1,3,96,64", Faults: []string{"softmax-race"}, Check: check.All | check.Origins | check.Precision}
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
	return slices.DeleteFunc(slices.Clone(r.Report.Findings), func(f report.Finding) bool { return f.Severity != "error" })
}

func hasFinding(fs []report.Finding, kind, variable string) bool {
	return slices.ContainsFunc(fs, func(f report.Finding) bool { return f.Kind == kind && f.Variable == variable })
}
