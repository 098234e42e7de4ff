package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// However many causes there are, a story has at most twelve lines, names as many of them as fit,
// and counts the rest.
func TestStoryFits(t *testing.T) {
	for n := 1; n <= 30; n++ {
		q := &inquiry{
			doc: &Diagnosis{
				Run:   report.Run{Target: "k", Gate: "none", Verdict: report.Diverge},
				again: "tilescope diagnose k",
			},
		}
		for i := range n {
			q.doc.Causes = append(q.doc.Causes, Cause{
				Title: fmt.Sprintf("cause %d", i+1), Advice: "a", Alone: "b", Again: "c",
			})
		}
		q.joint, q.base = &debugkern.Run{}, nil
		q.base = q.joint
		lines := q.story()
		if len(lines) > storyLines {
			t.Errorf("%d causes: %d lines", n, len(lines))
		}
		named := 0
		for i := range n {
			if strings.Contains(strings.Join(lines, "\n"), fmt.Sprintf("%d. cause %d", i+1, i+1)) {
				named++
			}
		}
		rest := fmt.Sprintf("and %d causes more", n-named)
		if named == 0 || named < n && !strings.Contains(strings.Join(lines, "\n"), rest) {
			t.Errorf("%d causes, %d of them named:\n%s", n, named, strings.Join(lines, "\n"))
		}
		if lines[len(lines)-1] != "again: tilescope diagnose k" {
			t.Errorf("%d causes: ends with %q", n, lines[len(lines)-1])
		}
	}
}

// TestGuessedLaunchOfWhatIsMended: where edits mend everything, the story does not put it down to the launch.
func TestGuessedLaunchOfWhatIsMended(t *testing.T) {
	for substitute, want := range map[probes.Stage]bool{"": false, "P": true} {
		q := &inquiry{
			doc: &Diagnosis{Run: report.Run{Target: "k", Gate: "none", Verdict: report.Diverge,
				Guess: "the launch is a guess"}, Causes: []Cause{{Title: "a cause"}}},
			base: &debugkern.Run{}, joint: &debugkern.Run{Report: &report.Run{}},
			suspects: []*suspect{{remedy: &remedy{}}},
		}
		if substitute != "" {
			q.suspects[0].remedy.substitute = []probes.Stage{substitute}
		}
		if got := strings.Contains(strings.Join(q.story(), "\n"), "the launch is a guess"); got != want {
			t.Errorf("with %q replaced: the guess is stated: %t", substitute, got)
		}
	}
}

// TestEffectOfARace: a race on the array of a stage, or of one that it is computed from, spoils it; one on
// arrays of later stages changes what was captured of it.
func TestEffectOfARace(t *testing.T) {
	plan := &probes.Plan{Stages: []probes.StagePlan{
		{Stage: "S", Array: "sS"}, {Stage: "m", Array: "m_smem", Operands: probes.StageSet{"S", "m"}},
		{Stage: "P", Array: "sP", Operands: probes.StageSet{"S", "m"}},
		{Stage: "U", Array: "U_smem", Operands: probes.StageSet{"P", "U"}},
	}}
	const spoils, captured = "spoils", "changes what was captured of"
	for _, c := range []struct{ kind, stage, variables, want string }{
		{"race", "m", "m_smem", spoils}, {"race", "m", "sS", spoils}, {"race", "P", "m_smem sP", spoils},
		{"race", "m", "sP U_smem", captured}, {"race", "m", "sP scratch", spoils},
		{"uninitialised", "m", "sP", spoils},
	} {
		q := &inquiry{run: &debugkern.Run{Plan: plan}}
		got := q.effect(&Cause{Kind: c.kind, Stages: []string{c.stage},
			Place: Place{Variables: strings.Fields(c.variables)}})
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// What of the damage is gone: by size and number of cells; of values that are no numbers, by number; nothing
// where the stages differ.
func TestShare(t *testing.T) {
	was := damage{stage: "O", max: 1, bad: 100, cells: 200}
	for _, c := range []struct {
		now  damage
		want float64
	}{
		{damage{stage: "O", cells: 200}, 1}, {damage{stage: "O", max: 1, bad: 100, cells: 200}, 0},
		{damage{stage: "O", max: 0.5, bad: 100, cells: 200}, 0.5},
		{damage{stage: "O", max: 1, bad: 25, cells: 200}, 0.75},
		{damage{stage: "O", max: 3, bad: 100, cells: 200}, 0},
		{damage{stage: "O", max: 9, bad: 50, nan: 50, cells: 200}, 0.5},
	} {
		if got := was.share(c.now); got == nil || float64(*got) != c.want {
			t.Errorf("from %v to %v: share %v, want %g", was, c.now, got, c.want)
		}
	}
	nan := damage{stage: "O", bad: 100, nan: 100, cells: 200}
	if got := nan.share(damage{stage: "O", max: 0.1, bad: 100, cells: 200}); got == nil ||
		float64(*got) != 0.5 {
		t.Errorf("no NaN any more, as many cells bad: share %v, want 0.5", got)
	}
	if got := was.share(damage{stage: "U"}); got != nil {
		t.Errorf("another stage: share %v, want none", *got)
	}
	if got := (damage{stage: "O"}).share(damage{stage: "O"}); got != nil {
		t.Errorf("no damage: share %v, want none", *got)
	}
}
