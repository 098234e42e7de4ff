package keymap

import (
	"slices"
	"strings"
	"testing"
)

func keysOf(m *Map, s Scope, a Action) []string {
	for _, b := range m.All() {
		if b.Action == a {
			return b.At(s).Keys
		}
	}
	return nil
}

// TestSettings: a user's keys replace the table's, in all views or in one, and everything that names a key
// has them.
func TestSettings(t *testing.T) {
	m, bad := sample().With([]Setting{
		{"picture.turn", []string{"ctrl+t", "f5"}}, {"list.next-bad", []string{"w"}},
		{"next-bad", []string{"M"}}, {"set-mark", []string{"a"}}, {"again", nil},
		{"top", []string{"g t"}},
	})
	if bad != nil {
		t.Fatalf("%+v", bad)
	}
	for _, c := range []struct {
		view   Scope
		before string
		key    string
		action Action
		works  bool
	}{
		{"Picture", "", "ctrl+t", "turn", true}, {"Picture", "", "o", "", false},
		{"List", "", "w", NextBad, true}, {"List", "", "M", "", false},
		{"Picture", "", "M", NextBad, true}, {"List", "a", "q", SetMark, true},
		{"List", "g", "t", Top, true}, {"List", "g", "g", "", false},
		{"List", "", "f5", "turn", false}, // it belongs to the other view
	} {
		b, _, _, ok := m.Match(c.view, c.before, c.key)
		if b.Action != c.action || ok != (c.action != "") || ok && b.Works(c.view) != c.works {
			t.Errorf("%s %s %q is %q, works %t", c.view, c.before, c.key, b.Action, b.Works(c.view))
		}
	}
	if m.LabelIn("Picture", "turn") != "Ctrl-t F5" || m.LabelIn("List", NextBad) != "w" ||
		m.Label(NextBad) != "M" || m.Label(SetMark) != "a a" || m.Label(Again) != "" {
		t.Errorf("labels %q %q %q %q %q", m.LabelIn("Picture", "turn"), m.LabelIn("List", NextBad),
			m.Label(NextBad), m.Label(SetMark), m.Label(Again))
	}
	hints := ""
	for _, b := range m.Hints("List") {
		hints += b.Label + " " + b.Hint + ";"
	}
	if !strings.HasPrefix(hints, "w next;") || strings.Contains(hints, "again") {
		t.Errorf("hints %s", hints)
	}
	if got := keysOf(sample(), "List", NextBad); !slices.Equal(got, []string{"n"}) {
		t.Errorf("the table itself has changed: %v", got)
	}
}

// TestMistakes: each is reported at its setting, by name, and changes nothing.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want string
	}{
		{"next-bat", []string{"n"}, "there is no action next-bat"},
		{"tree.next-bad", []string{"n"}, "there is no view tree"},
		{"list.turn", []string{"w"}, "view List has no action turn"},
		{"turn", []string{"hyper+x"}, `"hyper+x" is no key`}, {"turn", []string{"f13"}, `"f13" is no key`},
		{"turn", []string{"shift+a"}, "write the character that Shift makes"},
		{"turn", []string{"5"}, "digits are the views' keys and counts"},
		{"turn", []string{"esc"}, "it always cancels"}, {"turn", []string{"ctrl+c"}, "it always cancels"},
		{"turn", []string{"ctrl+i"}, "sends it as tab"}, {"turn", []string{"a b c"}, "is no key"},
		{"turn", []string{""}, "is no key"}, {"cancel", []string{"Q"}, "cannot be set"},
		{"view", []string{"Q"}, "cannot be set"}, {"set-mark", []string{"m x"},
			"takes the second one itself"},
		{"turn", []string{"n"}, "key n is picture.next-bad"}, {"turn", []string{"g"},
			"key g is top in view"},
		{"list.again", []string{"j"}, "key j is down in view List"}, {"down", []string{"m"},
			"key m is set-mark"},
	} {
		m, bad := sample().With([]Setting{{"bottom", []string{"E"}}, {c.name, c.keys}})
		if len(bad) != 1 || bad[0].Setting != 1 || !strings.Contains(bad[0].Text, c.want) {
			t.Errorf("%s %q: %+v, not %q", c.name, c.keys, bad, c.want)
		}
		if got := keysOf(m, "List", Bottom); !slices.Equal(got, []string{"E"}) {
			t.Errorf("%s: the other setting is lost: %v", c.name, got)
		}
	}
	_, bad := sample().With([]Setting{{"heat", []string{"E"}}, {"bottom", []string{"E"}}})
	if len(bad) != 0 {
		t.Errorf("no view has both: %+v", bad)
	}
	_, bad = sample().With([]Setting{{"top", []string{"E"}}, {"bottom", []string{"E"}}})
	if len(bad) != 1 || bad[0].Setting != 1 || !strings.Contains(bad[0].Text, "key E is top") {
		t.Errorf("two settings of one key: %+v", bad)
	}
	// the key of an action that has moved away is free
	if _, bad = sample().With([]Setting{{"next-bad", []string{"E"}}, {"turn", []string{"n"}}}); bad != nil {
		t.Errorf("%+v", bad)
	}
}

// TestEveryKeyOfTheTableCanBeWritten: what the table has, a user can write, but for what cannot be set.
func TestEveryKeyOfTheTableCanBeWritten(t *testing.T) {
	for _, b := range sample().All() {
		for _, k := range b.Keys {
			if b.Fixed || strings.Contains(k, Any) || k == "0" {
				continue
			}
			if got, err := ParseKey(k); err != nil || got != k {
				t.Errorf("%s: %q is %q, %v", b.Action, k, got, err)
			}
		}
	}
	for text, want := range map[string]string{"comma": ",", "Ctrl+N": "ctrl+n", " g  e ": "g e",
		"PgDown": "pgdown",
		"+":      "+", "ctrl+alt+x": "ctrl+alt+x"} {
		if got, err := ParseKey(text); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}
