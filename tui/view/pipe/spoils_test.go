package pipe

import (
	"strings"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
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
