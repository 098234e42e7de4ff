package tui

import (
	"fmt"

	"tilescope/tui/keymap"
	"tilescope/tui/outcome"
)

// current reports whether the run on screen answers the request on screen. Where it does not (another run is under way, was
// cancelled, or could not be made), everything that is drawn of it is dimmed and headed by its own request.
func (m *Model) current() bool {
	return m.run != nil && !m.job.active && m.fail == nil && same(m.run.request, m.req)
}

// outcome is the run on screen as panes are given it.
func (m *Model) outcome() outcome.Outcome {
	if m.run == nil {
		return outcome.Outcome{}
	}
	return outcome.New(inFull(m.run.request), m.run.report, !m.current())
}

// newest is what the last request came to: its failure, else the run on screen; nil before the first has ended.
func (m *Model) newest() *shown {
	if m.fail != nil {
		return m.fail
	}
	return m.run
}

// movable reports whether there are tiles on screen for the cursor to move in.
func (m *Model) movable() bool { return m.run != nil && !m.failing() }

// state is how the request on screen stands, "" where the run on screen answers it.
func (m *Model) state() string {
	switch {
	case m.job.active:
		return "running"
	case m.fail != nil:
		return "failed"
	case m.run != nil && !m.current():
		return "not run"
	}
	return ""
}

// drawsRun reports whether the whole view is made of the run on screen. Those that are not mark what they draw of it themselves:
// Flags lists the next run's switches, Gates what it judged, and Races may show a diagnosis of the request.
func (m *Model) drawsRun() bool {
	switch m.view {
	case keymap.GPU, keymap.Flags, keymap.Gates:
		return false
	case keymap.Races:
		return !m.diagnosing()
	}
	return true
}

// headed is a view's lines as they may be drawn: of a previous run dimmed, with its request in place of the first border.
func (m *Model) headed(lines []string) []string {
	if m.run == nil || m.current() || !m.drawsRun() || len(lines) == 0 {
		return lines
	}
	out := m.fader.Fade(m.th, lines)
	out[0] = m.headline(m.outcome())
	return out
}

// headline is the border above a previous run: whose it is, and what became of the request on screen.
func (m *Model) headline(o outcome.Outcome) string {
	g, note := m.th.Glyph, m.state()
	switch {
	case m.job.active:
		note = "running " + inFull(m.req)
	case m.fail == nil:
		note = fmt.Sprintf("not run: %s · %s runs it", inFull(m.req), m.keys.Label(keymap.Again))
	}
	if m.th.Width(o.Heading())+m.th.Width(note)+6 > m.w {
		note = m.state()
	}
	return m.th.Rule(g.TL, g.TR, o.Heading(), note, m.w, false)
}

// requestChanged gives the panes that mark parts of themselves the request, and how the run on screen stands to it.
func (m *Model) requestChanged() {
	m.refreshFlags()
	m.showRaces()
	m.sizeFailure()
	m.applyFocus()
}
