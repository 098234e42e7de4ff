package tui

import (
	tea "charm.land/bubbletea/v2"
	"fmt"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// setSearch has the view look for text, "" for nothing any more.
func (m *Model) setSearch(text string) error {
	if v, ok := m.Shown().(view.Searcher); ok {
		if err := v.Search(text); err != nil {
			return err
		}
	}
	m.search[m.view] = text
	return nil
}

// setFilter has the view show only what matches, "" for all.
func (m *Model) setFilter(text string) error {
	if v, ok := m.Shown().(view.Filterer); ok {
		if err := v.Filter(text); err != nil {
			return err
		}
	}
	m.filter[m.view] = text
	return nil
}

// startSearch begins a search typed at the prompt.
func (m *Model) startSearch(text string) tea.Cmd {
	if m.over != nil {
		return m.findListed(text, 0)
	}
	if err := m.setSearch(text); err != nil {
		m.Complain(err.Error())
		return nil
	}
	if text == "" {
		m.Say("search cleared")
		return nil
	}
	return m.actions[m.view][keymap.NextBad]("")
}

// startFilter begins a filter typed at the prompt.
func (m *Model) startFilter(text string) tea.Cmd {
	if err := m.setFilter(text); err != nil {
		m.Complain(err.Error())
		return nil
	}
	if text == "" {
		m.Say("filter cleared")
	} else {
		m.Say(fmt.Sprintf("only %s is shown; %s shows all", text, m.Keys.Label(keymap.Cancel)))
	}
	return nil
}
