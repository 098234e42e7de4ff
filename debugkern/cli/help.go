package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the most columns that help takes.
const helpWidth = 120

// help prints a command's help. It asks the terminal for its size alone, which the system answers: a question
// to the terminal itself, for its background say, would wait for seconds where none comes.
func (a *app) help(c *cobra.Command) {
	h := helpWriter{w: a.Stdout.(*stdout).style, width: helpWidth}
	if f, ok := a.Stdout.(*stdout).Unwrap().(*os.File); ok && term.IsTerminal(f.Fd()) {
		h.bold = colorprofile.Detect(f, os.Environ()) > colorprofile.NoTTY
		if columns, _, err := term.GetSize(f.Fd()); err == nil && columns > 0 {
			h.width = min(columns, helpWidth)
		}
	}
	h.print(c)
}

// helpWriter lays help out for a width in columns.
type helpWriter struct {
	w     io.Writer
	width int
	bold  bool
}

func (h *helpWriter) print(c *cobra.Command) {
	fmt.Fprintln(h.w)
	h.block(2, strings.TrimSpace(cmp.Or(c.Long, c.Short)))
	h.title("usage")
	h.block(4, usageLine(c))
	if c.Example != "" {
		h.title("examples")
		for line := range strings.Lines(c.Example) {
			fmt.Fprintln(h.w, "    "+strings.TrimSpace(line))
		}
	}
	var commands, flags []helpEntry
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			commands = append(commands, helpEntry{
				strings.TrimPrefix(usageLine(sub), c.CommandPath()+" "), sub.Short,
			})
		}
	}
	c.InitDefaultHelpFlag()
	c.Flags().AddFlagSet(c.InheritedFlags()) // in the order of their names, whoever defined them
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, flagEntry(f))
		}
	})
	column := 0
	for _, e := range append(commands, flags...) {
		column = max(column, ansi.StringWidth(e.name))
	}
	h.list("commands", commands, column)
	h.list("flags", flags, column)
	fmt.Fprintln(h.w)
}

// helpEntry is a command or an option in a list.
type helpEntry struct{ name, text string }

// flagEntry describes an option, with its default where the description does not name one and it has one.
func flagEntry(f *pflag.Flag) helpEntry {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + " " + name
	}
	_, text := pflag.UnquoteUsage(f)
	if r, rest := text[:min(1, len(text))], text[min(1, len(text)):]; r != "" {
		text = strings.ToUpper(r) + rest
	}
	switch f.DefValue {
	case "", "false", "0", "[]":
	default:
		text += " (" + f.DefValue + ")"
	}
	return helpEntry{name, text}
}

// usageLine is how a command is typed.
func usageLine(c *cobra.Command) string {
	path, args, _ := strings.Cut(c.Use, " ")
	if c.HasParent() {
		path = c.Parent().CommandPath() + " " + path
	}
	if c.HasAvailableSubCommands() || c.Name() == "help" {
		path += " [command]"
	}
	if args != "" && c.Name() != "help" {
		path += " " + args
	}
	if !c.DisableFlagsInUseLine && (c.HasAvailableLocalFlags() || !c.HasParent()) {
		path += " [--flags]"
	}
	return path
}

func (h *helpWriter) title(text string) {
	text = strings.ToUpper(text)
	if h.bold {
		text = "\x1b[1m" + text + "\x1b[m"
	}
	fmt.Fprintf(h.w, "\n  %s\n\n", text)
}

// block prints text wrapped, indent columns from the left.
func (h *helpWriter) block(indent int, text string) {
	for line := range strings.Lines(wrap(text, max(20, h.width-indent))) {
		fmt.Fprintln(h.w, strings.TrimRight(strings.Repeat(" ", indent)+line, " \n"))
	}
}

// optionName is an option in a text.
var optionName = regexp.MustCompile(`(^|[\s(])--?[a-z][-a-z]*`)

// wrap breaks a text into lines of up to w columns: between words, behind hyphens within them, and never
// within the name of an option.
func wrap(text string, w int) string {
	const whole = "\u2011" // a hyphen that no line ends at
	text = optionName.ReplaceAllStringFunc(text, func(s string) string {
		return strings.ReplaceAll(s, "-", whole)
	})
	return strings.ReplaceAll(ansi.Wordwrap(text, w, ""), whole, "-")
}

// list prints entries whose descriptions begin in one column and are wrapped there; where the terminal is too
// narrow for that, below the names.
func (h *helpWriter) list(title string, entries []helpEntry, column int) {
	if len(entries) == 0 {
		return
	}
	h.title(title)
	const indent, gap, least = 4, 2, 30
	at := indent + column + gap
	if h.width-at < least {
		at = 2 * indent
	}
	for _, e := range entries {
		line := strings.Repeat(" ", indent) + e.name
		used := indent + ansi.StringWidth(e.name)
		if used+gap > at {
			fmt.Fprintln(h.w, line)
			line, used = "", 0
		}
		text := wrap(e.text, max(20, h.width-at))
		first, rest, more := strings.Cut(text, "\n")
		fmt.Fprintln(h.w, strings.TrimRight(line+strings.Repeat(" ", at-used)+first, " "))
		if more {
			h.block(at, rest)
		}
	}
}
