package races_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/tui/theme"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/races"
	"tilescope/tui/view/viewtest"
)

// control is the view.
func control(d *viewtest.Driver) *races.Controller {
	return viewtest.View[*races.Controller](d, view.Races)
}

// diagnosed is the Races view with a diagnosis.
func diagnosed(t testing.TB, w, h int, options ...viewtest.Option) (*viewtest.Driver, *tuitest.Races) {
	f := &tuitest.Races{}
	d := viewtest.Start(t, w, h, append(options, viewtest.Request(viewtest.Faulty), viewtest.Races(f))...)
	return d.Press("5", "d"), f
}

func TestRacesScreens(t *testing.T) {
	for _, size := range viewtest.Sizes {
		open := func(more ...viewtest.Option) *viewtest.Driver {
			d, _ := diagnosed(t, size[0], size[1], more...)
			d.Press("n", "n", "tab", "tab") // sP, with both sides where only one part has room
			d.M.Clear()
			return d
		}
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := open()
			d.Fits("Races")
			golden.RequireEqual(t, d.Text()+"\n")
		})
		t.Run(fmt.Sprintf("%dx%d-styles", size[0], size[1]), func(t *testing.T) {
			golden.RequireEqual(t, viewtest.Styles(t, open))
		})
	}
}

// TestRacesInASCII shows every part where there is neither UTF-8 nor an attribute.
func TestRacesInASCII(t *testing.T) {
	d, _ := diagnosed(t, 120, 40, viewtest.ASCII)
	d.Press("n", "n")
	screen := strings.Join(d.Lines(), "\n")
	for _, r := range screen {
		if r > 0x7e || r < 0x20 && r != '\n' {
			t.Fatalf("character %q on an ASCII terminal:\n%s", r, screen)
		}
	}
	for _, want := range []string{"x race sP[17][9]", ">  88", "A--", "! contested (36 cells)", "22222"} {
		if !strings.Contains(screen, want) {
			t.Errorf("nothing says %q:\n%s", want, screen)
		}
	}
}

// TestRacesFit draws every part of the Races view, before, during and after a diagnosis, at every size.
func TestRacesFit(t *testing.T) {
	for _, look := range []viewtest.Option{viewtest.Colour, viewtest.ASCII} {
		before := viewtest.Start(t, 80, 24, look, viewtest.Request(viewtest.Faulty),
			viewtest.Races(&tuitest.Races{})).Press("5")
		after, _ := diagnosed(t, 80, 24, look)
		for _, d := range []*viewtest.Driver{before, after} {
			for _, w := range []int{80, 81, 99, 100, 101, 112, 120, 160, 200, 300} {
				for _, h := range []int{24, 25, 33, 35, 36, 37, 40, 60, 90} {
					d.Resize(w, h)
					for range 6 {
						d.Press("tab")
						d.Fits("Races")
					}
					d.Press("n")
				}
			}
		}
	}
}

func TestRacesBeforeADiagnosis(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty), viewtest.Races(&tuitest.Races{})).
		Press("5")
	for _, want := range []string{
		"1 finding", "uninitialised sP line 88", "sP read before it was written", "d diagnoses",
	} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.Text())
		}
	}
	d.Press("p").HasStatus("explored by a diagnosis")
}

// TestNothingFoundYet: findings are not counted before there was anything to find, and a run that not every
// checker watched does not pass for one without errors.
func TestNothingFoundYet(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Races(&tuitest.Races{})).Press("5")
	d.Says("┌0 findings so far─", "none by the checks of this run; a diagnosis checks everything",
		"looked for                        this run    a diagnosis",
		"barriers that not all reach       ✓           ✓",
		"races                             –           ✓")
	d.Manual = true
	d.Press("x")
	d.Says("┌RUNNING─", "none yet: still running")
}

func TestDiagnosisIsToldAsItGoes(t *testing.T) {
	f := &tuitest.Races{Hold: make(chan struct{})}
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(f)).Press("5")
	d.Manual = true
	d.Press("d")
	if text := d.Text(); !strings.Contains(text, "┌DIAGNOSIS RUNNING─") ||
		strings.Contains(text, "0 finding") {
		t.Errorf("a diagnosis that has found nothing yet:\n%s", text)
	}
	cmds := d.Kept[len(d.Kept)-1]().(tea.BatchMsg)
	ended := make(chan tea.Msg)
	go func() { ended <- cmds[0]() }()
	for !strings.Contains(d.Text(), "race m_smem[5]") { // findings as they are told
		msg := cmds[1]()
		_, cmd := d.M.Update(msg)
		if batch, ok := cmd().(tea.BatchMsg); ok {
			cmds[1] = batch[0]
		} else {
			cmds[1] = cmd
		}
	}
	if !strings.Contains(d.Text(), "DIAGNOSIS RUNNING, so far 1 finding, no cause─") {
		t.Errorf("what it has found so far is not counted:\n%s", d.Text())
	}
	if !strings.Contains(d.Text(), "diagnosis: trying schedules 12/200 · Esc cancels") {
		t.Errorf("no progress:\n%s", d.Text())
	}
	d.Press("esc").HasStatus("diagnosis cancelled")
	d.M.Update(<-ended)
	if control(d).Diagnosed() || !strings.Contains(d.Text(), "race m_smem[5]") ||
		!strings.Contains(d.Text(), "was cancelled") {
		t.Errorf("after Esc:\n%s", d.Text())
	}
}

// TestWhatIfOutlivesTheDiagnosis: what was asked of a finding while the diagnosis runs is answered after it.
func TestWhatIfOutlivesTheDiagnosis(t *testing.T) {
	f := &tuitest.Races{Hold: make(chan struct{})}
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(f)).Press("5")
	d.Manual = true
	d.Press("d")
	cmds := d.Kept[len(d.Kept)-1]().(tea.BatchMsg)
	ended := make(chan tea.Msg)
	go func() { ended <- cmds[0]() }()
	for !strings.Contains(d.Text(), "race m_smem[5]") {
		_, cmd := d.M.Update(cmds[1]())
		cmds[1] = cmd
		if batch, ok := cmd().(tea.BatchMsg); ok {
			cmds[1] = batch[0]
		}
	}
	d.Press("i").HasStatus("trying what would fix it")
	tried := d.Kept[len(d.Kept)-1]
	close(f.Hold)
	d.M.Update(<-ended)
	d.Says("STORY")
	d.M.Update(tried())
	d.HasStatus("what if: no synchronisation can order this")
	d.Says("what if  no synchronisation can order this")
}

// TestCursorGoesToTheFirstCause: when a diagnosis ends, unless a finding was chosen while it ran.
func TestCursorGoesToTheFirstCause(t *testing.T) {
	for _, asked := range []bool{false, true} {
		f := &tuitest.Races{Hold: make(chan struct{})}
		d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(f)).Press("5")
		d.Manual = true
		d.Press("d")
		cmds := d.Kept[len(d.Kept)-1]().(tea.BatchMsg)
		ended := make(chan tea.Msg)
		go func() { ended <- cmds[0]() }()
		for !strings.Contains(d.Text(), "race m_smem[5]") {
			_, cmd := d.M.Update(cmds[1]())
			cmds[1] = cmd
			if batch, ok := cmd().(tea.BatchMsg); ok {
				cmds[1] = batch[0]
			}
		}
		if asked {
			d.Press("i")
		}
		close(f.Hold)
		d.M.Update(<-ended)
		if asked {
			d.Says("▸   ✗ race m_smem[5]")
		} else {
			d.Says("▸1. race on m_smem")
		}
	}
}

// TestWhatIfOfAFindingTriesItsCause: where nothing puts a finding right by itself, what puts its cause right
// is tried.
func TestWhatIfOfAFindingTriesItsCause(t *testing.T) {
	f := &tuitest.Races{Grouped: true}
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(f)).Press("5", "d")
	for control(d).Selected() == nil || control(d).Selected().Variable != "m_smem" {
		d.Press("n")
	}
	d.Press("i").Says("what if", "gone: race on sP")
	if f.Tried != 2 {
		t.Errorf("%d tried, expected the finding and its cause", f.Tried)
	}
}

// TestPartsAreCalledAsTheyAreTitled: the word for the pane that Tab goes to stands in its frame, but for
// sources, which are titled by their file.
func TestPartsAreCalledAsTheyAreTitled(t *testing.T) {
	d, _ := diagnosed(t, 120, 40)
	for range 6 {
		d.Press("tab")
		name := strings.TrimPrefix(d.M.Status.Text, "focus: ")
		titled := strings.ToUpper(name)
		switch name {
		case "source":
			titled = "A " + tuitest.KernelFile
		case "findings":
			titled = "2 findings"
		}
		if !strings.Contains(d.Text(), titled) {
			t.Errorf("no pane is titled %q for %q:\n%s", titled, name, d.Text())
		}
	}
}

// The findings of a kernel without a loop over tiles name no iteration.
func TestFindingsOfAKernelWithoutALoop(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(&tuitest.Races{}))
	d.M.Run.Plan.Work.Once = true
	d.Press("5", "d").Says("✗ race m_smem[5] line 140/144", "31 pairs│", "all iterations")
	if s := d.Text(); strings.Contains(s, "kv 0") || strings.Contains(s, "kv tile") {
		t.Errorf("an iteration is named:\n%s", s)
	}
}

// The status line says that a diagnosis has ended, how long it took and what it came to; its story is on the
// screen, or a key away.
func TestStatusOfADiagnosis(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(&tuitest.Races{}))
	now := time.Now()
	d.M.Now = func() time.Time { now = now.Add(20 * time.Second); return now }
	d.Press("5", "d")
	if got := d.M.Status.Text; !regexp.MustCompile(
		`^diagnosed stage2 p-stale-m in \d+ s: 2 causes, 2 findings$`).MatchString(got) {
		t.Errorf("status %q", got)
	}
	d.Manual = true
	d.Press("d", "1")
	d.Late()
	d.HasStatus("2 causes, 2 findings · more in Races [5]")

	d.Manual = true
	d.Press("5", "d").Command("seed 3")
	d.Late()
	if got := d.M.Status.Text; strings.Contains(got, "more in") {
		t.Errorf("of another request: %q", got)
	}
}

// What differs from the expectations that a launch states stays in the list when a diagnosis, which does not
// compare them, has ended.
func TestStatedDifferencesStay(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(&tuitest.Races{}))
	d.M.Run.Report.Findings = append(d.M.Run.Report.Findings, report.Finding{
		Kind: "expectation", Severity: "error", Variable: "C", Index: []int{0, 0}, KVTile: -1, Count: 1,
		Message: "C[0][0] is not made of A[3][0]",
	})
	d.Press("5", "d")
	d.HasStatus("2 causes, 3 findings")
	for _, want := range []string{"expectation C[0][0]", "not diagnosed: 1 difference"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.Text())
		}
	}
}

func TestDiagnosisTellsItsStory(t *testing.T) {
	d, f := diagnosed(t, 120, 40)
	for _, want := range []string{
		"STORY", "2 independent causes", "2 causes, 2 findings", "1. race on m_smem", "53 %",
		"✗ race m_smem[5] line 140/144", "31 pairs│", "2. fragment table",
		"+ 2 pieces of advice",
		"A " + tuitest.KernelFile + ":140", "B " + tuitest.KernelFile + ":144", "CELLS m_smem 32",
		"SCHEDULE block 0,0,0", "warp 1 writes, step 1320",
	} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.Text())
		}
	}
	if f.Asked.Variable != "m_smem" || f.Asked.Sides[1].Line != 144 {
		t.Errorf("%d scenes, the last of %+v", f.Scenes, f.Asked)
	}
	d.Press("n", "N")
	if was := control(d).Selected(); control(d.Press("k", "k")).Selected() == was ||
		control(d.Press("j", "j")).Selected() != was {
		t.Errorf("j and k do not move through the list")
	}
	n := f.Scenes
	if d.Press("n", "N", "j", "k"); f.Scenes != n {
		t.Errorf("%d scenes of findings that were looked up before", f.Scenes-n)
	}
}

// A search goes through causes, findings and what is folded, by what their rows say, also while it is typed.
func TestSearchInRaces(t *testing.T) {
	d, _ := diagnosed(t, 120, 40)
	d.Press("/").Type("frag")
	d.Says("▸2. fragment table")
	d.Press("esc").Says("▸1. race on m_smem")
	d.Press("/").Type("race").Press("enter")
	d.Says("▸   ✗ race m_smem[5]")
	d.Press("n").Says("▸✗ race sP[17][9]")
	d.Press("n").Says("▸1. race on m_smem")
	d.Press("N").Says("▸✗ race sP[17][9]")
	d.Press("/").Type("advice").Press("enter").Says("▸+ 2 pieces of advice")
	if strings.Contains(d.Text(), "no source line") { // what a line folds has one: the first of it is shown
		t.Errorf("a line that folds advice shows no source:\n%s", d.Text())
	}
	d.Press("/").Type("nowhere").Press("enter").HasStatus("no match for nowhere")
	d.Press("/", "enter").HasStatus("search cleared")
	d.Press("gg", "n").Says("▸   ✗ race m_smem[5]")
}

func TestAdviceIsFoldedAndFiltered(t *testing.T) {
	d, _ := diagnosed(t, 120, 40)
	if strings.Contains(d.Text(), "bank-conflict") {
		t.Errorf("advice is not folded:\n%s", d.Text())
	}
	if d.Press("space"); !strings.Contains(d.Text(), "bank-conflict sKT") ||
		!strings.Contains(d.Text(), "- 2 pieces of advice") {
		t.Errorf("advice did not unfold:\n%s", d.Text())
	}
	d.Press("space", "&").Type("advice").Press("enter")
	if s := d.Text(); !strings.Contains(s, "uncoalesced Q") || strings.Contains(s, "race m_smem[5]") {
		t.Errorf("filtered by severity:\n%s", s)
	}
	if d.Press("esc"); !strings.Contains(d.Text(), "race m_smem[5]") {
		t.Errorf("Esc does not clear the filter:\n%s", d.Text())
	}
}

// The story has the lines that a short list leaves, also where one detail is shown at a time.
func TestRoomForTheStory(t *testing.T) {
	d, _ := diagnosed(t, 100, 34) // below the size that shows everything at once
	d.Fits("a story")
	d.Says("┌STORY──", "fragment table WMMA_ACCUM_LUT", "again: ")
	if s := d.Text(); strings.Contains(s, "of 9─┐") {
		t.Errorf("the story is cut:\n%s", s)
	}
}

func TestHowManySynchronisationsAreNeeded(t *testing.T) {
	for want, needed := range map[string][]bool{
		"+ 3 synchronisations, 2 needed": {true, false, true}, "+ 1 synchronisation, 1 needed": {true},
		"+ 2 synchronisations, all needed": {true, true}, "+ 2 synchronisations, 0 needed": {false, false},
	} {
		p := races.NewPane(theme.New(theme.Options{}))
		p.SetSize(120, 30)
		data := races.Data{Diagnosed: true}
		for _, n := range needed {
			data.Barriers = append(data.Barriers, diagnose.BarrierDoc{Needed: n})
		}
		p.SetData(data)
		if s := ansi.Strip(strings.Join(p.View(), "\n")); !strings.Contains(s, want) {
			t.Errorf("no %q:\n%s", want, s)
		}
	}
}

func TestEverySynchronisationSaysWhatItIsFor(t *testing.T) {
	d, _ := diagnosed(t, 120, 40)
	d.Press("G")
	if !strings.Contains(d.Text(), "▸+ 2 synchronisations, 1 needed") {
		t.Fatalf("nothing is folded at the end:\n%s", d.Text())
	}
	if d.Press("space", "j"); !strings.Contains(d.Text(), "✓ "+tuitest.KernelFile+":140 bar.sync 0") ||
		!strings.Contains(d.Text(), "without it sKT races") ||
		!strings.Contains(d.Text(), "A "+tuitest.KernelFile+":140") {
		t.Errorf("what it is for:\n%s", d.Text())
	}
	if d.Press("i"); !strings.Contains(d.Text(), "without the bar.sync 0: race on sKT comes") {
		t.Errorf("without it:\n%s", d.Text())
	}
	if d.Press("j"); !strings.Contains(d.Text(), "~ "+tuitest.KernelFile+":88 bar.warp.sync") ||
		!strings.Contains(d.Text(), "unneeded") {
		t.Errorf("one that is not needed:\n%s", d.Text())
	}
	if d.Press("enter"); d.M.Showing() != view.Source {
		t.Errorf("Enter went to %s", d.M.Showing())
	}
}

func TestFromAFindingToItsPlaces(t *testing.T) {
	d, _ := diagnosed(t, 120, 40)
	d.Press("n", "n", "enter")
	if d.M.Showing() != view.Source {
		t.Errorf("Enter went to %s", d.M.Showing())
	}
	d.HasStatus("before the conflict on sP: warp 1 here, warp 3 at step 1510")
	d.Says("warp 1, all 32 lanes · step 1320 ")
	d.Press("5")
	for control(d).Selected() == nil || control(d).Selected().Variable != "sP" {
		d.Press("n")
	}
	d.Press("t")
	if c := d.M.Cursor; d.M.Showing() != view.Tile || c.Stage != "P" || c.KVTile != 1 ||
		c.Row != 17 || c.Col != 9 {
		t.Errorf("t went to %s %+v", d.M.Showing(), c)
	}
}

// TestNothingToReplay: where no schedule makes the race worse than the run shows it, nothing runs, and the
// status names the two accesses and the cells.
func TestNothingToReplay(t *testing.T) {
	d, f := diagnosed(t, 120, 40)
	f.Tame = true
	for control(d).Selected() == nil || control(d).Selected().Variable != "sP" {
		d.Press("n")
	}
	runs := d.Last()
	d.Press("p").HasStatus("race sP[17][9] line 140/88: the run on screen already shows it, so there is " +
		"nothing to replay: the read of warp 3")
	if d.M.Replaying() || d.Last().Schedule != runs.Schedule {
		t.Errorf("it replays %+v", d.Last())
	}
}

func TestWhatIfAndReplay(t *testing.T) {
	d, f := diagnosed(t, 120, 40)
	d.Press("i").HasStatus("no synchronisation can order this")
	for control(d).Selected() == nil || control(d).Selected().Variable != "sP" {
		d.Press("n")
	}
	if d.Press("i"); !strings.Contains(d.Text(), "what if") ||
		!strings.Contains(d.Text(), "gone: race on sP") || !strings.Contains(d.Text(), "for race sP") ||
		f.Tried != 2 {
		t.Errorf("the what-if, %d tried:\n%s", f.Tried, d.Text())
	}
	d.Press("j", "k").Says("p replay")
	d.Press("p").HasStatus("random:7")
	d.Says("of the replay, random:7, for race sP[17][9]", "as in 5 of 64 schedules and not in",
		"40 bad cells in this block (0,0,0), all stages; in", "against the true inputs, earlier stages'")
	d.Press("j").Says("p end replay")
	if got := d.Last(); got.Schedule != "random:7" || got.Backend != "emu" {
		t.Errorf("replayed %+v", got)
	}
	if !control(d).Diagnosed() || !strings.Contains(d.Text(), "STORY") {
		t.Errorf("the diagnosis is gone after a replay:\n%s", d.Text())
	}
	if d.Command("seed 3"); strings.Contains(d.Text(), "STORY") {
		t.Errorf("another run's diagnosis is still on screen:\n%s", d.Text())
	}
}

// TestEscClosesTheAnswerOfAWhatIf: Esc and q go back one step, to the finding, and only then leave.
func TestEscClosesTheAnswerOfAWhatIf(t *testing.T) {
	for _, key := range []string{"esc", "q"} {
		d, _ := diagnosed(t, 120, 40)
		for control(d).Selected() == nil || control(d).Selected().Variable != "sP" {
			d.Press("n")
		}
		d.Press("i").Says("gone: race on sP")
		d.Press(key)
		f := control(d).Selected()
		if d.M.Showing() != view.Races || f == nil || f.Variable != "sP" || d.Quit {
			t.Fatalf("%s left the finding: view %s, selected %+v, quit %t", key, d.M.Showing(), f, d.Quit)
		}
		if strings.Contains(d.Text(), "gone: race on sP") {
			t.Errorf("%s: the answer is still on screen:\n%s", key, d.Text())
		}
		if d.Press(key); key == "esc" && d.M.Showing() != view.Pipe || key == "q" && !d.Quit {
			t.Errorf("%s a second time: view %s, quit %t", key, d.M.Showing(), d.Quit)
		}
	}
}

func TestADiagnosisThatFails(t *testing.T) {
	f := &tuitest.Races{Fail: errors.New("no result within the time limit")}
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty), viewtest.Races(f)).Press("5", "d")
	d.HasStatus("no result within the time limit")
	d = viewtest.Start(t, 80, 24).Press("5", "d", "i", "p", "t", "enter", "space")
	d.Press("d").HasStatus("cannot diagnose")
}

func TestClicksInRaces(t *testing.T) {
	d, _ := diagnosed(t, 120, 40)
	var y int
	for i, l := range strings.Split(d.Text(), "\n") {
		if strings.Contains(l, "race sP[17][9]") {
			y = i
		}
	}
	d.Send(tea.MouseClickMsg{X: 8, Y: y, Button: tea.MouseLeft})
	if f := control(d).Selected(); f == nil || f.Variable != "sP" {
		t.Fatalf("the click chose %+v", f)
	}
	d.Send(tea.MouseClickMsg{X: 8, Y: y, Button: tea.MouseLeft})
	if d.M.Showing() != view.Source {
		t.Errorf("the second click went to %s", d.M.Showing())
	}
}

// A hang is drawn as a graph in the place of cells and schedule: the cycle with what its waits need, and what
// no thread will do.
func TestHangGraph(t *testing.T) {
	for _, size := range viewtest.Sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			f := &tuitest.Races{Bare: true, Hung: true}
			d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty), viewtest.Races(f))
			d.Press("5", "d", "shift+tab") // the last part: the graph
			d.M.Clear()
			d.Fits("Races")
			golden.RequireEqual(t, d.Text()+"\n")
			d.Press("Z").Says("HANG a cycle: 2 waits need each other",
				"┌─● warps 0,1 wait at barrier 1 (line 70): 64 of 128 arrived",
				"│ │ needs 64 of 128 threads of warp 2",
				"needs 8 of 8 arrivals of warps 0,1 (line 88, not reached yet)", "└──",
				"● warp 3 waits at q_full[0] (line 60), phase 0: 1 of 1 arrived",
				"✗ no copy that completes on it is pending")
			d.Fits("Races, zoomed")
		})
	}
}

// TestTopLineSaysWhatWasFound: a run whose values agree is no clean one where it, or a diagnosis of it, has
// found errors; another request has none of them.
func TestTopLineSaysWhatWasFound(t *testing.T) {
	top := func(d *viewtest.Driver) string { return strings.Split(d.Text(), "\n")[0] }
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1], viewtest.Races(&tuitest.Races{}))
		if s := top(d); !strings.Contains(s, "✓ agree  ") {
			t.Errorf("before a diagnosis: %q", s)
		}
		d.Press("5", "d").Says("2 causes, 2 findings")
		if s := top(d); !strings.Contains(s, "✓ agree · 2 races  ") {
			t.Errorf("after a diagnosis: %q", s)
		}
		d.Press("1").Command("seed 3")
		if s := top(d); !strings.Contains(s, "✓ agree  ") {
			t.Errorf("another request: %q", s)
		}
		d.M.Run.Report.Findings = []report.Finding{{Kind: "out-of-bounds", Severity: "error"},
			{Kind: "bank-conflict", Severity: "advice"}}
		d.M.Announce(view.NewRun{})
		if s := top(d); !strings.Contains(s, "✓ agree · 1 finding  ") {
			t.Errorf("findings of the run: %q", s)
		}
	}
}
