package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/tui/request"
)

// again runs the request on screen once more.
func (m *Model) again(backend string) tea.Cmd {
	req := m.NextRequest()
	said := "running " + request.Title(req)
	if was := req.Backend; backend == "emu" && was != "emu" {
		if was == "" {
			was = "auto"
		}
		said += " on the emulator (:backend " + was + " goes back)"
	} else if backend == "emu" {
		said += " on the emulator, as before"
	}
	req.Backend = backend
	m.Say(said)
	return m.Start(req)
}
