package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

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

// seeking is a search whose text is being typed: the first match of the text so far is on screen.
type seeking struct {
	view keymap.Scope
	over *overlay       // the list that is searched, nil: the view is
	back func() tea.Cmd // to where the search began
	was  string         // what was looked for before
	text string         // that is on screen
	said view.Status    // what the search for it came to
}

// beginSearch notes where a search that will be typed begins; nil where what is on screen cannot be put back.
func (m *Model) beginSearch() *seeking {
	s := &seeking{view: m.view, over: m.over, was: m.search[m.view]}
	if v, ok := m.Shown().(view.Searcher); m.over == nil && ok {
		s.back = v.Here()
		return s
	} else if m.over == nil {
		return nil
	}
	s.was = m.over.match
	back := m.list.Here()
	s.back = func() tea.Cmd {
		back()
		return nil
	}
	return s
}

// seeks reports whether a search is being typed, of what is still on screen.
func (m *Model) seeks() bool {
	lead, open := m.prompt.Active()
	return open && lead == "/" && m.seek != nil && m.seek.view == m.view && m.seek.over == m.over
}

// typed shows the first match of a search's text so far, from where the search began. What that comes to is
// no message yet: it stands at the end of the prompt.
func (m *Model) typed() tea.Cmd {
	s := m.seek
	if !m.seeks() || s.text == m.prompt.Text() {
		return nil
	}
	s.text = m.prompt.Text()
	if s.text == "" {
		m.prompt.SetNote("")
		return m.leaveSearch(s)
	}
	return m.overheard(func() tea.Cmd { return tea.Batch(s.back(), m.lookFor(s.text)) })
}

// overheard does something for a search that is being typed.
func (m *Model) overheard(do func() tea.Cmd) tea.Cmd {
	return m.Quietly(func() tea.Cmd {
		m.Clear()
		cmd := do()
		m.seek.said = m.Status
		m.prompt.SetNote(m.Status.Text)
		return cmd
	})
}

// leaveSearch goes back to where a search began, and to what was looked for there.
func (m *Model) leaveSearch(s *seeking) tea.Cmd {
	return m.Quietly(func() tea.Cmd {
		cmd := s.back()
		if s.over != nil {
			s.over.match = s.was
			m.list.Mark(s.was)
		} else if err := m.setSearch(s.was); err != nil {
			m.setSearch("")
		}
		return cmd
	})
}

// found takes what a search through the tiles has come to.
func (m *Model) found(msg view.Found) tea.Cmd {
	if m.seeks() {
		return m.overheard(func() tea.Cmd { return m.TakeFound(msg) })
	}
	return m.TakeFound(msg)
}

// abandonSearch is Esc at the prompt of a search.
func (m *Model) abandonSearch() tea.Cmd {
	s, seeks := m.seek, m.seeks()
	m.seek = nil
	if !seeks || s.text == "" {
		return nil
	}
	return m.leaveSearch(s)
}

// startSearch is Enter at the prompt of a search: what it came to while it was typed is on screen.
func (m *Model) startSearch(text string) tea.Cmd {
	s := m.seek
	m.seek = nil
	switch {
	case s == nil || s.view != m.view || s.over != m.over || s.text != text || text == "":
		return m.lookFor(text)
	case s.said.Bad:
		m.Complain(s.said.Text)
	case s.said.Text != "" && !m.Hunting():
		m.Say(s.said.Text)
	}
	return nil
}

// lookFor looks for a text and goes to its first match.
func (m *Model) lookFor(text string) tea.Cmd {
	if m.over != nil {
		return m.findListed(text, 0)
	}
	if _, ok := m.Shown().(view.Searcher); !ok {
		m.Say(fmt.Sprintf("%s has no search", m.view))
		return nil
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
	if _, ok := m.Shown().(view.Filterer); !ok {
		m.Say(fmt.Sprintf("%s has no filter", m.view))
		return nil
	}
	if err := m.setFilter(text); err != nil {
		m.Complain(err.Error())
		return nil
	}
	v, counts := m.Shown().(view.Counter)
	switch {
	case text == "":
		m.Say("filter cleared")
	case counts && v.Matching() == 0:
		m.Complain(fmt.Sprintf("nothing here matches %s, so that nothing is shown; %s shows all", text,
			m.Keys.Label(keymap.Cancel)))
	default:
		m.Say(fmt.Sprintf("only %s is shown; %s shows all", text, m.Keys.Label(keymap.Cancel)))
	}
	return nil
}
