package source_test

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

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
		HasStatus("sP[3][4] changes")
	d.Command("break what").HasStatus("expected")
	d.Command("break clear")
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

func TestFromTileToTheWrite(t *testing.T) {
	d := open(t, 80, 24, viewtest.Request(viewtest.Faulty)).Press("2", "w")
	d.HasStatus("w goes there")
	d.Press("w")
	if d.M.Showing() != view.Source {
		t.Fatalf("view %s", d.M.Showing())
	}
	d.stands(1203)
	d.Press("s", "2", "w").Press("w")
	d.stands(1203)
	d.Press("2", "l", "w").HasStatus("w goes there")
	if d.M.Showing() != view.Tile {
		t.Error("w left another cell without saying who wrote it")
	}
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
	d.Says("…")
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
