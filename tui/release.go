package tui

import (
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"
)

// release gives memory back to the operating system once work has ended: a diagnosis of a large shape leaves
// a heap of which half is free, and the runtime would keep it for minutes.
type release struct {
	worked bool // something ran since the last release
	seq    int
	after  time.Duration // that nothing has to run for; < 0: never
}

// releaseDelay is long enough that the next step of somebody's work finds the heap as it was.
const releaseDelay = 2 * time.Second

type (
	releaseDueMsg struct{ seq int }
	releasedMsg   struct{}
)

// watch is called after every message: it starts to wait when work has ended.
func (r *release) watch(working bool) tea.Cmd {
	switch {
	case working:
		r.worked = true
		return nil
	case !r.worked || r.after < 0:
		return nil
	}
	r.worked = false
	r.seq++
	seq := r.seq
	return tea.Tick(r.after, func(time.Time) tea.Msg { return releaseDueMsg{seq} })
}

// due releases where nothing has been done since.
func (r *release) due(msg releaseDueMsg, working bool) tea.Cmd {
	if msg.seq != r.seq || working || r.worked {
		return nil
	}
	return func() tea.Msg {
		debug.FreeOSMemory()
		return releasedMsg{}
	}
}
