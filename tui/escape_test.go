package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func alt(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModAlt} }

// TestAltWithoutMeaningIsEscThenTheKey: a terminal sends both as the same bytes.
func TestAltWithoutMeaningIsEscThenTheKey(t *testing.T) {
	d := started(t, 80, 24, plainLook).press("2")
	d.send(alt(':'))
	d.typed("goto 3,4").press("enter")
	if d.m.cursor.Row != 3 || d.m.cursor.Col != 4 {
		t.Errorf("Esc then a command went to %+v, status %q", d.m.cursor, d.m.status.text)
	}
	d.press("2", ":").typed("seed 99")
	d.send(alt('2'))
	if _, open := d.m.pane.prompt.Active(); open || len(d.e.asked()) != 1 {
		t.Errorf("Esc then 2 in a prompt: %d runs, prompt open: %t", len(d.e.asked()), open)
	}
	if d.m.view.String() != "Tile" {
		t.Errorf("Esc then 2 shows %s", d.m.view)
	}
	d.press(":").typed("seed 99")
	d.send(tea.KeyPressMsg{Code: tea.KeyBackspace, Mod: tea.ModAlt}) // it means something: delete a word
	if got := d.m.pane.prompt.Text(); got != "seed " {
		t.Errorf("Alt-Backspace left %q", got)
	}
	d.press("esc")
	d.send(tea.KeyPressMsg{Code: 'g', ShiftedCode: 'G', Mod: tea.ModAlt | tea.ModShift})
	if d.m.view.String() != "Pipe" || d.m.cursor.Stage.String() != "O" {
		t.Errorf("Esc then G: %s at %+v", d.m.view, d.m.cursor)
	}
}

// TestQAndEscCloseWhatIsOpen: only the bare screen is left by q.
func TestQAndEscCloseWhatIsOpen(t *testing.T) {
	for _, key := range []string{"q", "esc", "?"} {
		d := started(t, 80, 24, plainLook).press("?")
		if d.press(key); d.quit || d.m.help {
			t.Errorf("%s over the help: quit %t, help %t", key, d.quit, d.m.help)
		}
		if d.press("q"); !d.quit {
			t.Errorf("q on the bare screen does not quit")
		}
	}
	d := started(t, 80, 24, plainLook).press("?")
	d.m.resize(60, 20) // the card says that q quits
	if d.press("q"); !d.quit {
		t.Error("q on the card does not quit")
	}
	d = started(t, 80, 24, plainLook).press("m", "esc")
	if d.m.pending != "" || d.m.status.bad {
		t.Errorf("Esc in a sequence: pending %q, status %q", d.m.pending, d.m.status.text)
	}
}

// TestCommandsOutOfRangeAreRefused: a command whose argument is out of range, or no such thing, says so, and changes nothing.
func TestCommandsOutOfRangeAreRefused(t *testing.T) {
	arguments := map[string][]string{
		"cta": {"99,0,0", "x", "1,2,3,4"}, "stage": {"X"}, "kv": {"99", "-1", "x"}, "goto": {"9999,0", "0,9999", "-1,0", "1", "x,y"},
		"seek": {"x", "-1"}, "break": {"nonsense", "sP[999][0]", "nosuch[0][0]"}, "unit": {"mile"}, "array": {"nosuch"},
		"variant": {"nosuch"}, "shape": {"nosuch", "1,2", "0,0,0,0"}, "seed": {"-1", "x"}, "fault": {"nosuch"}, "set": {"NOSUCH=1", "USE_CP_ASYNC=9", "USE_CP_ASYNC=x"},
		"gate": {"nosuch"}, "inject": {"nosuch"}, "backend": {"nosuch"}, "builder": {"nosuch"}, "view": {"nosuch"}, "format": {"nosuch"}, "diff": {"nosuch"},
		"ref": {"nosuch"}, "heat": {"nosuch"}, "bound": {"-1", "x", "99999999"}, "palette": {"nosuch"}, "mouse": {"nosuch"},
		"frag": {"nosuch"}, "ld": {"3", "99999", "x"}, "swizzle": {"8", "x"}, "header": {}, // a file: the engine says whether it is there

		"schedule": {"nosuch", "random:x"},
	}
	for _, c := range commands() {
		if c.arg != "" && arguments[c.name] == nil {
			t.Errorf(":%s is not tried", c.name)
		}
		for _, arg := range arguments[c.name] {
			d := started(t, 80, 24, plainLook, func(o *Options) { o.Engine = checking{o.Engine.(*fakeEngine)} }).press("2")
			at, req, runs := d.m.cursor, d.m.req, len(d.e.asked())
			d.command(c.name + " " + arg)
			if !d.m.status.bad || d.m.status.text == "" {
				t.Errorf(":%s %s: status %q, refused: %t", c.name, arg, d.m.status.text, d.m.status.bad)
			}
			if d.m.cursor != at || !same(d.m.req, req) || len(d.e.asked()) != runs {
				t.Errorf(":%s %s: cursor %+v, request %+v, %d runs", c.name, arg, d.m.cursor, d.m.req, len(d.e.asked()))
			}
		}
	}
}

// TestARefusalIsReadInFull: what the bottom line would cut stands above it.
func TestARefusalIsReadInFull(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.m.complain("the first word of a refusal that is longer than eighty columns are wide, so that it has to be wrapped, to the last")
	fits(t, d, "refusal")
	if text := running(d.text(), d.m.view); !contains(text, "the first word of a refusal") || !contains(text, "wrapped, to the last") {
		t.Errorf("cut:\n%s", d.text())
	}
	if d.press("j"); contains(d.text(), "to the last") {
		t.Errorf("it stays:\n%s", d.text())
	}
}
