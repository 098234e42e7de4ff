package tui

import (
	"strings"
	"testing"

	"tilescope/tui/view"
)

// bottomOf is the bottom line, and the column at which a text begins on it.
func bottomOf(d *driver, text string) int {
	lines := strings.Split(strings.TrimRight(d.text(), "\n"), "\n")
	before, _, ok := strings.Cut(lines[len(lines)-1], text)
	if !ok {
		d.T.Fatalf("no %q on the bottom line %q", text, lines[len(lines)-1])
	}
	return d.m.Theme.Width(before)
}

// TestHintsCanBeClicked: each does what its key does, at the first and at the last column of its text.
func TestHintsCanBeClicked(t *testing.T) {
	for _, w := range []int{80, 120, 200} {
		d := started(t, w, 40, plainLook, withRequest(faulty))
		d.Click(bottomOf(d, "Enter open"), 39)
		if d.m.view != view.Tile {
			t.Errorf("Enter open: %s", d.m.view)
		}
		d.Click(bottomOf(d, "z heat")+len("z heat")-1, 39)
		other := started(t, w, 40, plainLook, withRequest(faulty)).press("2", "z")
		if other.text() != d.text() {
			t.Errorf("z heat:\n%s\nby key:\n%s", d.text(), other.text())
		}
		d.press("esc", "2")
		d.Click(bottomOf(d, "? help"), 39)
		if d.m.over == nil {
			t.Error("? help opens none")
		}
		d.press("esc")
		d.Click(bottomOf(d, ": command"), 39)
		if lead, open := d.m.prompt.Active(); !open || lead != ":" {
			t.Error(": command opens no prompt")
		}
		d.Click(3, 39) // on what is typed
		if _, open := d.m.prompt.Active(); !open {
			t.Error("a click into the prompt closes it")
		}
	}
}

// TestClickedBeside: between two hints, behind the last, and on a status nothing is done.
func TestClickedBeside(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	was := d.text()
	for _, x := range []int{bottomOf(d, "Enter open") - 1, bottomOf(d, "q quit") + len("q quit"), 119} {
		if d.Click(x, 39); d.text() != was {
			t.Errorf("column %d does something:\n%s", x, d.text())
		}
	}
	d.m.Say("a status of which no hint is drawn")
	was = d.text()
	if d.Click(1, 39); d.text() != was {
		t.Errorf("a status does something:\n%s", d.text())
	}
}

// TestACommandAmongTheHints: the hint of a run that went wrong in Tile is a command.
func TestACommandAmongTheHints(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).press("2")
	d.Click(bottomOf(d, ":diagnose why"), 39)
	if d.m.view != view.Races {
		t.Errorf("it shows %s", d.m.view)
	}
}

// TestWhatRunsIsCancelledByAClick: on the words that say how it is cancelled.
func TestWhatRunsIsCancelledByAClick(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	d.Manual = true
	d.press("x")
	if !d.m.Job.Active {
		t.Fatal("nothing runs")
	}
	if d.Click(bottomOf(d, "cancels"), 39); d.m.Job.Active {
		t.Error("it still runs")
	}
}
