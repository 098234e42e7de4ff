package keymap

import (
	"slices"
	"testing"
)

// sample is a table with two views: one that uses common actions, and one with a binding of its own.
func sample() *Map {
	return New(
		Layer{
			Name: "List",
			Uses: []Use{{Action: NextBad, Help: "next entry", Hint: "next"}, {Action: Again, Hint: "again"}},
		},
		Layer{Name: "Picture", Tab: "Pic", Uses: []Use{{Action: NextBad}},
			Own: []Binding{
				{Action: "turn", Keys: []string{"o"}, Label: "o", Help: "turn it", Hint: "turn",
					Group: "Picture"},
			}},
	)
}

// TestSequencesAreUnique: two actions share a key only where each works in some views alone; that no view has
// both, the tests of the views' table check.
func TestSequencesAreUnique(t *testing.T) {
	seen := map[string]Binding{}
	for _, b := range sample().All() {
		for _, k := range b.Keys {
			if was, ok := seen[k]; ok && !(was.Some && b.Some) {
				t.Errorf("key %q: both %s and %s", k, was.Action, b.Action)
			}
			seen[k] = b
		}
		if b.Label == "" || b.Help == "" || b.Group == "" {
			t.Errorf("%s: label, help and group must be there", b.Action)
		}
	}
}

// TestNamesOfAView: an action that does another thing in a view has a name of its own there, by which its
// keys are set too; the table's name sets them as well.
func TestNamesOfAView(t *testing.T) {
	m := New(Layer{Name: "List", Uses: []Use{{Action: NextBad, Name: "next-entry", Help: "next entry"}}},
		Layer{Name: "Picture", Uses: []Use{{Action: NextBad}}})
	for _, name := range []string{"list.next-entry", "list.next-bad"} {
		set, bad := m.With([]Setting{{Name: name, Keys: []string{"f9"}}})
		if bad != nil || set.LabelIn("List", NextBad) != "F9" || set.LabelIn("Picture", NextBad) != "n" {
			t.Errorf("%s: %v, keys %s and %s", name, bad, set.LabelIn("List", NextBad),
				set.LabelIn("Picture", NextBad))
		}
	}
	if _, bad := m.With([]Setting{{Name: "picture.next-entry", Keys: []string{"f9"}}}); len(bad) != 1 {
		t.Errorf("another view takes the name: %v", bad)
	}
	for _, b := range m.All() {
		if b.Action == NextBad &&
			(b.Name("List") != "list.next-entry" || b.Name("Picture") != "picture.next-bad") {
			t.Errorf("names %s and %s", b.Name("List"), b.Name("Picture"))
		}
	}
}

func TestMatch(t *testing.T) {
	m := sample()
	tests := []struct {
		pending, key string
		action       Action
		arg          string
		more, ok     bool
	}{
		{"", "j", Down, "j", false, true},
		{"", "down", Down, "down", false, true},
		{"", "g", "", "", true, true},
		{"g", "g", Top, "g", false, true},
		{"g", "x", "", "", false, false},
		{"", "m", "", "", true, true},
		{"m", "q", SetMark, "q", false, true},
		{"m", "esc", "", "", false, false},
		{"'", "z", GoMark, "z", false, true},
		{"", "2", View, "2", false, true},
		{"", "3", "", "", false, false},
		{"", "o", "turn", "o", false, true},
		{"", "ctrl+p", Command, "ctrl+p", false, true},
		{"", "f12", "", "", false, false},
	}
	for _, tt := range tests {
		b, arg, more, ok := m.Match("List", tt.pending, tt.key)
		if b.Action != tt.action || arg != tt.arg || more != tt.more || ok != tt.ok {
			t.Errorf("%q after %q: %s %q more=%v ok=%v", tt.key, tt.pending, b.Action, arg, more, ok)
		}
	}
}

func TestHintsFitTheirView(t *testing.T) {
	m := sample()
	for _, s := range m.Scopes() {
		for _, b := range m.Hints(s) {
			if !b.Works(s) {
				t.Errorf("%s: hint for %s, which does nothing there", s, b.Action)
			}
		}
		if n := len(m.Help(s)); n < 3 {
			t.Errorf("%s: help has %d sections", s, n)
		}
	}
}

// TestLayers: a view has what its layer says, and no other view has it.
func TestLayers(t *testing.T) {
	m := sample()
	if m.Number("Picture") != 2 || m.Number("Nothing") != 0 || m.Tab("List") != "List" ||
		m.Tab("Picture") != "Pic" {
		t.Errorf("numbers %d %d, tabs %s %s", m.Number("Picture"), m.Number("Nothing"), m.Tab("List"),
			m.Tab("Picture"))
	}
	if s, ok := m.ParseScope("pic"); !ok || s != "Picture" {
		t.Errorf("pic is %q", s)
	}
	hints := func(s Scope) (out []string) {
		for _, b := range m.Hints(s) {
			out = append(out, b.Hint)
		}
		return out
	}
	if got := hints("List"); !slices.Equal(got, []string{
		"next", "again", "pane", "command", "help", "quit",
	}) {
		t.Errorf("hints of List: %v", got)
	}
	if got := hints("Picture"); !slices.Equal(got, []string{"turn", "pane", "command", "help", "quit"}) {
		t.Errorf("hints of Picture: %v", got)
	}
	var heads []string
	for _, sec := range m.Help("Picture") {
		heads = append(heads, sec.Title)
	}
	if !slices.Equal(heads, []string{"Picture", "Acting", "Looking", "Moving", "General"}) {
		t.Errorf("headings of Picture: %v", heads)
	}
	helps := func(s Scope, a Action) string {
		for _, sec := range m.Help(s) {
			for _, b := range sec.Bindings {
				if b.Action == a {
					return b.Help
				}
			}
		}
		return ""
	}
	if helps("List", NextBad) != "next entry" || helps("Picture", NextBad) == "next entry" ||
		helps("List", "turn") != "" || helps("List", Heat) != "" {
		t.Errorf("help: %q %q %q", helps("List", NextBad), helps("Picture", NextBad), helps("List", "turn"))
	}
	if b, _, _, _ := m.Match("List", "", "n"); !slices.Equal(b.In(), []Scope{"List", "Picture"}) {
		t.Errorf("n belongs to %v", b.In())
	}
}
