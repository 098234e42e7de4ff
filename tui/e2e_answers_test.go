//go:build unix

package tui

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tilescope/tui/theme"
)

// script is how a terminal answers the question for its ground and the one for its attributes (DA1).
type script struct {
	name           string
	env            []string
	ground, device string // "" for no answer
	late           time.Duration
	pieces         time.Duration // between the bytes of the answers; 0: they come whole
	theme          string        // that the answers come to
}

// scripts are the ways in which terminals answer. Parameters of DA1 differ, and mean nothing here.
var scripts = []script{
	{name: "kitty, WezTerm, Ghostty, foot, VTE", env: []string{"TERM=xterm-kitty"}, ground: lightAnswer,
		device: "\x1b[?62;c", theme: "light"},
	{name: "xterm, Windows Terminal", ground: "\x1b]11;rgb:0c0c/0c0c/0c0c\a",
		device: "\x1b[?61;4;6;7;14;21;22;23;24;28;32;42c", theme: "dark"},
	{name: "tmux", env: []string{"TERM=tmux-256color"}, ground: lightAnswer, device: "\x1b[?1;2;4c",
		late: 300 * time.Millisecond, theme: "light"},
	{name: "screen, Linux console, mosh", env: []string{"TERM=screen-256color"}, device: "\x1b[?1;2c",
		theme: "dark"},
	{name: "a slow line", ground: lightAnswer, device: "\x1b[?62;22c", pieces: 10 * time.Millisecond,
		theme: "light"},
	{name: "no answer", theme: "dark"},
}

// answersOfTerminals opens the program in terminals that answer as each does: the theme follows, keys typed
// meanwhile are keys, and nothing of an answer is one.
func answersOfTerminals(t *testing.T, program string) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) { s.run(t, program) })
	}
}

// attempts is how often a terminal is opened whose sequences a busy machine has torn apart.
const attempts = 5

// run opens the terminal until its answers came in time. A program takes a sequence that pauses for longer
// than tornAfter as keys: on a machine that pauses the test for so long, the program is not to blame.
func (s script) run(t *testing.T, program string) {
	for range attempts {
		if s.answered(t, program) {
			return
		}
	}
	t.Skipf("in each of %d terminals this machine made pauses of %v within a sequence", attempts, tornAfter)
}

// answered is one terminal. It reports false, and nothing else, where a sequence was torn apart.
func (s script) answered(t *testing.T, program string) bool {
	x := openWith(t, program, t.TempDir(), 80, 24, s.answer, s.env)
	shows := func(text string) bool {
		x.until(text, func(l []string) bool {
			return x.torn.Load() || strings.Contains(strings.Join(l, "\n"), text)
		})
		return !x.torn.Load()
	}
	if !shows("✓ AGREE") {
		return false
	}
	x.press("\x1b[B\x1b[B") // while answers may be on their way
	if !shows("▸V  f16") {
		return false
	}
	x.until("theme "+s.theme, func([]string) bool { return x.torn.Load() || x.ground() == s.theme })
	x.press(":theme auto\r") // asks again
	if !shows("theme: auto, " + s.theme + " now") {
		return false
	}
	x.opens("2")
	x.shows("KERNEL f16")
	x.press(":messages\r")
	x.shows("MESSAGES", "theme: auto")
	for _, stray := range []string{"is not bound", "rgb:", "62;"} {
		if strings.Contains(x.text(), stray) {
			t.Errorf("an answer was read as keys:\n%s", x.text())
		}
	}
	x.press("q")
	x.leaves()
	return true
}

// answer types what the terminal answers to what the program has written.
func (s script) answer(x *terminal, written []byte) {
	questions := bytes.Count(written, []byte("\x1b]11;?"))
	for range questions {
		parts := []string{s.ground, s.device}
		if s.late > 0 { // the attributes are the multiplexer's own, the ground its terminal's
			parts = []string{s.device, s.ground}
		}
		for i, part := range parts {
			if i == 1 {
				time.Sleep(s.late)
			}
			x.trickles(part, s.pieces)
		}
	}
}

// ground is the theme that the bar at the top is drawn in: dark or light.
func (x *terminal) ground() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.screen.CellAt(x.screen.Width()-1, 0)
	if c == nil || c.Style.Bg == nil {
		return ""
	}
	r, g, b, _ := c.Style.Bg.RGBA()
	if theme.Luminance(r>>8<<16|g>>8<<8|b>>8) > 0.5 {
		return "light"
	}
	return "dark"
}
