package diagnose

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
)

// TestReplay: what is replayed is a schedule under which the two accesses of that finding come in the order
// that the missing barrier would exclude, whose block has more wrong cells than the run's; where the run
// shows it already and no schedule is worse, nothing is replayed and the words say so. The scene of the
// schedule has the accesses in that order.
func TestReplay(t *testing.T) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target, shape, fault, variable string
		worse                          bool
		says                           []string
	}{
		{"layernorm", "small", "sync-rows", "mean_smem", false, []string{
			"the read of warp 0 at layernorm.cu:84 before the write of warp 1 at layernorm.cu:74, as in the run and in ",
			"none of those tried makes the run worse: "}},
		{"attention_gqa", "small", "sync-scores", "sS", true, []string{"the read of warp 0 at " +
			"attention_gqa.cu:149 before the write of warp 1 at attention_gqa.cu:131, as in the run"}},
		{"stage2", "validation", "sync-p", "U_smem", true, []string{"the read of warp 3 at " +
			"sdpa_fp8_stage_c_wmma.cu:567 before the write of warp 2 at sdpa_fp8_stage_c_wmma.cu:495",
			" and not in the run; "}},
		{"stage3b", "validation", "softmax-race", "m_smem", true, []string{"the write of warp 3",
			"before the write of warp 2", " and not in the run; "}},
	} {
		run, err := s.Run(t.Context(), debugkern.Request{
			Target: c.target, Shape: c.shape, Faults: []string{c.fault}, Check: debugkern.EveryChecker,
			Backend: "emu",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := run.Report.Findings
		i := slices.IndexFunc(all, func(f report.Finding) bool {
			return f.Kind == "race" && f.Variable == c.variable
		})
		if i < 0 {
			t.Fatalf("%s: no race on %s", c.fault, c.variable)
		}
		f := &all[i]
		r, err := FindReplay(t.Context(), run, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(r.Says(), want) {
				t.Errorf("%s: %q does not say %q", c.fault, r.Says(), want)
			}
		}
		if worse := r.Schedule != "" && r.Wrong > r.RunWrong && r.RunWrong > 0; worse != c.worse {
			t.Errorf("%s: %+v", c.fault, r)
		}
		if r.Schedule == "" {
			continue
		}
		sc := play(t, run, f, "")
		if got := play(t, run, f, r.Schedule); !sc.Raced(got) {
			t.Errorf("%s: under %s the accesses come as they should", c.fault, r.Schedule)
		}
	}
}

func play(t *testing.T, run *debugkern.Run, f *report.Finding, schedule string) *scene.Scene {
	t.Helper()
	s, err := scene.Play(t.Context(), run, scene.Request{
		Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: f.KVTile,
		Sides: [2]*report.Source{f.Source, f.Other}, Warps: f.Warps, Schedule: schedule,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReplayChoice: the racing order counts before the number of wrong cells, and a schedule that shows no
// more than the run is none.
func TestReplayChoice(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   Replay
		tries []replayTry
		want  string
		says  string
	}{
		{"the race before what is worse", Replay{Pair: "A before B", RunWrong: 3},
			[]replayTry{{"x:1", false, 90}, {"x:2", true, 5}, {"x:3", true, 7}, {}}, "x:3",
			"A before B, as in 2 of 4 schedules and not in the run; 7 bad cells in this block (0,0,0), all " +
				"stages; in the run 3"},
		{"a race that harms nothing", Replay{Pair: "A before B", RunWrong: 3},
			[]replayTry{{"x:1", true, 3}}, "x:1", "none of those tried makes the run worse"},
		{"nothing worse", Replay{Pair: "A before B", RunRaced: true, RunWrong: 9},
			[]replayTry{{"x:1", true, 9}, {"x:2", true, 2}}, "",
			"as in the run and in 2 of 2 schedules; none of"},
		{"never in that order", Replay{Pair: "A before B"},
			[]replayTry{{"x:1", false, 4}}, "x:1", "in none of 1 schedules comes A before B; 4 bad cells in this block"},
		{"no order", Replay{}, []replayTry{{"x:1", false, 4}, {"x:2", false, 5}}, "x:2",
			"of 2 schedules the one"},
	} {
		if c.run.choose(c.tries); c.run.Schedule != c.want || !strings.Contains(c.run.Says(), c.says) {
			t.Errorf("%s: %q, %q", c.name, c.run.Schedule, c.run.Says())
		}
	}
}
