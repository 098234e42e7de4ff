package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/probes"
)

// flagNames lists the request's flags with what they do.
func (p palette) flagNames() []string {
	man, _ := p.Manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, f := range man.Flags {
		out = append(out, f.Name+"\t"+f.Help)
	}
	return out
}

// flagWords lists every word for a value of a flag.
func (p palette) flagWords(name string) []string {
	man, _ := p.Manifest()
	if man == nil {
		return nil
	}
	for _, f := range man.Flags {
		if f.Name == name {
			return flagWords(&f)
		}
	}
	return nil
}

// flagValues lists the request's flags with every word for a value, as :set takes them.
func (p palette) flagValues() []string {
	man, _ := p.Manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, f := range man.Flags {
		for _, word := range flagWords(&f) {
			out = append(out, fmt.Sprintf("%s=%s\t%s", f.Name, word, f.Help))
		}
	}
	return out
}

// flag is :flag NAME, which takes the next value as space in view Flags does, and :flag NAME on|off|VALUE.
func (p palette) flag(arg string) tea.Cmd {
	name, word, given := strings.Cut(arg, " ")
	if given {
		return p.setFlag(name, strings.TrimSpace(word))
	}
	if p.known(name) == nil {
		return nil
	}
	return p.StepFlag(name, 1)
}

// set is :set NAME=on|off|VALUE; NAME alone is NAME=1. A gate's name stands for the gate.
func (p palette) set(arg string) tea.Cmd {
	name, word, given := strings.Cut(arg, "=")
	if word = strings.TrimSpace(word); !given {
		word = "1"
	}
	if man, _ := p.Manifest(); man != nil {
		if g := man.Gate(name); g != nil && g.Name != probes.GateNone {
			switch n, ok := switched(word); {
			case !ok:
				p.Complain(fmt.Sprintf("gate %s: %q is none of on, off", g.Name, word))
				return nil
			case n == 0:
				return p.gate(probes.GateNone.String())
			}
			return p.gate(g.Name.String())
		}
	}
	return p.setFlag(name, word)
}

// setFlag gives a flag the value that a word stands for.
func (p palette) setFlag(name, word string) tea.Cmd {
	f := p.known(name)
	if f == nil {
		return nil
	}
	n, ok := flagValue(f, word)
	if !ok {
		p.Complain(fmt.Sprintf("flag %s: %q is none of %s", name, word, strings.Join(flagWords(f), ", ")))
		return nil
	}
	return p.SetFlag(name, n)
}

// known is a flag of the request's manifest; one that it does not have is refused, and nil.
func (p palette) known(name string) *configs.Flag {
	var names []string
	if man, _ := p.Manifest(); man != nil {
		if f := man.Flag(name); f != nil {
			return f
		}
		for _, f := range man.Flags {
			names = append(names, f.Name)
		}
	}
	p.Complain(fmt.Sprintf("no flag %q%s", name, configs.Suggest(name, names)))
	return nil
}

// isSwitch reports whether a flag's values are 0 and 1, which are also called off and on.
func isSwitch(f *configs.Flag) bool {
	return slices.Equal(slices.Sorted(slices.Values(f.Values)), []int{0, 1})
}

// flagWords are the words for a flag's values.
func flagWords(f *configs.Flag) []string {
	if isSwitch(f) {
		return []string{"on", "off"}
	}
	var out []string
	for _, v := range f.Values {
		out = append(out, strconv.Itoa(v))
	}
	return out
}

// flagValue is the value that a word stands for.
func flagValue(f *configs.Flag, word string) (value int, ok bool) {
	if isSwitch(f) {
		return switched(word)
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && slices.Contains(f.Values, n)
}

// switched is the value of a switch that a word stands for.
func switched(word string) (value int, ok bool) {
	switch word {
	case "on", "1":
		return 1, true
	case "off", "0":
		return 0, true
	}
	return 0, false
}
