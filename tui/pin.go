package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/pane/flags"
)

// pinnedMsg is the run that was pinned in an earlier session, run again.
type pinnedMsg struct {
	setup  *configs.Setup
	name   string
	report *debugkern.Report
	err    error
}

// repin runs what an earlier session pinned as A, once, behind the first run: only its setup was remembered.
func (m *Model) repin() tea.Cmd {
	if m.pinned == nil || m.a != nil || m.repinned {
		return nil
	}
	m.repinned = true
	setup, engine, ctx := m.pinned, m.opt.Engine, m.ctx
	req := requestOf(m.req, setup)
	return func() tea.Msg {
		run, err := engine.Run(ctx, req, func(debugkern.Progress) {})
		msg := pinnedMsg{setup: setup, name: title(req), err: err}
		if err == nil {
			msg.report = run.Report
		}
		return msg
	}
}

// requestOf is a request with a setup's choices.
func requestOf(req debugkern.Request, s *configs.Setup) debugkern.Request {
	g := probes.GateNamed(s.Gate)
	req.Target, req.Shape, req.Seed, req.Gate, req.Inject = s.Target, s.Shape, s.Seed, g, s.Inject
	req.Set, req.Faults = s.Flags, s.Faults
	return clone(req)
}

func (m *Model) repinnedRun(msg pinnedMsg) {
	switch {
	case m.pinned != msg.setup: // pinned anew, or unpinned, since
	case msg.err != nil:
		m.pinned = nil
		m.complain("the run pinned as A is gone: " + oneLine(msg.err))
	default:
		m.a = &flags.Pinned{Name: msg.name, Report: msg.report}
		m.refreshFlags()
	}
}

// pin remembers the run on screen as A.
func (m *Model) pin(string) tea.Cmd {
	if m.run == nil {
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
