package tui

import (
	"os"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

func contains(s, sub string) bool { return strings.Contains(s, sub) }

func resizeTo(w, h int) tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} }

// TestEveryActionHasAHandler holds the table against the handlers, both ways.
func TestEveryActionHasAHandler(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook)
	h := d.m.handlers
	used := map[keymap.Action]bool{}
	for _, b := range d.m.Keys.All() {
		used[b.Action] = true
		for _, v := range d.m.Keys.Scopes() {
			if b.Works(v) && h[b.Action] == nil && d.m.actions[v][b.Action] == nil {
				t.Errorf("%s: no handler in %s", b.Action, v)
			}
			if b.Some && !b.Works(v) && d.m.actions[v][b.Action] != nil {
				t.Errorf("%s: %s has a handler, and no key leads to it", b.Action, v)
			}
		}
	}
	for _, all := range d.m.actions {
		for a := range all {
			if !used[a] {
				t.Errorf("%s: a handler without a key", a)
			}
		}
	}
	for a := range h {
		if !used[a] {
			t.Errorf("%s: a handler without a key", a)
		}
	}
}

// TestNoDeadKey presses every key of the table in every view, at both ends of the tile: it must change the
// screen or what is remembered, answer in the status line, or quit. A view's own keys are pressed in it, and
// the others in one view of keySample, the next action's in others; with TILESCOPE_LONG (make test-long) all
// are pressed in every view.
func TestNoDeadKey(t *testing.T) {
	const keySample = 4
	keys := newDriver(t, 80, 24, plainLook).m.Keys
	for i, s := range keys.Scopes() {
		for j, b := range keys.All() {
			own := b.Own(s) && b.Works(s)
			if !own && (i+j)%keySample != 0 && os.Getenv("TILESCOPE_LONG") == "" {
				continue
			}
			for _, k := range b.Keys {
				d := started(t, 120, 40, plainLook, withRequest(faulty)).open(s)
				before, state := d.text(), d.m.remembered()
				d.press(keySequence(k)...)
				after := d.text()
				if before == after && reflect.DeepEqual(state, d.m.remembered()) &&
					d.m.Status.Text == "" && !d.Quit {
					if b.Action == keymap.View && k == d.key(s) {
						continue // the view is on already
					}
					t.Errorf("%s: key %q (%s) did nothing", s, k, b.Action)
				}
			}
		}
	}
}

// TestKeysOfOtherViews names the view a key belongs to, and says what is still to come.
func TestKeysOfOtherViews(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.press("s").hasStatus("Source [8]")
	d.press("i").hasStatus("Races [5]")
	d.press("<").hasStatus("< (one step back) belongs to Source [8]")
	d.press("a").hasStatus("Flags [4]")
	d.press("4", "d").hasStatus(":diagnose works from here; d (error as abs, rel, ulp, off) belongs to " +
		"Tile [2], Frag [3], and (diagnose) to Pipe [1], Races [5]")
	d.press("8", "s").hasStatus("step 3")
	d.press("4", "B").hasStatus("no run is pinned")
	d.press("2", "D").hasStatus("one backend ran")
	d.press("Q").hasStatus("is not bound")
	d.press("g", "x").hasStatus("g x is not bound")
}

// TestTextAfterSearchIsNoKey: in a view without a search or a filter their keys open the prompt all the same,
// with the views that have one, so that what is typed next is not taken for keys.
func TestTextAfterSearchIsNoKey(t *testing.T) {
	for _, s := range []keymap.Scope{view.Frag, view.Gates, view.GPU, view.Pipeline} {
		for lead, says := range map[string]string{"/": " has no search", "&": " has no filter"} {
			d := started(t, 120, 40, plainLook, withRequest(faulty)).open(s)
			body := func() string { return strings.Join(strings.Split(d.text(), "\n")[:38], "\n") }
			before, ran := body(), len(d.e.Asked())
			d.press(lead)
			if last := d.Lines()[39]; !strings.Contains(last, string(s)+says+"; Pipe [1], ") {
				t.Errorf("%s %s: %q", s, lead, last)
			}
			d.press("x", "e", "q", "enter").hasStatus(string(s) + says)
			if after := body(); d.Quit || len(d.e.Asked()) != ran || d.m.Showing() != s || after != before {
				t.Errorf("%s: %sxeq did something:\n%s", s, lead, after)
			}
		}
	}
}

// TestPastedLines: the lines of a pasted text stay apart in a prompt, which has one; the end of the last one
// is no text.
func TestPastedLines(t *testing.T) {
	d := started(t, 120, 40, plainLook).press(":")
	d.send(tea.PasteMsg{Content: "open a.cu\r\n--grid\t4\n"})
	if got := d.m.prompt.Text(); strings.Join(strings.Fields(got), " ") != "open a.cu --grid 4" ||
		strings.HasSuffix(got, " ") {
		t.Errorf("pasted %q", got)
	}
}

// keySequence is the keys of a table's entry, with a letter for any.
func keySequence(k string) []string { return strings.Fields(strings.ReplaceAll(k, keymap.Any, "q")) }

// TestNoViewHasAKeyTwice: in each view a key sequence is one action's.
func TestNoViewHasAKeyTwice(t *testing.T) {
	m := started(t, 80, 24, plainLook).m.Keys
	for _, s := range m.Scopes() {
		seen := map[string]keymap.Action{}
		for _, b := range m.All() {
			if !b.Works(s) {
				continue
			}
			for _, k := range b.At(s).Keys {
				if was, ok := seen[k]; ok {
					t.Errorf("%s: key %q is %s and %s", s, k, was, b.Action)
				}
				seen[k] = b.Action
			}
		}
	}
}

// TestDiagnoseFromEveryView: the command shows Races and diagnoses, wherever it is typed, and is what the
// palette offers first; in Pipe a key does the same. It does not begin again where there is a diagnosis.
func TestDiagnoseFromEveryView(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	if got := d.names("diag", 1); len(got) != 1 || got[0] != "diagnose" {
		t.Errorf("diag offers %v first", got)
	}
	for _, s := range d.m.Keys.Scopes() {
		d.m.Status.Clear()
		if d.open(s).command("diagnose"); d.m.Showing() != view.Races ||
			!strings.Contains(d.m.Status.Text, "cannot diagnose") {
			t.Errorf("%s: view %s, status %q", s, d.m.Showing(), d.m.Status.Text)
		}
	}
	if d.open(view.Pipe).press("d"); d.m.Showing() != view.Races {
		t.Errorf("d in Pipe shows %s", d.m.Showing())
	}
}
