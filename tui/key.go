package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/theme"
)

// handler acts on a key; arg is the key, or the character after a prefix.
type handler func(m *Model, arg string) tea.Cmd

// escapeKey is Esc.
var escapeKey = tea.KeyPressMsg{Code: tea.KeyEscape}

// key routes a key: an open prompt, question or help first, then the table. A terminal sends Esc and a key in
// quick succession as the same bytes as Alt and the key; where Alt with the key means nothing, it was Esc,
// then the key.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	if bare, ok := withoutAlt(msg); ok && !m.means(msg) {
		return tea.Batch(m.key(escapeKey), m.key(bare))
	}
	m.count = 0
	if _, open := m.prompt.Active(); open {
		return tea.Batch(m.promptKey(msg), m.typed())
	}
	name := msg.String()
	if m.asking() {
		return m.answer(name)
	}
	m.repeat = nil
	if m.digit(name) || m.counted(name) {
		return nil
	}
	cmd := m.plainKey(name)
	m.teachCount(name)
	return cmd
}

// plainKey looks a key up in the table, and does what it means.
func (m *Model) plainKey(name string) tea.Cmd {
	if b, _, _, ok := m.Keys.Match(m.view, "", name); ok && b.Action == keymap.Cancel && m.pending != "" {
		m.pending = ""
		m.Clear()
		return nil
	}
	b, arg, more, ok := m.Keys.Match(m.view, m.pending, name)
	switch {
	case !ok && m.pending != "":
		m.Complain(fmt.Sprintf("%s %s is not bound", m.pending, name))
		m.pending = ""
		return nil
	case !ok:
		m.Complain(fmt.Sprintf("%s is not bound: %s lists the keys", name, m.Keys.Label(keymap.Help)))
		return nil
	case more:
		m.pending = name
		m.Show(name + " …")
		return nil
	}
	m.pending = ""
	m.leaving = m.leaving && (b.Action == keymap.Quit || b.Action == keymap.Command) // :quit too
	refused := drawing{m}.refused()
	m.Clear()
	if refused && (b.Action == keymap.Quit || b.Action == keymap.Cancel && !m.working()) {
		return nil // it has closed what was to be read in full
	}
	if m.over != nil && !m.small() {
		if cmd, taken := m.listKey(b); taken {
			return cmd
		}
	}
	return m.act(b, arg)
}

// withoutAlt is a key pressed with Alt, without it; ok is false where Alt is not pressed.
func withoutAlt(msg tea.KeyPressMsg) (bare tea.KeyPressMsg, ok bool) {
	if !msg.Mod.Contains(tea.ModAlt) {
		return msg, false
	}
	msg.Mod &^= tea.ModAlt
	if msg.Text == "" && msg.Mod&^tea.ModShift == 0 && unicode.IsPrint(msg.Code) {
		msg.Text = string(msg.Code)
		if msg.ShiftedCode != 0 && msg.Mod.Contains(tea.ModShift) {
			msg.Text = string(msg.ShiftedCode)
		}
	}
	return msg, true
}

// means reports whether a key means something where it would go: in an open prompt, or in the table.
func (m *Model) means(msg tea.KeyPressMsg) bool {
	if _, open := m.prompt.Active(); open {
		return keymap.Editing(msg.String()) != keymap.EditInsert
	}
	if m.asking() {
		return keymap.Answering(msg.String()) != keymap.AnswerNone
	}
	_, _, _, ok := m.Keys.Match(m.view, m.pending, msg.String())
	return ok
}

// act carries out a binding, or says why not.
func (m *Model) act(b keymap.Binding, arg string) tea.Cmd {
	if !b.Works(m.view) {
		return m.elsewhere(b)
	}
	if do := m.actions[m.view][b.Action]; do != nil {
		if b.Counts {
			return m.repeated(func() tea.Cmd { return do(arg) })
		}
		return do(arg)
	}
	return m.handlers[b.Action](m, arg)
}

// elsewhere says which views a binding belongs to. Where text would follow it, a prompt takes the text: no
// character of it is taken for a key.
func (m *Model) elsewhere(b keymap.Binding) tea.Cmd {
	lead := map[keymap.Action]string{keymap.Search: "/", keymap.Filter: "&"}[b.Action]
	if lead != "" {
		cmd := m.Ask(lead, "")
		m.prompt.SetNote(fmt.Sprintf("%s has no %s; %s have one", m.view, b.Action, m.viewsOf(b)))
		return cmd
	}
	ways, text := "", fmt.Sprintf("%s (%s) belongs to %s", b.Label, m.brief(b), m.viewsOf(b))
	for _, other := range m.Keys.All() { // views that have the key for something else
		if other.Action == b.Action || len(other.Keys) == 0 || !slices.Contains(other.Keys, b.Keys[0]) {
			continue
		}
		text += fmt.Sprintf(", and (%s) to %s", m.brief(other), m.viewsOf(other))
		if _, ok := m.palette().find(string(other.Action)); ok {
			ways += ":" + string(other.Action) + " works from here; "
		}
	}
	m.Say(ways + text)
	m.Status.Whole = true
	return nil
}

// brief is what a binding does, in a few words.
func (m *Model) brief(b keymap.Binding) string {
	what, _, _ := strings.Cut(m.Worded(b.Help), ";")
	what, _, _ = strings.Cut(what, " (")
	what, _, _ = strings.Cut(what, ": ")
	return what
}

// viewsOf names the views that a binding works in, with their keys.
func (m *Model) viewsOf(b keymap.Binding) string {
	out := ""
	for i, s := range b.In() {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s [%d]", s, m.Keys.Number(s))
	}
	return out
}

// handlers is what an action does that the view on screen leaves to the root. A test compares it with the
// table.
func handlers() map[keymap.Action]handler {
	h := map[keymap.Action]handler{}
	for _, part := range []map[keymap.Action]handler{moving(), acting()} {
		for a, f := range part {
			h[a] = f
		}
	}
	return h
}

func moving() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Left:      func(m *Model, _ string) tea.Cmd { return m.move(0, -m.times()) },
		keymap.Right:     func(m *Model, _ string) tea.Cmd { return m.move(0, m.times()) },
		keymap.Up:        func(m *Model, _ string) tea.Cmd { return m.move(-m.times(), 0) },
		keymap.Down:      func(m *Model, _ string) tea.Cmd { return m.move(m.times(), 0) },
		keymap.NextStage: func(m *Model, _ string) tea.Cmd { return m.StepStage(m.times()) },
		keymap.PrevStage: func(m *Model, _ string) tea.Cmd { return m.StepStage(-m.times()) },
		keymap.NextTile:  func(m *Model, _ string) tea.Cmd { return m.StepTile(m.times()) },
		keymap.PrevTile:  func(m *Model, _ string) tea.Cmd { return m.StepTile(-m.times()) },
		keymap.NextBlock: func(m *Model, _ string) tea.Cmd { return m.StepBlock(m.times()) },
		keymap.PrevBlock: func(m *Model, _ string) tea.Cmd { return m.StepBlock(-m.times()) },
		keymap.Top:       func(m *Model, _ string) tea.Cmd { return m.edge(-1, 0) },
		keymap.Bottom:    func(m *Model, _ string) tea.Cmd { return m.edge(1, 0) },
		keymap.RowStart:  func(m *Model, _ string) tea.Cmd { return m.edge(0, -1) },
		keymap.RowEnd:    func(m *Model, _ string) tea.Cmd { return m.edge(0, 1) },
		keymap.PageDown:  func(m *Model, _ string) tea.Cmd { return m.pages(2, 1) },
		keymap.PageUp:    func(m *Model, _ string) tea.Cmd { return m.pages(2, -1) },
		keymap.HalfDown:  func(m *Model, _ string) tea.Cmd { return m.pages(1, 1) },
		keymap.HalfUp:    func(m *Model, _ string) tea.Cmd { return m.pages(1, -1) },
		keymap.Count:     (*Model).startCount,
		keymap.SetMark:   func(m *Model, name string) tea.Cmd { return m.marks.set(name) },
		keymap.GoMark:    func(m *Model, name string) tea.Cmd { return m.marks.goTo(name) },
		keymap.Back: func(m *Model, _ string) tea.Cmd {
			return m.manyTimes(func() tea.Cmd { return m.History(-1) })
		},
		keymap.Forward: func(m *Model, _ string) tea.Cmd {
			return m.manyTimes(func() tea.Cmd { return m.History(1) })
		},
		keymap.NextPane: func(m *Model, _ string) tea.Cmd { return m.turn(1) },
		keymap.PrevPane: func(m *Model, _ string) tea.Cmd { return m.turn(-1) },
		keymap.View: func(m *Model, key string) tea.Cmd {
			m.digits.key, m.digits.at = key, m.now()
			return m.Open(m.Keys.Scopes()[key[0]-'1'])
		},
		keymap.NextView: func(m *Model, _ string) tea.Cmd { return m.openNext(1) },
		keymap.PrevView: func(m *Model, _ string) tea.Cmd { return m.openNext(-1) },
	}
}

func acting() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Search: func(m *Model, _ string) tea.Cmd { return m.Ask("/", "") },
		keymap.Filter: func(m *Model, _ string) tea.Cmd { return m.Ask("&", m.filter[m.view]) },
		keymap.Palette: func(m *Model, _ string) tea.Cmd {
			return m.setPalette(theme.NextPalette(m.Theme.Palette))
		},
		keymap.Grow:      func(m *Model, _ string) tea.Cmd { return m.growBy(m.times()) },
		keymap.Shrink:    func(m *Model, _ string) tea.Cmd { return m.growBy(-m.times()) },
		keymap.Command:   func(m *Model, _ string) tea.Cmd { return m.Ask(":", "") },
		keymap.Help:      (*Model).openHelp,
		keymap.Messages:  (*Model).openMessages,
		keymap.Tour:      (*Model).startTour,
		keymap.SkipStep:  (*Model).skipStep,
		keymap.Zoom:      (*Model).zoom,
		keymap.Again:     func(m *Model, _ string) tea.Cmd { return m.again(m.NextRequest().Backend) },
		keymap.AgainEmu:  func(m *Model, _ string) tea.Cmd { return m.again("emu") },
		keymap.Yank:      (*Model).yank,
		keymap.Edit:      (*Model).edit,
		keymap.Cancel:    (*Model).cancel,
		keymap.Interrupt: (*Model).interrupt,
		keymap.Suspend:   (*Model).suspend,
		keymap.Quit: func(m *Model, _ string) tea.Cmd {
			if m.uncover() { // only the bare screen is left by q
				return nil
			}
			return m.leave("")
		},
	}
}

// openNext shows the next view, or the one before.
func (m *Model) openNext(n int) tea.Cmd {
	all := m.Keys.Scopes()
	return m.Open(all[(m.Keys.Number(m.view)-1+n+len(all))%len(all)])
}
