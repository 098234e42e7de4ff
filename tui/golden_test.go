package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// The golden screens are without styles, so that a diff can be read; those with styles are
// in the packages of views.
func TestAgreeingScreen(t *testing.T) {
	golden.RequireEqual(t, started(t, 80, 24, plainLook).text()+"\n")
}

func TestFirstFrame(t *testing.T) {
	golden.RequireEqual(t, newDriver(t, 80, 24, plainLook).firstFrame()+"\n")
}

// firstFrame is the screen right after Init, before anything has ended.
func (d *driver) firstFrame() string {
	d.Manual = true
	d.do(d.m.Init())
	return d.text()
}

func TestASCIIScreens(t *testing.T) {
	for _, s := range allViews {
		t.Run(string(s), func(t *testing.T) {
			d := started(t, 80, 24, Look{Profile: colorprofile.NoTTY, ASCII: true}, withRequest(faulty))
			d.open(s)
			screen := strings.Join(d.m.screen(), "\n")
			for _, r := range screen {
				if r > 0x7e || r < 0x20 && r != '\n' {
					t.Fatalf("character %q on an ASCII terminal without attributes:\n%s", r, screen)
				}
			}
			golden.RequireEqual(t, screen+"\n")
		})
	}
}

func TestHelpScreen(t *testing.T) {
	for _, s := range []keymap.Scope{view.Tile, view.Frag, view.Flags, view.Gates} {
		t.Run(string(s), func(t *testing.T) {
			d := started(t, 120, 40, plainLook)
			golden.RequireEqual(t, d.open(s).press("?").text()+"\n")
		})
	}
}
