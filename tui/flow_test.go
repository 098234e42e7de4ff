package tui

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// last is the request that ran last.
func (d *driver) last() debugkern.Request {
	d.t.Helper()
	all := d.e.Asked()
	if len(all) == 0 {
		d.t.Fatal("nothing ran")
	}
	return all[len(all)-1]
}

func TestFaultShowsGuiltyTaintedAndFirstBad(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.press("4").typed("/p-stale-m").press("enter", "space")
	if got := d.last(); !reflect.DeepEqual(got.Faults, []string{"p-stale-m"}) || got.Target != "stage2" {
		t.Fatalf("ran %+v", got)
	}
	d.press("1")
	for _, want := range []string{"DIVERGE  uninitialised sP · guilty P", "tainted U O", "[✗24"} {
		if !contains(d.text(), want) {
			t.Errorf("Pipe does not say %q:\n%s", want, d.text())
		}
	}
	first := debugkern.Cell{Place: debugkern.Place{Stage: "P", KVTile: 1}, Row: 4, Col: 9}
	if d.m.Cursor != first {
		t.Errorf("cursor on %+v, expected the first bad cell %+v", d.m.Cursor, first)
	}
	d.press("2", "n")
	if d.m.Cursor != first {
		t.Errorf("the first n went to %+v", d.m.Cursor)
	}
	d.press("n")
	if want := (debugkern.Cell{Place: first.Place, Row: 5, Col: 14}); d.m.Cursor != want {
		t.Errorf("the second n went to %+v, expected %+v", d.m.Cursor, want)
	}
	d.press("N")
	if d.m.Cursor != first {
		t.Errorf("N went to %+v", d.m.Cursor)
	}
	d.press("4", "space")
	if got := d.last(); len(got.Faults) != 0 {
		t.Errorf("after switching it off: %+v", got)
	}
}

func TestNextBadFromAnotherStageGoesToTheGuiltyOne(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).press("2").command("stage S").press("n")
	if d.m.Cursor.Stage != "P" {
		t.Errorf("cursor in %s", d.m.Cursor.Stage)
	}
	d.hasStatus("guilty is P")
	clean := started(t, 80, 24, plainLook).press("2", "n")
	clean.hasStatus("no bad cell")
}

// TestNextBadIsNoSearch: where nothing is searched for, n and N speak of bad cells, by the bound on screen
// too, and say when they went round the end of the stage.
func TestNextBadIsNoSearch(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).open(view.Tile).press("n").press("N")
	d.hasStatus("bad cell: P ")
	d.hasStatus("; from the bottom again")
	d.press("n").hasStatus("; from the top again")
	d.press("n").hasStatus("bad cell: P ")
	if strings.Contains(d.m.Status.Text, "again") || strings.Contains(d.m.Status.Text, "match") {
		t.Errorf("status %q", d.m.Status.Text)
	}
	d.press("N", "N").hasStatus("; from the bottom again")
	d.command("bound 1").press("n").hasStatus("bad cell by bound 1 ulp: P ")
	d.command("stage Q").press("n").hasStatus("no bad cell by bound 1 ulp in Q")
	d.command("stage P").typed("/bad").press("enter").hasStatus("match for bad: P ")
}

// TestAnswerOfASearchEndsWithItsRun: what a search found in one run is not shown for the next.
func TestAnswerOfASearchEndsWithItsRun(t *testing.T) {
	d := started(t, 80, 24, plainLook).press("n")
	d.hasStatus("no bad cell in Q")
	if d.command("fault p-stale-m"); strings.Contains(d.m.Status.Text, "no bad cell") {
		t.Errorf("status %q of the run before", d.m.Status.Text)
	}
	d.Manual = true
	d.command("fault none")
	run := d.Kept
	d.Kept, d.Manual = nil, false
	d.press("n").hasStatus("bad cell") // while the run is under way
	for _, c := range run {
		d.do(c)
	}
	if strings.Contains(d.m.Status.Text, "bad cell") || d.m.Run.Report.Verdict != report.Agree {
		t.Errorf("%s, status %q", d.m.Run.Report.Verdict, d.m.Status.Text)
	}
}

func TestASecondToggleSupersedesTheFirst(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.Manual = true
	d.command("seed 5")
	first := d.Kept
	d.Kept = nil
	d.command("seed 6")
	second := d.Kept
	d.Manual = false
	for _, c := range append(second, first...) { // the first ends after the second
		d.do(c)
	}
	if d.m.Run.Request.Seed != 6 || d.m.Req.Seed != 6 {
		t.Errorf("on screen is seed %d, asked for is %d", d.m.Run.Request.Seed, d.m.Req.Seed)
	}
	if d.m.Job.Active {
		t.Error("something still seems to run")
	}
}

func TestProgressAndCancel(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.Manual = true
	d.command("seed 5")
	d.m.Job.Report(debugkern.Progress{Phase: "run", Detail: "emu", Done: 3, Total: 16})
	d.m.Update(d.m.Job.Listen()())
	if !contains(d.text(), "✓build ▸ ●launch emu 3/16 ▸ ○compare · Esc cancels") {
		t.Errorf("no progress:\n%s", d.text())
	}
	runs := d.Kept
	d.press("esc").hasStatus("cancelled")
	if contains(d.text(), "3/16") {
		t.Errorf("still running:\n%s", d.text())
	}
	d.Manual = false
	for _, c := range runs {
		d.do(c)
	}
	if d.m.Run.Request.Seed != 0 {
		t.Errorf("a cancelled run came on screen: seed %d", d.m.Run.Request.Seed)
	}
	d.Manual = true
	d.command("seed 7").press("ctrl+c")
	if d.Quit || d.m.Job.Active {
		t.Error("Ctrl-C should cancel the run and not quit")
	}
	d.Manual = false
	if d.press("ctrl+c"); !d.Quit {
		t.Error("Ctrl-C should quit where nothing runs")
	}
}

func TestARunHearsThatItIsCancelled(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook)
	d.e.Hold = make(chan struct{})
	ended := make(chan tea.Msg, 1)
	cmd := d.m.Init()
	go func() { ended <- runOf(cmd)() }()
	d.press("esc")
	if msg, ok := (<-ended).(ranMsg); !ok || !msg.stop {
		t.Errorf("the run ended with %+v", msg)
	}
}

// runOf is the command of a batch that executes.
func runOf(cmd tea.Cmd) tea.Cmd { return cmd().(tea.BatchMsg)[0] }

func TestFailedRunsSayWhy(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook)
	failed := &report.Run{
		Target: "stage2", Verdict: report.Failed,
		Error: &report.Failure{Stage: "build", Message: "expected a ;",
			Source: &report.Source{File: "k.cu", Line: 12}},
	}
	d.e.Fail = &report.Error{
		Code: report.CodeFailed, Err: errors.New("build k.cu: expected a ;"), Report: failed,
	}
	d.do(d.m.Init())
	d.hasStatus("expected a ;")
	if !contains(d.text(), "BUILD FAILED") || !contains(d.text(), "k.cu:12: expected a ;") {
		t.Errorf("screen:\n%s", d.text())
	}
	d.press("2", "j", "n", "x")
	d.e.Fail = &report.Error{Code: report.CodeUnavailable, Err: errors.New("no GPU answers")}
	d.press("x").hasStatus("no GPU answers")
	d.e.Fail = nil
	if d.press("x", "1"); !contains(d.text(), "AGREE") {
		t.Errorf("after it was mended:\n%s", d.text())
	}
}

func TestCursorThroughStagesTilesAndBlocks(t *testing.T) {
	d := started(t, 80, 24, plainLook).press("2", "J", "J", "J", "L", "L", "}", "j", "l")
	want := debugkern.Cell{
		Place: debugkern.Place{Stage: "S", Block: probes.Dim3{1, 0, 0}, KVTile: 2}, Row: 1, Col: 1,
	}
	if d.m.Cursor != want {
		t.Fatalf("cursor %+v, expected %+v", d.m.Cursor, want)
	}
	d.command("stage O").command("stage P")
	if d.m.Cursor.KVTile != 2 {
		t.Errorf("the kv tile was lost on the way through O: %+v", d.m.Cursor)
	}
	d.command("cta 3,2,0").command("kv 3").command("goto 31,31")
	want = debugkern.Cell{
		Place: debugkern.Place{Stage: "P", Block: probes.Dim3{3, 2, 0}, KVTile: 3}, Row: 31, Col: 31,
	}
	if d.m.Cursor != want {
		t.Fatalf("cursor %+v, expected %+v", d.m.Cursor, want)
	}
	d.press("u", "u")
	if d.m.Cursor.KVTile != 2 || d.m.Cursor.Block != (probes.Dim3{3, 2, 0}) {
		t.Errorf("two steps back: %+v", d.m.Cursor)
	}
	if d.press("ctrl+r", "ctrl+r"); d.m.Cursor != want {
		t.Errorf("and forward again: %+v", d.m.Cursor)
	}
	d.press("m", "a").hasStatus("bookmark a set at ")
	d.press("g", "g", "0", "{", "'", "a").hasStatus("at bookmark a: ")
	if d.m.Cursor != want {
		t.Errorf("bookmark: %+v", d.m.Cursor)
	}
	d.press("'", "z").hasStatus("no bookmark z")
	d.command("cta 9,9,9").hasStatus("was not captured")
	d.command("kv 99").hasStatus("kv tiles 0 to 3")
	d.command("cta x").hasStatus("expected X,Y,Z")
}

func TestSearchAndFilter(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).press("2").command("kv 1").press("g", "g", "0")
	d.typed("/>1.9").press("enter")
	v := d.m.Tiles.Views[d.m.At()]
	if got := v.Got.At(d.m.Cursor.Row, d.m.Cursor.Col); got <= 1.9 {
		t.Fatalf("search stopped on %g at %+v", got, d.m.Cursor)
	}
	was := d.m.Cursor
	if d.press("n"); d.m.Cursor == was {
		t.Error("n stayed")
	}
	d.typed("&bad").press("enter")
	if rows := strings.Count(d.text(), "▲"); rows == 0 || !contains(d.text(), "&bad") {
		t.Errorf("filter:\n%s", d.text())
	}
	d.press("esc").hasStatus("cleared")
	d.typed("/nonsense").press("enter").hasStatus("none of nan, inf")
	d.press("4").typed("&stale").press("enter")
	if s := d.text(); contains(s, "kt-ld") || !contains(s, "p-stale-m") {
		t.Errorf("filter of switches:\n%s", s)
	}
	d.press("1").typed("/digest").press("enter")
	if !contains(d.text(), "digest") {
		t.Errorf("search in Pipe:\n%s", d.text())
	}
}

func TestCompletion(t *testing.T) {
	d := started(t, 80, 24, plainLook).press(":").typed("fa").press("tab")
	if got := d.m.prompt.Text(); got != "fault " {
		t.Fatalf("completed to %q", got)
	}
	if d.typed("p-st").press("tab"); d.m.prompt.Text() != "fault p-stale-" {
		t.Errorf("completed to %q", d.m.prompt.Text())
	}
	if !contains(d.text(), "p-stale-columns") {
		t.Errorf("no candidates:\n%s", d.text())
	}
	d.press("tab").press("enter")
	if len(d.last().Faults) != 1 {
		t.Errorf("ran %+v", d.last())
	}
	d.press(":").typed("xyz").press("enter").hasStatus("no command")
	d.press(":").typed("seed").press("enter") // it wants a number: the prompt stays open for it
	if got := d.m.prompt.Text(); got != "seed " || !contains(d.text(), "N: run with other inputs") {
		t.Errorf("the prompt has %q", got)
	}
	d.typed("4").press("enter").hasStatus("seed 4 · ")
	d.press(":", "up", "up")
	if d.m.prompt.Text() != "seed" {
		t.Errorf("history gave %q", d.m.prompt.Text())
	}
	d.press("esc")
	if d.press(":").typed("q").press("enter"); !d.Quit {
		t.Error(":q did not quit")
	}
}

func TestMouse(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	d.send(tea.MouseClickMsg{X: 10, Y: 1, Button: tea.MouseLeft})
	if d.m.view != view.Tile {
		t.Fatalf("a click on the second tab shows %s", d.m.view)
	}
	lines := strings.Split(d.text(), "\n")
	x := len([]rune(lines[9][:strings.Index(lines[9], "q5")])) + 4
	d.send(tea.MouseClickMsg{X: x, Y: 9, Button: tea.MouseLeft})
	if d.m.Cursor.Row != 5 || d.m.focused() != "kernel" {
		t.Errorf("cursor %+v, focus %s", d.m.Cursor, d.m.focused())
	}
	d.send(tea.MouseWheelMsg{X: x, Y: 9, Button: tea.MouseWheelDown})
	if d.m.Cursor.Row != 8 {
		t.Errorf("the wheel went to row %d", d.m.Cursor.Row)
	}
	d.send(tea.MouseClickMsg{X: 3, Y: 3, Button: tea.MouseLeft})
	if d.m.Cursor.Stage != "Q" || d.m.focused() != "stages" {
		t.Errorf("a click on the rail: %+v, focus %s", d.m.Cursor, d.m.focused())
	}
	d.command("mouse off")
	if d.m.frameNow().mouse {
		t.Error("the mouse is still captured")
	}
	d.press("1")
	d.send(tea.MouseClickMsg{X: 24, Y: 11, Button: tea.MouseLeft})
	if d.m.Cursor.Stage != "P" || d.m.Cursor.KVTile != 1 {
		t.Errorf("a click on the timeline: %+v", d.m.Cursor)
	}
}

func TestYankSaysHow(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).press("2", "y")
	d.hasStatus("OSC 52")
	got, ok := d.Msgs[len(d.Msgs)-1].(copiedMsg)
	if !ok || !contains(got.text, "P block 0,0,0 kv 1 cell 4,9") || !contains(got.text, "0x367B") {
		t.Errorf("copied %+v", got)
	}
	d.press("4", "y")
	if got := d.Msgs[len(d.Msgs)-1].(copiedMsg); got.text !=
		"tilescope run stage2 --shape validation --seed 0 --fault p-stale-m" {
		t.Errorf("copied %q", got.text)
	}
}

func TestNoTerminal(t *testing.T) {
	var out strings.Builder
	err := Run(context.Background(), Options{Engine: tuitest.NewEngine(t), Output: &out})
	if !errors.Is(err, ErrNoTerminal) || !contains(err.Error(), "tilescope run") {
		t.Errorf("error %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}

// TestTroubleIsShownOnce: the engine's warning is in the status line after the next run, and not after the
// one after that.
func TestTroubleIsShownOnce(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.e.Warning = errors.New("the cache cannot be written to")
	if d.press("x"); !contains(d.text(), "the cache cannot be written to") {
		t.Errorf("nothing is said:\n%s", d.text())
	}
	if d.press("4", "1", "x"); contains(d.text(), "the cache cannot be written to") {
		t.Errorf("said again:\n%s", d.text())
	}
}
