package keymap

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Setting gives an action other keys than the table's: in every view (next-bad) or in one (tile.next-bad).
type Setting struct {
	Name string
	Keys []string // as ParseKey reads them; none: the action has no key
}

// Mistake is why a setting cannot be taken.
type Mistake struct {
	Setting int    // its index
	Text    string // what is wrong
	Unknown bool   // the name is no action's
}

// With returns the table with a user's keys, and every mistake in them; a setting with a mistake changes
// nothing. The settings of one view win over those of all, in any order.
func (m *Map) With(settings []Setting) (*Map, []Mistake) {
	out := &Map{layers: m.layers, all: slices.Clone(m.all)}
	var bad []Mistake
	set := map[place]int{} // which setting gave a binding its keys
	order := make([]int, 0, len(settings))
	for _, wide := range []bool{true, false} {
		for i, s := range settings {
			if !strings.Contains(s.Name, ".") == wide {
				order = append(order, i)
			}
		}
	}
	for _, i := range order {
		at, mistakes := out.resolve(settings[i])
		var keys []string
		for _, k := range settings[i].Keys {
			key, err := ParseKey(k)
			if err == nil && strings.Contains(key, " ") && len(mistakes) == 0 && out.all[at.binding].Takes() {
				err = fmt.Errorf("%q is two keys: %s takes the second one itself", k, settings[i].Name)
			}
			if err != nil {
				mistakes = append(mistakes, Mistake{Text: err.Error()})
			}
			keys = append(keys, key)
		}
		for _, x := range mistakes {
			x.Setting = i
			bad = append(bad, x)
		}
		if mistakes != nil {
			continue
		}
		out.give(at, keys)
		set[at] = i
	}
	bad = append(bad, out.conflicts(set)...)
	slices.SortStableFunc(bad, func(a, b Mistake) int { return a.Setting - b.Setting })
	out.reindex()
	return out, bad
}

// place is a binding in a view, or in all ("").
type place struct {
	binding int
	view    Scope
}

// resolve finds what a setting is about.
func (m *Map) resolve(s Setting) (at place, bad []Mistake) {
	name := s.Name
	if view, action, ok := strings.Cut(s.Name, "."); ok {
		scope, known := m.ParseScope(view)
		if !known {
			return at, []Mistake{{Text: "there is no view " + view, Unknown: true}}
		}
		at.view, name = scope, action
	}
	at.binding = slices.IndexFunc(m.all, func(b Binding) bool {
		own := at.view != "" && b.names[at.view] == name
		return (own || string(b.Action) == name) && (at.view == "" || b.Works(at.view))
	})
	switch {
	case at.binding < 0 && at.view != "":
		return at, []Mistake{{Text: fmt.Sprintf("view %s has no action %s", at.view, name), Unknown: true}}
	case at.binding < 0:
		return at, []Mistake{{Text: "there is no action " + name, Unknown: true}}
	case m.all[at.binding].Fixed:
		return at, []Mistake{{Text: fmt.Sprintf("the keys of %s cannot be set", name)}}
	}
	return at, nil
}

// give replaces a binding's keys.
func (m *Map) give(at place, keys []string) {
	b := &m.all[at.binding]
	if b.Takes() {
		for i, k := range keys {
			keys[i] = k + " " + Any
		}
	}
	if at.view == "" {
		b.Keys, b.Label = keys, LabelOf(keys)
		return
	}
	byView := map[Scope][]string{}
	for s, k := range b.keys {
		byView[s] = k
	}
	byView[at.view] = keys
	b.keys = byView
}

// conflicts finds keys that mean two things in one view, of which a user has set at least one.
func (m *Map) conflicts(set map[place]int) []Mistake {
	if len(set) == 0 {
		return nil
	}
	var out []Mistake
	type pair struct {
		setting int
		key     string
		other   Action
	}
	seen := map[pair]bool{}
	of := func(i int, s Scope) (setting int, ok bool) {
		if setting, ok = set[place{i, s}]; ok {
			return setting, true
		}
		setting, ok = set[place{i, ""}]
		return setting, ok
	}
	for _, s := range m.Scopes() {
		for i := range m.all {
			for j := i + 1; j < len(m.all); j++ {
				a, b := m.all[i].At(s), m.all[j].At(s)
				if !a.Works(s) || !b.Works(s) {
					continue
				}
				key, both := shares(a.Keys, b.Keys)
				if !both {
					continue
				}
				mine, isMine := of(i, s)
				other, isOther := of(j, s)
				against := b
				if isOther && (!isMine || other > mine) {
					mine, against, isMine = other, a, true
				}
				p := pair{mine, key, against.Action}
				if !isMine || seen[p] {
					continue
				}
				seen[p] = true
				out = append(out, Mistake{Setting: mine, Text: fmt.Sprintf(
					"key %s is %s in view %s: give that another key too", LabelOf([]string{key}),
					against.Name(s), s)})
			}
		}
	}
	return out
}

// shares reports whether two lists have a key in common, or one has a key that begins a sequence of the
// other.
func shares(a, b []string) (key string, ok bool) {
	for _, x := range a {
		for _, y := range b {
			head, _, _ := strings.Cut(x, " ")
			other, _, _ := strings.Cut(y, " ")
			if head != other {
				continue
			}
			if x == y || x == head || y == other || strings.HasSuffix(x, " "+Any) ||
				strings.HasSuffix(y, " "+Any) {
				return head, true
			}
		}
	}
	return "", false
}

// named are the keys that are written as words.
var named = []string{
	"enter", "tab", "space", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end",
	"pgup", "pgdown", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
}

// same are keys that a terminal sends as others.
var same = map[string]string{"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "esc", "ctrl+h": "backspace"}

// ParseKey reads a key as a user writes it (n, N, ctrl+n, alt+n, shift+tab, pgdown, f5, comma), or two of
// them separated by a blank, and returns the sequence as the table has it.
func ParseKey(text string) (string, error) {
	parts := strings.Fields(text)
	if len(parts) == 0 || len(parts) > 2 {
		return "", fmt.Errorf("%q is no key: a key such as n, ctrl+n, pgdown or f5, or two with a blank", text)
	}
	for i, p := range parts {
		key, err := parseOne(p)
		if err != nil {
			return "", err
		}
		if i == 0 && len(key) == 1 && key[0] >= '0' && key[0] <= '9' {
			return "", fmt.Errorf("%s cannot be set: digits are the views' keys and counts", key)
		}
		parts[i] = key
	}
	return strings.Join(parts, " "), nil
}

func parseOne(text string) (string, error) {
	mods, base := "", text
	for _, mod := range []string{"ctrl+", "alt+", "shift+"} {
		if rest, ok := strings.CutPrefix(strings.ToLower(base[:min(len(mod), len(base))])+
			base[min(len(mod), len(base)):], mod); ok && rest != "" {
			mods, base = mods+mod, rest
		}
	}
	runes, word := []rune(base), strings.ToLower(base)
	switch {
	case word == "comma":
		base = ","
	case word == "esc" || mods+word == "ctrl+c":
		return "", fmt.Errorf("%s cannot be set: it always cancels", text)
	case slices.Contains(named, word):
		base = word
	case len(runes) != 1 || !unicode.IsPrint(runes[0]):
		return "", fmt.Errorf("%q is no key: a character, or one of %s; with ctrl+, alt+ or shift+",
			text, strings.Join(named, " "))
	case strings.Contains(mods, "shift+"):
		return "", fmt.Errorf("%q is no key: write the character that Shift makes", text)
	case mods != "":
		base = word
	}
	if as, ok := same[mods+base]; ok {
		return "", fmt.Errorf("%s cannot be set: a terminal sends it as %s", text, as)
	}
	return mods + base, nil
}

// labels are how help writes keys that are words.
var labels = map[string]string{
	"enter": "Enter", "tab": "Tab", "space": "Space", "backspace": "Backspace", "delete": "Del",
	"insert": "Ins", "up": "↑", "down": "↓", "left": "←", "right": "→", "home": "Home", "end": "End",
	"pgup": "PgUp", "pgdown": "PgDn", "esc": "Esc", "shift+tab": "S-Tab",
}

// LabelOf is how help writes keys.
func LabelOf(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		head, tail, seq := strings.Cut(k, " ")
		out[i] = labelOne(head)
		switch {
		case seq && tail == Any:
			out[i] += " a"
		case seq && len(head) == 1 && len(tail) == 1:
			out[i] += tail
		case seq:
			out[i] += " " + labelOne(tail)
		}
	}
	return strings.Join(out, " ")
}

func labelOne(key string) string {
	if l, ok := labels[key]; ok {
		return l
	}
	mods := ""
	for {
		mod, rest, ok := strings.Cut(key, "+")
		if !ok || rest == "" || mod == "" {
			break
		}
		mods, key = mods+strings.ToUpper(mod[:1])+mod[1:]+"-", rest
	}
	if l, ok := labels[key]; ok {
		key = l
	} else if len(key) > 1 {
		key = strings.ToUpper(key[:1]) + key[1:]
	}
	return mods + key
}

// Names lists what settings may name: every action, and every action of a view.
func (m *Map) Names() []string {
	var out []string
	for _, b := range m.all {
		if b.Fixed {
			continue
		}
		if !slices.Contains(out, string(b.Action)) {
			out = append(out, string(b.Action))
		}
		for _, s := range m.Scopes() {
			if b.Works(s) {
				out = append(out, strings.ToLower(string(s))+"."+string(b.Action))
			}
		}
	}
	return out
}
