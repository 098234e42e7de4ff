package tui

import (
	"fmt"
	"path"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/probes"
)

// walkMove is hjkl in the Source view.
func (m *Model) walkMove(rows, cols int) tea.Cmd {
	moved := false
	switch m.focused() {
	case partCode:
		if moved = m.pane.code.Move(rows + cols); moved && m.follow {
			m.pane.ptx.Point(m.pane.code.Cursor())
		}
	case partPTX:
		if moved = m.pane.ptx.Move(rows + cols); moved && m.follow {
			m.followPTX()
		}
	case partRegisters:
		moved = m.pane.regs.Move(rows, cols)
	case partWarps:
		moved = m.pane.warps.Move(rows + cols)
	case partShared:
		return m.nudgeShared(rows, cols)
	}
	return m.scrolled(moved)
}

// followPTX has the source show the line of the instruction under the cursor.
func (m *Model) followPTX() {
	r, ok := m.pane.ptx.Current()
	if !ok || r.Line == 0 || m.run == nil {
		return
	}
	if file, _ := m.pane.code.Cursor(); path.Base(file) == path.Base(r.File) {
		m.pane.code.SetCursor(r.Line)
	}
}

// nudgeShared moves the cell under the cursor: the one cursor of all views, where the array holds its stage.
func (m *Model) nudgeShared(rows, cols int) tea.Cmd {
	_, row, col, ok := m.pane.shared.Current()
	if !ok {
		return m.scrolled(false)
	}
	return m.goToShared(row+rows, col+cols)
}

func (m *Model) goToShared(row, col int) tea.Cmd {
	if !m.pane.shared.SetCursor(row, col) {
		return m.scrolled(false)
	}
	_, row, col, _ = m.pane.shared.Current()
	m.walk.row, m.walk.col, m.walk.writes = row, col, writes{}
	if held, transposed := m.ofStage(); held {
		if transposed {
			row, col = col, row
		}
		c := m.cursor
		c.Row, c.Col = row, col
		m.cursor = m.run.nearest(c)
		return m.moved()
	}
	m.showWalk(false)
	return nil
}

// chooseArray shows a shared array by name; "stage" goes back to the cursor's stage's.
func (m *Model) chooseArray(name string) tea.Cmd {
	if m.run != nil && name != "stage" && !slices.ContainsFunc(m.run.plan.Shared, func(a probes.SharedArray) bool { return a.Name == name }) {
		m.complain(fmt.Sprintf("the kernel has no shared array %q: Tab lists them", name))
		return nil
	}
	m.walk.array = name
	if name == "stage" {
		m.walk.array = ""
	}
	m.walk.row, m.walk.col, m.walk.writes = 0, 0, writes{}
	return tea.Batch(m.toSource(), m.loadWalk())
}

func (m *Model) arrayNames() []string {
	out := []string{"stage\tof the stage under the cursor"}
	if m.run != nil {
		for _, a := range m.run.plan.Shared {
			out = append(out, fmt.Sprintf("%s\t%s %v", a.Name, a.DType, a.Dims))
		}
	}
	return out
}
