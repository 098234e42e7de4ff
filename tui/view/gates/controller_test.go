package gates_test

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern/gates"
	"tilescope/debugkern/report"
	"tilescope/tui/view"
	gatesview "tilescope/tui/view/gates"
	"tilescope/tui/view/viewtest"
)

// control is the view.
func control(d *viewtest.Driver) *gatesview.Controller {
	return viewtest.View[*gatesview.Controller](d, view.Gates)
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.Gates, viewtest.Request(viewtest.Faulty)) }

// swept is a driver whose Gates view has judged every variant.
func swept(t *testing.T, w, h int) *viewtest.Driver {
	t.Helper()
	d := viewtest.Start(t, w, h).Press("6")
	if n := len(d.E.Asked()); n != 1 {
		t.Fatalf("%d runs before a key was pressed", n)
	}
	d.Press("x")
	if d.M.Task.Active || control(d).Running() {
		t.Fatal("the sweep did not end")
	}
	return d
}

func TestSweptScreens(t *testing.T) {
	for _, size := range viewtest.Sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := swept(t, size[0], size[1])
			control(d).Pane().Select("stage1")
			d.Fits("gates")
			golden.RequireEqual(t, d.Text()+"\n")
		})
	}
}

// The numbers stand behind the verdicts: what is over its limit, how many shapes and seeds, and
// counts that are no time.
func TestGatesNumbers(t *testing.T) {
	d := swept(t, 120, 40).Press("gg", "n")
	for range 2 {
		if control(d).Pane().Selected().Target == "stage1" {
			break
		}
		d.Press("n")
	}
	s := d.Text()
	for _, want := range []string{
		"✗ red: may not be merged", "168 registers", "limits 128 registers", "not run", "correctness 9/9",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q:\n%s", want, s)
		}
	}
	d.Press("tab", "G")
	if s := d.Text(); !strings.Contains(s, "counted by the emulator on") || !strings.Contains(s, "no time") {
		t.Errorf("counts:\n%s", s)
	}
}

// A variant that findings alone judge says how many of its runs pass: none of three is not "no findings".
func TestGatesByFindings(t *testing.T) {
	for passed, verdict := range map[int]string{0: gates.Red, 3: gates.Green} {
		want := map[string]string{gates.Red: "✗ 0/3 pass", gates.Green: "✓ 3/3 pass"}[verdict]
		for _, size := range viewtest.Sizes {
			d := viewtest.Start(t, size[0], size[1]).Open(view.Gates)
			control(d).Judge(&gates.TargetDoc{Target: "stage2", Verdict: verdict,
				Correctness: gates.CorrectnessDoc{
					Verdict: verdict, Reference: report.NoReference, Passed: passed, Total: 3}})
			d.Says(want, fmt.Sprintf("correctness %d/3 pass: %s", passed, verdict))
			d.Fits("gates by findings")
			if strings.Contains(d.Text(), "/3 findings") {
				t.Error(d.Text())
			}
		}
	}
}

// Enter on a row opens the variant in Pipe, on a case that run.
func TestGatesOpen(t *testing.T) {
	d := swept(t, 120, 40)
	control(d).Pane().Select("stage1")
	d.Press("enter")
	if got := d.Last(); d.M.Showing() != view.Pipe || got.Target != "stage1" || got.Shape != "" {
		t.Errorf("view %s, ran %+v", d.M.Showing(), got)
	}
	d.Press("6", "tab")
	for control(d).Pane().Case() == nil || control(d).Pane().Case().Shape != "partial49" ||
		control(d).Pane().Case().Seed != 2 {
		before := d.Text()
		if d.Press("j"); d.Text() == before {
			t.Fatalf("no case partial49 seed 2:\n%s", before)
		}
	}
	d.Press("enter")
	if got := d.Last(); d.M.Showing() != view.Pipe || got.Target != "stage1" || got.Shape != "partial49" ||
		got.Seed != 2 {
		t.Errorf("view %s, ran %+v", d.M.Showing(), got)
	}
}

// One variant alone is judged by space; Esc ends a sweep, what it had decided stays.
func TestGatesOneAndCancel(t *testing.T) {
	d := viewtest.Start(t, 80, 24).Press("6", "j", "space")
	if n := control(d).Docs(); n != 1 {
		t.Fatalf("%d variants judged, expected 1", n)
	}
	d.Manual = true
	d.Press("x")
	if !d.M.Task.Active {
		t.Fatal("no sweep under way")
	}
	d.Send(gatesview.Sweeping(d.M.Task, gates.Progress{
		Target: "scalar", Gate: "correctness", Detail: "small seed 1", Done: 6, Total: 260,
	}))
	if s := d.Text(); !strings.Contains(s, "6/260 scalar") || !strings.Contains(s, "▸ small seed 1") ||
		!strings.Contains(s, "Esc cancels") {
		t.Errorf("progress:\n%s", s)
	}
	d.Press("x").HasStatus("is running")
	d.Press("esc").HasStatus("cancelled")
	d.Late()
	if d.M.Task.Active || !strings.Contains(d.Text(), "cancelled at 6/260") || control(d).Docs() != 1 {
		t.Errorf("after cancelling:\n%s", d.Text())
	}
}

func TestGatesMouse(t *testing.T) {
	d := swept(t, 120, 40)
	d.Send(tea.MouseClickMsg{X: 5, Y: 2 + 3, Button: tea.MouseLeft})
	row := control(d).Pane().Selected().Target
	if row != control(d).Targets()[1] {
		t.Errorf("clicked the second row, %s is selected", row)
	}
	d.Send(tea.MouseWheelMsg{X: 5, Y: 4, Button: tea.MouseWheelUp})
	if got := control(d).Pane().Selected().Target; got != control(d).Targets()[0] {
		t.Errorf("the wheel over the table went to %s", got)
	}
	d.Send(tea.MouseClickMsg{X: 5, Y: 30, Button: tea.MouseLeft})
	if control(d).Focused() != "numbers" {
		t.Errorf("focus %s", control(d).Focused())
	}
}

func TestEveryGatesSizeFits(t *testing.T) {
	d := swept(t, 80, 24)
	for _, w := range []int{80, 99, 109, 110, 120, 160, 200} {
		for _, h := range []int{24, 30, 41, 60} {
			d.Resize(w, h)
			for range 4 {
				d.Press("j", "tab", "j", "G")
				d.Fits("gates judged")
			}
		}
	}
}

// TestGatesOfAnotherBackendAreOfAPreviousRun: a sweep's verdicts carry what they were judged by.
func TestGatesOfAnotherBackendAreOfAPreviousRun(t *testing.T) {
	d := viewtest.Start(t, 120, 40)
	control(d).Judge(&gates.TargetDoc{Target: "stage2", Verdict: gates.Green})
	d.Press("6")
	if strings.Contains(d.Text(), "previous run") {
		t.Errorf("a verdict of now is headed:\n%s", d.Text())
	}
	d.Command("backend emu")
	if !strings.Contains(d.Text(), "previous run: stage2") {
		t.Errorf("judged on auto, asked for emu:\n%s", d.Text())
	}
	d.Command("backend auto")
	if strings.Contains(d.Text(), "previous run") {
		t.Errorf("back to auto:\n%s", d.Text())
	}
	if d.Command("fault p-stale-m").Press("6"); !strings.Contains(d.Text(), "without p-stale-m") {
		t.Errorf("the variant is judged without its fault, unsaid:\n%s", d.Text())
	}
	d.Command("gate softmax").Press("6").Says("without p-stale-m, without gate softmax")
}
