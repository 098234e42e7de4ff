package source_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/source"
	"tilescope/tui/view/viewtest"
)

// control is the view.
func control(d *viewtest.Driver) *source.Controller {
	return viewtest.View[*source.Controller](d, view.Source)
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.Source, viewtest.Request(viewtest.Faulty)) }

// walker is the terminal with the Source view's own checks.
type walker struct{ *viewtest.Driver }

func open(t *testing.T, w, h int, options ...viewtest.Option) walker {
	return walker{viewtest.Start(t, w, h, options...).Press("8")}
}

func (d walker) Press(keys ...string) walker {
	d.Driver.Press(keys...)
	return d
}

func (d walker) Command(text string) walker {
	d.Driver.Command(text)
	return d
}

// stands fails unless the block on screen stands at a step.
func (d walker) stands(step uint64) {
	d.T.Helper()
	if got := control(d.Driver).Position().Step; got != step {
		d.T.Errorf("the block stands at step %d, expected %d (status %q)", got, step, d.M.Status.Text)
	}
	d.Says(fmt.Sprintf("step %d ", step))
}

func TestSteppingBothWays(t *testing.T) {
	d := open(t, 120, 40)
	d.stands(0)
	for _, s := range []struct {
		key  string
		step uint64
	}{
		{"s", 3}, {">", 6}, {"<", 3}, {"S", 6}, {"(", 3}, {")", 6}, {"backspace", 3}, {"U", 3}, {"s", 4},
		{"s", 5}, {"<", 4},
		{"U", 4}, {"s", 20}, {"U", 20}, {"s", 40}, {"<", 0}, {"<", 0},
	} {
		d.Press(s.key)
		d.stands(s.step)
	}
	d.HasStatus("start")
	d.Press("r").HasStatus("ended")
	d.stands(tuitest.End)
	d.Press("R").HasStatus("start")
	d.Command("seek 777").stands(777)
	d.Command("seek end").stands(tuitest.End)
	d.Command("seek nowhere").HasStatus("expected a number")
	d.Command("unit barrier").HasStatus("barrier")
	d.Command("unit furlong").HasStatus("no unit")
}

// TestBackFromAMotion: u leads to where the block stood before its last motion, Ctrl-r forward again; another
// motion ends the way forward.
func TestBackFromAMotion(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("seek 777")
	d.Command("warp 3").Press("R")
	d.stands(0)
	d.Press("u").HasStatus("as before the last motion")
	d.stands(777)
	if p := control(d.Driver).Position(); p.Warp != 3 {
		t.Errorf("warp %d is stepped, expected 3", p.Warp)
	}
	d.Press("ctrl+r")
	d.stands(0)
	d.Press("u", "u", "u").HasStatus("where the first motion in this block began")
	d.stands(0)
	d.Press("ctrl+r")
	d.stands(777)
	d.Press("U", "s")
	d.stands(778)
	d.Press("ctrl+r").HasStatus("where the last motion in this block ended")
	d.stands(778)
	d.Press("u")
	d.stands(777)
}

// TestLinesAndWarpsByNumber: the commands of editors and debuggers.
func TestLinesAndWarpsByNumber(t *testing.T) {
	d := open(t, 120, 40)
	step := control(d.Driver).Position().Step
	d.Command("66").HasStatus(":66; the block stays where it is")
	d.Command("line 9999").HasStatus("lines")
	d.Command("line nowhere").HasStatus("expected LINE or FILE:LINE")
	d.Command("warp 2").HasStatus("warp 2 is stepped")
	d.Command("warp 77").HasStatus(`no warp "77"`)
	d.stands(step)
}

// TestOpensAtTheCursorsBadCell: where the cursor has been moved to another bad cell, the view opens at that
// one's write; a good cell leaves the first bad one.
func TestOpensAtTheCursorsBadCell(t *testing.T) {
	for _, c := range []struct {
		keys []string
		says string
		lane int
	}{{[]string{"n", "n"}, "cell 5,14 is written", 10}, {[]string{"2", "l"}, "cell 4,9 is written", 9}} {
		d := walker{viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty))}
		d.Press(c.keys...).Press("8")
		d.HasStatus(c.says)
		if lane := control(d.Driver).Lane(); lane != c.lane {
			t.Errorf("%v: lane %d is chosen, want %d", c.keys, lane, c.lane)
		}
	}
}

func TestOpensAtTheFirstBadCellsWrite(t *testing.T) {
	d := open(t, 80, 24, viewtest.Request(viewtest.Faulty))
	d.stands(1203)
	d.HasStatus("before P ")
	if lane := control(d.Driver).Lane(); lane != 9 {
		t.Errorf("lane %d is chosen", lane)
	}
	d.Press("}") // the first bad cell lies in another block
	d.stands(0)
	if control(d.Driver).Position().Block != d.M.Cursor.Block {
		t.Errorf("block %s on screen, %s under the cursor", control(d.Driver).Position().Block,
			d.M.Cursor.Block)
	}
	was := control(d.Driver).Walk().(*tuitest.Walk)
	d.Command("seed 3")
	if !was.Closed || control(d.Driver).Owner() != d.M.Run {
		t.Error("the walk of the run before is still there")
	}
}

func TestBreakpointsInSource(t *testing.T) {
	d := open(t, 120, 40)
	d.Press("j", "j", "b").HasStatus("sdpa_fp8_stage_c_wmma.cu:62")
	d.Press("r").stands(6)
	d.HasStatus("62")
	d.Press("r").stands(66)
	d.Press("R").stands(6)
	if !strings.Contains(d.Text(), "●") || len(control(d.Driver).Breaks()) != 1 {
		t.Errorf("no breakpoint on screen:\n%s", d.Text())
	}
	d.Press("b").HasStatus("no longer")
	d.Press("tab", "j", "j", "j", "b") // in PTX
	if b := control(d.Driver).Breaks(); len(b) != 1 || b[0].Line != 63 {
		t.Errorf("breakpoints %+v", b)
	}
	d.Press("b", "tab", "tab", "b") // in SHARED
	if b := control(d.Driver).Breaks(); len(b) != 1 || b[0].Array == "" {
		t.Errorf("breakpoints %+v", b)
	}
	d.Command("break S").Command("break sP[3][4]").Command("break 70").Command("break list").
		Says("sP[3][4] changes", "S is captured", "cu:70")
	d.Command("break what").HasStatus("expected")
	d.Command("break clear").Press("esc")
	if len(control(d.Driver).Breaks()) != 0 {
		t.Errorf("breakpoints %+v", control(d.Driver).Breaks())
	}
	d.Press("shift+tab", "shift+tab", "shift+tab", "G", "b").HasStatus("no instruction")
	d.Press("enter").HasStatus("no instruction")
	d.Press("g", "g").Command("break clear")
	control(d.Driver).GoToLine(65)
	d.Press("enter").stands(15)
	if len(control(d.Driver).Breaks()) != 0 {
		t.Error("running to a line left a breakpoint")
	}
}

// TestCellThatStopsIsShown: a breakpoint on a cell stops, and SHARED shows the cell, marked as changed; one
// of the array of the cursor's stage moves the cursor of view Tile, as SHARED's own cursor does.
func TestCellThatStopsIsShown(t *testing.T) {
	d := open(t, 120, 40)
	if strings.Contains(d.Text(), "SHARED sP") {
		t.Fatalf("sP is on screen before:\n%s", d.Text())
	}
	d.Command("break sP[3][4]").Press("r").stands(45)
	d.Says("SHARED sP", "sP[3][4]", "Δ", "▸ 75 ", "Δ 74 ", "▸ 945 ", "Δ 944 ")
	d.HasStatus("sP[3][4] changed, hit 1, warp 0, written at line 74")
	if lane := control(d.Driver).Lane(); lane != 5 {
		t.Errorf("REGISTERS shows lane %d, and lane 5 alone stands there", lane)
	}
	d.Command("array stage").Command("clear").Command("break sQ[2][1]").Press("r").stands(135)
	d.Says("SHARED sQ", "sQ[2][1]")
	if c := d.M.Cursor; c.Row != 2 || c.Col != 1 {
		t.Errorf("the cursor of view Tile stands at %d,%d", c.Row, c.Col)
	}
}

// TestWriteIsMarkedWhileTheBlockStandsAtIt: once the block has gone on, SHARED lists the writes without a
// mark.
func TestWriteIsMarkedWhileTheBlockStandsAtIt(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("seek 1300").Press("tab", "tab", "tab", "w").stands(1230)
	d.Says("▸write 3: step 1230")
	d.Press("s")
	d.Says(" write 3: step 1230")
	if strings.Contains(d.Text(), "▸write") {
		t.Errorf("marked although the block has gone on:\n%s", d.Text())
	}
}

func TestWhoWroteInSource(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("seek 1300").Press("tab", "tab", "tab")
	if control(d.Driver).Focused() != "shared" {
		t.Fatalf("focus on %s", control(d.Driver).Focused())
	}
	d.Press("w").HasStatus("write 3 of")
	d.stands(1230)
	if !strings.Contains(d.Text(), "step 1230 warp 0 lane 0 acc[5] of mma #4") {
		t.Errorf("the write is not on screen:\n%s", d.Text())
	}
	d.Press("w").HasStatus("write 2 of")
	d.stands(630)
	d.Press("w", "w").HasStatus("nothing has written")
	d.stands(30)
	d.Command("seek 1300").Press("shift+tab", "w").HasStatus("%rs89 in lane 0 of warp 0")
	d.stands(1230)
}

// TestWhoIsAskedOfWhatIsOnScreen: where REGISTERS stands in the place of SHARED, w is about its register.
func TestWhoIsAskedOfWhatIsOnScreen(t *testing.T) {
	d := open(t, 80, 24)
	d.Command("seek 1300")
	if strings.Contains(d.Text(), "SHARED") || control(d.Driver).Focused() != "source" {
		t.Fatalf("focus on %s:\n%s", control(d.Driver).Focused(), d.Text())
	}
	d.Press("w").HasStatus("%rs89 in lane 0 of warp 0")
	d.Press("tab", "tab", "tab").Says("SHARED")
	d.Press("w").HasStatus("write 2 of s")
}

func TestFromTileToTheWrite(t *testing.T) {
	d := open(t, 80, 24, viewtest.Request(viewtest.Faulty)).Press("2", "w")
	d.HasStatus("w opens it")
	d.Press("w")
	if d.M.Showing() != view.Source {
		t.Fatalf("view %s", d.M.Showing())
	}
	d.stands(1203)
	d.Press("s", "2", "w").Press("w")
	d.stands(1203)
	d.Press("2", "l", "w").HasStatus("w opens it")
	if d.M.Showing() != view.Tile {
		t.Error("w left another cell without saying who wrote it")
	}
}

// TestToTheMomentOfACause: the operation of the line that the cell is made of, else the last time that the
// line was executed before the cell was written, else the first time for the warp.
func TestToTheMomentOfACause(t *testing.T) {
	d := open(t, 120, 40, viewtest.Request(viewtest.Faulty))
	cell := &debugkern.Cell{Place: debugkern.Place{Stage: "P", KVTile: 1}, Row: 4, Col: 9}
	goTo := func(line, warp int, c *debugkern.Cell) {
		d.Do(control(d.Driver).ToLine(view.Moment{
			File: "dir/sdpa_fp8_stage_c_wmma.cu", Line: line, KVTile: -1, Warp: warp, Lane: -1, Cell: c}))
	}
	goTo(87, -1, cell)
	d.HasStatus("line 87 for P cell 4,9: before warp 1 lane 12 executes a · b")
	d.stands(1190)
	if got := control(d.Driver).Position().Warp; got != 1 {
		t.Errorf("warp %d is stepped, expected 1", got)
	}
	goTo(65, -1, cell) // no operation of the cell has this line
	d.HasStatus("line 65 in warp 0, the last time before warp 0 lane 9 writes P cell 4,9")
	d.stands(1155)
	goTo(65, 1, nil)
	d.stands(1935)
	goTo(65, -1, nil)
	d.stands(15)
	goTo(30, -1, nil)
	d.HasStatus("is not executed by block 0,0,0")
}

func TestWarpsAndFollowing(t *testing.T) {
	d := open(t, 120, 40)
	d.Press(".", ".").HasStatus("warp 2")
	d.Press(",").HasStatus("warp 1")
	d.Press("shift+tab", "j", "j", "enter").HasStatus("warp 3")
	if control(d.Driver).Position().Warp != 3 {
		t.Errorf("warp %d is current", control(d.Driver).Position().Warp)
	}
	d.Press("g", "g", "enter", "tab", "j", "j", "j") // source: PTX goes along
	if line := control(d.Driver).PTXLine(); line != 63 {
		t.Errorf("PTX shows line %d", line)
	}
	d.Press("tab", "j", "j", "j")
	if line := control(d.Driver).Line(); line != 64 {
		t.Errorf("the source is at line %d", line)
	}
	d.Press("f", "s")
	if line := control(d.Driver).Line(); line != 64 {
		t.Errorf("not following, the source went to line %d", line)
	}
	d.Press("f", "s")
	if line := control(d.Driver).Line(); line != 62 {
		t.Errorf("following, the source stands at line %d", line)
	}
}

func TestSharedCursorIsTheTiles(t *testing.T) {
	d := open(t, 120, 40).Command("stage S").Press("8", "tab", "tab", "tab", "j", "l", "l")
	if d.M.Cursor.Row != 1 || d.M.Cursor.Col != 2 {
		t.Errorf("cursor %+v", d.M.Cursor)
	}
	d.Press("enter")
	if d.M.Showing() != view.Tile {
		t.Errorf("Enter went to %s", d.M.Showing())
	}
	d.Press("8").Command("array sQ")
	if got := control(d.Driver).Array(); got != "sQ" {
		t.Errorf("array %q is shown", got)
	}
	d.Press("j")
	if d.M.Cursor.Row != 1 {
		t.Error("an array that holds no stage moved the tile's cursor")
	}
	d.Command("array stage").Press("K")
	if got, want := control(d.Driver).Array(), control(d.Driver).ArrayName(); got != want {
		t.Errorf("array %q is shown, the stage's is %q", got, want)
	}
}

// TestMotionIsCalledOff presses Esc while a motion is under way: it says what runs and how far it is, and
// leaves the block where it was.
func TestMotionIsCalledOff(t *testing.T) {
	hold := make(chan struct{})
	d := open(t, 80, 24, viewtest.Engine(func(e *tuitest.Engine) { e.Walks = hold })).Press("s")
	d.Manual = true
	d.Press("r")
	if !strings.Contains(d.Text(), "running · step 3 · Esc cancels") {
		t.Errorf("nothing says what runs:\n%s", d.Text())
	}
	d.Press("s").HasStatus("Esc cancels")
	d.Press("esc")
	d.Late()
	d.HasStatus("cancelled")
	d.stands(3)
	d.Press("s").stands(6)
}

func TestMouseInSource(t *testing.T) {
	d := open(t, 120, 40)
	for _, p := range control(d.Driver).Parts() {
		x, y := control(d.Driver).Place(p)
		d.Send(tea.MouseClickMsg{X: x + 20, Y: viewtest.Top + y + 3, Button: tea.MouseLeft})
		if control(d.Driver).Focused() != p {
			t.Errorf("a click in %s focused %s", p, control(d.Driver).Focused())
		}
		d.Send(tea.MouseWheelMsg{X: x + 5, Y: viewtest.Top + y + 2, Button: tea.MouseWheelDown})
		d.Fits("after a click in " + string(p))
	}
	if d.M.Cursor.Row == 0 {
		t.Error("a click on a shared cell did not move the cursor")
	}
}

// TestEverySourceFits draws the Source view with every focus and size of panes, at moments
// that look different.
func TestEverySourceFits(t *testing.T) {
	for _, size := range [][2]int{
		{80, 24}, {81, 31}, {80, 36}, {100, 35}, {120, 40}, {175, 41}, {176, 40}, {200, 60}, {320, 90},
	} {
		d := open(t, size[0], size[1], viewtest.Request(viewtest.Faulty))
		for _, at := range []string{"0", "1203", "4001", "end"} {
			d.Command("seek " + at)
			for range control(d.Driver).Parts() {
				for _, keys := range []string{"", "+++++", "_ _ _ _ _ _ _ _", "v", "jjjj$", "w", "b"} {
					d.Press(strings.Split(strings.ReplaceAll(keys, " ", ""), "")...)
					d.Fits(fmt.Sprintf("at %s, focus %s, after %q", at, control(d.Driver).Focused(), keys))
				}
				d.Press("tab")
			}
		}
	}
}

// TestSearchInSource looks for text in the pane that has the focus.
func TestSearchInSource(t *testing.T) {
	d := open(t, 120, 40)
	d.Press("g", "g", "/").Type("float s11").Press("enter")
	d.HasStatus(`source: "float s11", line 1 of 11 that have it`)
	first := control(d.Driver).Line()
	d.Press("n").HasStatus("line 2 of 11")
	d.Press("N", "N").HasStatus("line 11 of 11 that have it; from the bottom again")
	d.Press("n").HasStatus("from the top again")
	if got := control(d.Driver).Line(); got != first {
		t.Errorf("line %d, the first match is in line %d", got, first)
	}
	d.Press("tab", "n").HasStatus(`PTX: no line has "float s11"; source: 11 lines`)
	d.Press("/").Type("bar.sync").Press("enter")
	d.HasStatus(`PTX: "bar.sync", line 1 of 3`)
	if got := control(d.Driver).PTXLine(); got != 66 {
		t.Errorf("PTX shows line %d", got)
	}
	d.Press("esc").HasStatus("search and filter cleared")
	d.Press("n").HasStatus("no search is active")
	d.Press("/").Type("nowhere").Press("enter")
	d.HasStatus(`neither the source nor the PTX has "nowhere"`)
}

// TestSidewaysInSource scrolls source and PTX, and says where nothing is cut.
func TestSidewaysInSource(t *testing.T) {
	d := open(t, 80, 24).Press("g", "g")
	d.Says("…", "TILE_N + 0]);  // scores of one││", "│       row     ") // the chosen line is wrapped
	was := d.Text()
	d.Press("l")
	if d.Text() == was {
		t.Error("l did not scroll the source")
	}
	d.Press("h")
	if d.Press("h").HasStatus("nothing is cut on that side"); control(d.Driver).Line() != 1 {
		t.Error("scrolling sideways moved the line")
	}
	d.Press("$").Fits("at the end of the lines")
	d.Press("0", "tab", "$", "0").Fits("after PTX")
}

// TestEndOfTheLine: $ goes to the end of the line at the cursor, not of the longest one.
func TestEndOfTheLine(t *testing.T) {
	d := open(t, 80, 24).Press("g", "g", "$")
	d.Says("[  1 …_N + 0]);  // scores of one row││")
	if d.Press("$").HasStatus("the end of the line is on screen"); control(d.Driver).Line() != 1 {
		t.Error("$ moved the line")
	}
	d.Press("tab", "$").Fits("at the end of an instruction")
}

// TestConditionalBreakpoints: a condition and a count stop both ways at the same moments.
func TestConditionalBreakpoints(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("break 65 if warp == 1 && lane >= 3").HasStatus("65 if warp == 1 && lane >= 3")
	d.Press("r").stands(1935)
	if lane := control(d.Driver).Lane(); lane != 3 {
		t.Errorf("lane %d, the condition holds in lane 3", lane)
	}
	const stopped = "breakpoint 1, line 65, if warp == 1 && lane >= 3, hit 1, warp 1 lane 3"
	d.HasStatus(stopped + " · step 1935")
	d.Press("!").HasStatus("") // counting the hits of all leaves what stopped the block on screen
	d.Press("!")
	if !strings.Contains(d.Text(), "breakpoint 1, line 65, if warp == 1") {
		t.Errorf("the position does not say which breakpoint stopped the block:\n%s", d.Text())
	}
	d.Press("r").stands(1995)
	d.Press("R").stands(1935)
	d.Press("R").stands(0)
	d.Command("condition 1 warp == 1 hits == 2").Command("continue").stands(1995)
	d.HasStatus("hit 2")
	d.Command("seek end").Command("reverse-continue").stands(1995)
	d.Command("cond 1").HasStatus("breakpoint 1 always stops")
	d.Command("rc").stands(1935)
	d.Command("break sdpa_fp8_stage_c_wmma.cu:62 hits % 10").HasStatus("breakpoint 2")
	if b := control(d.Driver).Breaks(); len(b) != 2 || b[1].When.String() != "hits % 10" {
		t.Errorf("breakpoints %+v", b)
	}
	for text, want := range map[string]string{
		"break 65 if lane = 3":  "column 9: found '=', expected == to compare",
		"break 65 if acc > 1":   `no variable "acc"`,
		"break 65 if %zz > 1":   "no register %zz",
		"break S if lane == 1":  "the whole block captures S, so lane is of no warp",
		"break 65 often":        `no variable "often"`,
		"break x.cu:y":          "expected FILE:LINE",
		"break 3000":            "no instruction",
		"break sX[1][2]":        `no shared array "sX"`,
		"watch sP[99][0]":       "the first index of sP is 99, expected 0 to ",
		"watch sP[0][99] + 1":   "the second index of sP is 99, expected 0 to ",
		"break sP[99][0]":       "sP has no cell [99][0]",
		"condition 7 lane == 1": `no breakpoint "7": there are 1 2`,
		"condition 1 lane ==":   "found the end, expected a value",
		"disable 9":             "there are 1 2",
	} {
		if d.Command(text); !strings.Contains(d.M.Status.Text, want) || !d.M.Status.Bad {
			t.Errorf("%s: %q, expected %q", text, d.M.Status.Text, want)
		}
	}
	if n := len(control(d.Driver).Breaks()); n != 2 {
		t.Errorf("%d breakpoints after mistakes", n)
	}
}

// TestListOfBreakpoints: counts, enabling, deleting and going there.
func TestListOfBreakpoints(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := open(t, size[0], size[1])
		d.Command("break 65 if kv == 0").Command("break 70").Command("break S")
		d.Press("r", "r", "r").stands(75)
		d.Press("!")
		d.Fits("with breakpoints listed")
		if d.Press("=").Text(); !strings.Contains(d.Text(), ":condition 1 kv == 0") {
			t.Errorf("= does not ask for the condition:\n%s", d.Text())
		}
		d.Press("esc")
		d.Says("BREAKPOINTS", "hit 2 times by 1 warp", "hit 1 time by 1 warp", "if kv == 0", "S is captured",
			"Esc closes", "= if", "b deletes", "SOURCE", "PTX", "REGISTERS", "WARPS")
		if control(d.Driver).Focused() != "list" {
			t.Errorf("focus on %s", control(d.Driver).Focused())
		}
		d.Press("j", "space").HasStatus("breakpoint 2 disabled")
		d.Says("disabled")
		d.Press("r").stands(135) // not at line 70
		d.Press("k", "enter").HasStatus("cu:65")
		if got := control(d.Driver).Line(); got != 65 ||
			control(d.Driver).Focused() != "source" {
			t.Errorf("Enter shows line %d, focus on %s", got, control(d.Driver).Focused())
		}
		d.Press("space").HasStatus("breakpoint 1 disabled")
		d.Command("enable").Press("!", "b").HasStatus("breakpoint 1 deleted")
		d.Press("esc")
		if strings.Contains(d.Text(), "BREAKPOINTS") || d.M.Showing() != view.Source {
			t.Errorf("Esc left the list open:\n%s", d.Text())
		}
		d.Press("!", "q")
		if d.Quit || strings.Contains(d.Text(), "BREAKPOINTS") {
			t.Error("q did not close the list")
		}
		d.Command("break 65").Press("!", "B").HasStatus("no breakpoints")
		d.Says("no breakpoints: b sets one (in SHARED on a cell), :break LINE if lane==3")
	}
}

// TestRefusedNames: a name that no variable has is refused with the names that it may have meant, an example
// of this kernel, and for a local variable of the source the registers of the line that assigns it.
func TestRefusedNames(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("seek 20")
	for text, want := range map[string][]string{
		"watch lan":           {"did you mean lane", "for example :watch sQ[0][lane]"},
		"watch sp + 1":        {"did you mean sP"},
		"print s65":           {"line 66 assigns it, its instructions write %rs18 %rs20", ":print sQ"},
		"print s5":            {"line 6 assigns it, and none of its instructions writes a register"},
		"watch S":             {"stage S is in shared array sS: sS[0][lane]"},
		"watch unheard":       {"known: sQ", "threadIdx.x", "registers of line 66: %rs89 %rd477 %p8 %f13"},
		"break 65 if %zz > 1": {"no register %zz", "for example :break 65 if sQ[0][lane] > 0"},
		"break 70 if s65 > 1": {"line 66 assigns it, its instructions write %rs18", ":break 70 if sQ"},
		"break 70 if zz > 1":  {"registers of line 70: %rd477 %rs30 %rs31 %rs32"},
		"watch %rd477 lane":   {"write %rd477@N", "%rs89@3 * 2"},
		"break 300":           {"the nearest line that has is 79"},
		"until 300":           {"until: sdpa", "has no instruction: the nearest line that has is 79"},
		"break 70 if row > 1": {`no variable "row"`, "; registers of line 70: %rd477"}, // SHARED's cursor's
	} {
		d.Command(text)
		for _, w := range want {
			if got := d.M.Status.Text; !strings.Contains(got, w) || !d.M.Status.Bad {
				t.Errorf("%s: %q, expected %q", text, got, w)
			}
		}
	}
	for _, text := range []string{"watch sP", "print sP*2", "break 65 if sP > 1", "break 65 if lane == sP"} {
		d.Command(text).HasStatus("sP is an array: sP[row][col]; for example ")
		if got := d.M.Status.Text; strings.Contains(got, "did you mean") || strings.Contains(got, "local") {
			t.Errorf("%s: %q", text, got)
		}
	}
	d.Command("messages").Says("for example :watch")
	d.M.Run.Plan.Work.Loops = []probes.Loop{{Name: "i"}}
	d.Command("break 65 if i > 1 && warp == 0")
	d.HasStatus("stop at sdpa_fp8_stage_c_wmma.cu:65 if i > 1 && warp")
	d.Command("condition 9 warp == 1").HasStatus(`no breakpoint "9": there is 1`)
	d.Command("breakpoints").Says("if i > 1 && warp == 0")
	d.M.Run.Plan.Work.Loops = []probes.Loop{{Name: "i"}, {Name: "j"}}
	d.Command("break 65 if i > 1").HasStatus(`no variable "i"`)
	d.HasStatus(": kv counts the iterations of loop i·j; for example")
}

// TestLoopWithoutAName: the loop of a kernel whose manifest describes none is called loop, and how often it
// goes round is not taken to be known.
func TestLoopWithoutAName(t *testing.T) {
	d := open(t, 120, 40)
	d.M.Run.Plan.Work = probes.Work{Once: true, MaxTiles: 1, Tiles: probes.Fixed(1)}
	d.Command("watch loop+kv").HasStatus("watch 1: loop+loop = ")
	d.Command("break 65 if loop == 3 && warp == 1").HasStatus("if loop == 3 && warp == 1")
	d.Command("break 65 if kv > 3").HasStatus("if loop > 3")
	d.Command("break 65 if warp == 99").HasStatus("warp == 99 never holds")
}

// TestLoopHasItsOwnName: where the manifest calls the loop over tiles otherwise than kv, conditions, stops,
// watches and refusals have that name, whichever of the two was typed.
func TestLoopHasItsOwnName(t *testing.T) {
	for _, name := range []string{"k", "i_tile"} { // k is the cursor's column where no loop is called so
		d := open(t, 120, 40)
		d.M.Run.Plan.Work.Loops = []probes.Loop{{Name: name}}
		d.Command("watch " + name + "*2+kv").HasStatus("watch 1: " + name + "*2+" + name + " = 0")
		d.Says("1  " + name + "*2+" + name)
		d.Command("print kv").HasStatus(name + " = 0")
		d.Command("break 65 if kv == 0").Press("r").HasStatus("line 65, if " + name + " == 0, hit 1, warp 0")
		d.Says("if " + name + " == 0")
		d.Command("disable 1").HasStatus("if " + name + " == 0")
		d.Command("break 65 if kv == 1").HasStatus("its condition was: if " + name + " == 0")
		d.Command("delete 1").HasStatus("if " + name + " == 1")
		d.Command("break 65 if 1 == 1 && " + name + " == 99")
		d.HasStatus(fmt.Sprintf("column 11: %s == 99 never holds: %[1]s is -1", name))
		d.Command("unwatch 1").HasStatus("watch 1 ended: " + name + "*2+" + name)
		d.Press(":").Type("watch ")
		if s := d.Text(); strings.Contains(s, "kv ") || !strings.Contains(s, name+" ") {
			t.Errorf("watch does not offer %s:\n%s", name, s)
		}
	}
}

// TestHitsCountFromWhereTheBreakpointWasSet: and the list and the stop say so. Another block has another
// clock.
func TestHitsCountFromWhereTheBreakpointWasSet(t *testing.T) {
	d := open(t, 160, 50)
	d.Command("break 65").Press("r", "r").stands(75)
	d.Press("!").Says("hit 2 times by 1 warp since the block's start")
	d.Press("!")
	d.Command("clear").Command("break 65 hits >= 2").Press("r").stands(195)
	d.HasStatus("hit 2,")
	d.Press("!").Says("hit 2 times by 1 warp since it was set at step 75")
	d.Press("!")
	d.Command("condition 2").Command("seek 0").Press("r").stands(15)
	d.HasStatus("breakpoint 2, line 65, warp 0 · step 15") // before it was set: no hit is counted
	d.Press("!").Says("hits count from step 75 on, where it was set")
	d.Press("!")
	d.Command("condition 2 hits == 9999").Command("seek end").Press("R").stands(0)
	d.HasStatus("back at the block's start; breakpoint 2 counts hits from step 75 on, where it was set")
	d.Command("clear").Command("seek end").Command("break 65 hits >= 2").Press("R")
	d.HasStatus("breakpoint 3, line 65, hits >= 2, hit ") // set at the end: all of the block is counted
	d.Command("clear").Command("break 65")
	d.Command("cta 1,0,0").Press("r", "r").HasStatus("hit 2,")
}

// TestListsLeaveChangesMarked: opening the list of breakpoints counts their hits, and what has changed at
// this stop stays marked.
func TestListsLeaveChangesMarked(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("break 65").Press("s", "s")
	marks := strings.Count(d.Text(), "Δ")
	if marks == 0 {
		t.Fatalf("nothing has changed:\n%s", d.Text())
	}
	d.Press("!", "!")
	if n := strings.Count(d.Text(), "Δ"); n != marks {
		t.Errorf("%d marks of changes, there were %d:\n%s", n, marks, d.Text())
	}
}

// TestCallsFitTheirRoom: callers go first, then namespaces, then the line that called; no name is cut.
func TestCallsFitTheirRoom(t *testing.T) {
	d := open(t, 80, 24)
	d.Command("seek 36")
	v := control(d.Driver)
	for _, x := range []struct {
		room int
		want string
	}{
		{60, "in store_probability_tile ← 312 ← 401 ← 455 ← 66"},
		{40, "in store_probability_tile ← 312 ← … ← 66"},
		{36, "in store_probability_tile ← 312 ← …"}, {34, "in store_probability_tile ← …"},
		{30, "in store_probability_tile ← …"}, {28, ""}, {0, ""},
	} {
		if got := v.Chain(x.room, "store_probability_tile", 312, 401, 455, 66); got != x.want {
			t.Errorf("in %d columns %q, expected %q", x.room, got, x.want)
		}
	}
	if got := v.Chain(20, "cute::detail::copy<cute::Tile>", 312); got != "in copy ← 312" {
		t.Errorf("%q", got)
	}
	if got := v.Chain(20, "cute::detail::copy<cute::Tile>", 312, 66); got != "in copy ← 312 ← …" {
		t.Errorf("%q", got)
	}
}

// TestWatches: values now and before, in the lane on screen.
func TestWatches(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := open(t, size[0], size[1])
		d.Command("seek 40").Command("watch step").HasStatus("watch 1: step = 40 0x28")
		d.Command("display  step").HasStatus("watched already, as watch 1: step = 40 0x28")
		d.Command("display %rd477@lane3").Command("watch sP[q][k]").Command("watch %r7")
		d.Fits("with watches")
		d.Says("WATCHES", "%rd477@lane3", "43 b64 0x000000000000002b")
		d.Press("s")
		d.Says("was 40 0x28", "was 43 b64 0x000000000000002b")
		d.Press(".").Says("WATCHES warp 1", "before: warp 0") // another warp's value is not what it was
		d.Press(",").Says("WATCHES warp 0")
		d.Press("shift+tab") // watches
		if control(d.Driver).Focused() != "watches" {
			t.Fatalf("focus on %s", control(d.Driver).Focused())
		}
		d.Press("j", "j", "j", "enter").HasStatus("%r7 (lane 0) = 42 b32 0x0000002a")
		d.Press("tab", "tab", "tab", "l", "l", "l").Command("print %r7").HasStatus("(lane 3) = 45")
		d.Press("=").HasStatus("watch 5: %rs89@lane3 = ")
		d.Command("p lane + warp * 32").HasStatus("= 3")
		d.Command("p sP[row][col] > 0.5 && kv == 0").HasStatus("(row=0 col=0) = ") // of SHARED's cursor
		d.Command("p sP[31][0]*2").HasStatus("sP[31][0]*2 = not written")
		d.Command("p nope").HasStatus(`no variable "nope"`)
		d.Command("watch sP[1").HasStatus("found the end")
		d.Command("unwatch 1").HasStatus("watch 1 ended: step")
		d.Command("unwatch 9").HasStatus(`no watch "9"`)
		d.Command("seed 3").Press("8").Says("WATCHES") // another run
		d.Command("unwatch").HasStatus("4 watches removed")
		d.Command("watch step").Command("unwatch").HasStatus("1 watch removed")
		if d.Command("unwatch"); d.M.Status.Text != "no watches" {
			t.Errorf("unwatch without a watch: %q", d.M.Status.Text)
		}
		if d.Fits("without watches"); strings.Contains(d.Text(), "WATCHES") {
			t.Error("a pane of watches without any")
		}
	}
}

// TestCursorsNameOfAKernelsVariable: where the source has a variable of the name that stands for the
// cursor, a watch and print say which of the two is meant.
func TestCursorsNameOfAKernelsVariable(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("seek 20").Command("print row")
	if got := d.M.Status.Text; strings.Contains(got, "kernel") {
		t.Errorf("without such a variable: %q", got)
	}
	control(d.Driver).SetLine(3, "  int row = threadIdx.x / 32;")
	const which = "; row is the cursor's, not the kernel's variable"
	d.Command("print row").HasStatus("row (row=0) = 0" + which)
	d.Command("watch row*2").HasStatus("watch 1: row*2 (row=0) = 0" + which)
	d.Command("print kv+1")
	if got := d.M.Status.Text; strings.Contains(got, which) {
		t.Errorf("without the cursor: %q", got)
	}
	control(d.Driver).SetLine(4, "  int col = threadIdx.x % 32;")
	d.Command("print row+col").HasStatus("; row, col are the cursor's, not the kernel's variables")
}

// TestPanesShareTheHeight: watches and an open list leave every other pane its least height.
func TestPanesShareTheHeight(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {120, 33}, {176, 35}, {200, 60}} {
		d := open(t, size[0], size[1])
		for _, e := range []string{"step", "kv", "sP[q][k]", "%r7", "%rd477@lane3", "warp", "lane"} {
			d.Command("watch " + e)
		}
		check := func(more ...string) {
			d.Fits(fmt.Sprint(size))
			d.Says(append(more, "SOURCE", "PTX", "REGISTERS", "WARPS", "WATCHES")...)
			if size[1] >= 40 {
				d.Says("SHARED")
			}
		}
		check()
		for line := range 6 {
			d.Command(fmt.Sprintf("break %d", 61+line))
		}
		d.Press("!")
		check("BREAKPOINTS")
		d.Press("G").Says("cu:66") // the rest is scrolled
		d.Press("!")
		check()
	}
}

// TestOneNumberOfPTX: source and warps name an instruction by its line in the PTX.
func TestOneNumberOfPTX(t *testing.T) {
	d := open(t, 120, 40).Command("seek 3")
	d.Says("903 ld.shared.b16", "61 ptx 903")
	d.Command("seek 50").Says("→912")
}

// TestStepCommands: the verbs of delve and gdb, and their short forms.
func TestStepCommands(t *testing.T) {
	d := open(t, 120, 40)
	for _, s := range []struct {
		command string
		step    uint64
	}{
		{"step", 3}, {"s 4", 15}, {"next", 18}, {"n 2", 24}, {"reverse-step", 21}, {"rn 2", 15}, {"rs", 12},
		{"until 66", 18}, {"until", 78}, {"stepout", 90}, {"so", 120}, {"reverse-stepout", 90},
	} {
		d.Command(s.command).stands(s.step)
	}
	d.Press("^").stands(120)
	d.Command("step nonsense").HasStatus("expected how many times")
	d.Command("seek 0").Press("^").HasStatus("no caller to step out to")
	d.Command("unit warp").Press("s").stands(1920)
	d.Command("unit block").HasStatus("block")
	d.Command("seek 36").Says("in cl ← 66")
	d.Press(";").Says("CALLS warp 0", "sdpa_fp8_stage_c_wmma.cu:66")
	d.Press("j", "enter").HasStatus("cu:66")
	if got := control(d.Driver).Line(); got != 66 {
		t.Errorf("Enter on a call shows line %d", got)
	}
	d.stands(36)
	d.Command("bt").Says("CALLS")
}

// TestRememberedBreakpoints: the next session has breakpoints and watches again.
func TestRememberedBreakpoints(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("break 65 if lane == 3 hits > 2").Command("break S").Command("break sP[3][4] if sP[3][4] > 0")
	d.Command("disable 2").Command("watch sP[q][k]").Command("watch %r7@lane1 * 2")
	kept := map[string]string{}
	control(d.Driver).Remember(kept)
	again := open(t, 120, 40)
	control(again.Driver).Recall(kept)
	back := map[string]string{}
	if control(again.Driver).Remember(back); !maps.Equal(kept, back) || len(kept["breakpoints"]) < 50 {
		t.Errorf("remembered %v, taken up %v", kept, back)
	}
	again.Press("s", "!").Says("65", "if lane == 3 hits > 2", "disabled", "%r7@lane1 * 2")
	control(again.Driver).Recall(map[string]string{"breakpoints": "{[", "watches": `{"k.cu":["1 +"]}`})
	again.HasStatus("remembered breakpoints and watches")
	control(again.Driver).Recall(kept)
	again.Press("x").HasStatus("set in an earlier session; ! lists, :clear and :unwatch remove them")
	again.Press("x")
	if strings.Contains(again.M.Status.Text, "earlier session") {
		t.Error("what was restored is announced twice")
	}
	control(again.Driver).Recall(kept)
	again.Press("1", "x").HasStatus("set in an earlier session; :breakpoints lists, :clear and :unwatch remove")
	again.Command("breakpoints").Says("if lane == 3 hits > 2")
	d.Command("clear").Command("unwatch")
	if control(d.Driver).Remember(kept); kept["breakpoints"] != "" || kept["watches"] != "" {
		t.Errorf("remembered %v of nothing", kept)
	}
}

// TestAnImpossibleElementIsRefused: of a block that is not open, too, an element that its array does not have
// is neither watched nor stopped at, and nothing is advised that is refused.
func TestAnImpossibleElementIsRefused(t *testing.T) {
	d := walker{viewtest.Start(t, 120, 40)}
	if control(d.Driver).Walk() != nil {
		t.Fatal("a block is open before anything asked for one")
	}
	d.Command("watch sP[0][99]").HasStatus("the second index of sP is 99, expected 0 to 31")
	d.Command("watch sP[32][0] + 1").HasStatus("the first index of sP is 32, expected 0 to 31")
	d.Command("watch sP[-1][0]").HasStatus("expected 0 to 31")
	kept := map[string]string{}
	if control(d.Driver).Remember(kept); kept["watches"] != "" {
		t.Errorf("remembered %s", kept["watches"])
	}
	d.Command("watch sP[0][31]").HasStatus("watch 1: sP[0][31] has no value: no block is open; :break sP[0][31]")
	d.Command("break sP[0][31]").HasStatus("breakpoint 1: r and R stop when sP[0][31] changes")
	d.Command("break sP[0][99]").HasStatus("sP has no cell [0][99]")
}

// TestBreakpointsFollowTheirStatements: in a source that has changed a breakpoint stops at its statement; one
// whose statement is gone stops nothing, is counted and named, and comes back with its statement.
func TestBreakpointsFollowTheirStatements(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("break 65").Command("break 70 if lane == 3")
	v := control(d.Driver)
	lines := func() (out []int) {
		for _, b := range v.Breaks() {
			out = append(out, b.Line)
		}
		return out
	}
	v.Save(func(code []string) []string { return slices.Insert(code, 20, "// one", "// two") })
	if got := lines(); !slices.Equal(got, []int{67, 72}) {
		t.Errorf("two lines inserted: the breakpoints are at %v", got)
	}
	if got := v.Followed(); got != "breakpoint 1 follows its statement: line 65 → 67; "+
		"breakpoint 2 follows its statement: line 70 → 72" {
		t.Errorf("%q", got)
	}
	gone := ""
	v.Save(func(code []string) []string {
		gone = code[66]
		return slices.Delete(code, 66, 67)
	})
	if got := v.Followed(); !strings.Contains(got, "breakpoint 1 stops nothing: the statement of line 67") {
		t.Errorf("%q", got)
	}
	d.Press("!").Says("the statement is not in this source", "1 of 2 breakpoints")
	d.Press("esc").Command("disable 2").Press("r").HasStatus(
		"breakpoint 1 (sdpa_fp8_stage_c_wmma.cu:67) is skipped: the statement is not in this source")
	kept := map[string]string{}
	if v.Remember(kept); !strings.Contains(kept["breakpoints"], `"Text":"float s64 =`) {
		t.Errorf("remembered without the statement: %s", kept["breakpoints"])
	}
	v.Save(func(code []string) []string { return slices.Insert(code, 66, gone) })
	if got := lines(); !slices.Equal(got, []int{67, 72}) {
		t.Errorf("the statement is back: the breakpoints are at %v", got)
	}
	v.Save(func(code []string) []string { return code })
	if got := v.Followed(); got != "" {
		t.Errorf("nothing has changed: %q", got)
	}
}

// TestStopsBelongToTheirKernel: what was set for one kernel is neither shown nor announced for another, and
// is there again when that kernel is.
func TestStopsBelongToTheirKernel(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("break 65").Command("watch sP[3][4]").HasStatus("; :break sP[3][4] stops where it changes")
	control(d.Driver).Turn("other.cu")
	other := map[string]string{}
	if control(d.Driver).Remember(other); !strings.Contains(other["breakpoints"], `"Line":65`) {
		t.Errorf("with another kernel on screen %v is remembered", other)
	}
	d.Press("s")
	if s := d.Text(); strings.Contains(s, "WATCHES") {
		t.Errorf("another kernel has its watches:\n%s", s)
	}
	d.Command("break 70")
	d.HasStatus("breakpoint 1: ")
	control(d.Driver).Turn("sdpa_fp8_stage_c_wmma.cu")
	d.Press("s", "!").Says("cu:65", "sP[3][4]")
	if s := d.Text(); strings.Contains(s, "cu:70") {
		t.Errorf("it has another kernel's breakpoints:\n%s", s)
	}
	again := open(t, 120, 40)
	control(again.Driver).Turn("third.cu")
	control(again.Driver).Recall(other)
	if again.Press("s"); strings.Contains(again.Text(), "WATCHES") {
		t.Errorf("the next session shows them for another kernel:\n%s", again.Text())
	}
	again.Press("x").Says("WATCHES")
	again.HasStatus("1 breakpoint and 1 watch set in an earlier session")
}

// TestLanesOfRegisters: all of them where there is room, else a strip and those that fit.
func TestLanesOfRegisters(t *testing.T) {
	d := open(t, 200, 60).Command("seek 40")
	d.Press("tab", "tab", "j").Says(" 29   30   31 ", "in lane 0 to")
	d.Press("z").HasStatus("strips by lane off")
	d.Press("z").HasStatus("strips by lane on")
	d.Resize(320, 90).Fits("very wide")
	d = open(t, 160, 40).Command("seek 40").Press("tab", "tab")
	d.Says("lanes 0 to 31", "of 32")
	d.Press("$").Says("to 31 of 32")
	for range 4 {
		d.Press("v").Fits("in another format")
	}
	d = open(t, 80, 24, viewtest.ASCII).Command("seek 40")
	d.Fits("without colours")
}

// TestCommandsOpenABlock: a command of stepping or of a breakpoint that is given in another view opens a
// block in Source first, and is carried out there.
func TestCommandsOpenABlock(t *testing.T) {
	for _, in := range []string{"1", "2", "5"} {
		d := walker{viewtest.Start(t, 120, 40).Press(in).Command("break 66")}
		if d.M.Showing() != view.Source || control(d.Driver).Line() != 66 {
			t.Errorf("from %s: in %s at line %d", in, d.M.Showing(), control(d.Driver).Line())
		}
		d.HasStatus("breakpoint 1: r and R stop at sdpa_fp8_stage_c_wmma.cu:66; :condition 1 EXPR limits it")
		walker{viewtest.Start(t, 120, 40).Press(in).Command("seek 40")}.stands(40)
		walker{viewtest.Start(t, 120, 40).Press(in).Command("step 3")}.stands(9)
	}
	d := viewtest.Start(t, 120, 40).Press("2").Command("break 95 if lane==3")
	d.HasStatus("at sdpa_fp8_stage_c_wmma.cu:95 if lane==3, where the function that the line calls begins " +
		"(sdpa_fp8_stage_c_wmma.cu:79)")
	if len(control(d).Breaks()) != 1 {
		t.Error("a line whose code is all inlined from what it calls got no breakpoint")
	}
	d = viewtest.Start(t, 120, 40).Press("2").Command("break 1")
	d.HasStatus("has no instruction")
	if len(control(d).Breaks()) != 0 {
		t.Error("a line without an instruction got a breakpoint")
	}
	d.Press("2").Command("break what").HasStatus("expected a line")
	if d.Press("2").Command("break S"); d.M.Showing() != view.Source || len(control(d).Breaks()) != 1 {
		t.Errorf("in %s with %d breakpoints", d.M.Showing(), len(control(d).Breaks()))
	}
}

// TestPrintOpensABlock: an expression that is printed from another view opens a block in Source first.
func TestPrintOpensABlock(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("2").Command("print kv")
	if d.M.Showing() != view.Source || !strings.Contains(d.Text(), "kv = ") {
		t.Errorf("in %s:\n%s", d.M.Showing(), d.Text())
	}
}

// TestLanesInWords: the state line says how many lanes are active, and which where it is not all.
func TestLanesInWords(t *testing.T) {
	for mask, want := range map[uint32]string{
		0xffffffff: "all 32 lanes", 1 << 5: "lane 5 alone", 0xff: "8 lanes (000000ff)",
	} {
		if got := source.LanesText(mask); got != want {
			t.Errorf("%08x: %q, want %q", mask, got, want)
		}
	}
}

// TestListOpenedFromAnotherView: when it is closed the pane that Source had in focus has it again.
func TestListOpenedFromAnotherView(t *testing.T) {
	for _, command := range []string{"stack", "breakpoints"} {
		d := walker{viewtest.Start(t, 120, 40)}
		d.Command(command).Press("esc", "tab").HasStatus("focus: ptx")
		d = walker{viewtest.Start(t, 120, 40)}
		d.Press("8", "tab", "tab", "1").Command(command).Press("esc", "shift+tab").HasStatus("focus: ptx")
	}
}

// TestBreakpointsThatStopNowhere: a breakpoint at a line, cell or stage that this build of the kernel has not
// is listed with the reason, and not counted among those that stop it.
func TestBreakpointsThatStopNowhere(t *testing.T) {
	d := open(t, 160, 40).Command("break 65").Command("break sS[1][2]").Command("break S")
	d.Says("3 breakpoints")
	kept := map[string]string{}
	control(d.Driver).Remember(kept)
	for old, other := range map[string]string{
		`"File":"sdpa_fp8_stage_c_wmma.cu"`: `"File":"other.cu"`, `"sS"`: `"sOther"`, `"S"`: `"Other"`,
	} {
		if !strings.Contains(kept["breakpoints"], old) {
			t.Fatalf("no %s in %s", old, kept["breakpoints"])
		}
		kept["breakpoints"] = strings.ReplaceAll(kept["breakpoints"], old, other)
	}
	d.Command("clear")
	control(d.Driver).Recall(kept)
	d.Press("s", "!").Says("other.cu:65", "no instruction in this build", "sOther[1][2] changes",
		"no such cell in this kernel", "Other is captured", "no such stage in this kernel",
		"0 of 3 breakpoints")
}

// TestABreakpointKeepsOrNamesItsCondition: setting one again without a condition loses nothing, and one with
// another condition says which one it had.
func TestABreakpointKeepsOrNamesItsCondition(t *testing.T) {
	d := open(t, 120, 40)
	d.Command("break 65 if kv == 1 && lane == 7 hits >= 3").Command("break 66").Command("disable 1")
	d.Command("break 65").HasStatus("breakpoint 1 is there already, and keeps its condition: " +
		"if kv == 1 && lane == 7 hits >= 3; :condition 1 takes it off")
	d.Press("!")
	list := ""
	for _, l := range strings.Split(d.Text(), "\n") {
		if strings.Contains(l, "sdpa_fp8_stage_c_wmma.cu:65 ") || strings.HasSuffix(l, "disabled") {
			list += l + "\n"
		}
	}
	if !strings.Contains(list, "? 1 ") || !strings.Contains(list, "if kv == 1 && lane == 7 hits >= 3") ||
		strings.Contains(list, "disabled") {
		t.Errorf("the list has %s:\n%s", list, d.Text())
	}
	d.Says("● 2 ")
	d.Press("!").Command("break 65 if warp == 1")
	d.HasStatus("if warp == 1; its condition was: if kv == 1 && lane == 7 hits >= 3")
	d.Command("condition 1 kv == 2").HasStatus("; its condition was: if warp == 1")
	d.Command("condition 1").HasStatus("always stops at sdpa_fp8_stage_c_wmma.cu:65; its condition was: if kv == 2")
	d.Command("break 65").HasStatus("; :condition 1 EXPR limits it")
}

// TestAConditionThatNeverHoldsIsRefused with the range of what it names.
func TestAConditionThatNeverHoldsIsRefused(t *testing.T) {
	d := open(t, 120, 40)
	for line, want := range map[string]string{
		"break 65 if lane==40":        "lane == 40 never holds: lane is 0 to 31",
		"break 65 if warp == 99":      "warp == 99 never holds: warp is 0 to ",
		"break 65 if blockIdx.z == 1": "blockIdx.z == 1 never holds: blockIdx.z is 0 to 0",
		"break 65 if kv > 3":          "kv > 3 never holds: kv is -1 to 3",
	} {
		if d.Command(line).HasStatus(want); !d.M.Status.Bad {
			t.Errorf("%s is taken", line)
		}
	}
	d.Command("break 65").Command("condition 1 lane >= 32").HasStatus("lane >= 32 never holds")
	d.Press("!").Says("● 1 ")
}
