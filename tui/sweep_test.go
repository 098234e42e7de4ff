package tui

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern/gates"
	"tilescope/tui/keymap"
)

// swept is a driver whose Gates view has judged every variant.
func swept(t *testing.T, w, h int) *driver {
	t.Helper()
	d := started(t, w, h, plainLook).press("6")
	if n := len(d.e.asked()); n != 1 {
		t.Fatalf("%d runs before a key was pressed", n)
	}
	d.press("x")
	if d.m.task.active || d.m.sweep.running {
		t.Fatal("the sweep did not end")
	}
	return d
}

func TestSweptScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := swept(t, size[0], size[1])
			d.m.pane.gates.Select("stage1")
			fits(t, d, "gates")
			golden.RequireEqual(t, d.text()+"\n")
		})
	}
}

// The numbers stand behind the verdicts: what is over its limit, how many shapes and seeds, and counts that are no time.
func TestGatesNumbers(t *testing.T) {
	d := swept(t, 120, 40).press("gg", "n")
	for range 2 {
		if d.m.pane.gates.Selected().Target == "stage1" {
			break
		}
		d.press("n")
	}
	s := d.text()
	for _, want := range []string{"✗ red: may not be merged", "168 registers", "limits 128 registers", "not run", "correctness 9/9"} {
		if !contains(s, want) {
			t.Errorf("no %q:\n%s", want, s)
		}
	}
	d.press("tab", "G")
	if s := d.text(); !contains(s, "counted by the emulator on") || !contains(s, "no time") {
		t.Errorf("counts:\n%s", s)
	}
}

// Enter on a row opens the variant in Pipe, on a case that run.
func TestGatesOpen(t *testing.T) {
	d := swept(t, 120, 40)
	d.m.pane.gates.Select("stage1")
	d.press("enter")
	if got := d.last(); d.m.view != keymap.Pipe || got.Target != "stage1" || got.Shape != "" {
		t.Errorf("view %s, ran %+v", d.m.view, got)
	}
	d.press("6", "tab")
	for d.m.pane.gates.Case() == nil || d.m.pane.gates.Case().Shape != "partial49" || d.m.pane.gates.Case().Seed != 2 {
		before := d.text()
		if d.press("j"); d.text() == before {
			t.Fatalf("no case partial49 seed 2:\n%s", before)
		}
	}
	d.press("enter")
	if got := d.last(); d.m.view != keymap.Pipe || got.Target != "stage1" || got.Shape != "partial49" || got.Seed != 2 {
		t.Errorf("view %s, ran %+v", d.m.view, got)
	}
}

// One variant alone is judged by space; Esc ends a sweep, what it had decided stays.
func TestGatesOneAndCancel(t *testing.T) {
	d := started(t, 80, 24, plainLook).press("6", "j", "space")
	if n := len(d.m.sweep.docs); n != 1 {
		t.Fatalf("%d variants judged, expected 1", n)
	}
	d.manual = true
	d.press("x")
	if !d.m.task.active {
		t.Fatal("no sweep under way")
	}
	d.send(sweepMsg{gen: d.m.task.gen, p: gates.Progress{Target: "scalar", Gate: "correctness", Detail: "small seed 1", Done: 6, Total: 260}, until: d.m.task.ctx})
	if s := d.text(); !contains(s, "6/260 scalar") || !contains(s, "▸ small seed 1") || !contains(s, "Esc cancels") {
		t.Errorf("progress:\n%s", s)
	}
	d.press("x").hasStatus("is under way")
	d.press("esc").hasStatus("cancelled")
	d.manual = false
	kept := d.kept
	d.kept = nil
	for _, c := range kept {
		d.do(c)
	}
	if d.m.task.active || !contains(d.text(), "cancelled at 6/260") || len(d.m.sweep.docs) != 1 {
		t.Errorf("after cancelling:\n%s", d.text())
	}
}

func TestGatesMouse(t *testing.T) {
	d := swept(t, 120, 40)
	d.send(tea.MouseClickMsg{X: 5, Y: 2 + 3, Button: tea.MouseLeft})
	row := d.m.pane.gates.Selected().Target
	if row != d.m.gateRows()[1] {
		t.Errorf("clicked the second row, %s is selected", row)
	}
	d.send(tea.MouseWheelMsg{X: 5, Y: 4, Button: tea.MouseWheelUp})
	if got := d.m.pane.gates.Selected().Target; got != d.m.gateRows()[0] {
		t.Errorf("the wheel over the table went to %s", got)
	}
	d.send(tea.MouseClickMsg{X: 5, Y: 30, Button: tea.MouseLeft})
	if d.m.focused() != partNumbers {
		t.Errorf("focus %s", d.m.focused())
	}
}

func TestEveryGatesSizeFits(t *testing.T) {
	d := swept(t, 80, 24)
	for _, w := range []int{80, 99, 109, 110, 120, 160, 200} {
		for _, h := range []int{24, 30, 41, 60} {
			d.m.resize(w, h)
			for range 4 {
				d.press("j", "tab", "j", "G")
				fits(t, d, "gates judged")
			}
		}
	}
}
