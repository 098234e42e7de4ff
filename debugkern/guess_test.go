package debugkern

import (
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// TestLaunchGuess: each error under a guessed launch, and the verdict, states the guess. Advice, and errors
// under a given launch, do not.
func TestLaunchGuess(t *testing.T) {
	p := &probes.Plan{Grid: probes.Dim3{3, 1, 1}, Block: probes.Dim3{32, 8, 1}}
	for _, c := range []struct {
		m       configs.Manifest
		guessed bool
		want    string
	}{
		{configs.Manifest{}, false, ""},
		{configs.Manifest{}, true, "the launch is a guess: --grid 3 --block 32,8"},
		{configs.Manifest{File: "k.yaml", LaunchGuess: 7, Guesses: []int{7}}, false,
			"the launch is a guess: --grid 3 --block 32,8, marked at k.yaml:7"},
	} {
		c.m.OutputGuess = c.m.LaunchGuess
		rep := &report.Run{Verdict: report.Diverge, Guess: launchGuess(&c.m, c.guessed, p),
			Output:   &report.Output{Verdict: report.OK},
			Findings: []report.Finding{{Severity: "error", Consequence: "harm"}, {Severity: "advice"}}}
		if rep.Guess != c.want {
			t.Errorf("%q, want %q", rep.Guess, c.want)
		}
		noteGuesses(&c.m, rep)
		if got := strings.HasSuffix(rep.Output.Guess, "marked at k.yaml:7") &&
			rep.Output.Outcome() == "ok by a guessed limit"; got != (c.m.OutputGuess > 0) {
			t.Errorf("the output is judged by %q", rep.Output.Guess)
		}
		got := strings.TrimPrefix(strings.TrimPrefix(rep.Findings[0].Consequence, "harm"), "; ")
		if got != c.want || rep.Findings[1].Consequence != "" {
			t.Errorf("findings %+v", rep.Findings)
		}
		if got := strings.HasSuffix(rep.Outcome(), ", launch guessed"); got != (c.want != "") {
			t.Errorf("the verdict is %q", rep.Outcome())
		}
	}
}
