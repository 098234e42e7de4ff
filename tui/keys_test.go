package tui

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
)

func contains(s, sub string) bool { return strings.Contains(s, sub) }

func resizeTo(w, h int) tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} }

// TestEveryActionHasAHandler holds the table against the handlers, both ways.
func TestEveryActionHasAHandler(t *testing.T) {
	h := handlers()
	used := map[keymap.Action]bool{}
	for _, b := range keymap.Default().All() {
		used[b.Action] = true
		if h[b.Action] == nil && b.Later == "" {
			t.Errorf("%s: no handler", b.Action)
		}
	}
	for a := range h {
		if !used[a] {
			t.Errorf("%s: a handler without a key", a)
		}
	}
}

// TestNoDeadKey presses every key of the table in every view, at both ends of the tile: it must change the screen or what
// is remembered, answer in the status line, or quit.
func TestNoDeadKey(t *testing.T) {
	for _, s := range keymap.Scopes() {
		for _, b := range keymap.Default().All() {
			for _, k := range b.Keys {
				d := started(t, 120, 40, plainLook, withRequest(faulty)).press(fmt.Sprint(int(s)))
				before, state := d.text(), d.m.remembered()
				d.press(keySequence(k)...)
				after := d.text()
				if before == after && reflect.DeepEqual(state, d.m.remembered()) && d.m.status.text == "" && !d.quit {
					if b.Action == keymap.View && k == fmt.Sprint(int(s)) {
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
	d.press("a").hasStatus("Flags [4]")
	d.press("8", "s").hasStatus("step 3")
	d.press("4", "B").hasStatus("no run is pinned")
	d.press("2", "D").hasStatus("one backend ran")
	d.press("Q").hasStatus("no meaning")
	d.press("g", "x").hasStatus("g x means nothing")
}

// keySequence is the keys of a table's entry, with a letter for any.
func keySequence(k string) []string { return strings.Fields(strings.ReplaceAll(k, keymap.Any, "q")) }
