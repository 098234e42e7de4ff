package tui

import (
	"bytes"
	"encoding/base64"
	"strings"
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
		{"16 colours", []string{utf8, "TTY_FORCE=1", "TERM=xterm-16color"}, colorprofile.ANSI, false},
		{"16 colours in another terminal", []string{utf8, "TTY_FORCE=1", rgb, "TERM=xterm-16color"},
			colorprofile.ANSI, false},
		{"16 colours in tmux", []string{utf8, "TTY_FORCE=1", "TMUX=/nowhere,1,0", "TERM=screen-16color"},
			colorprofile.ANSI, false},
		{"tmux", []string{utf8, "TTY_FORCE=1", "TMUX=/nowhere,1,0", "TERM=tmux-256color"},
			colorprofile.ANSI256, false},
		{"screen", []string{utf8, "TTY_FORCE=1", "STY=1.x", "TERM=screen"}, colorprofile.ANSI256, false},
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

// TestColoursThatAreNotShown: where a terminal is shown no colours, a change of them says so; a theme that is
// chosen is stored by tilescope, not by the terminal.
func TestColoursThatAreNotShown(t *testing.T) {
	d := started(t, 120, 40, Look{Profile: colorprofile.ASCII})
	d.press("c")
	if got := d.m.Status.Text; got != "palette: viridis; this terminal is shown no colours" {
		t.Errorf("%q", got)
	}
	d = started(t, 120, 40, Look{Profile: colorprofile.TrueColor})
	d.press("c")
	if got := d.m.Status.Text; got != "palette: viridis" {
		t.Errorf("%q", got)
	}
	d.command("theme light")
	if got := d.m.Status.Text; !strings.Contains(got, "theme: light, in every terminal from now on") {
		t.Errorf("%q", got)
	}
}

// TestColoursOfTheConfiguration: a number of colours that is set holds whatever the terminal says, except
// that it has none.
func TestColoursOfTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		of      colorprofile.Profile
		colours string
		want    colorprofile.Profile
	}{
		{colorprofile.ANSI256, "auto", colorprofile.ANSI256}, {colorprofile.ANSI256, "16", colorprofile.ANSI},
		{colorprofile.ANSI, "truecolor", colorprofile.TrueColor},
		{colorprofile.TrueColor, "256", colorprofile.ANSI256},
		{colorprofile.ASCII, "16", colorprofile.ASCII}, {colorprofile.NoTTY, "256", colorprofile.NoTTY},
		{colorprofile.ANSI, "", colorprofile.ANSI},
	} {
		if got := (Look{Profile: c.of}).limited(c.colours).Profile; got != c.want {
			t.Errorf("%s with colours %q: %s, want %s", c.of, c.colours, got, c.want)
		}
	}
}

// TestScreenIsPassedThrough: GNU screen is recognised, and the clipboard reaches the terminal around it in
// pieces that it passes on.
func TestScreenIsPassedThrough(t *testing.T) {
	for env, want := range map[string]bool{"STY=1.x TERM=screen": true, "TERM=screen": false} {
		if got := LookOf(&bytes.Buffer{}, strings.Fields(env)).Screen; got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
	text := strings.Repeat("P kv 1 = 0.4883\n", 100)
	var direct, passed bytes.Buffer
	for out, screen := range map[*bytes.Buffer]bool{&direct: false, &passed: true} {
		p := newPainter(out)
		p.screen = screen
		p.clipboard(text)
	}
	want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if direct.String() != want {
		t.Errorf("%q", direct.String())
	}
	rest, ok := strings.CutPrefix(passed.String(), direct.String())
	if !ok {
		t.Errorf("tmux within screen finds %q", passed.String())
	}
	var inside string
	for _, piece := range strings.Split(strings.TrimSuffix(rest, "\x1b\\"), "\x1b\\") {
		data, ok := strings.CutPrefix(piece, "\x1bP")
		if !ok || len(data) > screenString {
			t.Errorf("a piece of %d bytes: %q", len(data), piece)
		}
		inside += data
	}
	if inside != direct.String() {
		t.Errorf("screen passes on %q", inside)
	}
}
