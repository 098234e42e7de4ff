package tui

import (
	"strconv"
	"strings"

	"tilescope/tui/keymap"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// tabName is what a view's tab says, brackets or blanks aside.
func (m drawing) tabName(s keymap.Scope) string {
	n := strconv.Itoa(m.Keys.Number(s))
	if m.w >= 120 {
		return n + " " + string(s)
	}
	return n + m.Keys.Tab(s)
}

// tabs: 1Pipe [2Tile] 3Frag …            fixed  Δ ulp  bound derived
func (m drawing) tabs() string {
	l := m.Theme.Line(m.w)
	for _, s := range m.Keys.Scopes() {
		name := m.tabName(s)
		if s == m.view {
			l.Add(m.Theme.Mark, "[").Add(m.Theme.TabOn, name).Add(m.Theme.Mark, "]")
		} else {
			l.Space(1).Add(m.Theme.Tab, name).Space(1)
		}
	}
	note := ""
	if v, ok := m.Shown().(view.Noted); ok {
		note = v.Note()
	}
	if m.zoomed[m.view] {
		note = strings.TrimSpace("zoom  " + note)
	}
	text := m.Theme.Fit(note, l.Left()-1)
	return l.Right(m.Theme.Dim, text, m.w-1).Done()
}

// bottom is the prompt, the status with a run's progress, or the hints.
func (m drawing) bottom() string {
	if _, open := m.prompt.Active(); open {
		line, _ := m.prompt.Line(m.w)
		return line
	}
	l, running := m.Theme.Line(m.w), m.runningText()
	room := m.statusRoom()
	switch {
	case m.Status.Text != "" && m.Status.Bad:
		l.Add(m.Theme.Error, m.Theme.Fit(m.Status.Text, room))
	case m.Status.Text != "":
		l.Add(m.Theme.Notice, m.Theme.Fit(m.Status.Text, room))
	case running == "" && !m.asking():
		m.hints(l)
	}
	if running != "" {
		if l.Col() == 0 {
			l.Add(m.Theme.Running, running)
		} else {
			l.Right(m.Theme.Running, running, m.w)
		}
	}
	return l.Done()
}

// runningText is what runs in the background, how far it has come, and how it is cancelled; "" where nothing
// runs.
func (m drawing) runningText() string {
	cancels := " · " + m.Keys.Label(keymap.Cancel) + " cancels"
	switch {
	case m.Job.Active:
		return progressText(m.Theme, m.Job.Last) + cancels
	case m.Task.Active:
		return progressText(m.Theme, m.Task.Last) + cancels
	}
	for _, w := range m.workers {
		if what, _ := w.Busy(); what != "" {
			return what + cancels
		}
	}
	if m.Hunting() {
		return "searching" + cancels
	}
	return ""
}

// statusRoom is how many columns of the bottom line a status has.
func (m drawing) statusRoom() int {
	if running := m.runningText(); running != "" {
		return m.w - m.Theme.Width(running) - 2
	}
	return m.w
}

// wording is what the help says of keys that mean something else, or nothing (""), to a kernel without
// stages; nil for other kernels.
func (m drawing) wording() map[keymap.Action]string {
	if !m.Stageless() {
		return nil
	}
	out := map[keymap.Action]string{
		keymap.NextStage: "next argument", keymap.PrevStage: "previous argument", keymap.NextTile: "",
		keymap.PrevTile: "",
	}
	if m.view == view.Tile || m.view == view.Pipe {
		if m.Unjudged() {
			for _, a := range []keymap.Action{
				keymap.NextBad, keymap.PrevBad, keymap.BoundUp, keymap.BoundDown,
			} {
				out[a] = ""
			}
		}
		out[keymap.Columns] = "columns: after the launch; next to it before, and the change"
		out[keymap.Diff] = "how the change is measured, where it is shown"
	}
	return out
}

// hints lists keys as far as there is room.
func (m drawing) hints(l *theme.Line) {
	words := m.wording()
	for _, b := range m.Keys.Hints(m.view) {
		if help, other := words[b.Action]; other && help == "" {
			continue
		}
		if n := m.Theme.Width(b.Label) + 1 + len(b.Hint) + 2; n > l.Left() {
			continue
		}
		l.Add(m.Theme.Key, b.Label).Space(1).Add(m.Theme.Help, b.Hint).Space(2)
	}
}
