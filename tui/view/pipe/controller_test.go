package pipe_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/pipe"
	"tilescope/tui/view/viewtest"
)

// control is the view.
func control(d *viewtest.Driver) *pipe.Controller {
	return viewtest.View[*pipe.Controller](d, view.Pipe)
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.Pipe, viewtest.Request(viewtest.Faulty)) }

// TestPipeNamesTheCause: what was found of memory or order stands in front of the stages that are guilty
// by what was captured, a finding of the run at once and a diagnosis's causes once there is one; of
// another run nothing is said.
func TestPipeNamesTheCause(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(&tuitest.Races{})).
		Press("5", "d")
	if d.Press("1"); !strings.Contains(d.Text(), "DIVERGE  race on m_smem · fragment table · guilty P") ||
		strings.Contains(d.Text(), "may also have spoilt") {
		t.Errorf("the causes do not lead:\n%s", d.Text())
	}
	if text := control(d).Text(); !strings.Contains(text, "cause\trace on m_smem between") ||
		!strings.Contains(text, *tuitest.Findings()[0].Missing) {
		t.Errorf("no cause among the details:\n%s", text)
	}
	d.Command("seed 4")
	if !strings.Contains(d.Text(), "DIVERGE  uninitialised sP · guilty P") ||
		strings.Contains(d.Text(), "race on m_smem") ||
		!strings.Contains(control(d).Text(), "this may also have spoilt what was captured") {
		t.Errorf("another run is told another's causes:\n%s", d.Text())
	}
}

// TestAClickOnTheMapOfBlocks: it goes to the block, and to its tile where one is drawn there; a second one
// opens it. The wheel goes from block to block.
func TestAClickOnTheMapOfBlocks(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty))
	lines := strings.Split(d.Text(), "\n")
	before, _, ok := strings.Cut(lines[5], "2,0,0")
	if !ok {
		t.Fatalf("no block 2,0,0 in line 5:\n%s", d.Text())
	}
	x := len([]rune(before))
	d.Click(x, 5)
	if at := d.M.At(); at.Block != (probes.Dim3{2, 0, 0}) || d.M.Showing() != view.Pipe {
		t.Fatalf("on its name: %+v in %s", at, d.M.Showing())
	}
	d.Click(x+10, 4)
	if at := d.M.At(); at.Block != (probes.Dim3{1, 0, 0}) || at.KVTile != 2 {
		t.Errorf("on the third tile of the block above: %+v", at)
	}
	d.Send(tea.MouseWheelMsg{X: x, Y: 4, Button: tea.MouseWheelDown})
	if d.M.At().Block != (probes.Dim3{2, 0, 0}) {
		t.Errorf("the wheel: %+v", d.M.At())
	}
	d.Click(x, 5)
	if at := d.M.At(); d.M.Showing() != view.Tile || at.Block != (probes.Dim3{2, 0, 0}) || at.KVTile != 2 {
		t.Errorf("a second click: %+v in %s", at, d.M.Showing())
	}
	d.Press("1")
	was := d.M.At()
	if d.Click(x, 2); d.M.At() != was { // the border
		t.Errorf("the border: %+v", d.M.At())
	}
}

// TestMotions: in the timeline the motion keys are stages, kv tiles and blocks; in the detail they scroll.
func TestMotions(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := viewtest.Start(t, size[0], size[1]).Press("g", "g", "0")
		for _, s := range []struct {
			key   string
			stage probes.Stage
			kv    int
		}{
			{"j", "K", 0}, {"k", "Q", 0}, {"G", "O", 0}, {"gg", "Q", 0}, {"j", "K", 0}, {"j", "V", 0},
			{"l", "V", 1}, {"h", "V", 0}, {"$", "V", 3}, {"0", "V", 0},
		} {
			d.Press(strings.Split(s.key, "")...)
			if at := d.M.At(); at.Stage != s.stage || at.KVTile != s.kv {
				t.Errorf("%q went to %s kv %d, expected %s kv %d", s.key, at.Stage, at.KVTile, s.stage, s.kv)
			}
		}
		was := d.M.Cursor.Block
		if d.Press("ctrl+d"); d.M.Cursor.Block == was {
			t.Error("a page down stays in the block")
		}
		at := d.M.Cursor
		if d.Press("tab", "j", "j", "G"); d.M.Cursor != at {
			t.Errorf("scrolling the detail moved the cursor to %+v", d.M.Cursor)
		}
		d.Press("j").HasStatus("nothing further that way")
	}
}

// TestOpen: Enter shows the cursor's tile, at the stage's first bad cell where that lies in it; so
// does a second click.
func TestOpen(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Command("goto 0,0").Press("enter")
	if c := d.M.Cursor; d.M.Showing() != view.Tile || c.Row != 4 || c.Col != 9 {
		t.Errorf("Enter shows %s at %+v", d.M.Showing(), c)
	}
	at := d.Press("1", "n").M.Cursor
	if d.Press("enter"); d.M.Showing() != view.Tile || d.M.Cursor != at || at.Row == 4 && at.Col == 9 {
		t.Errorf("n led to %+v, Enter shows %+v", at, d.M.Cursor)
	}
	d.Press("1", "k", "enter")
	if c := d.M.Cursor; d.M.Showing() != view.Tile || c.Stage == "P" {
		t.Errorf("Enter shows %s at %+v", d.M.Showing(), c)
	}
	d.Press("1")
	d.Click(24, 11)
	if at := d.M.At(); at.Stage != "P" || at.KVTile != 1 || d.M.Showing() != view.Pipe {
		t.Errorf("a click went to %+v in %s", at, d.M.Showing())
	}
	if d.Click(24, 11); d.M.Showing() != view.Tile {
		t.Errorf("a second click shows %s", d.M.Showing())
	}
}

// TestSearch: n goes through the matches of the detail while a search is active, else to bad cells.
func TestSearch(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty))
	d.Press("n").HasStatus("first bad cell")
	d.Type("/digest").Press("enter")
	d.Says("digest")
	at := d.M.Cursor
	if d.Press("n"); d.M.Cursor != at {
		t.Error("n left the search for a bad cell")
	}
	d.Type("/no such words").Press("enter").HasStatus("no match")
	d.Press("esc").HasStatus("cleared")
	if d.Press("n"); d.M.Cursor == at {
		t.Error("n goes nowhere once the search is over")
	}
	if d.Type("/u").Press("enter"); d.M.At().Stage != "U" {
		t.Errorf("the search for a stage goes to %s", d.M.At().Stage)
	}
	at = d.M.Cursor
	if d.Type("/bad").Press("enter"); d.M.Cursor == at {
		t.Error("the search for bad goes to no bad cell")
	}
	at = d.M.Cursor
	if d.Type("/l").Press("esc"); d.M.Cursor != at {
		t.Errorf("a search that was given up has left the cursor at %+v", d.M.Cursor)
	}
	d.Press("esc")
	d.Type("&digest").Press("enter")
	if text := d.Text(); strings.Contains(text, "cosine") {
		t.Errorf("the filter shows other lines:\n%s", text)
	}
}

// TestBeforeTheFirstRun: the timeline of the request is drawn, and nothing can be opened.
func TestBeforeTheFirstRun(t *testing.T) {
	d := viewtest.New(t, 80, 24)
	d.Manual = true
	d.Do(d.M.Init())
	d.Says("running stage2")
	d.Press("enter").HasStatus("nothing to move in yet")
	if control(d).Text() != "" {
		t.Errorf("copies %q", control(d).Text())
	}
}

// TestInjectedStages: under a gate the stages that it injects are marked as such, in the timeline, the map of
// TestGateMovesToWhatItShows: a stage that a gate leaves out is left for what the gate injects, else for what
// it judges; one that the gate has is kept, and so is every stage without a gate.
func TestGateMovesToWhatItShows(t *testing.T) {
	d := viewtest.Start(t, 120, 40)
	for _, step := range []struct{ command, stage string }{
		{"gate softmax", "S"}, {"gate qk", "S"}, {"gate pv", "m"}, {"stage O", "O"}, {"gate none", "O"},
		{"gate qk", "Q"},
	} {
		if d.Command(step.command); d.M.Cursor.Stage.String() != step.stage {
			t.Errorf("after :%s the cursor is on %s, expected %s", step.command, d.M.Cursor.Stage, step.stage)
		}
	}
}

// all blocks and the detail, and are told from those that it leaves out.
func TestInjectedStages(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("gate pv").Command("stage P")
	for _, want := range []string{"injected m l P", "»    ", "» injected", "P » injected", "»»»»",
		"gate pv computes later stages from reference values of P"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	if d.Command("stage S"); strings.Contains(d.Text(), "S » injected") ||
		!strings.Contains(d.Text(), "gate pv leaves it out") {
		t.Errorf("a stage that is left out reads as injected:\n%s", d.Text())
	}
}

// TestOverview: wide screens show the errors of the tile under the cursor, as a map and as a histogram, and
// tall ones the source line of the first wrong cell.
func TestOverview(t *testing.T) {
	d := viewtest.Start(t, 200, 60, viewtest.Request(viewtest.Faulty)).Command("stage P").Command("kv 1")
	for _, want := range []string{"TILE P kv 1 local", "ERROR ÷ BOUND OF THE TILE 1024 cells", "cell of P"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	if d.Command("kv 0"); !strings.Contains(d.Text(), "TILE P kv 0") {
		t.Errorf("the map stays at another tile:\n%s", d.Text())
	}
}

// TestDiagnoseKey: the hint line of a run that went wrong begins with the key that diagnoses it, which shows
// Races; there it does not begin a second time, and a run that went well has no such hint.
func TestDiagnoseKey(t *testing.T) {
	for _, size := range viewtest.Sizes {
		f := &tuitest.Races{}
		d := viewtest.Start(t, size[0], size[1], viewtest.Request(viewtest.Faulty), viewtest.Races(f))
		hints := func() string { return strings.TrimSpace(strings.Split(d.Text(), "\n")[size[1]-1]) }
		if h := hints(); !strings.HasPrefix(h, "d diagnose  n next bad") || !strings.HasSuffix(h, "q quit") {
			t.Errorf("hints %q", h)
		}
		if d.Press("d"); d.M.Showing() != view.Races || f.Diagnosed != 1 {
			t.Errorf("d shows %s, %d diagnoses", d.M.Showing(), f.Diagnosed)
		}
		if d.Press("1", "d"); d.M.Showing() != view.Races || f.Diagnosed != 1 {
			t.Errorf("d again shows %s, %d diagnoses", d.M.Showing(), f.Diagnosed)
		}
		d.Press("2").M.Clear()
		if h := hints(); !strings.HasPrefix(h, ":diagnose why") || !strings.HasSuffix(h, "q quit") {
			t.Errorf("in Tile: hints %q", h)
		}
		d = viewtest.Start(t, size[0], size[1])
		if h := hints(); strings.Contains(h, "diagnose") || !strings.HasSuffix(h, "q quit") {
			t.Errorf("of a run that agrees: hints %q", h)
		}
	}
}

// TestVerdictLine: what is most important leads, a line that is too long ends between two statements with an
// ellipsis, and the details have what it had no room for.
func TestVerdictLine(t *testing.T) {
	for _, w := range []int{80, 120, 200} {
		d := viewtest.Start(t, w, 40, viewtest.Request(viewtest.Faulty), viewtest.Races(&tuitest.Races{})).
			Press("d", "1")
		lines := strings.Split(d.Text(), "\n")
		text := strings.TrimSpace(strings.Split(lines[viewtest.Top+1], "│")[1])
		all := text
		if i := strings.Index(d.Text(), "verdict     … "); i >= 0 {
			all += d.Text()[i:]
		} else if strings.HasSuffix(text, "…") {
			t.Errorf("%d columns: the rest of %q is nowhere", w, text)
		}
		for _, want := range []string{
			"race on m_smem", "fragment table", "guilty P", "tainted U O", "output",
		} {
			if !strings.Contains(all, want) {
				t.Errorf("%d columns: no %q:\n%s", w, want, d.Text())
			}
		}
	}
}

// TestNamesOfDetails: a blank stands between the name of every detail and its text.
func TestNamesOfDetails(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Command("stage Q")
	if d.Says("first wrong P at"); strings.Contains(d.Text(), "wrongP") {
		t.Errorf("a name touches its text:\n%s", d.Text())
	}
}

// TestTheLegendHasWhatIsOnScreen: under a gate, with wrong cells, and on the smallest screen, each mark of
// the table is explained below it.
func TestTheLegendHasWhatIsOnScreen(t *testing.T) {
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1])
		for _, gate := range []string{"qk", "softmax", "pv"} {
			d.Command("gate "+gate).Says("– not judged", "✓ in bounds")
		}
		d.Says("injected")
		d.Command("gate none").Command("fault p-stale-m").Says("✗n bad cells", "~n bad by earlier stages")
		d.Command("gate softmax").Says("✗n bad")
		l := d.M.Run.Report.Stage("l")
		l.Verdict, l.Global.Bad, l.NotCaptured = report.Tainted, 3, 2
		d.Press("J").Says("✓ in bounds", "✗n bad", "~n ", "∅n not captured", "» injected", "– not judged")
	}
}
