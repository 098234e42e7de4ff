package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/view"
)

// out are the commands that take something out of the terminal: to files, and to the clipboard.
func (p palette) out() []view.Command {
	g := view.ProgramCommands
	var all []view.Command
	for _, c := range []struct {
		name, arg, help string
		do              func(name, path string) tea.Cmd
	}{
		{"dump", "FILE.npz|.json|.csv|.npy", "write the run, its captures for NumPy or its document; or the tile " +
			"of the cursor (.csv, .npy), or behind it: reference", p.dump},
		{"report", "FILE.html", "write the page of a diagnosis", p.reportPage},
		{"screenshot", "FILE.svg", "write the screen as a picture", p.screenshot},
	} {
		for _, x := range []struct{ name, help string }{
			{c.name, c.help + "; a file that exists stays"}, {c.name + "!",
				c.help + ", over a file that exists"},
		} {
			all = append(all, view.Command{Group: g, Name: x.name, Arg: c.arg, Help: x.help,
				Also: "save export", Complete: p.written(c.arg), Do: func(path string) tea.Cmd {
					if file, marked := strings.CutSuffix(path, "!"); marked {
						p.Complain(fmt.Sprintf(":%s %s: the ! follows the command: :%s! %s",
							x.name, path, c.name, file))
						return nil
					}
					return c.do(x.name, path)
				}})
		}
	}
	return append(all,
		view.Command{Group: g, Name: "command", Help: "show and copy the command line that gives this state",
			Do: p.commandLine},
		view.Command{Group: g, Name: "yank", Arg: "[cell|row|tile] [csv|numpy] [reference]",
			Help:   "copy what is under the cursor, or numbers of its tile (OSC 52)",
			Values: func() []string { return yankForms }, Do: p.yankPart},
		view.Command{Group: g, Name: "own", Arg: "DIR", Also: "save export copy", Complete: p.Folders,
			Help: "write the embedded kernel as files of your own: manifest, source, headers", Do: p.own},
	)
}

// written completes the name of a file to be written: with folders, and files of the types that an argument
// such as FILE.npz|.json names.
func (p palette) written(arg string) func(typed string) []string {
	types := strings.Split(strings.TrimPrefix(arg, "FILE"), "|")
	return func(typed string) []string {
		return slices.DeleteFunc(p.Paths(typed), func(name string) bool {
			return !strings.HasSuffix(name, "/") && !slices.Contains(types, filepath.Ext(name))
		})
	}
}

// yankForms are the completions of :yank.
var yankForms = []string{
	"cell csv\tthe number under the cursor", "row csv\tthe cursor's row, separated by commas",
	"row numpy\tthe cursor's row, as Python", "tile csv\tthe tile, a line a row",
	"tile numpy\tthe tile, as Python",
	"tile csv reference\twhat the tile is compared with",
}
