package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/view"
)

// hoster is an engine whose workers can run on another machine. See debugkern.Session.
type hoster interface {
	Host() string
	SetHost(name string) error
}

var _ hoster = (*debugkern.Session)(nil)

// hostMsg is the machine that later runs are executed on, or why it stays the one before.
type hostMsg struct {
	name  string
	reset string // the machine before, where :reset goes back to this one
	err   error
}

// host is the other machine that executes, "" for this one.
func host(engine view.Engine) string {
	if h, ok := engine.(hoster); ok {
		return h.Host()
	}
	return ""
}

// chooseHost is :host. Closing what is open on the machine before may take a moment.
func (p palette) chooseHost(arg string) tea.Cmd {
	engine, ok := p.Engine.(hoster)
	if !ok {
		p.Complain("this engine executes on this machine alone")
		return nil
	}
	return func() tea.Msg { return hostMsg{name: arg, err: engine.SetHost(arg)} }
}

// reset is :reset: it runs the kernel with nothing switched, on this machine.
func (p palette) reset(string) tea.Cmd {
	was := host(p.Engine)
	if was == "" {
		return p.ChooseDefaults()
	}
	engine := p.Engine.(hoster)
	return func() tea.Msg { return hostMsg{reset: was, err: engine.SetHost("")} }
}

// hostChosen runs again on the machine that was chosen.
func (m *Model) hostChosen(msg hostMsg) tea.Cmd {
	if msg.err != nil {
		m.Complain(msg.err.Error())
		return nil
	}
	if msg.reset != "" {
		changed := m.Announce(view.HostChanged{})
		return tea.Batch(changed, m.ChooseDefaults("without host "+msg.reset))
	}
	said := "workers run on this machine"
	if msg.name != "" {
		said = "workers run on " + msg.name
	}
	run := m.Start(m.NextRequest())
	m.Say(said)
	return tea.Batch(m.Announce(view.HostChanged{}), run)
}
