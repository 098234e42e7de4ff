package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/probes"
	"tilescope/tui/keymap"
)

// fakeRaces answers what a diagnosis would, from a formula.
type fakeRaces struct {
	fail                     error
	hold                     chan struct{} // a diagnosis waits for it, after its first finding
	diagnosed, scenes, tried int
	asked                    debugkern.SceneRequest
}

const kernelFile = "sdpa_fp8_stage_c_wmma.cu"

func fakeFindings() []debugkern.FindingDoc {
	line := func(n int) *debugkern.SourceDoc {
		return &debugkern.SourceDoc{File: kernelFile, Line: n, Function: "sdpa"}
	}
	missing := "exclusive: one warp a row, or atomicMax and a merge"
	sync := "__syncthreads() between lines 140 and 88"
	return []debugkern.FindingDoc{
		{Kind: "race", Severity: "error", Variable: "m_smem", Index: []int{5}, Space: "shared", Warps: []int{0, 1}, Lanes: []int{5, 9}, KVTile: 0, Source: line(140), Other: line(144),
			Missing: &missing, Message: "m_smem[5] is written by warp 0 lane 5 (line 140) and by warp 1 lane 9 (line 144), unordered", Count: 31, Consequence: "rows take the maximum of half their keys"},
		{Kind: "race", Severity: "error", Variable: "sP", Index: []int{17, 9}, Space: "shared", Warps: []int{2, 3}, KVTile: 1, Source: line(140), Other: line(88),
			Missing: &sync, Message: "sP[17][9] is written by warp 2 and read by warp 3, unordered", Count: 4},
		{Kind: "bank-conflict", Severity: "advice", Variable: "sKT", Message: "8 ways at line 60: pad each row by 8 bytes", Source: line(60), KVTile: -1, Count: 128},
		{Kind: "uncoalesced", Severity: "advice", Variable: "Q", Message: "16 sectors where 4 would do", Source: line(50), KVTile: -1, Count: 2},
	}
}

func (f *fakeRaces) Diagnose(ctx context.Context, req debugkern.Request, o diagnose.Options) (*diagnose.Diagnosis, error) {
	f.diagnosed++
	found := fakeFindings()
	o.Tell(diagnose.Event{Progress: &debugkern.Progress{Phase: "explore", Done: 12, Total: 200}})
	o.Tell(diagnose.Event{Finding: &found[0]})
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.fail != nil {
		return nil, f.fail
	}
	share := debugkern.Number(0.53)
	d := &diagnose.Diagnosis{Report: debugkern.Report{Verdict: debugkern.Diverge, Findings: found}}
	d.Causes = []diagnose.Cause{
		{Kind: "race", Title: "race on m_smem between " + kernelFile + ":140 and line 144", Stage: "P", Finding: 0, Share: &share, Advice: missingOf(found[0]),
			Place: diagnose.Place{Block: probes.Dim3{0, 0, 0}, KVTile: 1, Row: 4, Col: 9, Variable: "m_smem", Source: found[0].Source, Other: found[0].Other},
			Proof: []string{"schedules: changes O by up to 3.2 in 41 of 200 schedules"}, Again: "tilescope run stage2 --schedule random:7"},
		{Kind: "table", Title: "fragment table WMMA_ACCUM_LUT: rows 4 to 7 swapped", Stage: "P", Finding: -1, Advice: "take the table that introspection gives",
			Place: diagnose.Place{KVTile: -1, Row: -1, Col: -1, Source: &debugkern.SourceDoc{File: kernelFile, Line: 20}}},
	}
	d.Barriers = []diagnose.BarrierDoc{
		{Source: found[0].Source, Instr: "bar.sync 0", Needed: true, Because: "without it sKT races between lines 212 and 140", Variables: []string{"sKT"}},
		{Source: found[1].Other, Instr: "bar.warp.sync", Copies: 2, Because: "nothing that was tried races without it"},
	}
	d.Story = []string{
		"stage2 1,4,128,64 seed 0: diverges, O off by up to 3.2 in 30298 of 32768 cells: 2 independent causes",
		"1. " + d.Causes[0].Title + "; spoils m, P (53 % of the error)", "   change: " + d.Causes[0].Advice, "2. " + d.Causes[1].Title, "   change: " + d.Causes[1].Advice,
		"none of them is the cause by itself: each leaves the others' error standing", "again: tilescope diagnose stage2",
	}
	d.Schedules = []diagnose.ScheduleDoc{{Finding: 0, Tried: 200, Varied: 41, Worst: "random:7", MaxAbs: 3.2}}
	return d, nil
}

func missingOf(f debugkern.FindingDoc) string { return *f.Missing }

func (f *fakeRaces) Scene(_ context.Context, _ *debugkern.Run, req debugkern.SceneRequest) (*debugkern.Scene, error) {
	f.scenes++
	f.asked = req
	if req.Block[0] > 7 {
		return nil, errors.New("trial: no such block")
	}
	s := &debugkern.Scene{Request: req, Schedule: "in-order:0", Warps: 4, Steps: 4000, Pair: [2]int{0, 1}}
	for i := range uint64(40) {
		s.Stretches = append(s.Stretches, debugkern.Stretch{Warp: int(i % 4), From: 100 * i, To: 100*i + 99})
	}
	for i := range uint64(5) {
		for w := range 4 {
			s.Syncs = append(s.Syncs, debugkern.Sync{Kind: debugkern.SyncArrive, Step: 800*i + 100*uint64(w), Warp: w})
		}
		s.Syncs = append(s.Syncs, debugkern.Sync{Kind: debugkern.SyncDone, Step: 800*i + 399, Warp: -1})
	}
	s.Accesses = []debugkern.Access{{Step: 1320, Warp: 1, Lanes: 1 << 5, Write: true, Side: [2]bool{true, false}, Here: true, Phase: 2},
		{Step: 1510, Warp: 3, Lanes: 1 << 9, Side: [2]bool{false, true}, Here: true, Phase: 2}}
	dims := map[string][]int{"m_smem": {32}, "sP": {32, 32}}[req.Variable]
	if dims == nil {
		return s, nil
	}
	w := &debugkern.Writers{Array: probes.SharedArray{Name: req.Variable, DType: probes.F16, Dims: dims}, Rows: dims[0], Cols: 1}
	if len(dims) > 1 {
		w.Cols = dims[1]
	}
	for i := range w.Rows * w.Cols {
		c := debugkern.CellWriters{Warp: i / max(1, w.Rows*w.Cols/4), Wrote: 1, Contested: i%29 == 5}
		if i%50 == 49 {
			c = debugkern.CellWriters{Warp: -1}
		}
		w.Cells = append(w.Cells, c)
	}
	s.Writers = w
	return s, nil
}

func (f *fakeRaces) WhatIf(_ context.Context, _ *debugkern.Run, d *debugkern.FindingDoc) ([]string, error) {
	f.tried++
	if strings.HasPrefix(missingOf(*d), "exclusive") {
		return nil, errors.New("no synchronisation can order this: " + *d.Missing)
	}
	return []string{"with __syncthreads() before line 88: gone: race on sP", "12 warp instructions more of 4096 (+0.3 %)"}, nil
}

func (f *fakeRaces) WhatIfRight(_ context.Context, _ *debugkern.Run, c *diagnose.Cause) ([]string, error) {
	f.tried++
	return []string{"with the table right: part of the error is gone"}, nil
}

func (f *fakeRaces) WhatIfWithout(_ context.Context, _ *debugkern.Run, b *diagnose.BarrierDoc) ([]string, error) {
	f.tried++
	return []string{"without the " + b.Instr + ": race on sKT comes"}, nil
}

func withRaces(f *fakeRaces) func(*Options) { return func(o *Options) { o.races = f } }

// diagnosedDriver is the Races view with a diagnosis.
func diagnosedDriver(t testing.TB, w, h int, look Look) (*driver, *fakeRaces) {
	f := &fakeRaces{}
	d := started(t, w, h, look, withRequest(faulty), withRaces(f))
	return d.press("5", "d"), f
}

func TestRacesScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d, _ := diagnosedDriver(t, size[0], size[1], plainLook)
			d.press("n", "n", "tab", "tab") // sP, with both sides where only one part has room
			d.m.status = status{}
			fits(t, d, "Races")
			golden.RequireEqual(t, d.text()+"\n")
		})
	}
}

// TestRacesInASCII shows every part where there is neither UTF-8 nor an attribute.
func TestRacesInASCII(t *testing.T) {
	d, _ := diagnosedDriver(t, 120, 40, Look{Profile: colorprofile.NoTTY, ASCII: true})
	d.press("n", "n")
	screen := strings.Join(d.m.screen(), "\n")
	for _, r := range screen {
		if r > 0x7e || r < 0x20 && r != '\n' {
			t.Fatalf("character %q on an ASCII terminal:\n%s", r, screen)
		}
	}
	for _, want := range []string{"x race sP[17][9]", ">  88", "A--", "! contested (36)", "22222"} {
		if !contains(screen, want) {
			t.Errorf("nothing says %q:\n%s", want, screen)
		}
	}
}

// TestRacesFit draws every part of the Races view, before, during and after a diagnosis, at every size.
func TestRacesFit(t *testing.T) {
	for _, look := range []Look{{Profile: colorprofile.TrueColor}, {Profile: colorprofile.NoTTY, ASCII: true}} {
		before := started(t, 80, 24, look, withRequest(faulty), withRaces(&fakeRaces{})).press("5")
		after, _ := diagnosedDriver(t, 80, 24, look)
		for _, d := range []*driver{before, after} {
			for _, w := range []int{80, 81, 99, 100, 101, 112, 120, 160, 200, 300} {
				for _, h := range []int{24, 25, 33, 35, 36, 37, 40, 60, 90} {
					d.m.resize(w, h)
					for range 6 {
						d.press("tab")
						fits(t, d, "Races")
					}
					d.press("n")
				}
			}
		}
	}
}

func TestRacesBeforeADiagnosis(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty), withRaces(&fakeRaces{})).press("5")
	for _, want := range []string{"1 finding", "uninitialised sP line 88", "sP read before it was written", "d diagnoses"} {
		if !contains(d.text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.text())
		}
	}
	d.press("p").hasStatus("explored by a diagnosis")
}

func TestDiagnosisIsToldAsItGoes(t *testing.T) {
	f := &fakeRaces{hold: make(chan struct{})}
	d := started(t, 120, 40, plainLook, withRequest(faulty), withRaces(f)).press("5")
	d.manual = true
	d.press("d")
	cmds := d.kept[len(d.kept)-1]().(tea.BatchMsg)
	ended := make(chan tea.Msg)
	go func() { ended <- cmds[0]() }()
	for !contains(d.text(), "race m_smem[5]") { // findings as they are told
		msg := cmds[1]()
		_, cmd := d.m.Update(msg)
		if batch, ok := cmd().(tea.BatchMsg); ok {
			cmds[1] = batch[0]
		} else {
			cmds[1] = cmd
		}
	}
	if !contains(d.text(), "diagnose explore 12/200 · Esc cancels") {
		t.Errorf("no progress:\n%s", d.text())
	}
	d.press("esc").hasStatus("diagnosis cancelled")
	d.m.Update(<-ended)
	if d.m.diagnosed() || !contains(d.text(), "race m_smem[5]") || !contains(d.text(), "was cancelled") {
		t.Errorf("after Esc:\n%s", d.text())
	}
}

func TestDiagnosisTellsItsStory(t *testing.T) {
	d, f := diagnosedDriver(t, 120, 40, plainLook)
	for _, want := range []string{"STORY", "2 independent causes", "2 findings, 2 causes", "1. race on m_smem", "53 %", "✗ race m_smem[5] line 140/144 warp 0,1 kv", "2. fragment table", "+ advice 2",
		"A " + kernelFile + ":140", "B " + kernelFile + ":144", "CELLS m_smem 32", "SCHEDULE block 0,0,0", "warp 1 writes, step 1320"} {
		if !contains(d.text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.text())
		}
	}
	if f.asked.Variable != "m_smem" || f.asked.Sides[1].Line != 144 {
		t.Errorf("%d scenes, the last of %+v", f.scenes, f.asked)
	}
	d.press("n", "N")
	if was := d.m.selected(); d.press("k", "k").m.selected() == was || d.press("j", "j").m.selected() != was {
		t.Errorf("j and k do not move through the list")
	}
	n := f.scenes
	if d.press("n", "N", "j", "k"); f.scenes != n {
		t.Errorf("%d scenes of findings that were looked up before", f.scenes-n)
	}
}

// TestPipeNamesTheCause: what was found of memory or order stands in front of the stages that are guilty by what was captured,
// a finding of the run at once and a diagnosis's causes once there is one; of another run nothing is said.
func TestPipeNamesTheCause(t *testing.T) {
	d, _ := diagnosedDriver(t, 120, 40, plainLook)
	if d.press("1"); !contains(d.text(), "DIVERGE  race on m_smem · fragment table · guilty P") || contains(d.text(), "what was captured may be spoilt") {
		t.Errorf("the causes do not lead:\n%s", d.text())
	}
	if text := d.m.pane.pipe.Text(); !strings.Contains(text, "cause\trace on m_smem between") || !strings.Contains(text, missingOf(fakeFindings()[0])) {
		t.Errorf("no cause among the details:\n%s", text)
	}
	d.command("seed 4")
	if !contains(d.text(), "DIVERGE  uninitialised sP · guilty P") || contains(d.text(), "race on m_smem") || !strings.Contains(d.m.pane.pipe.Text(), "what was captured may be spoilt by it too") {
		t.Errorf("another run is told another's causes:\n%s", d.text())
	}
}

func TestAdviceIsFoldedAndFiltered(t *testing.T) {
	d, _ := diagnosedDriver(t, 120, 40, plainLook)
	if contains(d.text(), "bank-conflict") {
		t.Errorf("advice is not folded:\n%s", d.text())
	}
	if d.press("space"); !contains(d.text(), "bank-conflict sKT") || !contains(d.text(), "- advice 2") {
		t.Errorf("advice did not unfold:\n%s", d.text())
	}
	d.press("space", "&").typed("advice").press("enter")
	if s := d.text(); !contains(s, "uncoalesced Q") || contains(s, "race m_smem[5]") {
		t.Errorf("filtered by severity:\n%s", s)
	}
	if d.press("esc"); !contains(d.text(), "race m_smem[5]") {
		t.Errorf("Esc does not clear the filter:\n%s", d.text())
	}
}

func TestEverySynchronisationSaysWhatItIsFor(t *testing.T) {
	d, _ := diagnosedDriver(t, 120, 40, plainLook)
	d.press("G")
	if !contains(d.text(), "▸+ synchronisations 2, 1 needed") {
		t.Fatalf("nothing is folded at the end:\n%s", d.text())
	}
	if d.press("space", "j"); !contains(d.text(), "✓ "+kernelFile+":140 bar.sync 0") || !contains(d.text(), "without it sKT races") || !contains(d.text(), "A "+kernelFile+":140") {
		t.Errorf("what it is for:\n%s", d.text())
	}
	if d.press("i"); !contains(d.text(), "without the bar.sync 0: race on sKT comes") {
		t.Errorf("without it:\n%s", d.text())
	}
	if d.press("j"); !contains(d.text(), "~ "+kernelFile+":88 bar.warp.sync") || !contains(d.text(), "unneeded") {
		t.Errorf("one that is not needed:\n%s", d.text())
	}
	if d.press("enter"); d.m.view != keymap.Source {
		t.Errorf("Enter went to %s", d.m.view)
	}
}

func TestFromAFindingToItsPlaces(t *testing.T) {
	d, _ := diagnosedDriver(t, 120, 40, plainLook)
	d.press("n", "n", "enter")
	if d.m.view != keymap.Source {
		t.Errorf("Enter went to %s", d.m.view)
	}
	d.hasStatus("before the conflict on sP: warp 1 here, warp 3 at step 1510")
	if p := d.m.walk.shot.pos; p.Step != 1320 || p.Warp != 1 {
		t.Errorf("the block stands at step %d of warp %d", p.Step, p.Warp)
	}
	d.press("5")
	for d.m.selected() == nil || d.m.selected().Variable != "sP" {
		d.press("n")
	}
	d.press("t")
	if c := d.m.cursor; d.m.view != keymap.Tile || c.Stage != "P" || c.KVTile != 1 || c.Row != 17 || c.Col != 9 {
		t.Errorf("t went to %s %+v", d.m.view, c)
	}
}

func TestWhatIfAndReplay(t *testing.T) {
	d, f := diagnosedDriver(t, 120, 40, plainLook)
	d.press("i").hasStatus("no synchronisation can order this")
	for d.m.selected() == nil || d.m.selected().Variable != "sP" {
		d.press("n")
	}
	if d.press("i"); !contains(d.text(), "what if") || !contains(d.text(), "gone: race on sP") || f.tried != 2 {
		t.Errorf("the what-if, %d tried:\n%s", f.tried, d.text())
	}
	d.press("p").hasStatus("random:7")
	if got := d.last(); got.Schedule != "random:7" || got.Backend != "emu" {
		t.Errorf("replayed %+v", got)
	}
	if !d.m.diagnosed() || !contains(d.text(), "STORY") {
		t.Errorf("the diagnosis is gone after a replay:\n%s", d.text())
	}
	if d.command("seed 3"); contains(d.text(), "STORY") {
		t.Errorf("another run's diagnosis is still on screen:\n%s", d.text())
	}
}

func TestADiagnosisThatFails(t *testing.T) {
	f := &fakeRaces{fail: errors.New("no result within the time limit")}
	d := started(t, 80, 24, plainLook, withRequest(faulty), withRaces(f)).press("5", "d")
	d.hasStatus("no result within the time limit")
	d = started(t, 80, 24, plainLook).press("5", "d", "i", "p", "t", "enter", "space")
	d.press("d").hasStatus("cannot diagnose")
}

func TestClicksInRaces(t *testing.T) {
	d, _ := diagnosedDriver(t, 120, 40, plainLook)
	var y int
	for i, l := range strings.Split(d.text(), "\n") {
		if contains(l, "race sP[17][9]") {
			y = i
		}
	}
	d.send(tea.MouseClickMsg{X: 8, Y: y, Button: tea.MouseLeft})
	if f := d.m.selected(); f == nil || f.Variable != "sP" {
		t.Fatalf("the click chose %+v", f)
	}
	d.send(tea.MouseClickMsg{X: 8, Y: y, Button: tea.MouseLeft})
	if d.m.view != keymap.Source {
		t.Errorf("the second click went to %s", d.m.view)
	}
}
