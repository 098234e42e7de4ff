package pipe

import (
	"strings"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
	"tilescope/tui/outcome"
	"tilescope/tui/theme"
)

// TestWhatMaySpoilAStage: a wrong stage with a finding of memory, of order or of work not done has the hint
// that the finding may come first; other kinds and advice have not.
func TestWhatMaySpoilAStage(t *testing.T) {
	for kind, want := range map[target.Kind]bool{
		target.Uninitialised: true, target.Race: true, target.CpAsync: true, target.Barrier: true,
		target.Deadlock: true, target.OutOfBounds: true, target.Misaligned: true, target.Overlap: true,
		target.Shuffle: true, target.Trap: true, target.LoopEnded: true, target.NotCaptured: true,
		target.Layout: true, target.NaNOrigin: false, target.QuantiserMismatch: false, target.Varies: false,
		target.BackendDifference: false, target.ProbeChangedResult: false, target.BankConflict: false,
	} {
		for _, severity := range []string{"error", "advice"} {
			p := NewPane(theme.New(theme.Options{}))
			p.data = Data{Hint: "what comes first", Run: outcome.New("", &report.Run{
				Guilty:   []report.Guilty{{Stage: "P"}},
				Findings: []report.Finding{{Kind: string(kind), Severity: severity}},
			}, false)}
			var lines []string
			for _, e := range p.describe(80) {
				lines = append(lines, e.plain)
			}
			if got := strings.Contains(strings.Join(lines, "\n"),
				"what comes first"); got != (want && severity == "error") {
				t.Errorf("%s, %s: hint %t", kind, severity, got)
			}
		}
	}
}

// TestARaceLeadsBeforeTheStageThatItSpoils: a race on the array of an earlier stage is named before the stage
// that is wrong by what was captured of it; one on that stage's own array is not repeated.
func TestARaceLeadsBeforeTheStageThatItSpoils(t *testing.T) {
	plan := &probes.Plan{Stages: []probes.StagePlan{{Stage: "P", Array: "sP"}, {Stage: "m", Array: "m_smem"}}}
	run := &report.Run{
		Verdict: report.Diverge, Guilty: []report.Guilty{{Stage: "m"}},
		Stages: []report.Stage{{Name: "P"}, {Name: "m"}},
		Findings: []report.Finding{
			{Kind: "uninitialised", Severity: "error", Variable: "sQ"},
			{Kind: "race", Severity: "error", Variable: "sP", Message: "is written by warp 2"},
		},
	}
	described := func() string {
		p := NewPane(theme.New(theme.Options{}))
		p.SetSize(80, 40)
		p.SetData(Data{Plan: plan, Run: outcome.New("", run, false)})
		var lines []string
		for _, e := range p.describe(80) {
			lines = append(lines, e.name+" "+e.plain)
		}
		lines = append(lines, p.accused(run)...)
		return strings.Join(lines, "\n")
	}
	text := described()
	race, why := strings.Index(text, "race: is written"), strings.Index(text, "why m is the first stage")
	if race < 0 || why < race || !strings.HasSuffix(text, "\nrace sP of stage P") {
		t.Errorf("the race does not lead:\n%s", text)
	}
	run.Findings[1].Variable = "m_smem"
	text = described()
	race, why = strings.Index(text, "race: is written"), strings.Index(text, "why m is the first stage")
	if why < 0 || race < why || !strings.HasSuffix(text, "\nrace m_smem") {
		t.Errorf("the race of the wrong stage itself:\n%s", text)
	}
}

// TestWhyAStageIsNotJudged: one whose values the manifest captures nowhere was reached all the same.
func TestWhyAStageIsNotJudged(t *testing.T) {
	stage := func(kind probes.CaptureKind) probes.StagePlan {
		return probes.StagePlan{Stage: "l", Op: &probes.Node{}, Capture: probes.Capture{Kind: kind}}
	}
	for kind, want := range map[probes.CaptureKind]string{
		probes.CaptureNone:  "its values are not captured: the manifest says capture: none",
		probes.CaptureProbe: "execution did not reach it",
	} {
		p := NewPane(theme.New(theme.Options{}))
		p.SetSize(80, 40)
		plan := &probes.Plan{Stages: []probes.StagePlan{stage(kind)}}
		plan.Gate.Judged = probes.StageSet{"l"}
		run := &report.Run{Stages: []report.Stage{{Name: "l"}}}
		p.SetData(Data{Plan: plan, Run: outcome.New("", run, false)})
		if got := p.whyOff("l"); got != want {
			t.Errorf("capture %v: %q", kind, got)
		}
	}
}
