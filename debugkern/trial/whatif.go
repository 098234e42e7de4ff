// Package trial has the experiments on a finished run: an edit and what it would change (whatif.go), other
// schedules (explore.go), every synchronisation changed in turn (mutant.go), delays on a GPU (perturb.go).
//
// The one idea: an experiment executes the run's launch again with one thing changed virtually
// (debugkern.Trial), and compares two outcomes bit for bit, or two verdicts. It needs of a run only what
// debugkern.Attempt, Outcome and Relaunch offer, and never how the run was made.
//
// It must not know what an experiment proves: that is package diagnose.
package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// WhatIf is what an edit of a run's instrumented build would change: the same blocks executed without and
// with it, both with every checker that finds errors.
type WhatIf struct {
	Edits         []ptx.Edit
	Before, After *debugkern.Run
	// Findings of severity error, identified by kind and variable: those that the edit removes, those that
	// stay, and those that it brings. A race that it makes more of stays and is brought.
	Gone, Left, New []report.Finding
	Turned          bool // the verdict is another
	// Cost is what the edit adds (or saves) over the blocks executed.
	Cost Cost
}

// Cost is how many warp instructions and barrier arrivals blocks execute before and after.
type Cost struct {
	Instructions, InstructionsAfter uint64
	Barriers, BarriersAfter         uint64
}

// String words a cost: "12 warp instructions more of 4096 (+0.29 %)", and never that a change is none.
func (c Cost) String() string {
	d := int64(c.InstructionsAfter) - int64(c.Instructions)
	word := "more"
	if d < 0 {
		d, word = -d, "less"
	}
	share := 100 * (float64(c.InstructionsAfter)/float64(max(c.Instructions, 1)) - 1)
	sign := ""
	if share > 0 {
		sign = "+"
	}
	return fmt.Sprintf("%d warp instructions %s of %d (%s%s)", d, word, c.Instructions, sign, Percent(share))
}

// Percent writes a share with at least two significant digits: "0.016 %", "4.2 %", "131 %".
func Percent(share float64) string {
	if share == 0 {
		return "0 %"
	}
	decimals := max(0, 1-int(math.Floor(math.Log10(math.Abs(share)))))
	return strconv.FormatFloat(share, 'f', decimals, 64) + " %"
}

// errorChecks are the checkers whose findings an edit is judged by.
const errorChecks = check.Races | check.Async | check.Barriers | check.Registers | check.Overlap

// TryEdits tries edits of a run's build, of the body of its Entry, on blocks (nil: those that the run
// captured). Errors are those of Try.
func TryEdits(
	ctx context.Context, r *debugkern.Run, edits []ptx.Edit, blocks []probes.Dim3,
) (*WhatIf, error) {
	before, err := r.Unchanged(ctx, blocks, errorChecks)
	if err != nil {
		return nil, err
	}
	after, err := r.Try(ctx, debugkern.Trial{Edits: edits, Blocks: blocks, Check: errorChecks})
	if err != nil {
		return nil, err
	}
	w := &WhatIf{
		Edits: edits, Before: before, After: after, Turned: before.Report.Verdict != after.Report.Verdict,
	}
	was, is := errorsOf(before), errorsOf(after)
	for _, f := range was {
		if hasFinding(is, f.Kind, f.Variable) {
			w.Left = append(w.Left, f)
		} else {
			w.Gone = append(w.Gone, f)
		}
	}
	removal := !slices.ContainsFunc(edits, func(e ptx.Edit) bool { return e.Kind != ptx.Remove })
	for _, f := range is {
		if !hasFinding(was, f.Kind, f.Variable) || len(report.MorePairs(was, is, &f, removal)) > 0 {
			w.New = append(w.New, f)
		}
	}
	a, b := before.Outcome().Result().Counts, after.Outcome().Result().Counts
	w.Cost = Cost{a.WarpInstructions, b.WarpInstructions, a.Barriers, b.Barriers}
	return w, nil
}

// Removes reports whether the edit makes a finding go, and brings no other.
func (w *WhatIf) Removes(kind, variable string) bool {
	return hasFinding(w.Gone, kind, variable) && len(w.New) == 0
}

// Uncompared reports whether nothing was compared with a reference: both verdicts are of findings alone.
func (w *WhatIf) Uncompared() bool {
	for _, r := range []*report.Run{w.Before.Report, w.After.Report} {
		if r.Judged() > 0 || r.Verdict == report.Failed {
			return false
		}
	}
	return true
}

// String words the outcome in one line.
func (w *WhatIf) String() string {
	var parts []string
	for _, g := range []struct {
		what string
		fs   []report.Finding
	}{{"gone", w.Gone}, {"left", w.Left}, {"new", w.New}} {
		for _, f := range g.fs {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s: %s on %s", g.what, f.Kind, f.Variable)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "no finding either way")
	}
	if w.Turned && !w.Uncompared() {
		parts = append(parts, fmt.Sprintf("verdict %s instead of %s", w.After.Report.Verdict,
			w.Before.Report.Verdict))
	}
	return strings.Join(append(parts, w.Cost.String()), "; ")
}

func errorsOf(r *debugkern.Run) []report.Finding {
	return slices.DeleteFunc(slices.Clone(r.Report.Findings), func(f report.Finding) bool {
		return f.Severity != "error"
	})
}

func hasFinding(fs []report.Finding, kind, variable string) bool {
	return slices.ContainsFunc(fs, func(f report.Finding) bool {
		return f.Kind == kind && f.Variable == variable
	})
}
