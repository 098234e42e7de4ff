package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/tui/keymap"
)

// The golden screens are without styles, so that a diff can be read; TestStyled holds the styled ones.
func TestScreens(t *testing.T) {
	sizes := [][2]int{{80, 24}, {120, 40}, {200, 60}}
	for _, size := range sizes {
		for _, s := range allViews {
			t.Run(fmt.Sprintf("%s-%dx%d", strings.ToLower(s.String()), size[0], size[1]), func(t *testing.T) {
				d := started(t, size[0], size[1], plainLook, withRequest(faulty))
				d.press(fmt.Sprint(int(s)))
				golden.RequireEqual(t, d.text()+"\n")
			})
		}
	}
}

func TestAgreeingScreen(t *testing.T) {
	golden.RequireEqual(t, started(t, 80, 24, plainLook).text()+"\n")
}

func TestFirstFrame(t *testing.T) {
	golden.RequireEqual(t, newDriver(t, 80, 24, plainLook).firstFrame()+"\n")
}

// firstFrame is the screen right after Init, before anything has ended.
func (d *driver) firstFrame() string {
	d.manual = true
	d.do(d.m.Init())
	return d.text()
}

func TestASCIIScreens(t *testing.T) {
	for _, s := range allViews {
		t.Run(s.String(), func(t *testing.T) {
			d := started(t, 80, 24, Look{Profile: colorprofile.NoTTY, ASCII: true}, withRequest(faulty))
			d.press(fmt.Sprint(int(s)))
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
	for _, s := range []keymap.Scope{keymap.Tile, keymap.Frag, keymap.Flags, keymap.Gates} {
		t.Run(s.String(), func(t *testing.T) {
			d := started(t, 120, 40, plainLook)
			golden.RequireEqual(t, d.press(fmt.Sprint(int(s)), "?").text()+"\n")
		})
	}
}

func TestHeatMapScreen(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty))
	golden.RequireEqual(t, d.press("2", "z").text()+"\n")
}

func TestStyled(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
		t.Run(p.String(), func(t *testing.T) {
			d := started(t, 80, 24, Look{Profile: p}, withRequest(faulty))
			golden.RequireEqual(t, strings.ReplaceAll(strings.Join(d.press("2").m.screen(), "\n"), "\x1b", "\\e")+"\n")
		})
	}
}
