package tui

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/tui/view"
)

// TestZoom: the focused part of every view has the whole screen, at every size, and gives it back.
func TestZoom(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := started(t, size[0], size[1], plainLook, withRequest(faulty))
		for _, s := range d.m.Keys.Scopes() {
			d.open(s)
			if _, ok := d.m.Shown().(view.Zoomer); !ok {
				t.Errorf("%s cannot be enlarged", s)
				continue
			}
			before, parts := d.text(), d.m.parts()
			for range parts {
				at := d.m.focused()
				d.press("Z")
				d.m.Clear()
				what := fmt.Sprintf("%v %s %s", size, s, at)
				fits(t, d, what)
				if len(d.m.parts()) != len(parts) || d.m.focused() != at {
					t.Errorf("%s: parts %v, focus %s", what, d.m.parts(), d.m.focused())
				}
				if len(parts) > 1 && d.text() == before {
					t.Errorf("%s: nothing has changed:\n%s", what, d.text())
				}
				for _, keys := range [][]string{{"j"}, {"k"}, {"G"}, {"g", "g"}, {"ctrl+d"}, {"l"}} {
					d.press(keys...)
				}
				for y := range size[1] {
					d.Click(3, y)
				}
				if d.m.view != s || d.m.focused() != at { // a click on the tabs, or into another view
					d.open(s)
					d.m.Focus(at)
				}
				d.press("Z")
				if d.m.zoomed[s] {
					d.press("Z")
				}
				d.press("tab")
			}
		}
	}
}

// TestZoomIsLeft: by Esc and by q, which then do nothing else, and the focus key goes on to the next part.
func TestZoomIsLeft(t *testing.T) {
	for _, key := range []string{"esc", "q", "Z"} {
		d := started(t, 120, 40, plainLook, withRequest(faulty)).open(view.Tile)
		before := d.text()
		if d.press("Z"); !strings.Contains(d.text(), "zoom") || !d.m.zoomed[view.Tile] {
			t.Fatalf("not enlarged:\n%s", d.text())
		}
		if s := d.text(); strings.Contains(s, "REFERENCE") || strings.Contains(s, "STAGES") {
			t.Errorf("more than the kernel's column:\n%s", s)
		}
		if d.press("tab"); !strings.Contains(d.text(), "REFERENCE") || strings.Contains(d.text(),
			"KERNEL f16") {
			t.Errorf("not the next part:\n%s", d.text())
		}
		d.press("shift+tab", key)
		d.m.Clear()
		if d.Quit || d.m.view != view.Tile || d.text() != before {
			t.Errorf("%s: quit %t, in %s:\n%s", key, d.Quit, d.m.view, d.text())
		}
	}
}

// TestZoomShowsMore: what is enlarged shows more of what it shows.
func TestZoomShowsMore(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).press("tab", "Z") // Pipe's detail
	d.m.Clear()
	long := strings.Count(d.text(), "│")
	if !strings.Contains(d.text(), "captured    by probe") ||
		strings.Contains(d.text(), "PIPE block") || long < 18 {
		t.Errorf("the detail alone:\n%s", d.text())
	}
	d = started(t, 80, 24, plainLook, withRequest(faulty)).open(view.Tile)
	few := strings.Count(strings.Split(d.text(), "\n")[3], " k")
	d.press("Z")
	if many := strings.Count(strings.Split(d.text(), "\n")[3], " k"); many <= few/3 {
		t.Errorf("%d columns alone, %d as one of three", many, few/3)
	}
}
