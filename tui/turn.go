package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
)

// turn is a task that waits for the one under way to end: a file to be written, with what is written in it as
// it was when the command was given.
type turn struct {
	what  string
	do    func() tea.Cmd
	ready func() bool // what it waits for besides has ended; nil: nothing
}

func (t turn) due() bool { return t.ready == nil || t.ready() }

// inTurn starts a task now, or once the one under way, and those that wait already, have ended.
func (m *Model) inTurn(what string, do func() tea.Cmd) tea.Cmd {
	if !m.Task.Active && !slices.ContainsFunc(m.turns, turn.due) {
		return do()
	}
	m.turns = append(m.turns, turn{what: what, do: do})
	m.Say(fmt.Sprintf("%s begins when %s has ended, or is cancelled by %s", what, m.Task.What,
		m.Keys.Label(keymap.Cancel)))
	m.Status.Whole = true // the progress of that task takes a part of the line
	return nil
}

// nextTurn is called after every message: of the tasks that are due it starts the one that waits longest,
// where none is under way.
func (m *Model) nextTurn() tea.Cmd {
	if m.Task.Active {
		return nil
	}
	i := slices.IndexFunc(m.turns, turn.due)
	if i < 0 {
		return nil
	}
	next := m.turns[i]
	m.turns = slices.Delete(m.turns, i, i+1)
	return next.do()
}
