package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// cancel is Esc: the run, then what the view waits for, then other work in the background, then search and
// filter, then back to the view from which this one was opened.
func (m *Model) cancel(string) tea.Cmd {
	switch {
	case m.Job.Active:
		m.Job.Stop()
		m.Job.Gen++ // whatever it still reports is stale
		m.Say("cancelled; " + m.Keys.Label(keymap.Again) + " runs again")
		m.draw()
		m.Announce(view.RequestChanged{})
	case m.cancelWork(true):
	case m.uncover():
	case m.Task.Active:
		m.CancelTask()
	case m.Hunting():
		m.CancelHunt()
	case m.cancelWork(false):
	case m.tour != nil:
		return m.endTour(false)
	case m.search[m.view] != "" || m.filter[m.view] != "":
		m.setSearch("")
		m.setFilter("")
		m.Say("search and filter cleared")
	default:
		if cmd, ok := m.leaveView(); ok {
			return cmd
		}
		m.Show(fmt.Sprintf("nothing to cancel: %s quits", m.Keys.Label(keymap.Quit))) // no message is kept
	}
	return nil
}

// uncover closes what is open on top of the view on screen, a failure over the previous run among it, and
// reports whether there was something.
func (m *Model) uncover() bool {
	if m.Failing() && m.failure.close() {
		return true
	}
	if v, ok := m.Shown().(view.Covered); ok && v.Uncover() {
		return true
	}
	if m.zoomed[m.view] {
		m.zoom("")
		return true
	}
	return false
}

// cancelWork ends one view's work, of those that are waited for or of the others, and reports whether there
// was any.
func (m *Model) cancelWork(waited bool) bool {
	for _, w := range m.workers {
		if what, waits := w.Busy(); what != "" && waits == waited && w.Cancel() {
			return true
		}
	}
	return false
}

// working reports whether anything runs that a person can cancel.
func (m *Model) working() bool {
	return m.Job.Active || m.Hunting() || m.Task.Active ||
		slices.ContainsFunc(m.workers, func(w view.Worker) bool {
			what, _ := w.Busy()
			return what != ""
		})
}

// interrupt is Ctrl-C: running work, else the program.
func (m *Model) interrupt(string) tea.Cmd {
	if m.working() {
		return m.cancel("")
	}
	return tea.Quit
}

// leave ends the program. Where a file that was asked for is not written yet, the first time says so.
func (m *Model) leave(string) tea.Cmd {
	what := m.unwritten()
	if what == "" || m.leaving {
		return tea.Quit
	}
	m.leaving = true
	m.Complain(fmt.Sprintf("%s has not ended: %s again leaves without it", what, m.Keys.Label(keymap.Quit)))
	return nil
}

// unwritten is the task that writes a file, of those under way and those that wait; "" where none does.
func (m *Model) unwritten() string {
	if m.Task.Active && m.Task.Writes {
		return m.Task.What
	}
	for _, t := range m.turns {
		return t.what
	}
	return ""
}
