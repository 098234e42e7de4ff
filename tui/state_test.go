package tui

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/tui/view"
)

func TestStateSurvives(t *testing.T) {
	dir := t.TempDir()
	keep := func(o *Options) { o.StateDir = dir }
	d := started(t, 120, 40, plainLook, keep).command("fault p-stale-m").command("seed 3")
	d.press("2", "v", "c", "J", "L", "j", "m", "x")
	if err := d.m.memory.saveNow(); err != nil {
		t.Fatal(err)
	}
	s, err := configs.LoadState(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	again := started(t, 120, 40, plainLook, keep, withState(s))
	if again.m.Cursor != d.m.Cursor || again.m.view != view.Tile || again.m.Theme.Palette != "viridis" {
		t.Errorf("came back to %+v in %s with %s", again.m.Cursor, again.m.view, again.m.Theme.Palette)
	}
	if got := again.last(); got.Seed != 3 || !reflect.DeepEqual(got.Faults, []string{"p-stale-m"}) {
		t.Errorf("ran %+v", got)
	}
	if !reflect.DeepEqual(again.m.remembered(), d.m.remembered()) {
		t.Errorf("remembered\n%+v\nexpected\n%+v", again.m.remembered(), d.m.remembered())
	}
	named := started(t, 120, 40, plainLook, withState(s), withRequest(debugkern.Request{Target: "scalar"}),
		func(o *Options) { o.Explicit = true })
	if got := named.last(); got.Target != "scalar" || got.Seed != 0 {
		t.Errorf("a named target should win: ran %+v", got)
	}
	if named.m.view != view.Pipe || named.m.Theme.Palette != "viridis" {
		t.Errorf("a named target opened in %s with %s: it begins in Pipe, looking as it was left",
			named.m.view, named.m.Theme.Palette)
	}
	asked := started(t, 120, 40, plainLook, withState(s),
		withRequest(debugkern.Request{Target: "stage2", Shape: "small"}))
	gone := *s
	gone.Target = "no-longer-there"
	if other := started(t, 120, 40, plainLook, withState(&gone)); asked.m.view != view.Pipe ||
		other.m.view != view.Pipe {
		t.Errorf("what is not taken up again opened in %s and %s", asked.m.view, other.m.view)
	}
}

// TestSecondTerminalSavesNothing opens a terminal next to one that is open: it starts from what that one
// saved, reports that it saves nothing, and saves nothing. The next one, with the first closed, does.
func TestSecondTerminalSavesNothing(t *testing.T) {
	dir := t.TempDir()
	open := func() (*driver, func()) {
		o := Options{StateDir: dir}
		leave := o.recall(t.Context())
		return started(t, 120, 40, plainLook, func(to *Options) {
			to.State, to.StateDir, to.forgot, to.unsaved = o.State, o.StateDir, o.forgot, o.unsaved
		}), leave
	}
	seed := func() uint64 {
		s, err := configs.LoadState(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return s.Seed
	}
	first, leave := open()
	first.open(view.Source).command("break 65") // which the next session announces
	first.command("seed 9")
	if first.m.Status.Bad || seed() != 9 {
		t.Fatalf("the first: status %q, saved seed %d", first.m.Status.Text, seed())
	}
	second, _ := open()
	second.hasStatus("another terminal is open")
	if list, _ := second.m.Log.Entries(); !slices.ContainsFunc(list, func(e view.Entry) bool {
		return strings.Contains(e.Text, "1 breakpoint set in an earlier session")
	}) {
		t.Errorf("no message of what was set: %+v", list)
	}
	if second.last().Seed != 9 {
		t.Errorf("the second ran seed %d", second.last().Seed)
	}
	second.command("seed 5")
	if err := second.m.memory.saveLast(); err != nil || seed() != 9 {
		t.Errorf("the second replaced the first's state: seed %d, %v", seed(), err)
	}
	leave()
	third, leave := open()
	defer leave()
	if third.command("seed 7"); third.m.Status.Bad || seed() != 7 {
		t.Errorf("alone again: status %q, saved seed %d", third.m.Status.Text, seed())
	}
}

func TestStateIsSavedOnceQuiet(t *testing.T) {
	dir := t.TempDir()
	d := started(t, 80, 24, plainLook, func(o *Options) { o.StateDir = dir })
	d.command("seed 9")
	if s, err := configs.LoadState(t.Context(), dir); err != nil || s.Seed != 9 {
		t.Errorf("state %+v, %v", s, err)
	}
	if cmd := d.m.memory.saveDue(saveDueMsg{d.m.memory.saved - 1}); cmd != nil {
		t.Error("a superseded change was saved")
	}
}

func TestChangedConfigurationRunsLikeAKey(t *testing.T) {
	old := &configs.Config{Shape: "validation", Gate: "none", Palette: "cividis", Mouse: true}
	d := started(t, 80, 24, plainLook, func(o *Options) { o.Config = old })
	d.command("seed 4")
	now := *old
	now.Faults, now.Palette = []string{"p-stale-m"}, "grey"
	d.send(configMsg{config: &now})
	if got := d.last(); !reflect.DeepEqual(got.Faults, now.Faults) || got.Seed != 4 {
		t.Errorf("ran %+v", got)
	}
	if d.m.Theme.Palette != "grey" {
		t.Errorf("palette %s", d.m.Theme.Palette)
	}
	d.hasStatus("configuration: palette grey, faults p-stale-m")
	n := len(d.e.Asked())
	d.send(configMsg{config: &now})
	d.send(configMsg{err: errors.New("tilescope.yaml:3:1: no such key")})
	d.hasStatus("tilescope.yaml:3:1")
	if len(d.e.Asked()) != n {
		t.Error("nothing changed, and yet it ran")
	}
}

func TestPinnedRunComesBack(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("4", "a").command("fault p-stale-m")
	again := started(t, 120, 40, plainLook, withState(d.m.remembered())).press("4")
	for _, want := range []string{"A stage2 validation", "B stage2 p-stale-m"} {
		if !contains(again.text(), want) {
			t.Errorf("no %q:\n%s", want, again.text())
		}
	}
}

// TestPinOfAnotherKernelIsNotKept: the state of a session that ends on another kernel has no pin of the
// first.
func TestPinOfAnotherKernelIsNotKept(t *testing.T) {
	d := started(t, 120, 40, plainLook).press("4", "a")
	if d.m.remembered().Pinned == nil {
		t.Fatal("the pin is not remembered")
	}
	pinned := *d.m.Pinned
	pinned.Target = "another"
	if d.m.Pinned = &pinned; d.m.remembered().Pinned != nil {
		t.Error("a pin of another kernel is remembered")
	}
}
