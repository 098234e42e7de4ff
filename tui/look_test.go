package tui

import (
	"bytes"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

func TestLookOf(t *testing.T) {
	const utf8, rgb = "LANG=de_DE.UTF-8", "COLORTERM=truecolor"
	tests := []struct {
		name    string
		env     []string
		profile colorprofile.Profile
		ascii   bool
	}{
		{"no colour by 1", []string{utf8, rgb, "TERM=xterm-256color", "NO_COLOR=1"},
			colorprofile.ASCII, false},
		{"no colour by any value", []string{utf8, rgb, "TERM=xterm-256color", "NO_COLOR=please"},
			colorprofile.ASCII, false},
		{"no colour by false", []string{utf8, rgb, "TERM=xterm-256color", "NO_COLOR=false"},
			colorprofile.ASCII, false},
		{
			"empty NO_COLOR counts for nothing",
			[]string{utf8, "TTY_FORCE=1", rgb, "TERM=xterm-256color", "NO_COLOR="}, colorprofile.TrueColor,
			false,
		},
		{"256 colours", []string{utf8, "TTY_FORCE=1", "TERM=xterm-256color"}, colorprofile.ANSI256, false},
		{"dumb", []string{utf8, "TTY_FORCE=1", "TERM=dumb"}, colorprofile.NoTTY, true},
		{"Latin-1", []string{"LANG=de_DE.ISO-8859-1", "TTY_FORCE=1", rgb, "TERM=xterm"},
			colorprofile.TrueColor, true},
		{"no locale", []string{"TTY_FORCE=1", rgb, "TERM=xterm"}, colorprofile.TrueColor, true},
		{"LC_ALL over LANG", []string{"LC_ALL=C", utf8, "TTY_FORCE=1", rgb, "TERM=xterm"},
			colorprofile.TrueColor, true},
		{"the last of two counts", []string{"LANG=C", utf8, "TTY_FORCE=1", rgb, "TERM=xterm"},
			colorprofile.TrueColor, false},
	}
	for _, tt := range tests {
		look := LookOf(&bytes.Buffer{}, tt.env)
		if look.Profile != tt.profile ||
			look.ASCII != (tt.ascii && unixLocale() || tt.profile == colorprofile.NoTTY) {
			t.Errorf("%s: %s, ASCII %v", tt.name, look.Profile, look.ASCII)
		}
	}
}
