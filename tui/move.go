package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/tui/view"
)

// far is further than any pane reaches.
const far = 1 << 20

// move is hjkl: what it moves is the view's affair.
func (m *Model) move(rows, cols int) tea.Cmd {
	if m.Failing() {
		return m.failure.move(rows + cols)
	}
	return m.Shown().Move(rows, cols)
}

// edge goes to the first or last row or column.
func (m *Model) edge(rows, cols int) tea.Cmd {
	if v, ok := m.Shown().(view.Edger); ok && !m.Failing() {
		return v.Edge(rows, cols)
	}
	return m.move(far*(rows+cols), 0)
}

// pages goes some half pages down or up, as often as the count says.
func (m *Model) pages(halves, dir int) tea.Cmd {
	return m.manyTimes(func() tea.Cmd {
		var cmds []tea.Cmd
		for range halves {
			cmds = append(cmds, m.page(dir))
		}
		return tea.Batch(cmds...)
	})
}

// page goes half a page down or up.
func (m *Model) page(dir int) tea.Cmd {
	if v, ok := m.Shown().(view.Pager); ok && !m.Failing() {
		return v.Page(dir)
	}
	return m.move(dir*max(1, m.body/2), 0)
}
