package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// line is what a typed line means.
type line struct {
	entry
	arg     string
	text    string   // what it was read from: a name, or words that describe something
	tier    int      // how well that matches
	ok      bool     // Enter carries the entry out, with the argument
	could   []string // names, any of which may be meant; nil: none, or Enter carries one out
	offered []match  // what a name, or words that describe something, find; the entry that Enter takes first
}

// read says what a line means. A name, or the beginning of one command's name, goes before words that
// describe something; what matches in the middle of a word or by scattered letters is offered, not taken.
func (p palette) read(text string) line {
	name, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	arg = strings.TrimSpace(arg)
	l := p.named(name, arg != "")
	if arg == "" {
		return l
	}
	l.arg, l.offered = arg, nil
	called := l.ok && l.tier <= tierOnly
	l.ok = l.ok && l.tier <= tierAction
	if l.ok && l.fits(arg) {
		return l
	}
	d := settle(text, p.described(text, true), true)
	if !called && !d.ok && d.could == nil { // a line that begins with a command is no description
		d = settle(text, p.described(text, false), false)
	}
	if d.ok || !l.ok && len(d.offered) > 0 {
		return d
	}
	if e, ok := p.beginning(name); ok && called && !l.action && l.Arg == "" { // frag m16n8k16: of fragment
		l.entry = e
	}
	return l
}

// fits reports whether a text can be an entry's argument.
func (e entry) fits(arg string) bool {
	return e.why != "" || e.Arg != "" && (e.Fits == nil || e.Fits(arg))
}

// named is what a name means, without its argument.
func (p palette) named(name string, given bool) line {
	if name == "q" {
		name = string(keymap.Quit)
	}
	all := p.matches(name, given)
	if name == "" {
		return line{offered: all}
	}
	if _, err := strconv.ParseUint(name, 10, 31); err == nil && !given { // as in an editor or a pager
		if all = p.matches("line", true); len(all) > 0 && all[0].tier == tierExact {
			e := all[0].entry
			do := e.Do
			e.Name, e.Arg, e.Do = "line "+name, "", func(string) tea.Cmd { return do(name) }
			all = []match{{entry: e}}
		}
	}
	// what takes no argument is called by its whole name alone, to be refused with the reason; one letter is
	// a short name
	if given {
		all = slices.DeleteFunc(all, func(x match) bool {
			return x.tier > tierExact && (len(name) == 1 || x.Arg == "" && x.tier != tierAction)
		})
	}
	return settle(name, all, true)
}

// settle is what matches of a text, the best first, come to: the first is carried out where all of the best
// tier mean the same, or where they need not be alike. Commands go before actions that begin so.
func settle(text string, all []match, alike bool) line {
	l := line{text: text, offered: all}
	if len(all) == 0 || all[0].tier > tierHelp {
		return l
	}
	best := all[0]
	l.entry, l.tier = best.entry, best.tier
	for _, x := range all {
		if x.tier != best.tier || x.score != best.score || (x.why == "") != (best.why == "") ||
			overwrites(x.Name) || x.tier == tierPrefix && x.action && !best.action {
			continue
		}
		if !slices.ContainsFunc(l.could, func(name string) bool { return means(name) == means(x.Name) }) {
			l.could = append(l.could, x.Name)
		}
	}
	if len(l.could) <= 1 || best.tier <= tierOnly || !alike {
		l.ok, l.could = true, nil
	}
	return l
}

// beginning is the command that takes an argument and that a beginning of its name stands for.
func (p palette) beginning(name string) (entry, bool) {
	all := p.entries()
	only := standsFor(strings.ToLower(name), all, true)
	for _, e := range all {
		if e.Name == only && only != "" {
			return e, true
		}
	}
	return entry{}, false
}

// find takes a name, or a beginning that stands for one command.
func (p palette) find(name string) (entry, bool) {
	if all := p.matches(name, false); len(all) > 0 && all[0].tier <= tierOnly {
		return all[0].entry, true
	}
	return entry{}, false
}

// mostNamed is how many names a complaint lists.
const mostNamed = 6

// ambiguity says which names a text could stand for.
func (l line) ambiguity() string {
	list, last := l.could, " or "
	if len(list) > mostNamed {
		list, last = append(list[:mostNamed:mostNamed], strconv.Itoa(len(list)-mostNamed)+" more"), " and "
	}
	n := len(list) - 1
	return l.text + " could be " + strings.Join(list[:n], ", ") + last + list[n]
}

// accept acts on a line typed at a prompt.
func (p palette) accept(lead, text string) tea.Cmd {
	p.Clear()
	p.proposed.asks = false
	switch lead {
	case "/":
		return p.startSearch(text)
	case "&":
		return p.startFilter(text)
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	if name == "" {
		return nil
	}
	l := p.read(text)
	if l.ok {
		return p.carryOut(l)
	}
	switch meant := p.meant(name); {
	case l.could != nil:
		p.Complain(l.ambiguity())
	case meant != "": // nothing is carried out that was not typed
		p.Complain(fmt.Sprintf("no command %q, nor an action: %s", name, meant))
	case arg == "" && len(l.offered) > 0: // a second Enter carries it out
		return p.Ask(":", strings.TrimSuffix(l.offered[0].candidate().Line, " "))
	default:
		p.Complain(fmt.Sprintf("no command %q, nor an action: an empty line lists both", name))
	}
	return nil
}

// carryOut does what a line means.
func (p palette) carryOut(l line) tea.Cmd {
	switch {
	case l.why != "":
		return p.refuse(l)
	case l.arg != "" && l.Arg == "":
		p.Complain(fmt.Sprintf("%s takes no argument, as %q: %s", l.Name, l.arg, l.Help))
		return nil
	case l.arg == "" && l.Arg != "" && !strings.HasPrefix(l.Arg, "["): // in brackets: it may be left out
		return p.Ask(":", l.Name+" ") // which says what it takes
	}
	return l.Do(inFull(l.Command, l.arg))
}

// refuse says why a command cannot be used. Without an argument its name is a view's as well, where a view
// has it.
func (p palette) refuse(l line) tea.Cmd {
	var cmd tea.Cmd
	if s, ok := p.Keys.ParseScope(l.Name); ok && l.arg == "" {
		cmd = p.Open(s)
	}
	p.Complain(l.why)
	return cmd
}

// inFull writes the name that an argument begins with in full, where that is a beginning of one name alone.
func inFull(c view.Command, arg string) string {
	if !c.Named || c.Values == nil {
		return arg
	}
	word, rest, _ := strings.Cut(arg, " ")
	only := ""
	for _, v := range c.Values() {
		v, _, _ = strings.Cut(v, "\t")
		name, _, _ := strings.Cut(v, " ")
		switch {
		case name == word:
			return arg
		case !strings.HasPrefix(name, word) || name == only:
		case only != "":
			return arg
		default:
			only = name
		}
	}
	if only == "" {
		return arg
	}
	return strings.TrimSpace(only + " " + rest)
}

// meant is "did you mean open?" for a mistyped name of a command; "" where it is none, or where the word is a
// part of a name or of a description.
func (p palette) meant(word string) string {
	if all := p.matches(word, false); len(all) > 0 && all[0].tier < tierSlip {
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
