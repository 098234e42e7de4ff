package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/join"
	"tilescope/tui/keymap"
	"tilescope/tui/outcome"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// View draws the screen: two lines at the top, the view, one line at the bottom.
func (m *Model) View() tea.View {
	lines := m.screen()
	n := 0
	for _, l := range lines {
		n += len(l) + 1
	}
	var b strings.Builder
	b.Grow(n)
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l)
	}
	return tea.NewView(b.String())
}

// frameNow is the screen as the painter wants it.
func (m *Model) frameNow() frame {
	f := frame{lines: m.screen(), w: m.w, modes: modes{title: "tilescope " + m.Req.Target, mouse: m.mouse,
		cursorX: -1}}
	if _, open := m.prompt.Active(); open && !m.small() {
		_, f.cursorX = m.prompt.Line(m.w)
		f.cursorY = m.h - 1
	}
	return f
}

// painted is the model with a painter in place of the library's renderer: its View is what the painter is
// shown.
type painted struct {
	*Model
	painter *painter
	guard   *guard
}

// Init implements tea.Model.
func (p painted) Init() (cmd tea.Cmd) {
	p.guard.caught(join.Catch(func() { cmd = p.Model.Init() }))
	return p.guard.command(cmd)
}

// Update implements tea.Model.
func (p painted) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	p.guard.caught(join.Catch(func() { _, cmd = p.Model.Update(msg) }))
	return p, p.guard.command(cmd)
}

// View implements tea.Model.
func (p painted) View() tea.View {
	p.guard.caught(join.Catch(func() { p.painter.show(p.frameNow()) }))
	return tea.View{}
}

// screen is every line of the terminal, each of its full width.
func (m *Model) screen() []string { return drawing{m}.lines() }

// drawing is the model as it is drawn: it reads it and changes nothing.
type drawing struct{ *Model }

// lines is every line of the terminal, each of its full width.
func (m drawing) lines() []string {
	if m.w <= 0 || m.h <= 0 {
		return nil
	}
	if m.small() {
		return m.card()
	}
	all := make([]string, 0, m.h)
	all = append(all, m.topLine().draw(), m.tabs())
	body := m.middle()
	popup := m.prompt.Popup(m.w, min(10, len(body)-2))
	if popup == nil {
		popup = m.refusal(len(body) / 2)
	}
	if popup != nil {
		body = append(append([]string{}, body[:len(body)-len(popup)]...), popup...)
	}
	all = append(append(all, body...), m.strip()...)
	return append(all, m.bottom())
}

// refused reports whether a refusal, or what else is to be read in full, is longer than the bottom line.
func (m drawing) refused() bool {
	_, open := m.prompt.Active()
	return !open && (m.Status.Bad || m.Status.Whole) && !m.Status.Cut && !m.small() &&
		m.Theme.Width(m.Status.Text) > m.statusRoom()
}

// refusal is that text above the bottom line; nil where the bottom line has room for it.
func (m drawing) refusal(most int) []string {
	if !m.refused() {
		return nil
	}
	var lines []string
	style := m.Theme.Error
	if !m.Status.Bad {
		style = m.Theme.Text
	}
	for _, s := range m.Theme.Wrap(m.Status.Text, m.w-4) {
		lines = append(lines, m.Theme.Line(m.w-2).Space(1).Add(style, s).Done())
	}
	note := ""
	if len(lines)+2 > most {
		note = ":" + string(keymap.Messages) + " has all of it"
	}
	return m.Theme.Box("", note, lines, m.w, min(most, len(lines)+2), true)
}

// card is all that a terminal below 80×24 shows.
func (m drawing) card() []string {
	out := m.Theme.Blank(m.w, m.h)
	text := []string{"tilescope", fmt.Sprintf("%d×%d is too small", m.w, m.h),
		fmt.Sprintf("it needs %d×%d", minWidth, minHeight), m.Keys.Label(keymap.Quit) + " quits"}
	top := max(0, (m.h-len(text))/2)
	for i, s := range text {
		if top+i < m.h {
			out[top+i] = m.Theme.Line(m.w).Pad((m.w-m.Theme.Width(s))/2).Add(m.Theme.Text, s).Done()
		}
	}
	return out
}

// middle is the view, or what lies over it.
func (m drawing) middle() []string {
	if m.asking() {
		return m.consent.pane.View()
	}
	if m.over != nil {
		return m.list.View()
	}
	if m.Failing() {
		return m.failure.lines()
	}
	return m.headed(m.Shown().Lines())
}

// drawsRun reports whether the whole view is made of the run on screen. Those that are not mark what they
// draw of it themselves: Flags lists the next run's switches, Gates what it judged, and Races may show a
// diagnosis of the request.
func (m drawing) drawsRun() bool {
	d, ok := m.Shown().(view.Dependent)
	if !ok {
		return false
	}
	whole, _ := d.OfRun()
	return whole
}

// headed is a view's lines as they may be drawn: of a previous run dimmed, with its request in place of the
// first border.
func (m drawing) headed(lines []string) []string {
	if m.Run == nil || m.Current() || !m.drawsRun() || len(lines) == 0 {
		return lines
	}
	out := m.fader.Fade(m.Theme, lines)
	out[0] = m.headline(m.Outcome())
	return out
}

// headline is the border above a previous run: whose it is, and what became of the request on screen.
func (m drawing) headline(o outcome.Outcome) string {
	g, note := m.Theme.Glyph, m.Standing()
	switch {
	case m.Job.Active:
		note = "running " + request.InFull(m.Req)
	case m.Fail == nil:
		note = fmt.Sprintf("not run: %s · %s runs it", request.InFull(m.Req), m.Keys.Label(keymap.Again))
	}
	if m.Theme.Width(o.Heading())+m.Theme.Width(note)+6 > m.w {
		note = m.Standing()
	}
	return m.Theme.Rule(g.TL, g.TR, o.Heading(), note, m.w, false)
}
