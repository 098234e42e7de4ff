package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"tilescope/configs"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/prompt"
	"tilescope/tui/view"
)

// entry is one line of the palette: a command, or an action of a view.
type entry struct {
	view.Command
	key    string // its keys, as help writes them
	action bool
	here   bool // an action of the view on screen
}

// entries lists every command, then every action: those of the view on screen, those of all views, those of
// others. An action with the name of a command is the command, which then has its key.
func (p palette) entries() []entry {
	all := p.commands()
	out := make([]entry, 0, 4*len(all))
	for _, c := range all {
		out = append(out, entry{Command: c})
	}
	scopes := append([]keymap.Scope{p.view}, slices.DeleteFunc(p.Keys.Scopes(),
		func(s keymap.Scope) bool { return s == p.view })...)
	for i, s := range scopes {
		for _, own := range []bool{true, false} {
			if i > 0 && !own {
				continue
			}
			for _, b := range p.Keys.All() {
				if b.Works(s) && b.Own(s) == own {
					out = p.action(out, s, b.At(s))
				}
			}
		}
	}
	return out
}

// action adds a view's action.
func (p palette) action(out []entry, s keymap.Scope, b keymap.Binding) []entry {
	name := b.Name(s)
	label := b.Label
	if len(b.Keys) == 0 {
		label = ""
	}
	if i := slices.IndexFunc(out, func(e entry) bool { return e.Name == name }); i >= 0 {
		if b.Action != keymap.Command { // opens the palette; the command of that name shows a command line
			out[i].key = label
		}
		return out
	}
	e := entry{action: true, here: s == p.view, key: label}
	e.Name, e.Help = name, p.Worded(b.Help)
	e.Do = func(string) tea.Cmd { return p.actNamed(s, b) }
	if b.Takes() {
		e.Arg = "LETTER"
		e.Do = func(arg string) tea.Cmd {
			if utf8.RuneCountInString(arg) != 1 {
				p.Complain(name + " " + arg + ": expected one character")
				return nil
			}
			return p.act(b, arg)
		}
	}
	return append(out, e)
}

// Tiers of matches, best first.
const (
	tierExact = iota
	tierOnly  // the only command that begins so, besides one that overwrites files
	tierPrefix
	tierAction // an action of a view is called so
	tierWord   // a word of the name begins so
	tierPart
	tierHelp // its help has the text, of at least three characters
	tierSlip // a command, mistyped
	tierLetters
	tierNone
)

// match is an entry that a text finds.
type match struct {
	entry
	tier, score int
	marks       []int // characters of the name
}

// matches ranks what a name finds.
func (p palette) matches(name string) []match {
	q := query{name: name, low: strings.ToLower(name)}
	all := p.entries()
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name
		if !e.action && strings.HasPrefix(e.Name, name) && !overwrites(e.Name) {
			q.begin++
		}
	}
	letters := map[int]fuzzy.Match{}
	for _, f := range fuzzy.Find(q.low, names) {
		letters[f.Index] = f
	}
	var out []match
	for i, e := range all {
		if f, spelled := letters[i]; spelled {
			q.letters = &f
		} else {
			q.letters = nil
		}
		if x := q.match(e); x.tier != tierNone {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b match) int {
		switch {
		case a.tier != b.tier:
			return a.tier - b.tier
		case a.here != b.here && a.action && b.action:
			if a.here {
				return -1
			}
			return 1
		}
		return b.score - a.score
	})
	return out
}

// query is a text that the palette looks for, and what is known of it for one entry.
type query struct {
	name, low string
	begin     int          // how many commands begin so, besides those that overwrite files
	letters   *fuzzy.Match // in the entry's name, in their order; nil where it does not have them
}

// match says how an entry matches; of tierNone where it does not.
func (q query) match(e entry) match {
	x := match{entry: e, tier: tierNone}
	at, word := strings.Index(e.Name, q.low), wordStart(e.Name, q.low)
	switch {
	case e.Name == q.name, e.Short == q.name && q.name != "":
		x.tier, at = tierExact, 0
	case e.here && sign(q.name) && slices.Contains(strings.Fields(e.key), q.name):
		x.tier, at = tierExact, 0
	case at == 0 && !e.action && q.begin == 1 && !overwrites(e.Name):
		x.tier = tierOnly
	case at == 0:
		x.tier = tierPrefix
	case e.Name[strings.IndexByte(e.Name, '.')+1:] == q.low:
		x.tier, at = tierAction, word
	case word > 0:
		x.tier, at = tierWord, word
	case at > 0:
		x.tier = tierPart
	case len(q.low) > 2 && strings.Contains(strings.ToLower(e.Help+" "+e.Also), q.low):
		x.tier = tierHelp
		if q.letters != nil {
			x.marks = q.letters.MatchedIndexes
		}
	case !e.action && configs.Mistyped(q.low, []string{e.Name}) != nil:
		x.tier = tierSlip
	case q.letters != nil:
		x.tier, x.score, x.marks = tierLetters, q.letters.Score, q.letters.MatchedIndexes
	}
	if x.tier < tierHelp && !sign(q.name) {
		for k := range q.low {
			x.marks = append(x.marks, at+k)
		}
	}
	return x
}

// described ranks what several words find, in any order: each stands in the name or the help of an entry.
// Those with the most words in their names come first, then actions of the view on screen.
func (p palette) described(text string) []match {
	words := strings.Fields(strings.ToLower(text))
	var out []match
	for _, e := range p.entries() {
		name, help := strings.ToLower(e.Name), strings.ToLower(e.Help+" "+e.Also)
		x := match{entry: e, tier: tierHelp}
		all := len(words) > 1
		for _, w := range words {
			switch at := strings.Index(name, w); {
			case at >= 0:
				x.score++
				for k := range w {
					x.marks = append(x.marks, at+k)
				}
			case !strings.Contains(help, w):
				all = false
			}
		}
		if all {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b match) int {
		if a.here != b.here && a.score == b.score {
			if a.here {
				return -1
			}
			return 1
		}
		return b.score - a.score
	})
	return out
}

// overwrites reports whether a command replaces a file that exists: its whole name is asked for.
func overwrites(name string) bool { return strings.HasSuffix(name, "!") }

// sign reports whether a text is a key that no name has: < or (.
func sign(text string) bool {
	return utf8.RuneCountInString(text) == 1 && strings.ContainsAny(text, "<>()[]{}!?.,;^$+_=*#%@~|'")
}

// wordStart is where a word of a name, after its first, begins with a text; -1 where none does.
func wordStart(name, text string) int {
	for i := 1; i < len(name); i++ {
		if (name[i-1] == '.' || name[i-1] == '-') && strings.HasPrefix(name[i:], text) {
			return i
		}
	}
	return -1
}

// candidate is how the prompt offers a match.
func (x match) candidate() prompt.Candidate {
	c := prompt.Candidate{Line: x.Name, Key: x.key, Help: strings.TrimSpace(x.Arg + "  " + x.Help),
		Marks: x.marks, Prefix: x.tier <= tierPrefix && !x.action}
	if x.Arg != "" {
		c.Line += " "
	}
	return c
}

// complete offers commands and actions, then a command's arguments. none says that nothing matches, or, of
// arguments that nobody can list, what the command takes.
func (p palette) complete(text string) (out []prompt.Candidate, none string) {
	name, arg, hasArg := strings.Cut(text, " ")
	if !hasArg {
		for _, x := range p.matches(name) {
			out = append(out, x.candidate())
		}
		return out, "no command or action matches " + text
	}
	e, ok := p.find(name)
	if !ok {
		for _, x := range p.described(text) {
			c := x.candidate()
			c.Found = true
			out = append(out, c)
		}
		return out, fmt.Sprintf("no command or action is called %s, or described by %s", name, text)
	}
	takes := strings.TrimPrefix(e.Arg+": "+e.Help, ": ")
	if e.Complete != nil {
		for _, v := range e.Complete(arg) {
			out = append(out, prompt.Candidate{Line: name + " " + v, Prefix: strings.HasPrefix(v, arg)})
		}
		if e.None != nil && len(out) == 0 {
			return nil, e.None(arg)
		}
		return out, takes
	}
	return e.valuesFor(name, arg), takes
}

// valuesFor completes the words of an argument that can be listed.
func (e entry) valuesFor(name, arg string) (out []prompt.Candidate) {
	first, second, isSecond := strings.Cut(arg, " ")
	if isSecond && e.Then != nil {
		for _, word := range e.Then(first) {
			if strings.HasPrefix(word, second) {
				out = append(out, prompt.Candidate{Line: name + " " + first + " " + word, Prefix: true})
			}
		}
		return out
	}
	if e.Values == nil {
		return nil
	}
	for _, v := range e.Values() {
		value, help, _ := strings.Cut(v, "\t")
		if !strings.HasPrefix(value, arg) {
			continue
		}
		c := prompt.Candidate{Line: name + " " + value, Help: help, Prefix: true}
		if e.Then != nil && e.Then(value) != nil {
			c.Line += " " // as a shell's completion: the next word is typed at once
		}
		out = append(out, c)
	}
	return out
}

// find takes a name, or a beginning that only one command has.
func (p palette) find(name string) (entry, bool) {
	if name == "q" {
		name = string(keymap.Quit)
	}
	if all := p.matches(name); len(all) > 0 && all[0].tier <= tierOnly {
		return all[0].entry, true
	}
	return entry{}, false
}

// meant is "did you mean open?" for a mistyped name of a command; "" where it is none, or where the word is a
// part of a name or of a description.
func (p palette) meant(word string) string {
	if m, ok := p.best(word); ok && m.tier < tierSlip {
		return ""
	}
	var names []string
	for _, c := range p.commands() {
		if names = append(names, c.Name); c.Short != "" {
			names = append(names, c.Short)
		}
	}
	if near := configs.Mistyped(word, names); near != nil {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// guessed reports whether a text is less than half of the letters of the name that it finds: pg-dwn means
// page-down, and regs need not mean races.diagnose.
func (x match) guessed(text string) bool { return x.tier == tierLetters && 2*len(text) < len(x.Name) }

// best is what the palette offers first for a text, which Enter takes.
func (p palette) best(name string) (match, bool) {
	if all := p.matches(name); len(all) > 0 {
		return all[0], true
	}
	return match{}, false
}
