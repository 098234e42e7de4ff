package diagnose

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// judged is a stage with so many wrong cells: of itself, and in all.
func judged(name string, local, global int) report.Stage {
	return report.Stage{
		Name: name, Verdict: report.Wrong,
		Local:  report.ErrorStats{Cells: 10, Bad: local},
		Global: report.ErrorStats{Cells: 10, Bad: global, MaxAbs: 1},
	}
}

// A trial in which the reference stands in the place of var counts where what is computed from it shows that
// all readers had it.
func TestReachesReaders(t *testing.T) {
	run := func(stages ...report.Stage) *debugkern.Run {
		return &debugkern.Run{Report: &report.Run{Stages: stages}, Plan: &probes.Plan{}}
	}
	base := run(judged("var", 10, 10), judged("xhat", 0, 10), judged("Y", 0, 10))
	own := run(judged("var", 10, 10), judged("xhat", 3, 10), judged("Y", 0, 10))
	for _, c := range []struct {
		name        string
		base, trial *debugkern.Run
		want        bool
	}{
		{"all right", base, run(judged("var", 10, 10), judged("xhat", 0, 0), judged("Y", 0, 0)), true},
		{"read before", base, run(judged("var", 10, 10), judged("xhat", 2, 2), judged("Y", 0, 2)), false},
		{"a register", base, run(judged("var", 10, 10), judged("xhat", 0, 0), judged("Y", 0, 5)), false},
		{"another error", own, run(judged("var", 10, 10), judged("xhat", 3, 3), judged("Y", 0, 3)), true},
	} {
		q := &inquiry{base: c.base, run: c.base}
		if got := q.reachesReaders(c.trial, []probes.Stage{"var"}); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// The first line names every output that is wrong.
func TestOutputsNamesAll(t *testing.T) {
	p := &probes.Plan{}
	for _, name := range []probes.Stage{"dQ", "dK", "dV"} {
		p.Stages = append(p.Stages, probes.StagePlan{
			Stage: name, Capture: probes.Capture{Kind: probes.CaptureOutput},
		})
	}
	rep := &report.Run{Stages: []report.Stage{judged("dQ", 0, 4), judged("dK", 0, 2), judged("dV", 0, 0)}}
	q := &inquiry{run: &debugkern.Run{Report: rep, Plan: p}}
	q.base = q.run
	if got, want := q.outputs(rep), "dQ off by up to 1 in 4 of 10 cells, dK off by up to 1 in 2 of 10 cells"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	reference := func(want string) {
		t.Helper()
		if got := q.against(rep); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	reference(" against the reference on the kernel's inputs")
	p.Gate = probes.GatePlan{Name: "pv", Injected: probes.StageSet{"P"}}
	reference(" against the reference on what gate pv injects")
	rep.Stages[1].Reference = report.Reference{Kind: report.ByArchive, File: "ref.npz"}
	reference(" against ref.npz")
	if d := q.damage(rep); d.stage != "dK" {
		t.Errorf("the damage is at %s, want dK", d.stage)
	}
	for i := range rep.Stages {
		rep.Stages[i].Global.Bad = 0
	}
	reference("")
	if got, want := q.outputs(rep), "though dQ, dK, dV are within their bounds"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
