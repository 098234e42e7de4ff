package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/join"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/pipe"
	"tilescope/tui/theme"
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
	f := frame{lines: m.screen(), w: m.w, modes: modes{title: "tilescope " + m.req.Target, mouse: m.mouse, cursorX: -1}}
	if _, open := m.pane.prompt.Active(); open && !m.small() {
		_, f.cursorX = m.pane.prompt.Line(m.w)
		f.cursorY = m.h - 1
	}
	return f
}

// painted is the model with a painter in place of the library's renderer: its View is what the painter is shown.
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
func (m *Model) screen() []string {
	if m.w <= 0 || m.h <= 0 {
		return nil
	}
	if m.small() {
		return m.card()
	}
	lines := make([]string, 0, m.h)
	lines = append(lines, m.crumbs(), m.tabs())
	body := m.body()
	popup := m.pane.prompt.Popup(m.w, min(10, len(body)-2))
	if popup == nil {
		popup = m.refusal(len(body) / 2)
	}
	if popup != nil {
		body = append(append([]string{}, body[:len(body)-len(popup)]...), popup...)
	}
	lines = append(lines, body...)
	return append(lines, m.bottom())
}

// refusal is a refusal in full, above the bottom line, where that line would cut it; nil where it does not.
func (m *Model) refusal(most int) []string {
	if _, open := m.pane.prompt.Active(); open || !m.status.bad || m.status.cut || m.th.Width(m.status.text) <= m.statusRoom() {
		return nil
	}
	var lines []string
	for _, s := range m.th.Wrap(m.status.text, m.w-4) {
		lines = append(lines, m.th.Line(m.w-2).Space(1).Add(m.th.Error, s).Done())
	}
	return m.th.Box("", "", lines, m.w, min(most, len(lines)+2), true)
}

// card is all that a terminal below 80×24 shows.
func (m *Model) card() []string {
	out := m.th.Blank(m.w, m.h)
	text := []string{"tilescope", fmt.Sprintf("%d×%d is too small", m.w, m.h), fmt.Sprintf("it needs %d×%d", minWidth, minHeight), m.keys.Label(keymap.Quit) + " quits"}
	top := max(0, (m.h-len(text))/2)
	for i, s := range text {
		if top+i < m.h {
			out[top+i] = m.th.Line(m.w).Pad((m.w-m.th.Width(s))/2).Add(m.th.Text, s).Done()
		}
	}
	return out
}

// body is the view, or what lies over it.
func (m *Model) body() []string {
	if m.asking() {
		return m.pane.consent.View()
	}
	if m.help {
		return m.pane.help.View(m.keys, m.view, m.w, m.frame.body)
	}
	if m.failing() {
		return m.failureView()
	}
	return m.headed(m.viewLines())
}

// viewLines are the view's, whether or not the run they show answers the request on screen.
func (m *Model) viewLines() []string {
	switch m.view {
	case keymap.GPU:
		return m.pane.gpu.View()
	case keymap.Races:
		return m.pane.races.View()
	case keymap.Pipe:
		return m.pane.pipe.View()
	case keymap.Tile:
		return m.tileView()
	case keymap.Flags:
		return m.pane.flags.View()
	case keymap.Frag:
		return m.pane.frag.View()
	case keymap.Gates:
		return m.pane.gates.View()
	case keymap.Source:
		return m.walkView()
	}
	return m.th.Blank(m.w, m.frame.body)
}

// tileView joins the Tile view's panes.
func (m *Model) tileView() []string {
	middle := m.pane.tile.View()
	if m.frame.source > 0 {
		middle = append(append(make([]string, 0, m.frame.body), middle...), m.pane.source.View()...)
	}
	if m.frame.rail == 0 {
		return middle
	}
	columns := [][]string{m.pane.rail.View(), middle}
	if m.frame.side > 0 {
		columns = append(columns, m.side())
	}
	return theme.Beside(columns...)
}

// showRun gives the panes the run on screen and the request.
func (m *Model) showRun() {
	if m.run == nil {
		m.pane.pipe.SetData(pipe.Data{Plan: m.outline(), Message: m.idle()})
	} else {
		d := pipeData(m.run, m.outcome())
		d.Hint = fmt.Sprintf("what was captured may be spoilt by it too: %s in view Races says what comes first", m.keys.Label(keymap.Diff))
		m.pane.pipe.SetData(d)
	}
	m.pane.pipe.SetPlace(m.at())
	m.refreshFlags()
	m.showTile()
	m.showSource()
	m.showFailure()
	m.showRaces()
	m.applyFocus()
}

// showSource opens the kernel's source where no writer points into it yet.
func (m *Model) showSource() {
	if m.run == nil {
		return
	}
	file, line := m.sourcePlace()
	m.pane.source.Show(file, m.run.viewer.Source(file), line, "")
}
