package tui

import (
	"slices"
	"strings"
	"testing"

	"tilescope/tui/keymap"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// TestEscGoesBackWhereOneCameFrom: Esc leaves a view for the one from which it was opened, whether by a
// number or by an action of the view, and ends in the first one.
func TestEscGoesBackWhereOneCameFrom(t *testing.T) {
	for _, tt := range []struct {
		keys []string
		back []keymap.Scope
	}{
		{[]string{"enter", "w", "w"}, []keymap.Scope{view.Tile, view.Pipe}}, // a cell's writer in Source
		{[]string{"5", "enter"}, []keymap.Scope{view.Races, view.Pipe}},     // a finding in Source
		{[]string{"2", "3", "8"}, []keymap.Scope{view.Frag, view.Tile, view.Pipe}},
		{[]string{"2", "8", "2", "3"}, []keymap.Scope{view.Tile, view.Pipe}}, // in Tile again
		{[]string{"2", "8", "1"}, nil},
		{[]string{"[", "["}, []keymap.Scope{view.Pipeline, view.Pipe}},
	} {
		d := started(t, 120, 40, plainLook, withRequest(faulty), withRaces(&tuitest.Races{}))
		d.press(tt.keys...)
		for _, want := range tt.back {
			if d.press("esc"); d.m.view != want {
				t.Fatalf("%q: Esc shows %s, expected %s", tt.keys, d.m.view, want)
			}
		}
		if d.press("esc"); d.m.view != view.Pipe {
			t.Errorf("%q: at last Esc shows %s", tt.keys, d.m.view)
		}
		d.hasStatus("nothing to cancel")
		if list, _ := d.m.Log.Entries(); slices.ContainsFunc(list, func(e view.Entry) bool {
			return strings.Contains(e.Text, "nothing to cancel")
		}) {
			t.Errorf("%q: Esc on the bare screen is kept as a message", tt.keys)
		}
	}
}
