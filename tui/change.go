package tui

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// changeBetween says in a few words what differs between two runs of one request: the first stage whose
// verdict changed and the new verdicts of the others that have another one, else the first stage whose number
// of bad cells changed, else the findings, and the values. values is what valueChanges says of them.
func changeBetween(before, after *report.Run, values string) string {
	and := values
	if and != "" {
		and = "; " + and
	}
	for _, alike := range []func(a, b *report.Stage) bool{
		func(a, b *report.Stage) bool { return a.Verdict == b.Verdict },
		func(a, b *report.Stage) bool { return badCells(a) == badCells(b) },
	} {
		for i := range after.Stages {
			now := &after.Stages[i]
			if was := before.Stage(now.Name); was != nil && !alike(was, now) {
				return stageChange(was, now) + otherVerdicts(before, after, i+1)
			}
		}
	}
	if was, now := before.Errors(), after.Errors(); was != now {
		return fmt.Sprintf("%s → %d", theme.Count(was, "finding"), now) + and
	}
	if was, now := before.Outcome(), after.Outcome(); was != now {
		return was + " → " + now + and
	}
	if sameBits(before, after) && after.Gate != "none" && after.Gate != "" {
		return fmt.Sprintf("no change under gate %s, which leaves out a part of the kernel: every captured value has "+
			"the same bits", after.Gate)
	}
	if sameBits(before, after) {
		return "no change: every captured value has the same bits"
	}
	if values == "" {
		return "no change of a verdict; captured values differ"
	}
	return values
}

// otherVerdicts are those that changed of the stages from one on: "; P wrong, U tainted".
func otherVerdicts(before, after *report.Run, from int) string {
	var out []string
	for i := range after.Stages[from:] {
		now := &after.Stages[from+i]
		if was := before.Stage(now.Name); was != nil && was.Verdict != now.Verdict {
			out = append(out, now.Name+" "+now.Verdict)
		}
	}
	if out == nil {
		return ""
	}
	return "; " + strings.Join(out, ", ")
}

// sameBits reports whether every captured value of two runs has the same bits, by their digests.
func sameBits(before, after *report.Run) bool {
	return before.Digest == after.Digest && slices.EqualFunc(before.Outputs, after.Outputs,
		func(a, b report.CheckOutput) bool { return a.Digest == b.Digest })
}

// valueChanges says which captured values of a run differ from those of the run before: how many of each
// stage or argument, and the largest difference with its element and both values.
func valueChanges(run *view.Run) string {
	out := make([]string, len(run.Changes))
	for i := range run.Changes {
		d := &run.Changes[i]
		out[i] = d.Plan.Stage.String() + ": " + view.ChangeText(run.Plan, d)
	}
	return strings.Join(out, "; ")
}

// stageChange: P: 512 bad cells in all blocks → 0, ok. Both numbers are of one comparison: with the true
// inputs where one of the runs has its verdict by that (a tainted stage), which the text then says, else with
// the kernel's own earlier tiles.
func stageChange(was, now *report.Stage) string {
	a, b, from := was.Local.Bad, now.Local.Bad, ""
	if was.Verdict == report.Tainted || now.Verdict == report.Tainted {
		a, b, from = was.Global.Bad, now.Global.Bad, " against the true inputs"
	}
	text := fmt.Sprintf("%s: %s%s%s → %d", now.Name, theme.Count(a, "bad cell"), from, countedIn(now), b)
	switch {
	case was.Verdict == now.Verdict:
		return text + ", still " + now.Verdict
	case a == b || was.Verdict == report.Off || now.Verdict == report.Off:
		return fmt.Sprintf("%s: %s → %s", now.Name, was.Verdict, now.Verdict)
	}
	return text + ", " + now.Verdict
}

// countedIn says in which blocks the bad cells of a stage are counted; "" for an argument, which no block
// has.
func countedIn(d *report.Stage) string {
	if d.Argument != "" {
		return ""
	}
	return " in all blocks"
}

// badCells are the cells for which a stage has its verdict.
func badCells(d *report.Stage) int {
	if d.Verdict == report.Tainted {
		return d.Global.Bad
	}
	return d.Local.Bad
}
