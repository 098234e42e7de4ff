package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/pane/frag"
)

// fragMove is hjkl in the Frag view: grid and tile move the one cursor, the strip scrolls.
func (m *Model) fragMove(rows, cols int) tea.Cmd { return m.moveIn(m.focused(), rows, cols) }

// moveIn moves in one of the view's panes.
func (m *Model) moveIn(at part, rows, cols int) tea.Cmd {
	p := m.pane.frag
	moved := false
	switch at {
	case partBanks:
		if cols != 0 {
			return m.stepLD(cols)
		}
		return m.scrolled(p.Phases(rows))
	case partGrid:
		moved = p.MoveGrid(rows, cols)
	case partCells:
		if m.hasCell(m.cursor.Row+rows, m.cursor.Col+cols) && m.onCursor() {
			return m.nudge(rows, cols)
		}
		moved = p.MoveCell(rows, cols)
	}
	if !moved {
		m.say("edge of the map: H L other kv tiles, J K other stages, o another fragment")
		return nil
	}
	return m.fragMoved()
}

// fragWheel is fragMove for what is under the mouse, wherever the focus is.
func (m *Model) fragWheel(x, y, rows, cols int) tea.Cmd {
	part, _, _, _ := m.pane.frag.Hit(x, y)
	return m.moveIn(fragParts[part], rows, cols)
}

// hasCell reports whether the run's tile at the cursor has a cell.
func (m *Model) hasCell(row, col int) bool {
	if !m.movable() {
		return false
	}
	sp := m.run.plan.Stage(m.cursor.Stage)
	return sp != nil && row >= 0 && col >= 0 && row < sp.Rows && col < sp.Cols
}

// onCursor reports whether the map's cell is the cursor's: a tile narrower than the map does not have them all.
func (m *Model) onCursor() bool {
	row, col := m.pane.frag.Place()
	return row == m.cursor.Row && col == m.cursor.Col
}

// fragMoved takes the run's cursor to where the map's went, as far as the tile has it.
func (m *Model) fragMoved() tea.Cmd {
	row, col := m.pane.frag.Place()
	if !m.movable() {
		return nil
	}
	c := m.cursor
	c.Row, c.Col = row, col
	to := m.run.nearest(c)
	to.KVTile = m.cursor.KVTile
	if to == m.cursor {
		m.showLive()
		return nil
	}
	m.cursor = to
	return m.moved()
}

// fragEdge goes to the first or last lane, element, row or column.
func (m *Model) fragEdge(rows, cols int) tea.Cmd {
	const far = 1 << 12
	p := m.pane.frag
	moved := false
	switch m.focused() {
	case partBanks:
		moved = p.Phases(far * (rows + cols))
	case partGrid:
		moved = p.MoveGrid(far*rows, far*cols)
	default:
		moved = p.MoveCell(far*rows, far*cols)
	}
	if !moved {
		m.say("there already")
		return nil
	}
	return m.fragMoved()
}

// fragNext is n and N: the next entry that the kernel's table has wrong, else the next bad cell.
func (m *Model) fragNext(dir int) tea.Cmd {
	if m.pane.frag.NextWrong(dir) {
		m.say("table and hardware disagree: " + m.pane.frag.CellText())
		return m.fragMoved()
	}
	return m.nextBad(dir)
}

func (m *Model) nextFragment(n int) tea.Cmd {
	name := m.pane.frag.Next(n)
	if name == "" {
		m.say("no fragment maps yet")
		return nil
	}
	m.say("fragment: " + name)
	return nil
}

// otherBackend introspects on the GPU in place of the emulator, or the other way round.
func (m *Model) otherBackend(string) tea.Cmd {
	now := "emu"
	if doc := m.frag.docs[m.fragBackend()]; doc != nil {
		now = doc.Backend.Name
	}
	return m.introspectOn(map[bool]string{true: "cuda", false: "emu"}[now == "emu"])
}

func (m *Model) introspectOn(backend string) tea.Cmd {
	m.frag.backend = backend
	m.say("fragments as read back on " + backend)
	m.showFragments()
	return m.askMaps()
}

func (m *Model) toggleTable() tea.Cmd {
	table, ok := m.pane.frag.ToggleTable()
	switch {
	case !ok:
		m.say("the kernel has no table of its own for this fragment")
	case table:
		m.say("the grid shows the kernel's own table")
	default:
		m.say("the grid shows the hardware's map")
	}
	return nil
}

func (m *Model) stepLD(n int) tea.Cmd {
	m.say(fmt.Sprintf("leading dimension %d", m.pane.frag.StepLD(n)))
	return nil
}

// clickFrag focuses what is under the mouse and moves the cursor there.
func (m *Model) clickFrag(x, y int) tea.Cmd {
	part, i, j, ok := m.pane.frag.Hit(x, y)
	m.focusOn(fragParts[part])
	if !ok {
		return nil
	}
	if part == frag.Grid {
		m.pane.frag.Go(i, j)
	} else {
		m.pane.frag.GoCell(i, j)
	}
	return m.fragMoved()
}

// fragmenting is what the view's own keys do.
func fragmenting() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.NextFrag:   func(m *Model, _ string) tea.Cmd { return m.nextFragment(1) },
		keymap.PrevFrag:   func(m *Model, _ string) tea.Cmd { return m.nextFragment(-1) },
		keymap.Introspect: (*Model).otherBackend,
		keymap.Swizzle: func(m *Model, _ string) tea.Cmd {
			m.say("swizzle: " + m.pane.frag.NextSwizzle())
			return nil
		},
		keymap.Matrix: func(m *Model, _ string) tea.Cmd {
			m.say("moved " + m.pane.frag.ToggleMatrix())
			return nil
		},
	}
}

// fragParts are the view's panes, as the pane counts them.
var fragParts = []part{frag.Grid: partGrid, frag.Tile: partCells, frag.Banks: partBanks}
