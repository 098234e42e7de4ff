package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
)

// move is hjkl: what it moves is the focused pane's affair.
func (m *Model) move(rows, cols int) tea.Cmd {
	switch m.focused() {
	case partDevices, partProcesses, partChecks:
		return m.moveGPU(rows + cols)
	case partReasons, partFailing:
		return m.moveReason(rows + cols)
	case partStory, partFindings, partFinding, partSides, partWriters, partSchedule:
		return m.moveRaces(raceParts[m.focused()], rows+cols)
	case partTimeline:
		if rows != 0 {
			return m.stage(rows)
		}
		return m.kv(cols)
	case partDetail:
		return m.scrolled(m.pane.pipe.Scroll(rows + cols))
	case partSource:
		return m.scrolled(m.pane.source.Scroll(rows + cols))
	case partRail:
		return m.stage(rows + cols)
	case partList:
		if cols != 0 {
			return m.change(cols)
		}
		return tea.Batch(m.scrolled(m.pane.flags.Move(rows)), m.aimAhead())
	case partAbout:
		return tea.Batch(m.scrolled(m.pane.flags.Move(rows+cols)), m.aimAhead())
	case partGates, partNumbers:
		return m.scrolled(m.pane.gates.Move(rows + cols))
	case partKernel, partReference, partError, partEmulator:
		return m.nudge(rows, cols)
	case partGrid, partCells, partBanks:
		return m.fragMove(rows, cols)
	case partCode, partPTX, partRegisters, partShared, partWarps:
		return m.walkMove(rows, cols)
	}
	return m.nothingHere()
}

func (m *Model) nothingHere() tea.Cmd {
	m.say(fmt.Sprintf("nothing to move in %s yet", m.view))
	return nil
}

// scrolled says so where a pane is at its end.
func (m *Model) scrolled(moved bool) tea.Cmd {
	if !moved {
		m.say("nothing further that way")
	}
	return nil
}

// edge goes to the first or last row or column.
func (m *Model) edge(rows, cols int) tea.Cmd {
	const far = 1 << 20
	switch m.focused() {
	case partTimeline:
		if !m.movable() {
			return m.nothingYet()
		}
		c := m.cursor
		list := m.pane.pipe.Stages()
		switch {
		case len(list) == 0:
			return m.nothingHere()
		case rows < 0:
			c.Stage = list[0]
		case rows > 0:
			c.Stage = list[len(list)-1]
		default:
			c.KVTile = far * cols
		}
		return m.goTo(c)
	case partKernel, partReference, partError, partEmulator:
		c := m.cursor
		if rows != 0 {
			c.Row = far * rows
		}
		if cols != 0 {
			c.Col = far * cols
		}
		return m.goTo(c)
	case partGrid, partCells, partBanks:
		return m.fragEdge(rows, cols)
	case partRegisters, partShared:
		return m.walkMove(far*rows, far*cols)
	case partRail:
		return m.nothingHere()
	}
	return m.move(far*(rows+cols), 0)
}

// page goes half a page down or up.
func (m *Model) page(dir int) tea.Cmd {
	switch m.focused() {
	case partKernel, partReference, partError, partEmulator:
		return m.nudge(dir*max(1, m.pane.tile.Page()/2), 0)
	case partTimeline:
		return m.block(dir)
	}
	return m.move(dir*max(1, m.frame.body/2), 0)
}

// turn moves the focus to the next pane of the view.
func (m *Model) turn(n int) tea.Cmd {
	parts := m.parts()
	if len(parts) < 2 {
		m.say(fmt.Sprintf("%s has one pane", m.view))
		return nil
	}
	m.focus[m.view] = ((m.focus[m.view]+n)%len(parts) + len(parts)) % len(parts)
	m.applyFocus()
	m.say("focus: " + string(m.focused()))
	return nil
}

// retrace goes where the history says.
func (m *Model) retrace(c debugkern.Cell, ok bool) tea.Cmd {
	if !ok {
		m.say("no further in the cursor's history")
		return nil
	}
	if m.run == nil {
		return m.nothingYet()
	}
	m.cursor = m.run.nearest(c)
	return m.moved()
}
