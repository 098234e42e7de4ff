package tui

import (
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// fits fails unless the screen has h lines of w columns, measured by the library that will draw it.
func fits(t *testing.T, d *driver, what string) {
	t.Helper()
	lines := d.m.screen()
	if len(lines) != d.m.h {
		t.Fatalf("%dx%d %s: %d lines", d.m.w, d.m.h, what, len(lines))
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n != d.m.w {
			t.Fatalf("%dx%d %s: line %d is %d columns wide: %q", d.m.w, d.m.h, what, i, n, ansi.Strip(l))
		}
	}
}

// TestEverySizeFits draws every view at every size around the layout's breaks.
func TestEverySizeFits(t *testing.T) {
	widths := []int{
		1, 9, 40, 79, 80, 81, 87, 99, 111, 112, 113, 119, 120, 137, 160, 175, 176, 177, 200, 233, 320,
	}
	heights := []int{1, 5, 23, 24, 25, 29, 33, 34, 35, 39, 40, 41, 51, 60, 75, 110}
	d := started(t, 80, 24, Look{Profile: colorprofile.TrueColor}, withRequest(faulty))
	for _, w := range widths {
		for _, h := range heights {
			d.m.resize(w, h)
			for _, s := range d.m.Keys.Scopes() {
				d.m.view = s
				d.m.resize(w, h)
				fits(t, d, string(s))
			}
		}
	}
}

// TestEveryWidthFits draws every view at every width from 80 to 240.
func TestEveryWidthFits(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty))
	for w := 80; w <= 240; w++ {
		for _, s := range d.m.Keys.Scopes() {
			d.m.view = s
			d.m.resize(w, []int{24, 40, 60}[w%3])
			fits(t, d, string(s))
		}
	}
}

func TestOverlaysFit(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for _, s := range newDriver(t, 80, 24, plainLook).m.Keys.Scopes() {
			d := started(t, size[0], size[1], plainLook).open(s).press("?")
			fits(t, d, "help of "+string(s))
			d.press("j", "j", "esc", ":")
			fits(t, d, "palette")
			d.typed("fault ").press("tab", "tab", "tab")
			fits(t, d, "completion")
		}
	}
}

func TestTooSmall(t *testing.T) {
	d := started(t, 79, 24, plainLook)
	if s := d.text(); !contains(s, "79×24 is too small") || !contains(s, "80×24") {
		t.Errorf("card:\n%s", s)
	}
	d.press("2", "j").send(resizeTo(80, 24))
	if s := d.text(); !contains(s, "KERNEL") {
		t.Errorf("after growing:\n%s", s)
	}
}
