package tui

import (
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// maxCount is the largest count before a motion.
const maxCount = 9999

// counting is a count that is being typed: the key of action Count, then digits. A digit without that key
// shows a view, at once and for good: no motion after it is carried out in another view.
type counting struct {
	on bool
	n  int
}

// digits is the last view's key that was pressed, if no other key has followed it, and whether the hint on
// how to type a count was shown.
type digits struct {
	key    string
	at     time.Time
	taught bool
}

// hurry is how soon a motion follows a digit that was meant as a count.
const hurry = 300 * time.Millisecond

// repeating is an action that is carried out again whenever the last time has ended.
type repeating struct {
	do   func() tea.Cmd
	left int
	view keymap.Scope
}

// times is the count of the motion that is being carried out, 1 without one.
func (m *Model) times() int { return max(1, m.count) }

// startCount begins a count.
func (m *Model) startCount(string) tea.Cmd {
	m.typing = counting{on: true}
	m.showCount("")
	return nil
}

// showCount shows the count that is being typed, with a note on it.
func (m *Model) showCount(note string) {
	n := ""
	if m.typing.n > 0 {
		n = strconv.Itoa(m.typing.n)
	}
	m.Show(m.Keys.Label(keymap.Count) + n + " …  then a motion" + note)
}

// digit takes a key that belongs to the count being typed; any other key ends it, and taken is false.
func (m *Model) digit(key string) (taken bool) {
	d, isDigit := keymap.Digit(key)
	note := ""
	switch n := 10*m.typing.n + d; {
	case !m.typing.on:
		return false
	case isDigit && n > maxCount:
		note = fmt.Sprintf("; %s is left out, a count is at most %d", key, maxCount)
	case isDigit:
		m.typing.n = n
	case key == keymap.Backspace && m.typing.n > 0:
		m.typing.n /= 10
	default:
		return false
	}
	m.showCount(note)
	return true
}

// counted ends the typing of a count with the key that follows it: a motion is carried out that often.
// refused reports that the key is none, which the status line then says; nothing is to be carried out.
func (m *Model) counted(key string) (refused bool) {
	typed := m.typing
	m.typing, m.count = counting{}, 0
	if !typed.on {
		return false
	}
	b, _, more, ok := m.Keys.Match(m.view, "", key)
	switch {
	case ok && !more && b.Counts && (b.Works(m.view) || m.over != nil):
		m.count = typed.n
		return false
	case ok && !more && b.Action == keymap.Cancel:
		m.Clear()
	default:
		m.Complain(fmt.Sprintf("%s takes no count", key))
	}
	return true
}

// teachCount says once a session how a count is typed, to somebody who types it as in other programs: the
// digit of a view, and a motion at once after it.
func (m *Model) teachCount(key string) {
	last := m.digits
	if key == last.key {
		return
	}
	m.digits.key = ""
	b, _, more, ok := m.Keys.Match(m.view, "", key)
	if last.taught || last.key == "" || m.now().Sub(last.at) >= m.window || !ok || more || !b.Counts ||
		m.Status.Bad {
		return
	}
	m.digits.taught = true
	text := fmt.Sprintf("%s shows view %s; a count is typed with %s: %[3]s%[1]s%[4]s", last.key, m.view,
		m.Keys.Label(keymap.Count), key)
	if m.Status.Text != "" { // that the motion went nowhere
		text = m.Status.Text + "; " + text
	}
	m.Say(text)
}

// repeated carries out an action as often as the count says: the next time when the last one has ended.
func (m *Model) repeated(do func() tea.Cmd) tea.Cmd {
	if n := m.times() - 1; n > 0 {
		m.repeat = &repeating{do: do, left: n, view: m.view}
		m.Log.Passing = true
	}
	return tea.Batch(do(), m.goOn())
}

// goOn repeats an action whose last time has ended, unless that was refused.
func (m *Model) goOn() tea.Cmd {
	var cmds []tea.Cmd
	for m.repeat != nil && !m.waiting() {
		r := m.repeat
		if r.left == 0 || r.view != m.view || m.Status.Bad {
			m.repeat = nil
			break
		}
		r.left--
		m.Log.Passing = r.left > 0
		cmds = append(cmds, r.do())
	}
	return tea.Batch(cmds...)
}

// waiting reports whether the last motion is still under way.
func (m *Model) waiting() bool {
	w, ok := m.Shown().(view.Worker)
	if !ok {
		return m.Hunting()
	}
	_, waits := w.Busy()
	return waits || m.Hunting()
}

// manyTimes does something that has ended when it returns as often as the count says, until it has something
// to say, which is that it goes no further.
func (m *Model) manyTimes(do func() tea.Cmd) tea.Cmd {
	var cmds []tea.Cmd
	for range m.times() {
		cmds = append(cmds, do())
		if m.Status.Text != "" {
			break
		}
	}
	return tea.Batch(cmds...)
}
