package debugkern

import (
	"context"
	"slices"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// ran executes a request on the emulator.
func ran(t *testing.T, req Request) *Run {
	t.Helper()
	req.Backend = "emu"
	run, err := openSession(t).Run(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func tried(t *testing.T, r *Run, tr Trial) *Run {
	t.Helper()
	out, err := r.Try(context.Background(), tr)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// verdicts is one letter a stage: o ok, w wrong, t tainted, - off.
func verdicts(r *Run) map[string]string {
	out := map[string]string{}
	for _, s := range r.Report.Stages {
		out[s.Name] = s.Verdict
	}
	return out
}

func wantVerdicts(t *testing.T, what string, r *Run, want map[string]string) {
	t.Helper()
	got := verdicts(r)
	for s, v := range want {
		if got[s] != v {
			t.Errorf("%s: stage %s is %s, want %s (all: %v)", what, s, got[s], v, got)
		}
	}
}

// TestTrialOfNothing holds a trial that changes nothing to the run that it comes from, as a
// whole and for one block.
func TestTrialOfNothing(t *testing.T) {
	run := ran(t, Request{Target: "stage2", Shape: "validation"})
	all := tried(t, run, Trial{})
	if all.Report.Digest != run.Report.Digest || all.Report.Output == nil {
		t.Errorf("the same launch gives digest %s, was %s", all.Report.Digest, run.Report.Digest)
	}
	id := probes.Dim3{1, 2, 0}
	one := tried(t, run, Trial{Blocks: []probes.Dim3{id}})
	if n := len(one.Blocks()); n != 1 || one.Report.Verdict != report.Agree || one.Report.Output != nil {
		t.Errorf("%d blocks, verdict %s, output %v", n, one.Report.Verdict, one.Report.Output)
	}
	for i := range run.Plan.Stages {
		s := run.Plan.Stages[i].Stage
		a, b := run.state.Tile(s, id, 0), one.state.Tile(s, id, 0)
		if !b.Reached() || string(a.Data) != string(b.Data) {
			t.Errorf("stage %s of block %s differs", s, id)
		}
	}
	plain := tried(t, run, Trial{Plain: true})
	if string(plain.state.output) != string(run.state.output) || plain.Report.Verdict != report.Agree {
		t.Errorf("the plain build's output differs, verdict %s", plain.Report.Verdict)
	}
}

// TestSubstitution puts references in the place of what faults spoil.
func TestSubstitution(t *testing.T) {
	blocks := []probes.Dim3{{1, 1, 0}, {0, 2, 0}}
	run := ran(t, Request{Target: "stage2", Faults: []string{"u-no-rescale"}})
	wantVerdicts(t, "u-no-rescale", tried(t, run, Trial{Blocks: blocks}), map[string]string{
		"U": report.Wrong, "O": report.Tainted,
	})
	wantVerdicts(t, "u-no-rescale with U", tried(t, run, Trial{
		Blocks: blocks, Substitute: []probes.Stage{"U"},
	}),
		map[string]string{"S": report.OK, "P": report.OK, "U": report.Wrong, "O": report.OK})

	run = ran(t, Request{Target: "stage2", Faults: []string{"kt-ld"}})
	wantVerdicts(t, "kt-ld", tried(t, run, Trial{Blocks: blocks}), map[string]string{
		"S": report.Wrong, "m": report.Tainted, "U": report.Tainted, "O": report.Tainted,
	})
	wantVerdicts(t, "kt-ld with S", tried(t, run, Trial{Blocks: blocks, Substitute: []probes.Stage{"S"}}),
		map[string]string{
			"S": report.Wrong, "m": report.OK, "l": report.OK, "P": report.OK, "U": report.OK, "O": report.OK,
		})
}

// TestSubstitutionInRegisters replaces scores that lie in accumulators: what follows is right though the
// first product of each is missing.
func TestSubstitutionInRegisters(t *testing.T) {
	run := ran(t, Request{Target: "stage3b"})
	entry := run.Entry()
	first := slices.IndexFunc(entry.Body, func(in *ptx.Instr) bool {
		return in.Op == "wmma" && in.Has("mma")
	})
	tr := Trial{
		Blocks: []probes.Dim3{{1, 1, 0}}, Edits: []ptx.Edit{{Kind: ptx.Remove, Func: entry.Name, At: first}},
	}
	wantVerdicts(t, "a product less", tried(t, run, tr), map[string]string{
		"K": report.OK, "S": report.Wrong, "m": report.Tainted, "P": report.Tainted, "O": report.Tainted,
	})
	tr.Substitute = []probes.Stage{"S"}
	wantVerdicts(t, "a product less, with S", tried(t, run, tr), map[string]string{
		"S": report.Wrong, "m": report.OK, "l": report.OK, "P": report.OK, "U": report.OK, "O": report.OK,
	})
}

// TestSubstitutionOnCleanRuns replaces every stage that can be replaced, alone and all together:
// no verdict changes.
func TestSubstitutionOnCleanRuns(t *testing.T) {
	for target, want := range map[string]string{
		"stage2": "Q K V S m l P U", "stage3a": "Q K V m l P U", "stage3b": "Q K V S m l P U",
		"swizzle3a": "Q K V m l P U", "flashcore_vec": "Q K V S m l P U",
		"flashcore_fused_wmma": "Q K V S m l P U",
	} {
		t.Run(target, func(t *testing.T) {
			run := ran(t, Request{Target: target, Shape: "partial49"})
			var all []probes.Stage
			var names string
			for i := range run.Plan.Stages {
				s := run.Plan.Stages[i].Stage
				if ok, err := run.Substitutable(t.Context(), s); err != nil {
					t.Fatal(err)
				} else if ok {
					all = append(all, s)
					names += " " + s.String()
				}
			}
			if names[1:] != want {
				t.Errorf("can replace%s, want %s", names, want)
			}
			for _, s := range all {
				if r := tried(t, run, Trial{
					Blocks: run.Blocks()[:2], Substitute: []probes.Stage{s},
				}); r.Report.Verdict != report.Agree {
					t.Errorf("with %s replaced: %v", s, verdicts(r))
				}
			}
			if r := tried(t, run, Trial{Substitute: all}); r.Report.Verdict != report.Agree {
				t.Errorf("with all replaced: %v", verdicts(r))
			}
		})
	}
}

// TestTrialWithTensorMaps: of a kernel whose tensor maps are parameters too, the build without probes is
// launched as well, in every block and in one.
func TestTrialWithTensorMaps(t *testing.T) {
	run := ran(t, Request{Target: "stage5_hopper", Shape: "small"})
	for _, tr := range []Trial{{Plain: true}, {Plain: true, Blocks: []probes.Dim3{{0, 0, 0}}}, {}} {
		wantVerdicts(t, "stage5_hopper", tried(t, run, tr), map[string]string{"O": "ok"})
	}
}

// TestTrialRemovesBarrier takes the barrier after P away: the edit reaches the emulator, and only the trial.
func TestTrialRemovesBarrier(t *testing.T) {
	run := ran(t, Request{Target: "stage2", Shape: "small"})
	entry := run.Entry()
	var edits []ptx.Edit
	for _, at := range entry.Syncs(nil) {
		if entry.Body[at].Op == "bar" && !entry.Body[at].Has("warp") {
			edits = append(edits, ptx.Edit{Kind: ptx.Remove, Func: entry.Name, At: at})
		}
	}
	broken := tried(t, run, Trial{Edits: edits})
	if broken.Report.Verdict != report.Diverge {
		t.Error("without any barrier the kernel agrees")
	}
	if n := run.state.result.Counts.Barriers; n == 0 || broken.state.result.Counts.Barriers != 0 {
		t.Errorf("%d barriers before, %d after", n, broken.state.result.Counts.Barriers)
	}
	if again := tried(t, run, Trial{}); again.Report.Digest != run.Report.Digest {
		t.Error("the trial changed the run")
	}
	if _, err := run.Try(context.Background(), Trial{Substitute: []probes.Stage{"O"}}); err == nil {
		t.Error("O is substituted")
	}
}

// TestTableReplaced gives a kernel with a wrong accumulator table the right one, without compiling anything.
func TestTableReplaced(t *testing.T) {
	const table = "WMMA_ACCUM_LUT"
	right := ran(t, Request{Target: "stage3b", Shape: "small"}).state.build.Module.Var(table).Init
	run := ran(t, Request{Target: "stage3b", Shape: "small", Faults: []string{"lut-order"}})
	fixed := tried(t, run, Trial{Edits: []ptx.Edit{{Kind: ptx.SetData, Var: table, Data: right}}})
	if run.Report.Verdict != report.Diverge || fixed.Report.Verdict != report.Agree {
		t.Errorf("verdict %s, with the right table %s", run.Report.Verdict, fixed.Report.Verdict)
	}
}
