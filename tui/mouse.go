package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// click focuses the pane under the mouse and moves the cursor to what is drawn there. Places are worked out
// here from the layout, so a click is never judged by an older frame.
func (m *Model) click(e tea.Mouse) tea.Cmd {
	if m.small() || e.Button != tea.MouseLeft {
		return nil
	}
	if m.asking() {
		return nil // a question is answered by a key
	}
	if e.Y == m.h-1 {
		return m.clickBottom(e.X)
	}
	if m.over != nil {
		if m.list.Hit(e.Y - topLines) {
			return m.runListed()
		}
		return nil
	}
	if e.Y == 1 {
		return m.clickTab(e.X)
	}
	y := e.Y - topLines
	if y < 0 || y >= m.body {
		return nil
	}
	m.Clear()
	if m.Failing() {
		m.failure.click(y)
		return nil
	}
	return m.Shown().Click(e.X, y)
}

// clickBottom does what the hint under the mouse says, or cancels what runs.
func (m *Model) clickBottom(x int) tea.Cmd {
	d := drawing{m}
	running := d.runningText()
	_, typing := m.prompt.Active()
	switch {
	case typing:
		return nil
	case running != "" && x >= m.w-m.Theme.Width(running), running != "" && m.Status.Text == "":
		return m.plainKey(escapeKey.String())
	case running != "" || m.Status.Text != "":
		return nil // no hints are drawn
	}
	h, ok := d.hintAt(x)
	if !ok {
		return nil
	}
	if h.key == "" {
		return m.palette().accept(":", strings.TrimPrefix(h.label, ":"))
	}
	var cmds []tea.Cmd
	for _, key := range strings.Fields(h.key) {
		cmds = append(cmds, m.plainKey(key))
	}
	return tea.Batch(cmds...)
}

// clickTab changes the view.
func (m *Model) clickTab(x int) tea.Cmd {
	col := 0
	for _, s := range m.Keys.Scopes() {
		if col += len(drawing{m}.tabName(s)) + 2; x < col {
			return m.Open(s)
		}
	}
	return nil
}

// wheel scrolls what is under the mouse; in a tile it moves the cursor.
func (m *Model) wheel(e tea.Mouse) tea.Cmd {
	rows, cols := 0, 0
	switch e.Button {
	case tea.MouseWheelUp:
		rows = -3
	case tea.MouseWheelDown:
		rows = 3
	case tea.MouseWheelLeft:
		cols = -1
	case tea.MouseWheelRight:
		cols = 1
	}
	if e.Mod.Contains(tea.ModShift) {
		rows, cols = 0, rows/3
	}
	if m.asking() {
		m.consent.pane.Scroll(rows)
		return nil
	}
	if m.over != nil {
		m.list.Scroll(rows)
		return nil
	}
	if m.small() || m.Run == nil {
		return nil
	}
	y := e.Y - topLines
	if m.Failing() {
		m.failure.wheel(y, rows)
		return nil
	}
	return m.Shown().Wheel(e.X, y, rows, cols)
}
