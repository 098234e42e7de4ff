package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/keymap"
)

// stands fails unless the block on screen stands at a step.
func (d *driver) stands(step int) {
	d.t.Helper()
	if got := d.m.walk.shot.pos.Step; got != uint64(step) {
		d.t.Errorf("the block stands at step %d, expected %d (status %q)", got, step, d.m.status.text)
	}
	if s := fmt.Sprintf("step %d ", step); !contains(d.text(), s) {
		d.t.Errorf("the screen does not say %q:\n%s", s, d.text())
	}
}

func TestSteppingBothWays(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("8")
	d.stands(0)
	for _, s := range []struct {
		key  string
		step int
	}{
		{"s", 3}, {">", 6}, {"<", 3}, {"S", 6}, {"(", 3}, {")", 6}, {"backspace", 3}, {"U", 3}, {"s", 4}, {"s", 5}, {"<", 4},
		{"U", 4}, {"s", 20}, {"U", 20}, {"s", 40}, {"<", 0}, {"<", 0},
	} {
		d.press(s.key)
		d.stands(s.step)
	}
	d.hasStatus("start")
	d.press("r").hasStatus("ended")
	d.stands(fakeEnd)
	d.press("R").hasStatus("start")
	d.command("seek 777").stands(777)
	d.command("seek end").stands(fakeEnd)
	d.command("seek nowhere").hasStatus("expected a number")
	d.command("unit barrier").hasStatus("barrier")
	d.command("unit furlong").hasStatus("no unit")
}

func TestOpensAtTheFirstBadCellsWrite(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).press("8")
	d.stands(1203)
	d.hasStatus("before P ")
	if r, lane, ok := d.m.pane.regs.Current(); !ok || lane != 9 {
		t.Errorf("lane %d of %v is chosen", lane, r.Name)
	}
	d.press("}") // the first bad cell lies in another block
	d.stands(0)
	if d.m.walk.shot.pos.Block != d.m.cursor.Block {
		t.Errorf("block %s on screen, %s under the cursor", d.m.walk.shot.pos.Block, d.m.cursor.Block)
	}
	was := d.m.walk.walk.(*fakeWalk)
	d.command("seed 3")
	if !was.closed || d.m.walk.owner != d.m.run {
		t.Error("the walk of the run before is still there")
	}
}

func TestBreakpointsInSource(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("8")
	d.press("j", "j", "b").hasStatus("sdpa_fp8_stage_c_wmma.cu:62")
	d.press("r").stands(6)
	d.hasStatus("62")
	d.press("r").stands(66)
	d.press("R").stands(6)
	if !contains(d.text(), "●") || len(d.m.walk.breaks) != 1 {
		t.Errorf("no breakpoint on screen:\n%s", d.text())
	}
	d.press("b").hasStatus("no longer")
	d.press("tab", "j", "j", "j", "b") // in PTX
	if b := d.m.walk.breaks; len(b) != 1 || b[0].Line != 63 {
		t.Errorf("breakpoints %+v", b)
	}
	d.press("b", "tab", "tab", "b") // in SHARED
	if b := d.m.walk.breaks; len(b) != 1 || b[0].Array == "" {
		t.Errorf("breakpoints %+v", b)
	}
	d.command("break S").command("break sP[3][4]").command("break 70").command("break list").hasStatus("sP[3][4] changes")
	d.command("break what").hasStatus("expected")
	d.command("break clear")
	if len(d.m.walk.breaks) != 0 {
		t.Errorf("breakpoints %+v", d.m.walk.breaks)
	}
	d.press("shift+tab", "shift+tab", "shift+tab", "G", "b").hasStatus("no instruction")
	d.press("enter").hasStatus("no instruction")
	d.press("g", "g").command("break clear")
	d.m.pane.code.SetCursor(65)
	d.press("enter").stands(15)
	if len(d.m.walk.breaks) != 0 {
		t.Error("running to a line left a breakpoint")
	}
}

func TestWhoWroteInSource(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("8")
	d.command("seek 1300").press("tab", "tab", "tab")
	if d.m.focused() != partShared {
		t.Fatalf("focus on %s", d.m.focused())
	}
	d.press("w").hasStatus("write 3 of")
	d.stands(1230)
	if !contains(d.text(), "step 1230 warp 0 lane 0 acc[5] of mma #4") {
		t.Errorf("the write is not on screen:\n%s", d.text())
	}
	d.press("w").hasStatus("write 2 of")
	d.stands(630)
	d.press("w", "w").hasStatus("nothing has written")
	d.stands(30)
	d.command("seek 1300").press("shift+tab", "w").hasStatus("%rs89 in lane 0 of warp 0")
	d.stands(1230)
}

func TestFromTileToTheWrite(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).press("2", "w")
	d.hasStatus("w goes there")
	d.press("w")
	if d.m.view != keymap.Source {
		t.Fatalf("view %s", d.m.view)
	}
	d.stands(1203)
	d.press("s", "2", "w").press("w")
	d.stands(1203)
	d.press("2", "l", "w").hasStatus("w goes there")
	if d.m.view != keymap.Tile {
		t.Error("w left another cell without saying who wrote it")
	}
}

func TestWarpsAndFollowing(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("8")
	d.press(".", ".").hasStatus("warp 2")
	d.press(",").hasStatus("warp 1")
	d.press("shift+tab", "j", "j", "enter").hasStatus("warp 3")
	if d.m.walk.shot.pos.Warp != 3 {
		t.Errorf("warp %d is current", d.m.walk.shot.pos.Warp)
	}
	d.press("g", "g", "enter", "tab", "j", "j", "j") // source: PTX goes along
	if r, ok := d.m.pane.ptx.Current(); !ok || r.Line != 63 {
		t.Errorf("PTX shows line %d", r.Line)
	}
	d.press("tab", "j", "j", "j")
	if _, line := d.m.pane.code.Cursor(); line != 64 {
		t.Errorf("the source is at line %d", line)
	}
	d.press("f", "s")
	if _, line := d.m.pane.code.Cursor(); line != 64 {
		t.Errorf("not following, the source went to line %d", line)
	}
	d.press("f", "s")
	if _, line := d.m.pane.code.Cursor(); line != 62 {
		t.Errorf("following, the source stands at line %d", line)
	}
}

func TestSharedCursorIsTheTiles(t *testing.T) {
	d := started(t, 120, 40, plainLook).command("stage S").press("8", "tab", "tab", "tab", "j", "l", "l")
	if d.m.cursor.Row != 1 || d.m.cursor.Col != 2 {
		t.Errorf("cursor %+v", d.m.cursor)
	}
	d.press("enter")
	if d.m.view != keymap.Tile {
		t.Errorf("Enter went to %s", d.m.view)
	}
	d.press("8").command("array sQ")
	if got := d.m.walk.shot.shared.Array.Name; got != "sQ" {
		t.Errorf("array %q is shown", got)
	}
	d.press("j")
	if d.m.cursor.Row != 1 {
		t.Error("an array that holds no stage moved the tile's cursor")
	}
	d.command("array stage").press("K")
	if got, want := d.m.walk.shot.shared.Array.Name, d.m.arrayName(); got != want {
		t.Errorf("array %q is shown, the stage's is %q", got, want)
	}
}

// TestMotionIsCalledOff presses Esc while a motion is under way: it says what runs and how far it is, and leaves the block
// where it was.
func TestMotionIsCalledOff(t *testing.T) {
	hold := make(chan struct{})
	d := started(t, 80, 24, plainLook, func(o *Options) {
		o.viewer = func(r *debugkern.Run) debugkern.Viewer {
			v := view(r).(*fakeViewer)
			v.hold = hold
			return v
		}
	}).press("8", "s")
	d.manual = true
	d.press("r")
	if !contains(d.text(), "running · step 3 · Esc cancels") {
		t.Errorf("nothing says what runs:\n%s", d.text())
	}
	d.press("s").hasStatus("Esc cancels")
	d.press("esc")
	d.manual = false
	for _, cmd := range d.kept {
		d.do(cmd)
	}
	d.hasStatus("cancelled")
	d.stands(3)
	d.press("s").stands(6)
}

func TestMouseInSource(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("8")
	for _, p := range walkParts {
		r := walkLayout(d.m.w, d.m.frame.body, d.m.walk.slot, d.m.sizes)[p]
		d.send(tea.MouseClickMsg{X: r.x + 20, Y: topLines + r.y + 3, Button: tea.MouseLeft})
		if d.m.focused() != p {
			t.Errorf("a click in %s focused %s", p, d.m.focused())
		}
		d.send(tea.MouseWheelMsg{X: r.x + 5, Y: topLines + r.y + 2, Button: tea.MouseWheelDown})
		fits(t, d, "after a click in "+string(p))
	}
	if d.m.cursor.Row == 0 {
		t.Error("a click on a shared cell did not move the cursor")
	}
}

// TestEverySourceFits draws the Source view with every focus and size of panes, at moments that look different.
func TestEverySourceFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {81, 31}, {80, 36}, {100, 35}, {120, 40}, {175, 41}, {176, 40}, {200, 60}, {320, 90}} {
		d := started(t, size[0], size[1], plainLook, withRequest(faulty)).press("8")
		for _, at := range []string{"0", "1203", "4001", "end"} {
			d.command("seek " + at)
			for range walkParts {
				for _, keys := range []string{"", "+++++", "_ _ _ _ _ _ _ _", "v", "jjjj$", "w", "b"} {
					d.press(strings.Split(strings.ReplaceAll(keys, " ", ""), "")...)
					fits(t, d, fmt.Sprintf("at %s, focus %s, after %q", at, d.m.focused(), keys))
				}
				d.press("tab")
			}
		}
	}
}
