package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/source"
	"tilescope/tui/view/viewtest"
)

func open(t *testing.T, w, h int, options ...viewtest.Option) *viewtest.Driver {
	return viewtest.Start(t, w, h, options...).Open(view.Pipeline)
}

// at is the step at which the block of view Source stands.
func at(d *viewtest.Driver) uint64 {
	return viewtest.View[*source.Controller](d, view.Source).Clock()
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.Pipeline) }

// The same screens while operations are under way.
func TestScreensUnderWay(t *testing.T) {
	for _, size := range viewtest.Sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := open(t, size[0], size[1])
			d.Press("a", "a", "a", "a", "a", "a", "tab")
			d.Fits("pending")
			golden.RequireEqual(t, d.Text()+"\n")
		})
	}
}

// The view shows the block that view Source has, at the same moment, whichever of the two moves it.
func TestFollowsTheBlockOfSource(t *testing.T) {
	d := open(t, 120, 40)
	d.Says("step 0 of 7680", "sK[0]", "k_full[1]", "nothing asynchronous is pending")
	d.Press("a").Says("step 100 of 7680", "event 1 of", "k_map[0,0,0] by w0", "8192 of 8192", "PENDING 1")
	if at(d) != 100 {
		t.Errorf("the block stands at %d", at(d))
	}
	d.Press("a", "a").Says("step 450 of 7680", "in use", "wgmma 0")
	d.Press("A").Says("step 400 of 7680", "full")
	d.Press("8")
	d.Press("s").Open(view.Pipeline).Says("step 402 of 7680")
	d.Command("event 2").Says("step 560 of 7680")
	d.Command("reverse-event").Says("step 450 of 7680")
	if d.M.Showing() != view.Pipeline {
		t.Errorf("a command of stepping shows %s", d.M.Showing())
	}
	d.Command("seek 700").Says("step 700 of 7680")
	d.Press("r").Says("step 7680 of 7680", "end")
	d.Press("R").Says("step 0 of 7680", "start")
	d.Press("U", "s").Says("by instruction", "step 1 of 7680")
	d.Press(".").Says("warp 1")
	d.Press("}").Says("block 1,0,0")
}

// The cursor of the chart goes through its rows and columns, says what is there, and leads to that moment.
func TestCursorOfTheChart(t *testing.T) {
	d := open(t, 120, 40)
	d.Press("l", "l").Says("steps 400 to 449: w0 executes")
	d.Press("j").Says("steps 400 to 449: w1 waits at k_full[0] phase 0 (line 61) from step 0 to 1919")
	d.Press("G").Says("sK[1] empty since step 0")
	d.Press("k").Says("sK[0] full since step 400 · tensor copy k_map[0, 0, 0] → sK[0] (line 70)")
	d.Press("k").Says("wgmma 0 none pending")
	d.Press("k", "h").Says("steps 100 to 399: copies tensor copy k_map[0, 0, 0] → sK[0] (line 70) issued")
	d.Press("enter")
	if at(d) != 100 {
		t.Errorf("the block stands at %d", at(d))
	}
	d.Press("tab", "tab", "tab", "enter") // the copy that is under way
	if d.M.Showing() != view.Source || at(d) != 99 {
		t.Errorf("view %s, step %d", d.M.Showing(), at(d))
	}
}

// A column is a span of steps: what a warp does in it is listed in order, never a state at one step that
// the times on the same line contradict.
func TestColumnInWords(t *testing.T) {
	d := open(t, 120, 40)
	d.Press("j").Command("seek 1900").
		Says("steps 1900 to 2199: w1 waits at k_full[0] phase 0 (line 61) from step 0 to 1919, then executes")
	d.Resize(80, 24).Says("steps 1900 to 2199: w1 waits at k_full[0] phase 0 (line 61), then executes")
}

// A chart that is wider than its place says so, and its cursor scrolls it.
func TestWideChart(t *testing.T) {
	d := open(t, 120, 40)
	if strings.Contains(d.Text(), "columns 1-") {
		t.Errorf("the whole chart is shown:\n%s", d.Text())
	}
	d.Says("now, at step 0")
	if n := strings.Count(d.Text(), "▼"); n != 1 {
		t.Errorf("%d marks of where the block stands:\n%s", n, d.Text())
	}
	axis := func() string {
		for _, line := range d.Lines() {
			if text := ansi.Strip(line); strings.Contains(text, "now, at step") {
				return text[:strings.Index(text, "now,")]
			}
		}
		return ""
	}
	d.Resize(80, 24).Says("columns 1-45 of 61")
	if a := axis(); strings.Count(a, "…") != 1 || !strings.HasSuffix(a, "5360… ") {
		t.Errorf("the axis is %q", a)
	}
	d.Press("$").Says("columns 17-61 of 61", "steps 7180 to 7680: w0 ")
	if a := axis(); strings.Count(a, "…") != 1 || !strings.Contains(a, "step…") {
		t.Errorf("the axis is %q", a)
	}
	d.Press("0").Says("columns 1-45 of 61", "steps 0 to 99: w0 executes")
	d.Fits("pipeline")
}

// A kernel without anything asynchronous has no chart, and the view says so.
func TestNothingAsynchronous(t *testing.T) {
	sync := viewtest.Engine(func(e *tuitest.Engine) { e.Synchronous = true })
	d := open(t, 80, 24, sync)
	d.Says("nothing in this kernel is asynchronous")
	d.Fits("nothing")
	if d.Press("a").HasStatus("ended"); strings.Contains(d.Text(), "TIMELINE") {
		t.Error(d.Text())
	}
}

// Every size fits, and zoom gives the focused part the place.
func TestSizes(t *testing.T) {
	d := open(t, 80, 24)
	d.Press("a", "a", "a")
	for _, size := range [][2]int{{80, 24}, {99, 50}, {100, 32}, {100, 36}, {133, 41}, {200, 60}, {260, 90}} {
		d.Resize(size[0], size[1])
		for range 4 {
			d.Fits("pipeline")
			d.Press("Z").Fits("pipeline, zoomed")
			d.Press("Z", "tab")
		}
	}
}

// The tile of the buffer that RING's cursor is on is shown as it is stored and as it is meant: the swizzle
// puts the first units of eight rows in eight groups of banks.
func TestSwizzledTile(t *testing.T) {
	d := open(t, 200, 60)
	d.Says("LAYOUT sK[0]", "written by tensor map k_map: 128B swizzle, unit u of line n lies at u XOR (n mod 8)",
		"the first units of rows 0-7 lie in 8 groups of banks",
		"read by tensor map k_map, 128B swizzle: the same")
	lines := strings.Join(strings.Fields(d.Text()), " ")
	for _, want := range []string{
		"+0x000 0:0 0:8 0:16 0:24 0:32 0:40 0:48 0:56", "+0x080 1:8 1:0 1:24 1:16 1:40 1:32 1:56 1:48",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	d.Press("tab", "j").Says("LAYOUT sK[1]")
	d.Resize(80, 24).Press("tab", "tab", "tab", "Z").Says("row 1", "+0x90")
	d.Fits("layout")
}
