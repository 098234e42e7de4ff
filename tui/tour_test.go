package tui

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/tui/view"
)

// TestTourTextsFit: every step says what to do in two lines of the smallest screen, and names keys that are
// there; the first calls a stage that an earlier one has made wrong as every screen does.
func TestTourTextsFit(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	for _, s := range tourSteps() {
		text := s.text(d.m, d.m.keyName)
		if n := len(d.m.Theme.Wrap(text, 78)); n > tourLines-1 {
			t.Errorf("%s: %d lines", s.name, n)
		}
		if strings.Contains(text, "  ") || strings.Contains(text, " ,") || strings.Contains(text, " .") {
			t.Errorf("%s: a key is missing: %s", s.name, text)
		}
	}
	if text := tourSteps()[0].text(d.m, d.m.keyName); !strings.Contains(text, "tainted by it") {
		t.Error(text)
	}
	if n := len(tourSteps()); n != 8 {
		t.Errorf("%d steps", n)
	}
}

// TestTour goes through the tour by its keys: each step is done by what the keys did, at every size.
func TestTour(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := started(t, size[0], size[1], plainLook)
		runs := len(d.e.Asked())
		d.command("tour")
		if got := d.last(); len(got.Faults) != 1 || got.Target != "stage2" || len(d.e.Asked()) != runs+1 {
			t.Fatalf("the tour runs %+v", got)
		}
		step := func(n int, keys ...string) {
			t.Helper()
			if d.press(keys...); d.m.tour == nil || d.m.tour.at != n-1 {
				t.Fatalf("%v: %v leads to %+v, not to step %d:\n%s", size, keys, d.m.tour, n, d.text())
			}
			fits(t, d, fmt.Sprint("step ", n))
			if s := d.text(); !strings.Contains(s, fmt.Sprintf("TOUR %d/8", n)) {
				t.Errorf("no strip of step %d:\n%s", n, s)
			}
		}
		step(1)
		step(1, "?", "q") // reading the help does no step
		step(2, "j")
		step(2, "j")
		step(3, "k", "k", "enter")
		step(4, "n")
		step(5, "v")
		step(5, "w")
		step(6, "w")
		step(7, "s")
		step(8, "ctrl+n") // the diagnosis is another engine's
		if d.m.view != view.Flags {
			t.Errorf("the skipped step leads to %s", d.m.view)
		}
		d.typed("/p-stale-m").press("enter", "space")
		s := d.text()
		if d.m.tour != nil || !strings.Contains(s, "TOUR 7 of 8 steps") || !strings.Contains(s, "(skipped)") {
			t.Errorf("no summary:\n%s", s)
		}
		fits(t, d, "summary")
		if d.press("esc"); d.m.over != nil {
			t.Error("the summary stays")
		}
		if len(d.m.Req.Faults) != 0 || d.m.Req.Backend != "" || d.m.view != view.Pipe {
			t.Errorf("not back where it began: %+v in %s", d.m.Req, d.m.view)
		}
	}
}

// TestTourIsLeft: Esc leaves it, once nothing lies over the view, and the request from before runs again.
func TestTourIsLeft(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(debugkern.Request{Target: "stage2",
		Faults: []string{"kt-ld"}}))
	d.open(view.Tile).command("tour")
	d.press("?", "esc")
	if d.m.tour == nil {
		t.Fatal("Esc over the help leaves the tour")
	}
	if got := d.m.remembered(); len(got.Faults) != 1 || got.Faults[0] != "kt-ld" {
		t.Errorf("remembered during the tour: %+v", got.Setup)
	}
	if d.press("esc"); d.m.tour != nil || d.m.view != view.Tile || d.m.Req.Faults[0] != "kt-ld" {
		t.Errorf("left to %+v in %s", d.m.Req, d.m.view)
	}
	if strings.Contains(d.text(), "TOUR") {
		t.Errorf("the strip stays:\n%s", d.text())
	}
	d.press("ctrl+n").hasStatus("no tour is running")
}

// TestTourLeadsBack: in another view than the step's the strip says where the step is done.
func TestTourLeadsBack(t *testing.T) {
	d := started(t, 80, 24, plainLook).command("tour").press("j")
	for key, want := range map[string]string{
		"2": "This step is done in view Pipe: 1 opens it.", "1": "Go back to P",
	} {
		if s := d.press(key).text(); !strings.Contains(s, want) {
			t.Errorf("after %s nothing says %q:\n%s", key, want, s)
		}
	}
}

// TestTourSkipped: every step can be skipped, to the summary.
func TestTourSkipped(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook, func(o *Options) { o.Tour = true })
	d.do(d.m.Init())
	for i := range 8 {
		if d.m.tour == nil || d.m.tour.at != i {
			t.Fatalf("step %d: %+v", i, d.m.tour)
		}
		if got, want := d.m.view, tourSteps()[i].view; got != want {
			t.Errorf("step %d begins in %s, not %s", i+1, got, want)
		}
		fits(t, d, fmt.Sprint("step ", i+1))
		d.press("ctrl+n")
	}
	if s := d.text(); !strings.Contains(s, "TOUR 0 of 8 steps") {
		t.Errorf("summary:\n%s", s)
	}
}

// TestTourNamesTheUsersKeys, and the palette where there is none.
func TestTourNamesTheUsersKeys(t *testing.T) {
	d := started(t, 80, 24, plainLook, func(o *Options) {
		o.Config = &configs.Config{Palette: "cividis", Keys: []configs.KeySetting{
			{Name: "down", Keys: []string{"ctrl+j"}}, {Name: "pipe.open", Keys: nil},
		}}
	}).command("tour")
	if s := d.text(); !strings.Contains(s, "Ctrl-j or") {
		t.Errorf("step 1:\n%s", s)
	}
	if s := d.press("ctrl+n").text(); !strings.Contains(s, "with :pipe.open") {
		t.Errorf("step 2:\n%s", s)
	}
}

// TestTourNamesTheWayBack: from every stage to which the first step may have led, the key that the second
// step names leads to the wrong stage.
func TestTourNamesTheWayBack(t *testing.T) {
	for _, first := range []string{"j", "k", "G", "gg"} {
		d := started(t, 80, 24, plainLook).command("tour")
		d.press(strings.Split(strings.TrimSuffix(first, "g"), "")...)
		if first == "gg" {
			d.press("g")
		}
		if d.m.tour.at != 1 {
			t.Fatalf("%s: step %d", first, d.m.tour.at+1)
		}
		for range 12 {
			switch strip := d.text(); {
			case strings.Contains(strip, "Go back to P (j ↓)"):
				d.press("j")
			case strings.Contains(strip, "Go back to P (k ↑)"):
				d.press("k")
			case strings.Contains(strip, "P is selected: open its tile"):
				d.press("enter")
			}
		}
		if d.m.view != view.Tile || d.m.tour.at != 2 {
			t.Errorf("%s: step %d in %s:\n%s", first, d.m.tour.at+1, d.m.view, d.text())
		}
	}
}
