package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/probes"
	"tilescope/tui/view"
)

// TestHelpCarriesOut: the help is searched, and Enter does what the line says.
func TestHelpCarriesOut(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).open(view.Tile).press("?")
	fits(t, d, "help")
	if s := d.text(); !strings.Contains(s, "HELP Tile · kernel") || !strings.Contains(s, "Legend of kernel") {
		t.Errorf("help:\n%s", s)
	}
	if s := d.text(); !strings.Contains(s, "Enter carry out") || strings.Contains(s, "n next bad") {
		t.Errorf("the bottom line has the view's hints:\n%s", s)
	}
	d.press("/").typed("palette: every").press("enter")
	if s := d.text(); !strings.Contains(s, "palette: every") {
		t.Errorf("search:\n%s", s)
	}
	d.press("enter")
	if lead, open := d.m.prompt.Active(); !open || lead != ":" || d.m.over != nil {
		t.Errorf("Enter on the palette's line: prompt %q, help open %t", lead, d.m.over != nil)
	}
	d.press("esc", "?", "/").typed("no such key").press("enter").hasStatus("no match")
	d.press("enter") // the first line with a legend's mark does nothing
	d.press("esc")
	for _, keys := range [][]string{{"j", "k", "ctrl+d", "ctrl+u", "G", "g", "g"}} {
		if d.press("?"); d.m.over == nil {
			t.Fatal("? does not open the help")
		}
		if d.press(keys...); d.m.over == nil {
			t.Errorf("%v closes it", keys)
		}
	}
	runs := len(d.e.Asked())
	d.press("esc", "4", "?", "space", "a", "R")
	if d.m.over == nil || len(d.e.Asked()) != runs || d.m.Pinned != nil {
		t.Errorf("keys of the view below: help open %t, %d runs, pinned %t", d.m.over != nil,
			len(d.e.Asked())-runs, d.m.Pinned != nil)
	}
	d.hasStatus("closes this list")
	if d.press("]"); d.m.over != nil || d.m.view != view.Races { // another view is shown
		t.Errorf("]: help open %t, view %s", d.m.over != nil, d.m.view)
	}
}

// TestHelpNamesTheLoop: keys, commands and messages call an iteration what the kernel does.
func TestHelpNamesTheLoop(t *testing.T) {
	d := started(t, 120, 60, plainLook)
	says := func(texts ...string) {
		t.Helper()
		for _, s := range texts {
			if !strings.Contains(d.text(), s) {
				t.Errorf("no %q:\n%s", s, d.text())
			}
		}
	}
	d.press("?")
	says("previous kv tile", "next kv tile")
	d.press("esc")
	plan := *d.m.Run.Plan
	plan.Work.Loops = []probes.Loop{{Name: "k"}}
	d.m.Run.Plan = &plan
	d.press("?")
	says("previous k tile", "next k tile")
	d.press("esc", ":").typed("kv")
	says("go to a k tile")
	d.press("esc").command("kv x").hasStatus(`k tile "x" is not a number`)
}

// TestAltOverAList: a key with Alt that means nothing is Esc, which closes the list, then the key.
func TestAltOverAList(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).open(view.Tile).press("g", "g", "?")
	d.send(alt('j'))
	if d.m.over != nil || d.m.Cursor.Row != 1 {
		t.Errorf("help open: %t, row %d", d.m.over != nil, d.m.Cursor.Row)
	}
}

// TestHelpReachesEveryLine: at the smallest size the cursor shows every key of every view.
func TestHelpReachesEveryLine(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	for _, s := range d.m.Keys.Scopes() {
		d.open(s).press("?")
		want := map[string]bool{}
		for _, sec := range d.m.Keys.Help(s) {
			for _, b := range sec.Bindings {
				want[b.Name(s)] = true
			}
		}
		for range 200 {
			for _, l := range strings.Split(d.text(), "\n") {
				if f := strings.Fields(strings.Trim(l, "│ ")); len(f) > 0 {
					delete(want, f[len(f)-1])
				}
			}
			d.press("j")
		}
		if len(want) > 0 {
			t.Errorf("%s: never shown: %v", s, want)
		}
		d.press("q")
	}
}

func TestMessages(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty))
	d.m.Log.Now = func() time.Time { return time.Date(2026, 1, 2, 13, 14, 15, 0, time.UTC) }
	long := strings.Repeat("a very long reason ", 20) + "END"
	d.m.Complain(long)
	d.m.ComplainOf(errors.New("first line\nsecond line"), false)
	if d.m.Status.Text != "first line" {
		t.Errorf("status %q", d.m.Status.Text)
	}
	d.m.Say("once")
	d.m.Say("once")
	d.command("messages")
	fits(t, d, "messages")
	s := d.text()
	for _, want := range []string{
		"3 MESSAGES─", "13:14:15", "END", "second line", "once (2 times)",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q:\n%s", want, s)
		}
	}
	if d.press("y"); !strings.Contains(fmt.Sprint(d.Msgs[len(d.Msgs)-1]), "once") {
		t.Errorf("copied %v", d.Msgs[len(d.Msgs)-1])
	}
	d.press("/").typed("END").press("enter", "y")
	if last, ok := d.Msgs[len(d.Msgs)-1].(copiedMsg); !ok || last.text != long {
		t.Errorf("copied %+v", d.Msgs[len(d.Msgs)-1])
	}
	if d.press("q"); d.Quit || d.m.over != nil {
		t.Error("q does not close it")
	}
	for range 3000 {
		d.m.Say(fmt.Sprint("message ", d.m.Cursor.Row, time.Now().UnixNano()))
	}
	list, dropped := d.m.Log.Entries()
	if len(list) > 1000 || dropped < 2000 {
		t.Errorf("%d kept, %d dropped", len(list), dropped)
	}
	if s := d.command("messages").text(); !strings.Contains(s, "older messages dropped") {
		t.Errorf("dropped ones are not counted:\n%s", s)
	}
	d.m.Say(strings.Repeat("x", 3<<20)) // larger than all that is kept
	if list, _ := d.m.Log.Entries(); len(list) != 1 {
		t.Errorf("%d kept next to a message of 3 MiB", len(list))
	}
}

// TestScrollingLeavesNoMessage: what is said quietly is no message.
func TestScrollingLeavesNoMessage(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	before, _ := d.m.Log.Entries()
	n := len(before)
	d.m.Quietly(func() tea.Cmd { d.m.Say("nothing further"); return nil })
	if after, _ := d.m.Log.Entries(); len(after) != n {
		t.Errorf("%+v", after)
	}
}

// TestMessagesCount: the title counts messages, the note lines, and each number says which.
func TestMessagesCount(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	for i := range 30 {
		d.m.Complain(fmt.Sprint(strings.Repeat("a long reason ", 8), i))
	}
	n, _ := d.m.Log.Entries()
	if d.command("messages"); !strings.Contains(d.text(), fmt.Sprintf("┌%d MESSAGES─", len(n))) ||
		!strings.Contains(d.text(), "─lines ") {
		t.Errorf("%d messages:\n%s", len(n), d.text())
	}
	text := started(t, 80, 24, plainLook).press("?").text()
	if !strings.Contains(text, "─1-19 of ") { // where there is no room for the word
		t.Errorf("the help has lost its note:\n%s", text)
	}
}
