package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
)

// task is work beside the runs: a sweep of the gates, a bisection, a comparison. There is one at a time, and it is never
// superseded: it ends, or is cancelled.
type task struct {
	job
	what string
}

// taskMsg tells how far a task has come.
type taskMsg struct {
	gen int
	p   debugkern.Progress
}

// begin starts a task, unless one is under way.
func (m *Model) begin(what string) bool {
	if m.task.active {
		m.complain(m.task.what + " is under way: Esc cancels it")
		return false
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.task = task{what: what, job: job{gen: m.task.gen + 1, active: true, ctx: ctx, cancel: cancel, updates: make(chan debugkern.Progress, 1)}}
	return true
}

// listenTask waits for a task's next progress, or its end.
func listenTask(t task) tea.Cmd {
	return func() tea.Msg {
		select {
		case p := <-t.updates:
			return taskMsg{t.gen, p}
		case <-t.ctx.Done():
			return nil
		}
	}
}

func (m *Model) tasked(msg taskMsg) tea.Cmd {
	if msg.gen != m.task.gen || !m.task.active {
		return nil
	}
	m.task.last = msg.p
	return listenTask(m.task)
}

// cancelTask ends the task under way; whatever it still reports is stale, but for what it has finished.
func (m *Model) cancelTask() {
	m.task.stop()
	m.say(m.task.what + " cancelled")
}
