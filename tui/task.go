package tui

// task is work beside the runs: a sweep of the gates, a bisection, a comparison. There is one at a time, and it is never
// superseded: it ends, or is cancelled.
type task struct {
	job
	what string
}

// begin starts a task, unless one is under way.
func (m *Model) begin(what string) bool {
	if m.task.active {
		m.complain(m.task.what + " is under way: Esc cancels it")
		return false
	}
	m.task.what, m.task.task = what, true
	m.task.begin(m.ctx)
	return true
}

// cancelTask ends the task under way; whatever it still reports is stale, but for what it has finished.
func (m *Model) cancelTask() {
	m.task.stop()
	m.say(m.task.what + " cancelled")
}
