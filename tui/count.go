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

// countWindow is how soon the next key has to follow a digit for the digit to be part of a count.
const countWindow = 300 * time.Millisecond

// counting is a count that is being typed. A digit that is a view's key shows the view at once; where a
// motion follows in time, the digits were its count, and the view from before them is shown again.
type counting struct {
	n    int
	last time.Time    // of the last digit
	from keymap.Scope // the view before the first digit
}

// repeating is an action that is carried out again whenever the last time has ended.
type repeating struct {
	do   func() tea.Cmd
	left int
	view keymap.Scope
}

// times is the count of the motion that is being carried out, 1 without one.
func (m *Model) times() int { return max(1, m.count) }

// live reports whether a key now belongs to the count that is being typed.
func (m *Model) live() bool { return m.typing.n > 0 && m.now().Sub(m.typing.last) < m.window }

// digit takes a digit of a count; ok is false for a key that is none.
func (m *Model) digit(key string) (cmd tea.Cmd, ok bool) {
	d, isDigit := keymap.Digit(key)
	if !isDigit || m.pending != "" || d == 0 && !m.live() {
		return nil, false
	}
	if !m.live() {
		m.typing = counting{from: m.view}
	}
	m.typing.n, m.typing.last = min(maxCount, 10*m.typing.n+d), m.now()
	if d == 0 || d > len(m.Keys.Scopes()) || m.over != nil {
		m.Show(strconv.Itoa(m.typing.n) + " …")
		return nil, true
	}
	m.Clear()
	return m.Open(m.Keys.Scopes()[d-1]), true
}

// counted ends the typing of a count with the key that follows it. Where that is a motion, the view from
// before the digits is shown again, and note says so: the digit may have been meant as a view's key. A count
// of one changes nothing, and leaves the view of its key.
func (m *Model) counted(key string) (cmd tea.Cmd, note string) {
	live, typed := m.live(), m.typing
	m.typing, m.count = counting{}, 0
	if !live || typed.n == 1 { // nobody counts to one: the digit was meant as a view's key
		return nil, ""
	}
	b, _, more, ok := m.Keys.Match(typed.from, "", key)
	if !ok || more || !b.Counts || !b.Works(typed.from) && m.over == nil {
		return nil, ""
	}
	m.count = typed.n
	if typed.from != m.view {
		note = fmt.Sprintf("%d%s is a count in %s; for view %s, pause after the digit", typed.n, key, typed.from,
			m.view)
		cmd = m.Open(typed.from)
	}
	return cmd, note
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
