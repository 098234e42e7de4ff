package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/request"
	"tilescope/tui/tuitest"
)

func alt(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModAlt} }

// TestAltWithoutMeaningIsEscThenTheKey: a terminal sends both as the same bytes.
func TestAltWithoutMeaningIsEscThenTheKey(t *testing.T) {
	d := started(t, 80, 24, plainLook).press("2")
	d.send(alt(':'))
	d.typed("goto 3,4").press("enter")
	if d.m.Cursor.Row != 3 || d.m.Cursor.Col != 4 {
		t.Errorf("Esc then a command went to %+v, status %q", d.m.Cursor, d.m.Status.Text)
	}
	d.press("2", ":").typed("seed 99")
	d.send(alt('2'))
	if _, open := d.m.prompt.Active(); open || len(d.e.Asked()) != 1 {
		t.Errorf("Esc then 2 in a prompt: %d runs, prompt open: %t", len(d.e.Asked()), open)
	}
	if string(d.m.view) != "Tile" {
		t.Errorf("Esc then 2 shows %s", d.m.view)
	}
	d.press(":").typed("seed 99")
	d.send(tea.KeyPressMsg{Code: tea.KeyBackspace, Mod: tea.ModAlt}) // it means something: delete a word
	if got := d.m.prompt.Text(); got != "seed " {
		t.Errorf("Alt-Backspace left %q", got)
	}
	d.press("esc")
	d.send(tea.KeyPressMsg{Code: 'g', ShiftedCode: 'G', Mod: tea.ModAlt | tea.ModShift})
	if string(d.m.view) != "Pipe" || d.m.Cursor.Stage.String() != "O" {
		t.Errorf("Esc then G: %s at %+v", d.m.view, d.m.Cursor)
	}
}

// TestQAndEscCloseWhatIsOpen: only the bare screen is left by q.
func TestQAndEscCloseWhatIsOpen(t *testing.T) {
	for _, key := range []string{"q", "esc", "?"} {
		d := started(t, 80, 24, plainLook).press("?")
		if d.press(key); d.Quit || d.m.over != nil {
			t.Errorf("%s over the help: quit %t, help %t", key, d.Quit, d.m.over != nil)
		}
		if d.press("q"); !d.Quit {
			t.Errorf("q on the bare screen does not quit")
		}
	}
	d := started(t, 80, 24, plainLook).press("?")
	d.m.resize(60, 20) // the card says that q quits
	if d.press("q"); !d.Quit {
		t.Error("q on the card does not quit")
	}
	d = started(t, 80, 24, plainLook).press("m", "esc")
	if d.m.pending != "" || d.m.Status.Bad {
		t.Errorf("Esc in a sequence: pending %q, status %q", d.m.pending, d.m.Status.Text)
	}
}

// TestCommandsOutOfRangeAreRefused: a command whose argument is out of range, or no such thing, says so,
// and changes nothing.
func TestCommandsOutOfRangeAreRefused(t *testing.T) {
	arguments := map[string][]string{
		"cta": {"99,0,0", "x", "1,2,3,4"}, "stage": {"X"}, "kv": {"99", "-1", "x"},
		"goto": {"9999,0", "0,9999", "-1,0", "1", "x,y"},
		"seek": {"x", "-1"}, "warp": {"x", "99", "-1"}, "line": {"x", "0", "99999", "nosuch.cu:3"},
		"break": {"nonsense", "sP[999][0]", "nosuch[0][0]"}, "unit": {"mile"},
		"step": {"x"}, "event": {"x"}, "reverse-event": {"x"}, "next": {"x"},
		"stepout": {"x"}, "reverse-step": {"x"},
		"reverse-next": {"x"}, "reverse-stepout": {"x"}, "until": {"nonsense"},
		"condition": {"9", "x"}, "enable": {"9", "x"}, "disable": {"9", "x"},
		"delete": {"9", "x"}, "clear": {"9", "x"}, "watch": {"1 +", "nosuch"}, "display": {"%"},
		"unwatch": {"9", "x"}, "print": {"1 +", "nosuch"},
		"array":   {"nosuch"},
		"variant": {"nosuch"}, "open": {"nosuch", "'x"},
		"shape": {"nosuch", "1,2", "0,0,0,0"}, "seed": {"-1", "x"},
		"fault": {"nosuch"}, "set": {"NOSUCH=1", "USE_CP_ASYNC=9", "USE_CP_ASYNC=x"},
		"flag": {"NOSUCH", "USE_CP_ASYNC 9", "USE_CP_ASYNC x"},
		"gate": {"nosuch"}, "inject": {"nosuch"}, "backend": {"nosuch"}, "builder": {"nosuch"},
		"host": {"-oProxyCommand=x", "a b"},
		"view": {"nosuch"}, "format": {"nosuch"}, "diff": {"nosuch"},
		"ref": {"nosuch"}, "heat": {"nosuch"}, "bound": {"-1", "x", "99999999"}, "palette": {"nosuch"},
		"mouse": {"nosuch"}, "theme": {"nosuch"}, "screenshot": {"picture.png", "x"},
		"screenshot!": {"picture.png"},
		// a file: the engine says whether it is there
		"fragment": {"nosuch"}, "table": {"nosuch"}, "ld": {"3", "99999", "x"}, "swizzle": {"8", "x"},
		"header": {},
		"dump":   {"a.txt", "none/a.npz"}, "dump!": {"a.txt"}, "report": {"a.txt"}, "report!": {"a.txt"},
		"yank": {"column", "csv numpy"}, "own": {}, // a directory
		"compare": {"small", "-1", "1e-3,NaN", "1,2,3"},

		"schedule": {"nosuch", "random:x"},
	}
	for _, c := range newDriver(t, 80, 24, plainLook).m.palette().commands() {
		if c.Arg != "" && arguments[c.Name] == nil {
			t.Errorf(":%s is not tried", c.Name)
		}
		for _, arg := range arguments[c.Name] {
			refuses(t, started(t, 80, 24, plainLook), c.Name+" "+arg)
			refuses(t, openOwn(t).driver, c.Name+" "+arg)
		}
	}
	refuses(t, openOwn(t).driver, "inject uniform") // not under its gate
	checking := func(o *Options) { o.Engine = tuitest.Checking{Engine: o.Engine.(*tuitest.Engine)} }
	refuses(t, started(t, 80, 24, plainLook, checking), "schedule reverse:9") // by the engine alone
}

// refuses fails unless a line is refused in the terminal's own words, with nothing changed.
func refuses(t *testing.T, d *driver, line string) {
	t.Helper()
	d.press("2")
	at, req, runs := d.m.Cursor, d.m.Req, len(d.e.Asked())
	d.command(line)
	if text := d.m.Status.Text; !d.m.Status.Bad || text == "" || strings.Contains(text, "--") {
		t.Errorf("%s, :%s: status %q, refused: %t", req.Target, line, text, d.m.Status.Bad)
	}
	if d.m.Cursor != at || !request.Same(d.m.Req, req) || len(d.e.Asked()) != runs {
		t.Errorf("%s, :%s: cursor %+v, request %+v, %d runs", req.Target, line, d.m.Cursor, d.m.Req,
			len(d.e.Asked())-runs)
	}
}

// TestARefusalIsReadInFull: what the bottom line would cut stands above it.
func TestARefusalIsReadInFull(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.m.Complain(
		"the first word of a refusal that is longer than eighty columns are wide, so that it has to be wrapped, to the last",
	)
	fits(t, d, "refusal")
	if text := running(d.text(), d.m.view); !contains(text, "the first word of a refusal") ||
		!contains(text, "wrapped, to the last") {
		t.Errorf("cut:\n%s", d.text())
	}
	if d.press("j"); contains(d.text(), "to the last") {
		t.Errorf("it stays:\n%s", d.text())
	}
}

// TestACutMessageSaysWhereAllOfItIs: what neither the bottom line nor a box above it has room for is read in
// :messages, and its end names that.
func TestACutMessageSaysWhereAllOfItIs(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	long := "the first word" + strings.Repeat(" of what is known:", 90) + " the last word"
	d.m.Say(long)
	fits(t, d, "cut status")
	last := strings.Split(strings.TrimRight(d.text(), "\n"), "\n")
	if line := last[len(last)-1]; !strings.HasSuffix(strings.TrimRight(line, " "), "… :messages") {
		t.Errorf("%s", line)
	}
	d.m.Complain(long)
	fits(t, d, "cut refusal")
	if !contains(d.text(), ":messages has all of it") {
		t.Errorf("the box is cut:\n%s", d.text())
	}
	if d.command("messages"); !contains(d.text(), "last word") {
		t.Errorf("no message:\n%s", d.text())
	}
	d.m.Say("short")
	if got := (drawing{d.m}).statusText(79); got != "short" {
		t.Errorf("%q", got)
	}
}
