package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/flags"
	"tilescope/tui/pane/tile"
	"tilescope/tui/theme"
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
		return m.scrolled(m.pane.flags.Move(rows))
	case partAbout:
		return m.scrolled(m.pane.flags.Move(rows + cols))
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
		if m.run == nil || m.run.plan == nil {
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

// next is n and N: a match while a search is active, else a bad cell.
func (m *Model) next(dir int) tea.Cmd {
	text := m.search[m.view]
	switch {
	case m.view == keymap.Gates:
		return m.scrolled(m.pane.gates.NextRed(dir))
	case m.view == keymap.Flags && text == "":
		m.say("nothing is searched for: / starts a search")
	case m.view == keymap.Flags:
		if !m.pane.flags.Find(text, dir) {
			m.complain("no match for " + text)
		}
	case m.view == keymap.Pipe && text != "":
		if !m.pane.pipe.FindDetail(text, dir) {
			m.complain("no match for " + text)
		}
	case m.view == keymap.Frag:
		return m.fragNext(dir)
	case m.match != nil && m.view == keymap.Tile:
		return m.searchCells(m.match, dir)
	case m.failing():
		return m.moveReason(dir)
	case m.crossing():
		return m.nextDiffering(dir)
	default:
		return m.nextBad(dir)
	}
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

// show changes the view.
func (m *Model) show(s keymap.Scope) tea.Cmd {
	m.view = s
	m.resize(m.w, m.h)
	return tea.Batch(m.askWriter(), m.watchGPU(), m.askScene(), m.loadFragments(), m.loadWalk(), m.changed())
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

// set changes the Tile view's drawing.
func (m *Model) set(change func(*tile.Settings)) tea.Cmd {
	s := m.pane.tile.Settings()
	heat := s.Heat
	change(&s)
	m.pane.tile.Set(s)
	m.showTile()
	if m.applyFocus(); s.Heat != heat {
		m.resize(m.w, m.h)
	}
	return m.changed()
}

func (m *Model) nextHeat(string) tea.Cmd {
	return m.set(func(s *tile.Settings) {
		s.Heat = s.Heat.Next()
		m.say("heat: " + s.Heat.String())
	})
}

func (m *Model) nextFormat(string) tea.Cmd {
	switch {
	case m.view == keymap.Frag:
		m.say("the tile shows: " + m.pane.frag.NextShow().String())
		return nil
	case m.view == keymap.Source && m.focused() != partShared:
		m.say("registers: " + m.pane.regs.NextFormat().String())
		return nil
	}
	cmd := m.set(func(s *tile.Settings) {
		s.Format = s.Format.Next()
		m.say("numbers: " + s.Format.String())
	})
	m.showWalk(false)
	return cmd
}

func (m *Model) nextDiff(string) tea.Cmd {
	if m.view == keymap.Frag {
		return m.toggleTable()
	}
	return m.set(func(s *tile.Settings) {
		s.Diff = s.Diff.Next()
		m.say("error: " + s.Diff.String())
	})
}

func (m *Model) bound(b cell.Bound) tea.Cmd {
	return m.set(func(s *tile.Settings) {
		s.Bound = b
		m.say("bound: " + b.String())
	})
}

// nextColumns lays what two backends computed side by side, where two did.
func (m *Model) nextColumns(string) tea.Cmd {
	if m.run == nil || m.run.plan == nil {
		return m.nothingYet()
	}
	if m.run.report.Cross == nil && m.run.pair == nil {
		m.say("one backend ran: `:backend both` runs GPU and emulator on the same PTX and lays them side by side here")
		return nil
	}
	return m.set(func(s *tile.Settings) {
		s.Choice = s.Choice.Next()
		m.say("columns: " + s.Choice.Name(m.run.pair != nil))
	})
}

// crossing reports whether the Tile view shows two backends' tiles: then the next cell is one where they differ.
func (m *Model) crossing() bool {
	return m.view == keymap.Tile && m.run != nil && m.run.plan != nil && (m.run.report.Cross != nil || m.run.pair != nil) && m.pane.tile.Settings().Choice != tile.Usual
}

func (m *Model) toggleFollow(string) tea.Cmd {
	m.follow = !m.follow
	if m.view == keymap.Source {
		m.say("source, PTX and kv tile follow the warp: " + onOff(m.follow))
		m.showWalk(m.follow)
		return m.changed()
	}
	m.say("source follows the cell's writer: " + onOff(m.follow))
	return m.changed()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// askWho tells who wrote the cell, in full.
func (m *Model) askWho(string) tea.Cmd {
	if m.run == nil || m.run.plan == nil {
		return m.nothingYet()
	}
	if m.view == keymap.Source {
		return m.whoHere()
	}
	if c := m.placeOf(m.cursor); m.who.known[c] != nil && m.who.told && m.view == keymap.Tile {
		return m.goToWriter(m.who.known[c])
	}
	if m.showWriter() {
		m.sayWriter()
		return nil
	}
	m.who.seq++
	m.who.loud = true
	m.say("executing block " + m.cursor.Block.String() + " again to see who wrote this cell")
	return m.fetchWriter()
}

func (m *Model) nextPalette(string) tea.Cmd { return m.setPalette(theme.NextPalette(m.th.Palette)) }

// setPalette makes a new theme and gives it to the panes.
func (m *Model) setPalette(name string) tea.Cmd {
	m.th = m.theme(name)
	m.pane.pipe.SetTheme(m.th)
	m.pane.tile.SetTheme(m.th)
	m.pane.flags.SetTheme(m.th)
	m.pane.frag.SetTheme(m.th)
	m.pane.gates.SetTheme(m.th)
	m.pane.rail.SetTheme(m.th)
	m.pane.source.SetTheme(m.th)
	m.pane.mini.SetTheme(m.th)
	m.pane.help.SetTheme(m.th)
	m.pane.prompt.SetTheme(m.th)
	m.pane.gpu.SetTheme(m.th)
	m.pane.fail.SetTheme(m.th)
	m.pane.races.SetTheme(m.th)
	m.pane.failSource.SetTheme(m.th)
	m.pane.code.SetTheme(m.th)
	m.pane.ptx.SetTheme(m.th)
	m.pane.regs.SetTheme(m.th)
	m.pane.shared.SetTheme(m.th)
	m.pane.warps.SetTheme(m.th)
	m.say("palette: " + m.th.Palette)
	return m.changed()
}

// grow makes the focused pane larger or smaller.
func (m *Model) grow(n int) tea.Cmd {
	if m.view == keymap.Frag {
		return m.stepLD(n)
	}
	switch at := m.focused(); at {
	case partTimeline:
		m.pane.pipe.Grow(-n)
	case partDetail:
		m.pane.pipe.Grow(n)
	case partList:
		m.pane.flags.Grow(n)
	case partAbout:
		m.pane.flags.Grow(-n)
	case partGates:
		m.pane.gates.Grow(n)
	case partNumbers:
		m.pane.gates.Grow(-n)
	case partRail:
		m.sizes.rail = max(-6, min(16, m.sizes.rail+2*n))
	case partSource:
		m.sizes.source = max(-6, min(20, m.sizes.source+2*n))
	case partKernel, partReference, partError, partEmulator:
		return tea.Batch(m.set(func(s *tile.Settings) {
			i := map[part]int{partKernel: tile.Kernel, partReference: tile.Reference, partError: tile.Error, partEmulator: tile.Emulator}[at]
			w := s.Weight[i]
			if w == 0 {
				w = 10
			}
			s.Weight[i] = max(5, min(30, w+2*n))
			m.say(fmt.Sprintf("%s: width %d", at, s.Weight[i]))
		}))
	case partCode, partPTX, partRegisters, partShared, partWarps:
		m.growWalk(at, n)
	default:
		m.say(fmt.Sprintf("%s has one pane", m.view))
		return nil
	}
	m.resize(m.w, m.h)
	m.say(fmt.Sprintf("%s: %s", m.focused(), map[bool]string{true: "larger", false: "smaller"}[n > 0]))
	return m.changed()
}

// open is Enter: the cell in Tile, or a switch.
func (m *Model) open(string) tea.Cmd {
	switch m.view {
	case keymap.GPU:
		return m.openGPU()
	case keymap.Flags:
		if m.focused() == partAbout {
			return m.openVersus()
		}
		return m.toggle()
	case keymap.Gates:
		return m.openGate()
	case keymap.Source:
		return m.openHere()
	case keymap.Races:
		m.say("no findings to open: the race checker is to come; findings of the run stand in Pipe [1]")
		return nil
	}
	if m.run == nil || m.run.plan == nil {
		return m.nothingYet()
	}
	c := m.placeOf(m.cursor)
	if first, ok := m.firstBadIn(c.Place); ok {
		return tea.Batch(m.show(keymap.Tile), m.goTo(first))
	}
	return m.show(keymap.Tile)
}

// firstBadIn is the stage's first bad cell where it lies in that very tile.
func (m *Model) firstBadIn(p debugkern.Place) (debugkern.Cell, bool) {
	c, ok := m.run.badOf(p.Stage.String())
	return c, ok && m.placeOf(c).Place == p
}

// again runs the request on screen once more.
func (m *Model) again(backend string) tea.Cmd {
	if m.view == keymap.Gates {
		return m.startSweep(m.gateRows(), backend)
	}
	req := clone(m.req)
	said := "running " + title(req)
	if was := req.Backend; backend == "emu" && was != "emu" {
		if was == "" {
			was = "auto"
		}
		said += " on the emulator (:backend " + was + " goes back)"
	} else if backend == "emu" {
		said += " on the emulator, as before"
	}
	req.Backend = backend
	m.say(said)
	return m.start(req)
}

// pin remembers the run on screen as A.
func (m *Model) pin(string) tea.Cmd {
	if m.run == nil || m.run.report == nil {
		return m.nothingYet()
	}
	m.a = &flags.Pinned{Name: m.run.name, Report: m.run.report}
	setup := setupOf(m.run.request)
	m.pinned = &setup
	m.alone()
	m.say("A is " + m.run.name + ": switch something, and B stands beside it")
	m.refreshFlags()
	return m.changed()
}

func (m *Model) unpin(string) tea.Cmd {
	if m.a == nil && m.pinned == nil {
		m.say("no run is pinned: a pins this one")
		return nil
	}
	m.a, m.pinned = nil, nil
	m.alone()
	m.say("A unpinned")
	m.refreshFlags()
	return tea.Batch(m.loadTile(), m.changed())
}

// setSearch sets what n and N look for in this view.
func (m *Model) setSearch(text string) {
	m.search[m.view] = text
	switch m.view {
	case keymap.Flags:
		m.pane.flags.SetMatch(text)
	case keymap.Pipe:
		m.pane.pipe.SetMatch(text)
	case keymap.Tile:
		if text == "" {
			m.match = nil
		}
	}
}

// setFilter shows only what matches in this view.
func (m *Model) setFilter(text string) {
	m.filter[m.view] = text
	switch m.view {
	case keymap.Races:
		m.pane.races.SetFilter(text)
	case keymap.Flags:
		m.pane.flags.SetFilter(text)
	case keymap.Pipe:
		m.pane.pipe.SetFilter(text)
	case keymap.Tile:
		if text == "" {
			m.set(func(s *tile.Settings) { s.Filter = nil })
		}
	}
}

// startSearch begins a search typed at the prompt.
func (m *Model) startSearch(text string) tea.Cmd {
	if m.view == keymap.Tile && text != "" {
		match, err := cell.ParseMatch(text)
		if err != nil {
			m.complain(err.Error())
			return nil
		}
		m.match = match
	}
	m.setSearch(text)
	if text == "" {
		m.say("search cleared")
		return nil
	}
	return m.next(1)
}

// startFilter begins a filter typed at the prompt.
func (m *Model) startFilter(text string) tea.Cmd {
	var match *cell.Match
	if m.view == keymap.Tile && text != "" {
		var err error
		if match, err = cell.ParseMatch(text); err != nil {
			m.complain(err.Error())
			return nil
		}
	}
	m.setFilter(text)
	if m.view == keymap.Tile {
		m.set(func(s *tile.Settings) { s.Filter = match })
	}
	m.say(map[bool]string{true: "filter cleared", false: "only " + text + " is shown; Esc shows all"}[text == ""])
	return nil
}
