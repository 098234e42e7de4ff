package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
)

// flagNames lists the request's flags with what they do, each alone and with every word for a value.
func (p palette) flagNames() []string {
	man, _ := p.Manifest()
	if man == nil {
		return nil
	}
	var out []string
	for _, f := range man.Flags {
		out = append(out, f.Name+"\t"+f.Help)
		for _, word := range flagWords(&f) {
			out = append(out, f.Name+" "+word)
		}
	}
	return out
}

// flag is :flag NAME, which takes the next value as space in view Flags does, and :flag NAME on|off|VALUE.
func (p palette) flag(arg string) tea.Cmd {
	words := strings.Fields(arg)
	man, _ := p.Manifest()
	if man == nil || man.Flag(words[0]) == nil {
		p.Complain(fmt.Sprintf("no flag %q: Tab after :flag completes names", words[0]))
		return nil
	}
	f := man.Flag(words[0])
	switch {
	case len(words) == 1:
		return p.StepFlag(f.Name, 1)
	case len(words) == 2:
		if n, ok := flagValue(f, words[1]); ok {
			return p.SetFlag(f.Name, n)
		}
	}
	p.Complain(fmt.Sprintf("flag %s: %q is none of %s", f.Name, strings.Join(words[1:], " "),
		strings.Join(flagWords(f), ", ")))
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
		switch word {
		case "on":
			return 1, true
		case "off":
			return 0, true
		}
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && slices.Contains(f.Values, n)
}
