package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/pane/flags"
	"tilescope/tui/pane/gpu"
	"tilescope/tui/pane/pipe"
	"tilescope/tui/pane/tile"
)

// click focuses the pane under the mouse and moves the cursor to what is drawn there. Places are worked out here from the
// layout, so a click is never judged by an older frame.
func (m *Model) click(e tea.Mouse) tea.Cmd {
	if m.small() || e.Button != tea.MouseLeft {
		return nil
	}
	if m.asking() {
		return nil // a question is answered by a key
	}
	if m.help {
		m.help = false
		return nil
	}
	if e.Y == 1 {
		return m.clickTab(e.X)
	}
	y := e.Y - topLines
	if y < 0 || y >= m.frame.body {
		return nil
	}
	m.status = status{}
	if m.failing() {
		return m.clickFailure(y)
	}
	switch m.view {
	case keymap.GPU:
		return m.clickGPU(e.X, y)
	case keymap.Races:
		return m.clickRaces(e.X, y)
	case keymap.Pipe:
		return m.clickPipe(e.X, y)
	case keymap.Flags:
		return m.clickFlags(e.X, y)
	case keymap.Tile:
		return m.clickTile(e.X, y)
	case keymap.Frag:
		return m.clickFrag(e.X, y)
	case keymap.Gates:
		return m.clickGates(e.X, y)
	case keymap.Source:
		return m.clickWalk(e.X, y)
	}
	return nil
}

// clickTab changes the view.
func (m *Model) clickTab(x int) tea.Cmd {
	col := 0
	for _, s := range keymap.Scopes() {
		if col += len(m.tabName(s)) + 2; x < col {
			return m.show(s)
		}
	}
	return nil
}

func (m *Model) clickPipe(x, y int) tea.Cmd {
	at, where, ok := m.pane.pipe.Hit(x, y)
	if where == pipe.Timeline {
		m.focusOn(partTimeline)
	} else {
		m.focusOn(partDetail)
	}
	if !ok {
		return nil
	}
	if at == m.at() { // a second click on the same place opens it
		return m.open("")
	}
	c := m.cursor
	kv := c.KVTile
	c.Place = at
	if sp := m.run.plan.Stage(at.Stage); !sp.PerTile {
		c.KVTile = kv
	}
	return m.goTo(c)
}

// clickFailure chooses a reason, or the source below.
func (m *Model) clickFailure(y int) tea.Cmd {
	if y >= m.failureHeight() {
		m.focusOn(partFailing)
		return nil
	}
	m.focusOn(partReasons)
	if m.pane.fail.Hit(y) {
		m.followReason()
	}
	return nil
}

// clickRaces focuses the part under the mouse; in the list it chooses, and a second click opens.
func (m *Model) clickRaces(x, y int) tea.Cmd {
	was := m.selected()
	where, ok := m.pane.races.Hit(x, y)
	for name, i := range raceParts {
		if i == where {
			m.focusOn(name)
		}
	}
	switch {
	case ok && was != nil && was == m.selected():
		return m.openFinding()
	case ok:
		return m.askScene()
	}
	return nil
}

// clickGPU chooses a device; a second click on the same one runs there.
func (m *Model) clickGPU(x, y int) tea.Cmd {
	was, _ := m.pane.gpu.Selected()
	where, ok := m.pane.gpu.Hit(x, y)
	m.focusOn(map[int]part{gpu.Devices: partDevices, gpu.Processes: partProcesses, gpu.Checks: partChecks}[where])
	if now, _ := m.pane.gpu.Selected(); ok && was == now {
		return m.openGPU()
	}
	return m.watchGPU()
}

func (m *Model) clickFlags(x, y int) tea.Cmd {
	was := m.pane.flags.Selected()
	where, ok := m.pane.flags.Hit(x, y)
	if where == flags.About {
		m.focusOn(partAbout)
		return nil
	}
	m.focusOn(partList)
	if ok && was == m.pane.flags.Selected() {
		return m.toggle()
	}
	return nil
}

func (m *Model) clickTile(x, y int) tea.Cmd {
	f := m.frame
	switch {
	case x < f.rail:
		m.focusOn(partRail)
		if s, ok := m.pane.rail.Hit(y); ok {
			c := m.cursor
			c.Stage = s
			return m.goTo(c)
		}
		return nil
	case x >= f.rail+f.tile:
		if row, col, ok := m.pane.mini.Hit(x-f.rail-f.tile, y); ok {
			return m.goToCell(row, col)
		}
		return nil
	case y >= f.tileH:
		m.focusOn(partSource)
		return nil
	}
	row, col, column, ok := m.pane.tile.Hit(x-f.rail, y)
	switch column {
	case tile.Kernel:
		m.focusOn(partKernel)
	case tile.Reference:
		m.focusOn(partReference)
	case tile.Error:
		m.focusOn(partError)
	case tile.Emulator:
		m.focusOn(partEmulator)
	}
	if ok {
		return m.goToCell(row, col)
	}
	return nil
}

func (m *Model) goToCell(row, col int) tea.Cmd {
	c := m.cursor
	c.Row, c.Col = row, col
	return m.goTo(c)
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
		m.pane.consent.Scroll(rows)
		return nil
	}
	if m.help {
		m.pane.help.Scroll(rows)
		return nil
	}
	if m.small() || m.run == nil {
		return nil
	}
	y := e.Y - topLines
	switch {
	case m.failing() && y >= m.failureHeight():
		m.pane.failSource.Scroll(rows)
	case m.failing():
		return m.quietly(func() tea.Cmd { m.pane.fail.Move(sign(rows)); m.followReason(); return nil })
	case m.view == keymap.GPU:
		m.pane.gpu.Scroll(rows)
	case m.view == keymap.Races:
		return m.quietly(func() tea.Cmd { return m.moveRaces(m.pane.races.Under(e.X, y), sign(rows)) })
	case m.view == keymap.Source:
		return m.wheelWalk(e.X, y, rows, cols)
	case m.view == keymap.Pipe:
		if _, where, _ := m.pane.pipe.Hit(e.X, y); where == pipe.Timeline {
			return m.quietly(func() tea.Cmd { return m.move(sign(rows), cols) })
		}
		m.pane.pipe.Scroll(rows)
	case m.view == keymap.Flags:
		m.pane.flags.Move(sign(rows))
	case m.view == keymap.Gates:
		m.pane.gates.Scroll(e.X, y, sign(rows))
	case m.view == keymap.Frag:
		return m.quietly(func() tea.Cmd { return m.fragWheel(e.X, y, sign(rows), cols) })
	case m.view == keymap.Tile && y >= m.frame.tileH && m.frame.source > 0 && e.X >= m.frame.rail && e.X < m.frame.rail+m.frame.tile:
		m.pane.source.Scroll(rows)
	case m.view == keymap.Tile:
		return m.quietly(func() tea.Cmd { return m.nudge(rows, cols) })
	}
	return nil
}

// quietly does something without leaving a word in the status line.
func (m *Model) quietly(do func() tea.Cmd) tea.Cmd {
	was := m.status
	cmd := do()
	m.status = was
	return cmd
}

func sign(n int) int { return max(-1, min(1, n)) }
