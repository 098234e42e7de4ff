package keymap

import "testing"

func TestSequencesAreUnique(t *testing.T) {
	seen := map[string]Action{}
	for _, b := range Default().All() {
		for _, k := range b.Keys {
			if was, ok := seen[k]; ok {
				t.Errorf("key %q: both %s and %s", k, was, b.Action)
			}
			seen[k] = b.Action
		}
		if b.Label == "" || b.Help == "" || b.Group == "" {
			t.Errorf("%s: label, help and group must be there", b.Action)
		}
	}
}

func TestMatch(t *testing.T) {
	m := Default()
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
		{"", "7", View, "7", false, true},
		{"", "ctrl+p", Command, "ctrl+p", false, true},
		{"", "f12", "", "", false, false},
	}
	for _, tt := range tests {
		b, arg, more, ok := m.Match(tt.pending, tt.key)
		if b.Action != tt.action || arg != tt.arg || more != tt.more || ok != tt.ok {
			t.Errorf("%q after %q: %s %q more=%v ok=%v", tt.key, tt.pending, b.Action, arg, more, ok)
		}
	}
}

func TestHintsFitTheirView(t *testing.T) {
	m := Default()
	for _, s := range Scopes() {
		for _, b := range m.Hints(s) {
			if !b.Works(s) || b.Later != "" {
				t.Errorf("%s: hint for %s, which does nothing there", s, b.Action)
			}
		}
		if n := len(m.Help(s)); n < 3 {
			t.Errorf("%s: help has %d sections", s, n)
		}
	}
}
