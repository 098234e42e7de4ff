package trial

import (
	"context"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestWhatIf takes the barrier before the softmax away, which spoils the kernel, and adds
// one, which only costs.
func TestWhatIf(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: "small"})
	entry, blocks := run.Entry(), []probes.Dim3{{0, 0, 0}}
	var bars []int
	for _, at := range entry.Syncs(nil) {
		if in := entry.Body[at]; in.Op == "bar" && !in.Has("warp") {
			bars = append(bars, at)
		}
	}
	w, err := TryEdits(context.Background(), run, []ptx.Edit{
		{Kind: ptx.Remove, Func: entry.Name, At: bars[1]},
	}, blocks)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Gone) != 0 || len(w.Left) != 0 || !hasFinding(w.New, "race", "sS") || !w.Turned {
		t.Errorf("without a barrier: %s", w)
	}
	if w.Cost.BarriersAfter >= w.Cost.Barriers || w.Cost.InstructionsAfter >= w.Cost.Instructions {
		t.Errorf("a barrier less costs %+v", w.Cost)
	}
	before := w.Before
	if w, err = TryEdits(context.Background(), run,
		[]ptx.Edit{{Kind: ptx.InsertBarrier, Func: entry.Name, At: bars[1]}}, blocks); err != nil {
		t.Fatal(err)
	}
	if len(w.New) != 0 || w.Turned || w.Cost.BarriersAfter != w.Cost.Barriers+4*1 {
		t.Errorf("with a barrier more: %s, %+v", w, w.Cost)
	}
	if w.Before != before {
		t.Error("the launch without the edit is executed again")
	}
}

// TestWhatIfMendsARace puts the barrier that a fault left out between the two lines that the finding names.
func TestWhatIfMendsARace(t *testing.T) {
	for fault, variable := range map[string]string{"sync-s": "sS", "sync-p": "sP"} {
		t.Run(fault, func(t *testing.T) {
			run := debugtest.Run(t, debugkern.Request{
				Target: "stage2", Shape: "small", Faults: []string{fault}, Check: check.All,
			})
			var race *report.Finding
			for i, f := range run.Report.Findings {
				if f.Kind == "race" && f.Variable == variable {
					race = &run.Report.Findings[i]
				}
			}
			if race == nil {
				t.Fatalf("no race on %s: %+v", variable, run.Report.Findings)
			}
			entry := run.Entry()
			first := func(line int) int {
				for i := range entry.Body {
					if target.Blame(entry, i).Line == line {
						return i
					}
				}
				return -1
			}
			at := max(first(race.Source.Line), first(race.Other.Line))
			w, err := TryEdits(context.Background(), run,
				[]ptx.Edit{{Kind: ptx.InsertBarrier, Func: entry.Name, At: at}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !w.Removes("race", variable) {
				t.Errorf("with a barrier in front of instruction %d: %s", at, w)
			}
		})
	}
}
