package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/text"
	"tilescope/tui/view"
)

// launch are the commands that change one option of the launch of a file.
func (p palette) launch() []view.Command {
	if len(p.Req.Launch) == 0 {
		return nil
	}
	g := view.RunCommands
	return []view.Command{
		{Group: g, Name: "arg", Arg: "NAME=VALUE …", Also: "argument parameter launch",
			Help: "change arguments of this file's launch, and open it with them", Values: p.argumentsGiven,
			Do: p.changeArguments},
		{Group: g, Name: "grid", Arg: "X[,Y[,Z]]", Also: "blocks launch",
			Help: "open this file with another grid", Do: p.changeOption("--grid")},
		{Group: g, Name: "block", Arg: "X[,Y[,Z]]", Also: "threads launch",
			Help: "open this file with other blocks", Do: p.changeOption("--block")},
	}
}

// argumentsGiven are the arguments of the launch on screen.
func (p palette) argumentsGiven() (out []string) {
	for i := 1; i < len(p.Req.Launch); i++ {
		if p.Req.Launch[i-1] == "--arg" {
			out = append(out, text.JoinWords(p.Req.Launch[i:i+1]))
		}
	}
	return out
}

// changeArguments is :arg: arguments that the launch gives have another value then.
func (p palette) changeArguments(typed string) tea.Cmd {
	words, closed := text.Words(typed)
	if !closed || len(words) == 0 {
		p.Complain(":arg: expected NAME=VALUE, such as " + strings.Join(p.argumentsGiven(), " "))
		return nil
	}
	opening := slices.Clone(p.Req.Opening())
	for _, w := range words {
		name, _, ok := strings.Cut(w, "=")
		at := 0
		for i := 1; i < len(opening); i++ {
			if opening[i-1] == "--arg" && strings.HasPrefix(opening[i], name+"=") {
				at = i
			}
		}
		if !ok || at == 0 {
			p.Complain(fmt.Sprintf(":arg %s: the launch gives %s; expected one of them as NAME=VALUE", w,
				strings.Join(p.argumentsGiven(), " ")))
			return nil
		}
		opening[at] = w
	}
	return p.openGuessed(opening, p.Req.Guessed, p.file.chosen)
}

// changeOption opens the file on screen with another value of an option of its launch. Where both options
// were guessed, the launch is a guess until the other is given too.
func (p palette) changeOption(option string) func(string) tea.Cmd {
	return func(value string) tea.Cmd {
		opening := slices.Clone(p.Req.Opening())
		at := slices.Index(opening, option)
		if at < 0 || at+1 == len(opening) || value == "" {
			p.Complain(fmt.Sprintf(":%s: expected X[,Y[,Z]], as in %s", strings.TrimPrefix(option, "--"),
				text.JoinWords(p.Req.Launch)))
			return nil
		}
		opening[at+1] = value
		other := map[string]string{"--grid": "--block", "--block": "--grid"}[option]
		if !p.Req.Guessed {
			return p.openGuessed(opening, false, "")
		}
		return p.openGuessed(opening, p.file.chosen != other, option)
	}
}
