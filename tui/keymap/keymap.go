// Package keymap holds the terminal's only key bindings.
//
// The one idea: a binding is one row of a table (keys, what it does, where it works, its hint), and everything that names
// a key is made from that table: dispatch, the help overlay, the hint line, the status line's refusals. A key that
// belongs to another view says which; a key whose feature is still to come says so.
//
// It must not know models, panes or colours.
package keymap

import (
	"slices"
	"strings"
)

// Action is what a key asks for.
type Action string

// The actions.
const (
	View       Action = "view"
	PrevView   Action = "previous-view"
	NextView   Action = "next-view"
	Left       Action = "left"
	Down       Action = "down"
	Up         Action = "up"
	Right      Action = "right"
	NextStage  Action = "next-stage"
	PrevStage  Action = "previous-stage"
	NextBlock  Action = "next-block"
	PrevBlock  Action = "previous-block"
	NextTile   Action = "next-tile"
	PrevTile   Action = "previous-tile"
	NextPane   Action = "next-pane"
	PrevPane   Action = "previous-pane"
	NextBad    Action = "next-bad"
	PrevBad    Action = "previous-bad"
	Top        Action = "top"
	Bottom     Action = "bottom"
	RowStart   Action = "row-start"
	RowEnd     Action = "row-end"
	PageUp     Action = "page-up"
	PageDown   Action = "page-down"
	Open       Action = "open"
	Toggle     Action = "toggle"
	Format     Action = "format"
	Diff       Action = "diff"
	BoundUp    Action = "bound-up"
	BoundDown  Action = "bound-down"
	Heat       Action = "heat"
	Grow       Action = "grow"
	Shrink     Action = "shrink"
	Palette    Action = "palette"
	Follow     Action = "follow"
	Who        Action = "who"
	SetMark    Action = "set-mark"
	GoMark     Action = "go-mark"
	Back       Action = "back"
	Forward    Action = "forward"
	Search     Action = "search"
	Filter     Action = "filter"
	Command    Action = "command"
	Yank       Action = "yank"
	Edit       Action = "edit"
	Help       Action = "help"
	Again      Action = "again"
	AgainEmu   Action = "again-emulator"
	Columns    Action = "columns"
	Pin        Action = "pin"
	NextFrag   Action = "next-fragment"
	PrevFrag   Action = "previous-fragment"
	Introspect Action = "introspect"
	Swizzle    Action = "swizzle"
	Matrix     Action = "matrix"
	Unpin      Action = "unpin"
	Bisect     Action = "bisect"
	Versus     Action = "compare"
	WhatIf     Action = "what-if"
	Replay     Action = "replay"
	Step       Action = "step"
	StepOver   Action = "step-over"
	RunOn      Action = "run-on"
	RunBack    Action = "run-back"
	Breakpoint Action = "breakpoint"
	StepBack   Action = "step-back"
	OverBack   Action = "step-over-back"
	Unit       Action = "unit"
	NextWarp   Action = "next-warp"
	PrevWarp   Action = "previous-warp"
	Cancel     Action = "cancel"
	Interrupt  Action = "interrupt"
	Suspend    Action = "suspend"
	Quit       Action = "quit"
)

// Scope is a view, as far as keys are concerned.
type Scope uint8

// The views, in the order of their number keys.
const (
	Pipe Scope = iota + 1
	Tile
	Frag
	Flags
	Races
	Gates
	GPU
	Source
)

// Scopes lists the views.
func Scopes() []Scope { return []Scope{Pipe, Tile, Frag, Flags, Races, Gates, GPU, Source} }

var scopeNames = [...]string{"", "Pipe", "Tile", "Frag", "Flags", "Races", "Gates", "GPU", "Source"}

func (s Scope) String() string { return scopeNames[s] }

// Tab is the view's name on the tab line, at most four letters where the line is short.
func (s Scope) Tab() string {
	switch s {
	case Flags:
		return "Flag"
	case Races:
		return "Race"
	case Gates:
		return "Gate"
	case Source:
		return "Src"
	}
	return s.String()
}

// ParseScope accepts a view's name in any case, or its tab.
func ParseScope(name string) (Scope, bool) {
	for _, s := range Scopes() {
		if strings.EqualFold(name, s.String()) || strings.EqualFold(name, s.Tab()) {
			return s, true
		}
	}
	return 0, false
}

// Any stands for one arbitrary character in a key sequence.
const Any = "*"

// Binding is one row of the table.
type Binding struct {
	Action Action
	Keys   []string // Bubble Tea's names; a sequence is separated by a blank, Any takes one character
	Label  string   // as help and hints write the keys
	Help   string   // what it does
	Hint   string   // in two words, for the hint line; "" keeps it off
	HintIn []Scope  // the views whose hint line has it; nil is all it works in
	Group  string   // heading in the help overlay
	In     []Scope  // the views it works in; nil is all
	Later  string   // what it waits for; "" where it works now

	HintHere map[Scope]string // the hint in a view where it does something else there
	Here     map[Scope]string // what it does in a view where that is something else
}

// Works reports whether the binding acts in a view.
func (b Binding) Works(s Scope) bool { return b.In == nil || slices.Contains(b.In, s) }

// Map is a table of bindings, indexed by key sequence.
type Map struct {
	all   []Binding
	exact map[string]int
	any   map[string]int // first key of a sequence that takes one character
	start map[string]bool
}

// New indexes bindings. Two bindings for one sequence are a bug of the table: the first stands (a test forbids it).
func New(all []Binding) *Map {
	m := &Map{all: all, exact: map[string]int{}, any: map[string]int{}, start: map[string]bool{}}
	for i, b := range all {
		for _, k := range b.Keys {
			head, tail, seq := strings.Cut(k, " ")
			if seq {
				m.start[head] = true
			}
			if seq && tail == Any {
				m.any[head] = i
			} else if _, taken := m.exact[k]; !taken {
				m.exact[k] = i
			}
		}
	}
	return m
}

// All lists the bindings.
func (m *Map) All() []Binding { return m.all }

// Match finds what a key means after pending, the first key of a sequence or "". more is true where the key only begins
// a sequence; arg is the key, or the character that Any took.
func (m *Map) Match(pending, key string) (b Binding, arg string, more, ok bool) {
	if pending != "" {
		if i, found := m.exact[pending+" "+key]; found {
			return m.all[i], key, false, true
		}
		if i, found := m.any[pending]; found && len([]rune(key)) == 1 {
			return m.all[i], key, false, true
		}
		return Binding{}, "", false, false
	}
	if i, found := m.exact[key]; found {
		return m.all[i], key, false, true
	}
	return Binding{}, "", m.start[key], m.start[key]
}

// Label is how help writes an action's keys, "" for one without keys.
func (m *Map) Label(a Action) string {
	for _, b := range m.all {
		if b.Action == a {
			return b.Label
		}
	}
	return ""
}

// Hints are the bindings of a view's hint line, its own before the general ones.
func (m *Map) Hints(s Scope) []Binding {
	var own, general []Binding
	for _, b := range m.all {
		here, special := b.HintHere[s]
		if special {
			b.Hint = here
		}
		switch {
		case b.Hint == "" || !b.Works(s) || b.Later != "" || !special && b.HintIn != nil && !slices.Contains(b.HintIn, s):
		case b.In != nil:
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

// Help lists what works in a view, by heading, in the table's order.
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
		if here, ok := b.Here[s]; ok {
			b.Help = here
		}
		out[i].Bindings = append(out[i].Bindings, b)
	}
	return out
}
