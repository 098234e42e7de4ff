package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// Smallest terminal that the views are made for.
const (
	minWidth  = 80
	minHeight = 24
)

// Lines around a view.
const (
	topLines    = 2
	bottomLines = 1
)

// small reports whether the terminal is too small for the views.
func (m *Model) small() bool { return m.w < minWidth || m.h < minHeight }

// resize gives every view its size and focus.
func (m *Model) resize(w, h int) {
	m.w, m.h = w, h
	if m.small() {
		return
	}
	m.body = h - topLines - bottomLines - m.tour.height()
	m.failure.zoomed = m.zoomed[m.view]
	for i, v := range m.views {
		if z, ok := v.(view.Zoomer); ok {
			z.Zoom(m.zoomed[m.Keys.Scopes()[i]])
		}
		v.SetSize(w, m.body)
	}
	m.consent.pane.SetSize(w, m.body)
	m.list.SetSize(w, m.body)
	m.failure.setSize(w, m.body)
	m.applyFocus()
}

// parts lists the panes on screen that can have the focus, in the order of the focus key.
func (m *Model) parts() []view.Part {
	if m.Failing() {
		return failureParts
	}
	return m.Shown().Parts()
}

// focused is the part that has the focus, "" where the view has none.
func (m *Model) focused() view.Part {
	parts := m.parts()
	if len(parts) == 0 {
		return ""
	}
	return parts[min(m.focus[m.view], len(parts)-1)]
}

// Focus implements view.Root.
func (m *Model) Focus(p view.Part) {
	if i := slices.Index(m.parts(), p); i >= 0 {
		m.focus[m.view] = i
		m.applyFocus()
	}
}

// applyFocus says to every view which of its parts has the focus: of those that are not on screen, none.
func (m *Model) applyFocus() {
	at, here := m.focused(), m.Keys.Number(m.view)-1
	if m.Failing() {
		here = -1
	}
	for i, v := range m.views {
		if i == here {
			v.SetFocus(at)
		} else {
			v.SetFocus("")
		}
	}
	m.failure.setFocus(at)
}

// turn moves the focus to the next part of the view.
func (m *Model) turn(n int) tea.Cmd {
	parts := m.parts()
	if len(parts) < 2 {
		m.Say(fmt.Sprintf("%s has one pane", m.view))
		return nil
	}
	m.focus[m.view] = ((m.focus[m.view]+n)%len(parts) + len(parts)) % len(parts)
	m.applyFocus()
	m.Say("focus: " + string(m.focused()))
	return nil
}

// zoom gives the focused part the whole screen, or all parts their place again.
func (m *Model) zoom(string) tea.Cmd {
	if _, ok := m.Shown().(view.Zoomer); !ok && !m.Failing() {
		m.Say(fmt.Sprintf("%s has nothing to enlarge", m.view))
		return nil
	}
	on := !m.zoomed[m.view]
	m.zoomed[m.view] = on
	m.Layout()
	if on {
		m.Say(fmt.Sprintf("zoom on %s: %s or %s shows all panes again", m.focused(),
			m.Keys.Label(keymap.Zoom), m.Keys.Label(keymap.Cancel)))
	}
	return nil
}

// growBy makes the focused part larger or smaller by some steps.
func (m *Model) growBy(n int) tea.Cmd {
	var cmds []tea.Cmd
	for range max(n, -n) {
		cmds = append(cmds, m.grow(view.Sign(n)))
	}
	return tea.Batch(cmds...)
}

// grow makes the focused part larger or smaller.
func (m *Model) grow(n int) tea.Cmd {
	g, ok := m.Shown().(view.Grower)
	if !ok || m.Failing() {
		m.Say(fmt.Sprintf("%s has one pane", m.view))
		return nil
	}
	cmd, grown := g.Grow(n)
	if !grown {
		return cmd
	}
	m.Layout()
	m.Say(fmt.Sprintf("%s: %s", m.focused(), map[bool]string{true: "larger", false: "smaller"}[n > 0]))
	return tea.Batch(cmd, m.Changed())
}
