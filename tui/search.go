package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/tile"
)

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
