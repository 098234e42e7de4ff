package tui

import (
	"path/filepath"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

var _ view.Root = (*Model)(nil)

// Open implements view.Root.
func (m *Model) Open(name keymap.Scope) tea.Cmd {
	m.Switch(name)
	return tea.Batch(m.Announce(view.Shown{}), m.Changed())
}

// Switch implements view.Root.
func (m *Model) Switch(name keymap.Scope) {
	if m.path = trail(m.path, m.view, name); name == m.Keys.Scopes()[0] {
		m.path = nil // the first view is where all ways begin
	}
	m.view = name
	m.Layout()
}

// trail are the views through which a person came to one, oldest first, each once: a view that is on it
// already is gone back to.
func trail(came []keymap.Scope, from, to keymap.Scope) []keymap.Scope {
	if from == to {
		return came
	}
	if i := slices.Index(came, to); i >= 0 {
		return came[:i]
	}
	return append(slices.Clone(came), from)
}

// leaveView goes back to the view from which the one on screen was opened, or to the first where none is
// known. It reports whether there is one to go to.
func (m *Model) leaveView() (tea.Cmd, bool) {
	to := m.Keys.Scopes()[0]
	if m.view == to {
		return nil, false
	}
	if n := len(m.path); n > 0 {
		to = m.path[n-1]
	}
	return m.Open(to), true
}

// Showing implements view.Root.
func (m *Model) Showing() keymap.Scope { return m.view }

// Layout implements view.Root.
func (m *Model) Layout() { m.resize(m.w, m.h) }

// Announce implements view.Root.
func (m *Model) Announce(msg tea.Msg) tea.Cmd {
	cmds := make([]tea.Cmd, 0, len(m.views))
	for _, v := range m.views {
		cmds = append(cmds, v.Update(msg))
	}
	if _, ok := msg.(view.RequestChanged); ok {
		m.failure.setSize(m.w, m.body)
		m.applyFocus()
	}
	return tea.Batch(cmds...)
}

// Failing implements view.Root.
func (m *Model) Failing() bool {
	d, ok := m.Shown().(view.Dependent)
	if !m.failure.open() || !ok {
		return false
	}
	_, fails := d.OfRun()
	return fails
}

// NextReason implements view.Root.
func (m *Model) NextReason(dir int) tea.Cmd { return m.failure.move(dir) }

// SourcePlace is the source line that the screen stands for: of the reason of a failure, of what a view's
// cursor is on, of the writer of the cursor's cell, else where the stage first went wrong, else of a finding,
// else the file's beginning.
func (m *Model) SourcePlace() (file string, line int) {
	if r, ok := m.failure.pane.Selected(); m.failure.open() && ok && r.Line > 0 {
		return r.File, r.Line
	}
	if m.Run == nil {
		return "", 0
	}
	if v, ok := m.Shown().(view.Located); ok {
		if file, line, ok := v.SourceLine(); ok {
			return file, line
		}
	}
	if w := m.Writers.Known[m.PlaceOf(m.Cursor)]; w != nil && w.Source != nil {
		return w.Source.File, w.Source.Line
	}
	r := m.Run.Report
	if d := r.Stage(m.Cursor.Stage.String()); d != nil && d.FirstBad != nil && d.FirstBad.Source != nil {
		return d.FirstBad.Source.File, d.FirstBad.Source.Line
	}
	for _, f := range r.Findings {
		if f.Source != nil {
			return f.Source.File, f.Source.Line
		}
	}
	if man, _ := m.Manifest(); man != nil {
		return filepath.Base(man.SourcePath()), 0
	}
	return "", 0
}

// Ask implements view.Root.
func (m *Model) Ask(lead, text string) tea.Cmd {
	if lead == ":" {
		m.prompt.Open(lead, text, m.palette().complete)
	} else {
		m.prompt.Open(lead, text, nil)
	}
	m.seek = nil
	if lead == "/" {
		m.seek = m.beginSearch()
	}
	return nil
}

// SeekConsent implements view.Root.
func (m *Model) SeekConsent(err error) tea.Cmd {
	m.consent.opening = nil
	return m.consent.seek(err, false)
}

// draw has everything drawn again that shows the run on screen, or what stands in its place.
func (m *Model) draw() {
	m.Announce(view.Drawn{})
	m.failure.show()
	m.Layout()
}
