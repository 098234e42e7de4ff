package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/keymap"
)

// show changes the view.
func (m *Model) show(s keymap.Scope) tea.Cmd {
	m.view = s
	m.resize(m.w, m.h)
	return tea.Batch(m.askWriter(), m.watchGPU(), m.askScene(), m.loadFragments(), m.loadWalk(), m.changed())
}

// askWho tells who wrote the cell, in full.
func (m *Model) askWho(string) tea.Cmd {
	if !m.movable() {
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

// open is Enter: the cell in Tile, or a switch (Races has its own).
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
	}
	if !m.movable() {
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
	req := m.nextRequest()
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
