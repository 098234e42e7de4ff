package tui

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// timed is a driver of which the commands are kept, and what moves its clock as running seconds do.
func timed(t *testing.T, races *tuitest.Races) (d *driver, pass func(time.Duration)) {
	d = started(t, 120, 40, plainLook, withRequest(faulty), withRaces(races)).open(view.Races)
	now := time.Unix(1000, 0)
	d.m.now = func() time.Time { return now }
	d.Manual = true
	return d, func(by time.Duration) {
		now = now.Add(by)
		d.send(secondMsg{})
	}
}

func (d *driver) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
}

// TestSecondsOfADiagnosis: its panes and the bottom line say for how long it has run, from two seconds on;
// the next one begins anew.
func TestSecondsOfADiagnosis(t *testing.T) {
	d, pass := timed(t, &tuitest.Races{Hold: make(chan struct{})})
	d.press("d")
	pass(1900 * time.Millisecond)
	if strings.Contains(d.Text(), "1 s") {
		t.Errorf("a moment is counted:\n%s", d.Text())
	}
	pass(10 * time.Second)
	d.says(t, "DIAGNOSIS RUNNING 11 s─", "The diagnosis is running for 11 s: findings",
		"diagnosis · 11 s · Esc cancels")
	pass(54 * time.Second)
	d.says(t, "DIAGNOSIS RUNNING 1:05 min─", "diagnosis · 1:05 min · Esc cancels")
	d.press("esc", "d")
	if strings.Contains(d.Text(), "1:05 min") {
		t.Errorf("the next one goes on from the one before:\n%s", d.Text())
	}
}

// TestSecondsOfAWhatIf: so does the bottom line of a what-if.
func TestSecondsOfAWhatIf(t *testing.T) {
	d, pass := timed(t, &tuitest.Races{})
	d.Manual = false
	d.press("d")
	d.Manual = true
	d.press("i")
	pass(7 * time.Second)
	d.says(t, "trying · 7 s · Esc cancels")
}

// TestSecondsOfRunsAndTasks: a run's seconds stand behind its stages. A report's diagnosis is shown in a
// diagnosis's words, not as a run that compares for as long as it takes.
func TestSecondsOfRunsAndTasks(t *testing.T) {
	dir := t.TempDir()
	d, pass := timed(t, &tuitest.Races{Bare: true})
	d.press("x")
	pass(3 * time.Second)
	d.says(t, "build ▸ ○launch ▸ ○compare · 3 s · Esc cancels")
	d.press("esc").command("report " + filepath.Join(dir, "a.html"))
	pass(4 * time.Second)
	d.says(t, "diagnosing for a.html · 4 s · Esc cancels")
	d.m.Task.Report(debugkern.Progress{Phase: "schedules", Done: 12, Total: 200})
	d.send(d.m.Task.Listen()())
	d.says(t, "diagnosis: trying schedules 12/200 · 4 s · Esc cancels")
}

// TestNoSecondsWhileNothingRuns: a second is asked for where something runs, once until it has passed, and
// never where nothing does: nothing is drawn then.
func TestNoSecondsWhileNothingRuns(t *testing.T) {
	d, pass := timed(t, &tuitest.Races{Hold: make(chan struct{})})
	d.m.Pace.Pulse = 0
	asks := func() bool { return d.m.seconds() != nil }
	if asks() {
		t.Fatal("seconds are counted of nothing")
	}
	if d.press("d"); !d.m.ticking || asks() {
		t.Fatalf("under way: asked %t, and again", d.m.ticking)
	}
	if pass(time.Second); !d.m.ticking {
		t.Error("no next second is asked for")
	}
	d.press("esc")
	if pass(time.Second); d.m.ticking || asks() {
		t.Error("the seconds go on when the diagnosis has been cancelled")
	}
}
