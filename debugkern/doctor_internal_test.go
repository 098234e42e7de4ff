package debugkern

import (
	"bytes"
	"testing"
)

// TestTerminalColours: the terminal's line says how many colours it is sent.
func TestTerminalColours(t *testing.T) {
	for want, env := range map[string][]string{
		"TERM=xterm: 16 colours":                             {"TERM=xterm"},
		"TERM=xterm-256color: 256 colours":                   {"TERM=xterm-256color"},
		"TERM=xterm-16color COLORTERM=truecolor: 16 colours": {"TERM=xterm-16color", "COLORTERM=truecolor"},
		"TERM=xterm COLORTERM=truecolor: 24-bit colours":     {"TERM=xterm", "COLORTERM=truecolor"},
		"TERM=xterm-256color NO_COLOR: no colours":           {"TERM=xterm-256color", "NO_COLOR=please"},
		"TERM=xterm-256color COLORTERM=truecolor: 24-bit colours": {
			"TERM=dumb", "COLORTERM=truecolor", "TERM=xterm-256color", "NO_COLOR=",
		},
		"TERM=dumb": {"TERM=dumb"},
	} {
		if got := terminalCheck(&bytes.Buffer{}, env); got.Detail != want || got.OK != (want != "TERM=dumb") {
			t.Errorf("%v: %q, want %q", env, got.Detail, want)
		}
	}
}
