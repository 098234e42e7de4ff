package scene

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// raceOf is a run of a planted race and the first finding about it.
func raceOf(t *testing.T, fault string) (*debugkern.Run, report.Finding) {
	t.Helper()
	return raceOn(t, "small", fault)
}

func raceOn(t *testing.T, shape, fault string) (*debugkern.Run, report.Finding) {
	t.Helper()
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: shape, Faults: []string{fault}})
	for _, f := range debugtest.Try(t, run, debugkern.Trial{Check: check.Races}).Report.Findings {
		if f.Kind == "race" {
			return run, f
		}
	}
	t.Fatalf("no checker finds the race of %s", fault)
	return nil, report.Finding{}
}

func TestSceneOfARace(t *testing.T) {
	run, f := raceOf(t, "sync-p")
	sc, err := Play(t.Context(), run, Request{
		Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: f.KVTile,
		Sides: [2]*report.Source{f.Source, f.Other}, Warps: f.Warps,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v: pair %v of %d accesses, %d syncs, %d stretches, %d steps", f.Message, sc.Pair,
		len(sc.Accesses), len(sc.Syncs), len(sc.Stretches), sc.Steps)
	if sc.Pair[0] < 0 {
		t.Fatal("the two sides do not meet")
	}
	a, b := sc.Accesses[sc.Pair[0]], sc.Accesses[sc.Pair[1]]
	if !a.Write && !b.Write || a.Phase != b.Phase || a.Warp == b.Warp {
		t.Errorf("no conflict: %+v and %+v", a, b)
	}
	if sc.Writers == nil || sc.Writers.Array.Name != f.Variable {
		t.Fatalf("writers of %q: %+v", f.Variable, sc.Writers)
	}
	contested := 0
	for _, c := range sc.Writers.Cells {
		if c.Contested {
			contested++
		}
	}
	if contested == 0 {
		t.Error("no cell is contested")
	}
}

// TestContestedBetweenIterations: cells that one iteration reads and the next overwrites are contested, in
// whichever of the two they are looked at.
func TestContestedBetweenIterations(t *testing.T) {
	run, f := raceOn(t, "1,1,64,64", "sync-kv")
	if !strings.HasPrefix(f.Message, "write-after-read race on sV") {
		t.Fatalf("another race: %s", f.Message)
	}
	if f.Missing == nil || !strings.HasSuffix(*f.Missing, " of the next iteration") {
		t.Errorf("missing: %+v", f.Missing)
	}
	for _, kv := range []int{0, 1} {
		sc, err := Play(t.Context(), run, Request{
			Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: kv,
			Sides: [2]*report.Source{f.Source, f.Other}, Warps: f.Warps,
		})
		if err != nil {
			t.Fatal(err)
		}
		w := sc.Writers
		if i := f.Index[0]*w.Cols + f.Index[1]; !w.Cells[i].Contested {
			t.Errorf("kv tile %d: the finding's cell is not contested", kv)
		}
	}
}

// TestSidesOfTwoBlocksDoNotMeet: what one block does is not shown as a conflict between two.
func TestSidesOfTwoBlocksDoNotMeet(t *testing.T) {
	run, f := raceOf(t, "sync-p")
	sc, err := Play(t.Context(), run, Request{
		Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: f.KVTile, Across: true,
		Sides: [2]*report.Source{f.Source, f.Other}, Warps: f.Warps,
	})
	if err != nil || sc.Pair != [2]int{-1, -1} || len(sc.Accesses) == 0 {
		t.Errorf("pair %v of %d accesses, %v", sc.Pair, len(sc.Accesses), err)
	}
}

func TestSceneIsWholeAndOrdered(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: "small"})
	for _, schedule := range []string{"", "random:3"} {
		sc, err := Play(t.Context(), run, Request{Variable: "sP", KVTile: -1, Schedule: schedule})
		if err != nil {
			t.Fatal(err)
		}
		done, last := 0, uint64(0)
		for _, y := range sc.Syncs {
			if y.Step < last {
				t.Fatalf("%+v comes after step %d", y, last)
			}
			if last = y.Step; y.Kind == SyncDone {
				done++
			}
		}
		if done == 0 || sc.Warps != 4 && sc.Warps < 2 || sc.Steps == 0 {
			t.Errorf("%d barriers, %d warps, %d steps", done, sc.Warps, sc.Steps)
		}
		for i := 1; i < len(sc.Stretches); i++ {
			if a, b := sc.Stretches[i-1], sc.Stretches[i]; a.Warp == b.Warp || a.To > b.From ||
				a.From > a.To {
				t.Fatalf("stretches %+v and %+v", a, b)
			}
		}
		for i, c := range sc.Writers.Cells {
			if c.Warp < 0 || c.Wrote == 0 {
				t.Fatalf("cell %d of sP was written by nobody", i)
			}
			if c.Contested {
				t.Fatalf("cell %d of sP is contested on a clean kernel: %+v", i, c)
			}
		}
	}
}

// programView is a view of a program alone.
type programView struct {
	target.View
	funcs []*ptx.Func
}

func (v programView) Program() []*ptx.Func { return v.funcs }

// What a called function does is blamed on its own lines: each function before it takes one PC for
// the return at its end.
func TestSceneBlamesCalledFunctions(t *testing.T) {
	m, err := ptx.Parse("call.ptx", []byte(`.version 8.0
.target sm_80
.address_size 64
.func f()
{
	ret;
}
.visible .entry e()
{
	call f;
	exit;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(Request{}, &probes.Plan{})
	e, f := m.Func("e"), m.Func("f")
	rec.View(programView{funcs: []*ptx.Func{e, f}})
	if at := rec.source(&target.Event{Func: f, PC: len(e.Body) + 1}); at == nil ||
		at.Line != f.Body[0].Pos.Line {
		t.Errorf("the first instruction of f is blamed on %+v, want line %d", at, f.Body[0].Pos.Line)
	}
}

// TestSceneOfAsynchronousAccesses: a tensor copy is the last writer of the cells that it fills, a wgmma reads
// its operand, and the cells of a race between the two are contested; without synchronisation by block
// barriers, no others are.
func TestSceneOfAsynchronousAccesses(t *testing.T) {
	for _, fault := range []string{"released-early", "k-not-awaited"} {
		run := debugtest.Run(t, debugkern.Request{Target: "stage5_hopper", Faults: []string{fault}})
		found := false
		for _, f := range debugtest.Try(t, run, debugkern.Trial{Check: check.Races}).Report.Findings {
			if f.Kind != "race" || f.Variable != "sK" || f.Other == nil {
				continue
			}
			sc, err := Play(t.Context(), run, Request{
				Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: f.KVTile,
				Sides: [2]*report.Source{f.Source, f.Other}, Warps: f.Warps,
			})
			if err != nil {
				t.Fatal(err)
			}
			if !sc.Writers.Flight {
				t.Fatalf("%s: no asynchronous access of sK", fault)
			}
			contested, written := 0, 0
			for _, c := range sc.Writers.Cells {
				if c.Contested {
					contested++
				}
				if c.Warp == 0 {
					written++
				}
			}
			t.Logf("%s: %s: pair %v of %d, %d contested", fault, f.Message, sc.Pair, len(sc.Accesses),
				contested)
			if written != len(sc.Writers.Cells) {
				t.Errorf("%s: warp 0 is the last writer of %d cells of %d", fault, written,
					len(sc.Writers.Cells))
			}
			if !strings.Contains(f.Source.File+f.Other.File, "stage5_hopper") {
				found = true
				if contested == 0 || sc.Pair[0] < 0 {
					t.Errorf("%s: %d cells contested, pair %v", fault, contested, sc.Pair)
					continue
				}
				a, b := &sc.Accesses[sc.Pair[0]], &sc.Accesses[sc.Pair[1]]
				if !a.Here || !b.Here || a.Write == b.Write || !a.Flight || !b.Flight || !a.Side[0] {
					t.Errorf("%s: %+v and %+v", fault, a, b)
				}
			}
		}
		if !found {
			t.Errorf("%s: no race between a copy and a wgmma", fault)
		}
	}
}
