package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
	here   bool   // an action of the view on screen
	why    string // the command cannot be used with this kernel: why not; "" where it can
}

// means is what an action does, whatever the view: next-bad for tile.next-bad and pipe.next-bad.
func means(name string) string { return name[strings.IndexByte(name, '.')+1:] }

// entries lists every command, then every action: those of the view on screen, those of all views, those of
// others. An action with the name of a command is the command, which then has its key.
func (p palette) entries() []entry {
	all := p.commands()
	out := make([]entry, 0, 4*len(all))
	for _, c := range all {
		e := entry{Command: c, why: p.unusable(c.Name)}
		if s, ok := p.Keys.ParseScope(c.Name); ok && c.Name == strings.ToLower(string(s)) {
			e.key = strconv.Itoa(p.Keys.Number(s))
		}
		out = append(out, e)
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
	tierExact  = iota
	tierOnly   // the command that a beginning stands for
	tierPrefix // the name begins so
	tierAction // an action of a view is called so
	tierWord   // a word of the name begins so
	tierHelp   // a word of its help begins so, with at least three characters
	tierPart
	tierHelpPart // its help has the text, of at least three characters
	tierSlip     // a command, mistyped
	tierLetters
	tierNone
)

// match is an entry that a text finds.
type match struct {
	entry
	tier, score int
	marks       []int // characters of the name
}

// matches ranks what a name finds. given: an argument follows it, so that the beginning of a command that
// takes none stands for nothing.
func (p palette) matches(name string, given bool) []match {
	q := query{name: name, low: strings.ToLower(name)}
	all := p.entries()
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name
	}
	q.only = standsFor(q.low, all, given)
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
		case (a.why == "") != (b.why == ""): // what can be used comes first
			if a.why == "" {
				return -1
			}
			return 1
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

// standsFor is the name of the command that a beginning stands for: the only one that begins so, or the one
// with whose name all others of them begin, as break of break and breakpoints; "" for none. Commands that
// overwrite files do not count, nor those that cannot be used where another can.
func standsFor(low string, all []entry, given bool) string {
	for _, usable := range []bool{true, false} {
		var names []string
		for _, e := range all {
			if !e.action && (e.why == "") == usable && strings.HasPrefix(e.Name, low) &&
				!overwrites(e.Name) && (!given || e.Arg != "") {
				names = append(names, e.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		shortest := slices.MinFunc(names, func(a, b string) int { return len(a) - len(b) })
		if slices.ContainsFunc(names, func(s string) bool { return !strings.HasPrefix(s, shortest) }) {
			return ""
		}
		return shortest
	}
	return ""
}

// query is a text that the palette looks for, and what is known of it for one entry.
type query struct {
	name, low string
	only      string       // the command that the text stands for, as a beginning of its name; ""
	letters   *fuzzy.Match // in the entry's name, in their order; nil where it does not have them
}

// match says how an entry matches; of tierNone where it does not. A command that cannot be used is found by
// the beginning of its name alone.
func (q query) match(e entry) match {
	x := match{entry: e, tier: tierNone}
	at, word, words := strings.Index(e.Name, q.low), wordStart(e.Name, q.low), e.Help+" "+e.Also
	switch {
	case e.Name == q.name, e.Short == q.name && q.name != "":
		x.tier, at = tierExact, 0
	case e.here && sign(q.name) && slices.Contains(strings.Fields(e.key), q.name):
		x.tier, at = tierExact, 0
	case e.why != "" && (at != 0 || q.low == ""):
		return x
	case at == 0 && !e.action && e.Name == q.only:
		x.tier = tierOnly
	case at == 0:
		x.tier = tierPrefix
	case means(e.Name) == q.low:
		x.tier, at = tierAction, word
	case word > 0:
		x.tier, at = tierWord, word
	case len(q.low) > 2 && beginsWord(words, q.low):
		x.tier = tierHelp
	case at > 0:
		x.tier = tierPart
	case len(q.low) > 2 && strings.Contains(strings.ToLower(words), q.low):
		x.tier = tierHelpPart
	case !e.action && configs.Mistyped(q.low, []string{e.Name}) != nil:
		x.tier = tierSlip
	case q.letters != nil:
		x.tier, x.score, x.marks = tierLetters, q.letters.Score, q.letters.MatchedIndexes
	}
	switch {
	case sign(q.name):
	case x.tier < tierHelp || x.tier == tierPart || x.tier == tierHelp && at > 0:
		for k := range q.low {
			x.marks = append(x.marks, at+k)
		}
	case q.letters != nil && x.tier < tierSlip:
		x.marks = q.letters.MatchedIndexes
	}
	return x
}

// described ranks what several words find, in any order: each begins a word of the name or the help of an
// entry. Those with the most words in their names come first, then actions of the view on screen. byName:
// the name has all of them. Nothing is described by one letter.
func (p palette) described(text string, byName bool) []match {
	words := strings.Fields(strings.ToLower(text))
	if len(words) < 2 || slices.ContainsFunc(words, func(w string) bool { return len(w) < 2 }) {
		return nil
	}
	var out []match
	for _, e := range p.entries() {
		x := match{entry: e, tier: tierHelp}
		all := e.why == ""
		for _, w := range words {
			at := wordStart("."+e.Name, w) - 1
			switch {
			case at >= 0:
				x.score += 2
				if slices.Contains(nameWords(e.Name), w) {
					x.score++
				}
				for k := range w {
					x.marks = append(x.marks, at+k)
				}
			case byName || !beginsWord(e.Help+" "+e.Also, w):
				all = false
			}
		}
		if len(nameWords(means(e.Name))) == len(words) { // no other word is in it
			x.score++
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

// nameWords are the words of a name.
func nameWords(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' })
}

// beginsWord reports whether a word of a text, in any case, begins with another text.
func beginsWord(text, begin string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}), func(w string) bool { return strings.HasPrefix(w, begin) })
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
	if x.why != "" {
		c.Help = x.why
	}
	if x.Arg != "" {
		c.Line += " "
	}
	return c
}

// offer is how the prompt offers matches; taken: Enter takes the first of them.
func offer(all []match, taken bool) []prompt.Candidate {
	out := make([]prompt.Candidate, 0, len(all))
	for i, x := range all {
		c := x.candidate()
		c.Taken = taken && i == 0
		out = append(out, c)
	}
	return out
}

// complete offers commands and actions, then a command's arguments. none says that nothing matches, or, of
// arguments that nobody can list, what the command takes.
func (p palette) complete(text string) (out []prompt.Candidate, none string) {
	text = strings.TrimLeft(text, " ")
	name, arg, hasArg := strings.Cut(text, " ")
	arg = strings.TrimLeft(arg, " ")
	l := p.read(text)
	switch {
	case !hasArg:
		return offer(l.offered, l.ok), "no command or action matches " + text
	case l.ok && (l.offered == nil || l.arg == "" && !strings.Contains(l.text, " ")):
	case len(l.offered) > 0 || l.could == nil:
		return offer(l.offered, l.ok),
			fmt.Sprintf("no command or action is called %s, or described by %s", name, text)
	default:
		return nil, l.ambiguity()
	}
	if l.why != "" {
		return nil, l.why
	}
	takes := strings.TrimPrefix(l.Arg+": "+l.Help, ": ")
	if l.Complete != nil {
		for _, v := range l.Complete(arg) {
			out = append(out, prompt.Candidate{Line: name + " " + v, Prefix: strings.HasPrefix(v, arg)})
		}
		if l.None != nil && len(out) == 0 {
			return nil, l.None(arg)
		}
		return out, takes
	}
	return l.valuesFor(name, arg), takes
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
