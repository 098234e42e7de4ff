package tui

import (
	"fmt"
	"strconv"

	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
)

// formula is a stage's name with what it computes.
func (m *Model) formula(s probes.Stage) string {
	if m.run != nil && m.run.plan != nil {
		if sp := m.run.plan.Stage(s); sp != nil && sp.Help != "" {
			return sp.Help
		}
	}
	return s.String()
}

// tabName is what a view's tab says, brackets or blanks aside.
func (m *Model) tabName(s keymap.Scope) string {
	if m.w >= 120 {
		return strconv.Itoa(int(s)) + " " + s.String()
	}
	return strconv.Itoa(int(s)) + s.Tab()
}

// tabs: 1Pipe [2Tile] 3Frag …            fixed  Δ ulp  bound derived
func (m *Model) tabs() string {
	l := m.th.Line(m.w)
	for _, s := range keymap.Scopes() {
		name := m.tabName(s)
		if s == m.view {
			l.Add(m.th.Mark, "[").Add(m.th.TabOn, name).Add(m.th.Mark, "]")
		} else {
			l.Space(1).Add(m.th.Tab, name).Space(1)
		}
	}
	if m.view != keymap.Tile {
		return l.Done()
	}
	s := m.pane.tile.Settings()
	text := fmt.Sprintf("%s Δ%s ≤%s", s.Format, s.Diff, s.Bound)
	if s.Filter != nil {
		text = "&" + s.Filter.Text + " " + text
	}
	if m.match != nil {
		text = "/" + m.match.Text + " " + text
	}
	text = m.th.Fit(text, l.Left()-1)
	return l.Right(m.th.Dim, text, m.w-1).Done()
}

// bottom is the prompt, the status with a run's progress, or the hints.
func (m *Model) bottom() string {
	if _, open := m.pane.prompt.Active(); open {
		line, _ := m.pane.prompt.Line(m.w)
		return line
	}
	l, running := m.th.Line(m.w), m.runningText()
	room := m.statusRoom()
	switch {
	case m.status.text != "" && m.status.bad:
		l.Add(m.th.Error, m.th.Fit(m.status.text, room))
	case m.status.text != "":
		l.Add(m.th.Notice, m.th.Fit(m.status.text, room))
	case running == "" && !m.asking():
		m.hints(l)
	}
	if running != "" {
		if l.Col() == 0 {
			l.Add(m.th.Running, running)
		} else {
			l.Right(m.th.Running, running, m.w)
		}
	}
	return l.Done()
}

// runningText is what runs in the background, how far it has come, and how it is cancelled; "" where nothing runs.
func (m *Model) runningText() string {
	cancels := " · " + m.keys.Label(keymap.Cancel) + " cancels"
	switch {
	case m.job.active:
		return progressText(m.th, m.job.last) + cancels
	case m.task.active:
		return progressText(m.th, m.task.last) + cancels
	case m.race.active:
		return "diagnose " + plainProgress(m.race.last) + cancels
	case m.race.trying:
		return "trying" + cancels
	case m.walk.busy:
		return m.walkProgress() + cancels
	case m.hunt.active:
		return "searching" + cancels
	}
	return ""
}

// statusRoom is how many columns of the bottom line a status has.
func (m *Model) statusRoom() int {
	if running := m.runningText(); running != "" {
		return m.w - m.th.Width(running) - 2
	}
	return m.w
}

// hints lists keys as far as there is room.
func (m *Model) hints(l *theme.Line) {
	for _, b := range m.keys.Hints(m.view) {
		if n := m.th.Width(b.Label) + 1 + len(b.Hint) + 2; n > l.Left() {
			continue
		}
		l.Add(m.th.Key, b.Label).Space(1).Add(m.th.Help, b.Hint).Space(2)
	}
}
