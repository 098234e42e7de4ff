package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
)

// turn is a task that waits for the one under way to end: a file to be written, with what is written in it as
// it was when the command was given.
type turn struct {
	what string
	do   func() tea.Cmd
}

// inTurn starts a task now, or once the one under way, and those that wait already, have ended.
func (m *Model) inTurn(what string, do func() tea.Cmd) tea.Cmd {
	if !m.Task.Active && len(m.turns) == 0 {
		return do()
	}
	m.turns = append(m.turns, turn{what, do})
	m.Say(fmt.Sprintf("%s begins when %s has ended, or is cancelled by %s", what, m.Task.What,
		m.Keys.Label(keymap.Cancel)))
	m.Status.Whole = true // the progress of that task takes a part of the line
	return nil
}

// nextTurn is called after every message: it starts the task that waits longest, where none is under way.
func (m *Model) nextTurn() tea.Cmd {
	if m.Task.Active || len(m.turns) == 0 {
		return nil
	}
	next := m.turns[0]
	m.turns = m.turns[1:]
	return next.do()
}
