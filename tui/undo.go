package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// maxUndo is how many requests undo keeps.
const maxUndo = 200

// undo is the requests of the runs that ended well, each once, oldest first, for :undo and :redo.
type undo struct {
	list    []ran
	at      int  // the one that ran last
	dropped bool // older ones were
}

// ran is a request, and what is known of a file that it runs.
type ran struct {
	req    debugkern.Request
	origin view.Origin
	mine   *configs.Manifest
	opened debugkern.Request
	reopen func(context.Context) (debugkern.Request, error)
	python []string // the words of :open that compiled it
}

// ran notes a run that ended well. What :redo would have run goes, unless it is what :undo or :redo runs.
func (u *undo) ran(m *Model, req debugkern.Request) {
	if m.Replaying() || len(u.list) > 0 && request.Same(u.list[u.at].req, req) {
		return // a replay is for one run
	}
	now := m.as(req)
	if len(u.list) > 0 {
		u.list = u.list[:u.at+1]
	}
	u.list = append(u.list, now)
	if len(u.list) > maxUndo {
		u.list, u.dropped = u.list[1:], true
	}
	u.at = len(u.list) - 1
}

// undo ends a replay, or goes back to the request of the run before; from a request that has not run, to that
// of the last run.
func (m *Model) undo(string) tea.Cmd {
	u := &m.undone
	switch {
	case m.Replaying():
		return m.EndReplay()
	case len(u.list) == 0:
		m.Complain("nothing to undo: no run has ended well yet")
	case !request.Same(u.list[u.at].req, m.Req):
		return m.goBackTo(u.at, "undo: back to")
	case u.at == 0 && u.dropped:
		m.Complain(fmt.Sprintf("nothing to undo: this is the oldest of the %d requests that are kept", maxUndo))
	case u.at == 0:
		m.Complain("nothing to undo: no other request has run before this one")
	default:
		return m.goBackTo(u.at-1, "undo: back to")
	}
	return nil
}

// redo runs again what undo went back from.
func (m *Model) redo(string) tea.Cmd {
	if u := &m.undone; u.at+1 < len(u.list) {
		return m.goBackTo(u.at+1, "redo:")
	}
	m.Complain("nothing to redo: no request was undone since the last one")
	return nil
}

// goBackTo runs a request that ran before.
func (m *Model) goBackTo(at int, verb string) tea.Cmd {
	m.undone.at = at
	return m.back(&m.undone.list[at], verb+" ")
}

// as is a request with what is known of the file that is open.
func (m *Model) as(req debugkern.Request) ran {
	return ran{request.Clone(req), m.Origin(), m.Mine, m.file.opened, m.file.reopen, m.file.words}
}

// back runs a request again that ran before, and says so.
func (m *Model) back(x *ran, says string) tea.Cmd {
	if x.req.Target != m.Req.Target {
		m.Mine, m.file.opened, m.file.reopen = x.mine, x.opened, x.reopen
		m.file.compiledFrom(x.python)
	}
	m.Restore(x.origin)
	m.SayChosen(says + request.InFull(x.req))
	return m.Start(request.Clone(x.req))
}
