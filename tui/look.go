package tui

import tea "charm.land/bubbletea/v2"

// setPalette makes a new theme and gives it to everything that draws.
func (m *Model) setPalette(name string) tea.Cmd {
	th := m.theme(name)
	m.Theme = th
	for _, v := range m.views {
		v.SetTheme(th)
	}
	m.list.SetTheme(th)
	m.prompt.SetTheme(th)
	m.failure.setTheme(th)
	m.consent.pane.SetTheme(th)
	m.Say("palette: " + th.Palette)
	return m.Changed()
}
