package view

import (
	"regexp"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Status is the line at the bottom.
type Status struct {
	Text string
	Bad  bool
	Cut  bool // the whole of it stands elsewhere on the screen
	Log  *Log // every message so far; nil keeps none
	// Whole: it is shown in full above the bottom line where that cuts it, as refusals are
	Whole bool
	kept  bool // it stays until Release: what the background reports goes to the messages alone
}

// Say writes to the status line. While Hold protects the text there, only the messages get the new one.
func (s *Status) Say(text string) {
	if !s.kept {
		s.Show(text)
	}
	s.Log.add(text, false)
}

// Note adds a message and leaves the status line as it is.
func (s *Status) Note(text string) { s.Log.add(text, false) }

// Hold writes what stays on the status line until Release: a result that nobody's key has led to, and that
// background work which it sets off would overwrite. A refusal replaces it.
func (s *Status) Hold(text string) {
	s.kept = false
	s.Say(text)
	s.kept = true
}

// Keep protects what the status line says until Release, as Hold does.
func (s *Status) Keep() { s.kept = true }

// Release lets the status line be overwritten again: a key was pressed, or a new run starts.
func (s *Status) Release() { s.kept = false }

// Show writes to the status line what is true for a moment only, and no message: a key that waits for
// another.
func (s *Status) Show(text string) { *s = Status{Text: text, Log: s.Log} }

// Complain writes a refusal to the status line.
func (s *Status) Complain(text string) {
	*s = Status{Text: text, Bad: true, Log: s.Log}
	s.Log.add(text, true)
}

// ComplainOf writes the first line of an error to the status line; the messages have all of it. elsewhere
// says that the screen shows the whole of it already.
func (s *Status) ComplainOf(err error, elsewhere bool) {
	text := InTerminal(err.Error())
	*s = Status{Text: FirstLine(text), Bad: true, Cut: elsewhere, Log: s.Log}
	s.Log.add(text, true)
}

// Clear empties the status line.
func (s *Status) Clear() { *s = Status{Log: s.Log} }

// Quietly does something without leaving a word in the status line.
func (s *Status) Quietly(do func() tea.Cmd) tea.Cmd {
	was := *s
	if s.Log != nil {
		s.Log.muted++
		defer func() { s.Log.muted-- }()
	}
	cmd := do()
	*s = was
	return cmd
}

// Scrolled says so where a pane is at its end.
func (s *Status) Scrolled(moved bool) tea.Cmd {
	if !moved {
		s.Say("nothing further that way")
	}
	return nil
}

// OneLine is an error in one line.
func OneLine(err error) string { return InTerminal(strings.ReplaceAll(err.Error(), "\n", "; ")) }

var (
	trustOption  = regexp.MustCompile(`tilescope trust (?:'[^']*'|[^\s,]+), or the option --trust for one command`)
	choiceOption = regexp.MustCompile(`--(backend|builder) (auto|emu|cuda|both|embedded|nvrtc|nvcc)\b`)
)

// InTerminal is an error's text with the commands of the terminal in place of the options of the command line
// that do the same: errors are worded for those who start the program with other options.
func InTerminal(text string) string {
	return choiceOption.ReplaceAllString(trustOption.ReplaceAllString(text, ":trust"), ":$1 $2")
}

// FirstLine is the first line of a text.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// The two errors of a stage that legends explain: of one tile or of all.
const (
	WorstErrorHelp = "the error that is the largest share of its cell's bound: that of the cell nearest to its " +
		"bound, or furthest beyond it. Bounds differ by cell, so that another cell may have a larger error"
	MaxErrorHelp = "the largest error of all cells, whatever their bounds"
)

// ULPHelp is what legends say of errors in ulp.
const ULPHelp = "numbers of the tile's type between the kernel's and the reference rounded to that type: 0 where " +
	"the two have the same bits, though the exact reference may differ"

// OnOff writes a switch.
func OnOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Sign is -1, 0 or 1.
func Sign(n int) int { return max(-1, min(1, n)) }
