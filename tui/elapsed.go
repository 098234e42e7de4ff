package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/view"
)

// secondMsg comes once a second while something runs in the background.
type secondMsg struct{}

// seconds asks for the next second where something runs and none is asked for: a terminal in which nothing
// runs is not drawn again.
func (m *Model) seconds() tea.Cmd {
	if m.ticking || m.Pace.Pulse < 0 || !m.working() {
		return nil
	}
	m.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondMsg{} })
}

// second takes up how long everything that runs has run.
func (m *Model) second() tea.Cmd {
	m.ticking = false
	now := m.Now()
	m.Job.Passed(now)
	m.Task.Passed(now)
	return m.Announce(view.Second{})
}
