// Package keymap holds the terminal's only key bindings.
//
// The one idea: a binding is one row of a table (keys, what it does, where it works, its hint), and
// everything that names a key is made from that table: dispatch, the help overlay, the hint line, the
// palette, the status line's refusals, docs/keys.md. The common actions stand here; a view brings a Layer:
// which of them it uses, and bindings of its own. A user's settings (With) replace keys of an action, in
// every view or in one. A key that belongs to another view says which.
//
// It must not know models, panes or colours.
package keymap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Action is what a key asks for.
type Action string

// The actions.
const (
	View      Action = "view"
	PrevView  Action = "previous-view"
	NextView  Action = "next-view"
	Left      Action = "left"
	Down      Action = "down"
	Up        Action = "up"
	Right     Action = "right"
	NextStage Action = "next-stage"
	PrevStage Action = "previous-stage"
	NextBlock Action = "next-block"
	PrevBlock Action = "previous-block"
	NextTile  Action = "next-tile"
	PrevTile  Action = "previous-tile"
	NextPane  Action = "next-pane"
	PrevPane  Action = "previous-pane"
	NextBad   Action = "next-bad"
	PrevBad   Action = "previous-bad"
	Top       Action = "top"
	Bottom    Action = "bottom"
	RowStart  Action = "row-start"
	RowEnd    Action = "row-end"
	PageUp    Action = "page-up"
	PageDown  Action = "page-down"
	HalfUp    Action = "half-page-up"
	HalfDown  Action = "half-page-down"
	Zoom      Action = "zoom"
	Messages  Action = "messages"
	Tour      Action = "tour"
	SkipStep  Action = "skip-step"
	Open      Action = "open"
	Toggle    Action = "toggle"
	Format    Action = "format"
	Diff      Action = "diff"
	Diagnose  Action = "diagnose"
	BoundUp   Action = "bound-up"
	BoundDown Action = "bound-down"
	Heat      Action = "heat"
	Grow      Action = "grow"
	Shrink    Action = "shrink"
	Palette   Action = "next-palette"
	Follow    Action = "follow"
	Who       Action = "who"
	How       Action = "how"
	Count     Action = "count"
	SetMark   Action = "set-mark"
	GoMark    Action = "go-mark"
	Back      Action = "back"
	Forward   Action = "forward"
	Search    Action = "search"
	Filter    Action = "filter"
	Command   Action = "command"
	Yank      Action = "yank"
	Edit      Action = "edit"
	Help      Action = "help"
	Again     Action = "again"
	AgainEmu  Action = "again-emulator"
	Columns   Action = "columns"
	Cancel    Action = "cancel"
	Interrupt Action = "interrupt"
	Suspend   Action = "suspend"
	Quit      Action = "quit"
)

// Scope is a view, as far as keys are concerned: its name.
type Scope string

// Layer is a view's part of the table.
type Layer struct {
	Name Scope
	Tab  string    // another name by which commands and settings take it, at most four letters; "": none
	Uses []Use     // actions of the common table that do something in it
	Own  []Binding // bindings of its own; what two views have of their own has the same keys in both
}

// Use is what an action of the common table does in a view.
type Use struct {
	Action Action
	Name   string // what the action is called in the view, where it does another thing there; "" is Action
	Help   string // where that is something else than the table says
	Hint   string // in two words, for the hint line; "" keeps it off
}

// Backspace is the name of a key that a view binds.
const Backspace = "backspace"

// Any stands for one arbitrary character in a key sequence.
const Any = "*"

// Binding is one row of the table.
type Binding struct {
	Action Action
	Keys   []string // Bubble Tea's names; a sequence is separated by a blank, Any takes one character
	Label  string   // as help and hints write the keys
	Help   string   // what it does
	Hint   string   // in two words, for the hint line of every view it works in; "" keeps it off
	Group  string   // heading in the help overlay
	Some   bool     // it works only in views that use it
	Counts bool     // a count before it repeats it
	Fixed  bool     // a user cannot set its keys

	in    []Scope            // of Some: the views that use it
	names map[Scope]string   // its name in a view where it does another thing
	here  map[Scope]string   // what it does in a view where that is something else
	hints map[Scope]string   // its hint in a view that sets one
	keys  map[Scope][]string // its keys in a view where a user has set them
}

// Works reports whether the binding acts in a view.
func (b Binding) Works(s Scope) bool { return !b.Some || slices.Contains(b.in, s) }

// In lists the views that the binding works in; nil is all.
func (b Binding) In() []Scope { return b.in }

// Takes reports whether the key after the binding's first one is its argument.
func (b Binding) Takes() bool {
	return len(b.Keys) > 0 && strings.HasSuffix(b.Keys[0], " "+Any) || b.Action == SetMark ||
		b.Action == GoMark
}

// Own reports whether the binding means something of its own in a view, so that it is named after the view:
// tile.heat.
func (b Binding) Own(s Scope) bool { return b.Some || b.here[s] != "" }

// At returns the binding as it is in a view: its keys, label, help and hint there.
func (b Binding) At(s Scope) Binding {
	if help := b.here[s]; help != "" {
		b.Help = help
	}
	if hint := b.hints[s]; hint != "" {
		b.Hint = hint
	}
	if keys, ok := b.keys[s]; ok {
		b.Keys, b.Label = keys, LabelOf(keys)
	}
	return b
}

// Name returns the binding's name in a view, as palette and configuration write it: tile.heat where it means
// something of its own there, races.next-finding where the view calls it so, else down.
func (b Binding) Name(s Scope) string {
	if name := b.names[s]; name != "" {
		return strings.ToLower(string(s)) + "." + name
	}
	if b.Own(s) {
		return strings.ToLower(string(s)) + "." + string(b.Action)
	}
	return string(b.Action)
}

// Map is a table of bindings, indexed by view and key sequence.
type Map struct {
	layers []Layer
	all    []Binding
	views  map[Scope]*index
	whole  *index // of all views: which one a key belongs to
}

// index finds a binding by its keys.
type index struct {
	exact map[string]int
	any   map[string]int // first key of a sequence that takes one character
	start map[string]bool
}

func newIndex() *index {
	return &index{exact: map[string]int{}, any: map[string]int{}, start: map[string]bool{}}
}

// add enters binding i under a key sequence; what stands there already stays.
func (x *index) add(key string, i int) {
	head, tail, seq := strings.Cut(key, " ")
	if seq {
		x.start[head] = true
	}
	if _, taken := x.any[head]; seq && tail == Any && !taken {
		x.any[head] = i
	} else if _, taken := x.exact[key]; !taken {
		x.exact[key] = i
	}
}

// match finds what a key means after pending, the first key of a sequence or "".
func (x *index) match(pending, key string) (i int, more, ok bool) {
	if pending != "" {
		if i, found := x.exact[pending+" "+key]; found {
			return i, false, true
		}
		if i, found := x.any[pending]; found && len([]rune(key)) == 1 {
			return i, false, true
		}
		return 0, false, false
	}
	if i, found := x.exact[key]; found {
		return i, false, true
	}
	return 0, x.start[key], x.start[key]
}

// New makes the table of the views, in the order of their number keys, and indexes it. Two bindings for one
// sequence are a bug of the table: the first stands (a test forbids it).
func New(layers ...Layer) *Map {
	m := &Map{layers: layers, all: common()}
	for _, l := range layers {
		for _, b := range l.Own {
			m.own(l.Name, b)
		}
	}
	m.all = append(m.all, general(layers)...)
	for _, l := range layers {
		m.use(l)
	}
	m.reindex()
	return m
}

// own enters a binding of a view's own. One whose action a view before has as well is the same binding, with
// the same keys, that works in both.
func (m *Map) own(s Scope, b Binding) {
	i := slices.IndexFunc(m.all, func(x Binding) bool {
		return x.Action == b.Action && x.Some && x.in != nil
	})
	if i < 0 {
		b.Some, b.in = true, []Scope{s}
		m.all = append(m.all, b)
		return
	}
	x := &m.all[i]
	x.in = append(x.in, s)
	if x.here == nil {
		x.names, x.here, x.hints = map[Scope]string{}, map[Scope]string{}, map[Scope]string{}
	}
	if b.Help != x.Help {
		x.here[s] = b.Help
	}
	if b.Hint != "" {
		x.hints[s] = b.Hint
	}
}

func (m *Map) reindex() {
	m.views, m.whole = map[Scope]*index{}, newIndex()
	for _, s := range m.Scopes() {
		x := newIndex()
		for i, b := range m.all {
			if !b.Works(s) {
				continue
			}
			for _, k := range b.At(s).Keys {
				x.add(k, i)
			}
		}
		m.views[s] = x
	}
	for i, b := range m.all {
		for _, k := range b.Keys {
			m.whole.add(k, i)
		}
	}
	for _, s := range m.Scopes() {
		for i, b := range m.all {
			for _, k := range b.keys[s] {
				m.whole.add(k, i)
			}
		}
	}
}

// use enters what a view does with the common actions.
func (m *Map) use(l Layer) {
	for _, u := range l.Uses {
		i := slices.IndexFunc(m.all, func(b Binding) bool { return b.Action == u.Action })
		if i < 0 {
			panic(fmt.Sprintf("BUG: view %s uses action %s, which the table does not have", l.Name, u.Action))
		}
		b := &m.all[i]
		if b.here == nil {
			b.names, b.here, b.hints = map[Scope]string{}, map[Scope]string{}, map[Scope]string{}
		}
		if b.Some {
			b.in = append(b.in, l.Name)
		}
		if u.Name != "" {
			b.names[l.Name] = u.Name
		}
		if u.Help != "" {
			b.here[l.Name] = u.Help
		}
		if u.Hint != "" {
			b.hints[l.Name] = u.Hint
		}
	}
}

// Scopes lists the views.
func (m *Map) Scopes() []Scope {
	out := make([]Scope, len(m.layers))
	for i, l := range m.layers {
		out[i] = l.Name
	}
	return out
}

// Number is a view's number key, counted from 1; 0 where there is no such view.
func (m *Map) Number(s Scope) int {
	return slices.IndexFunc(m.layers, func(l Layer) bool { return l.Name == s }) + 1
}

// Tab is the other name of a view, which commands and settings take too.
func (m *Map) Tab(s Scope) string {
	if i := m.Number(s); i > 0 && m.layers[i-1].Tab != "" {
		return m.layers[i-1].Tab
	}
	return string(s)
}

// ParseScope accepts a view's name in any case, or its tab.
func (m *Map) ParseScope(name string) (Scope, bool) {
	for _, s := range m.Scopes() {
		if strings.EqualFold(name, string(s)) || strings.EqualFold(name, m.Tab(s)) {
			return s, true
		}
	}
	return "", false
}

// All lists the bindings.
func (m *Map) All() []Binding { return m.all }

// Match finds what a key means in a view after pending, the first key of a sequence or "". more is true where
// the key only begins a sequence; arg is the key, or the character that Any took. A key that means nothing in
// the view may belong to others: b.Works is false then.
func (m *Map) Match(s Scope, pending, key string) (b Binding, arg string, more, ok bool) {
	i, more, ok := m.views[s].match(pending, key)
	if !ok {
		i, more, ok = m.whole.match(pending, key)
		ok = ok && (more || !m.all[i].Works(s)) // in s the action has other keys
	}
	if !ok || more {
		return Binding{}, "", more, ok
	}
	return m.all[i].At(s), key, false, true
}

// Label is how help writes an action's keys in views that have no keys of their own for it, "" for one
// without keys.
func (m *Map) Label(a Action) string { return m.LabelIn("", a) }

// LabelIn is how help writes an action's keys in a view.
func (m *Map) LabelIn(s Scope, a Action) string {
	for _, b := range m.all {
		if b.Action == a && (s == "" || b.Works(s)) {
			return b.At(s).Label
		}
	}
	return ""
}

// Hints are the bindings of a view's hint line, its own before the general ones.
func (m *Map) Hints(s Scope) []Binding {
	var own, general []Binding
	for _, b := range m.all {
		b = b.At(s)
		switch {
		case b.Hint == "" || !b.Works(s) || len(b.Keys) == 0:
		case b.Some:
			own = append(own, b)
		default:
			general = append(general, b)
		}
	}
	return append(own, general...)
}

// Section is a heading of the help overlay and its bindings.
type Section struct {
	Title    string
	Bindings []Binding
}

// commonHeads are the headings of what works in most views, in the order of the help: what a reader does not
// know of a view comes first, how the cursor moves after it.
var commonHeads = []string{"Acting", "Looking", "Moving", "General"}

// Help lists what works in a view: the headings that only it has, then the common ones, each in the table's
// order.
func (m *Map) Help(s Scope) []Section {
	var out []Section
	for _, b := range m.all {
		if !b.Works(s) {
			continue
		}
		i := slices.IndexFunc(out, func(x Section) bool { return x.Title == b.Group })
		if i < 0 {
			out = append(out, Section{Title: b.Group})
			i = len(out) - 1
		}
		out[i].Bindings = append(out[i].Bindings, b.At(s))
	}
	slices.SortStableFunc(out, func(a, b Section) int {
		// -1 for the view's own
		return cmp.Compare(slices.Index(commonHeads, a.Title), slices.Index(commonHeads, b.Title))
	})
	return out
}
