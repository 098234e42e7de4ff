package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/pane/list"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// overlay is a list that lies over the view: the keys or the messages. Esc and the key that quits close it.
type overlay struct {
	opens keymap.Action // the action that opens it, which closes it too
	run   []func() tea.Cmd
	text  []string // of each item, for copying
	match string
}

// cover opens an overlay.
func (m *Model) cover(o *overlay, d list.Data) {
	m.over = o
	m.list.Find("", 0)
	m.list.SetData(d)
	m.list.Edge(-1)
}

// listKey is what a key does to the list over the view. A key that shows something else closes the list and
// is carried out (taken is false). Another key that means nothing to the list is not carried out: what it
// would change lies below the list.
func (m *Model) listKey(b keymap.Binding) (cmd tea.Cmd, taken bool) {
	n := m.times()
	switch b.Action {
	case keymap.Down, keymap.Right:
		m.list.Move(n)
	case keymap.Up, keymap.Left:
		m.list.Move(-n)
	case keymap.PageDown, keymap.Toggle: // the space bar
		m.list.Page(n, 1)
	case keymap.PageUp:
		m.list.Page(-n, 1)
	case keymap.HalfDown:
		m.list.Page(n, 2)
	case keymap.HalfUp:
		m.list.Page(-n, 2)
	case keymap.Top:
		m.list.Edge(-1)
	case keymap.Bottom:
		m.list.Edge(1)
	case keymap.Search:
		cmd = m.Ask("/", "")
	case keymap.Count:
		cmd = m.startCount("")
	case keymap.NextBad:
		cmd = m.findListed(m.over.match, 1)
	case keymap.PrevBad:
		cmd = m.findListed(m.over.match, -1)
	case keymap.Open:
		cmd = m.runListed()
	case keymap.Yank:
		cmd = m.yank("")
	case keymap.Cancel, keymap.Quit, m.over.opens: // only the bare screen is left by the key that quits
		m.over = nil
	case keymap.View, keymap.NextView, keymap.PrevView, keymap.Command, keymap.Help, keymap.Messages,
		keymap.Palette, keymap.Tour, keymap.SkipStep, keymap.Interrupt, keymap.Suspend:
		m.over = nil
		return nil, false
	default:
		m.Say(fmt.Sprintf("%s (%s) is a key of the view below: %s closes this list", b.Label, m.Worded(b.Help),
			m.Keys.Label(keymap.Cancel)))
	}
	return cmd, true
}

// findListed searches the list over the view.
func (m *Model) findListed(text string, dir int) tea.Cmd {
	m.over.match = text
	switch {
	case text == "" && dir != 0:
		m.Say(m.Keys.LabelIn(view.Tile, keymap.Search) + " searches this list")
	case !m.list.Find(text, dir):
		m.Complain("no match for " + text)
	}
	return nil
}

// runListed does what the item under the cursor stands for, where it stands for something.
func (m *Model) runListed() tea.Cmd {
	i, ok := m.list.Selected()
	if !ok || i >= len(m.over.run) || m.over.run[i] == nil {
		m.Say("nothing to carry out on this line")
		return nil
	}
	do := m.over.run[i]
	m.over = nil
	return do()
}

// listed is the item under the cursor as text.
func (m *Model) listed() string {
	if i, ok := m.list.Selected(); ok && i < len(m.over.text) {
		return m.over.text[i]
	}
	return ""
}

// openHelp lists the legend of the focused part and the keys of the view, each of which can be carried out.
func (m *Model) openHelp(string) tea.Cmd {
	o, d := &overlay{opens: keymap.Help}, list.Data{Title: "HELP " + string(m.view),
		Note: "/ searches · Enter carries out · Esc closes"}
	add := func(x list.Item, run func() tea.Cmd) {
		d.Items = append(d.Items, x)
		o.run, o.text = append(o.run, run), append(o.text, x.Lead+"  "+x.Text)
	}
	at := m.focused()
	if m.Failing() {
		d.Title += " · " + string(at)
	} else if v, ok := m.Shown().(view.Explained); ok {
		if legend := v.Legend(at); len(legend) > 0 {
			d.Title += " · " + string(at)
			add(list.Item{Head: true, Text: "Legend of " + string(at)}, nil)
			for _, x := range legend {
				add(list.Item{Lead: x.Glyph, Text: x.Text}, nil)
			}
		}
	}
	words := drawing{m}.wording()
	for _, sec := range m.Keys.Help(m.view) {
		add(list.Item{Head: true, Text: sec.Title}, nil)
		for _, b := range sec.Bindings {
			text := b.Help
			if other, ok := words[b.Action]; ok {
				if text = other; text == "" {
					continue
				}
			}
			add(list.Item{Lead: b.Label, Text: m.Worded(text), Tail: b.Name(m.view)},
				func() tea.Cmd { return m.actNamed(m.view, b) })
		}
	}
	add(list.Item{Head: true, Text: "Counts"}, nil)
	add(list.Item{Lead: "#5j", Text: keymap.CountHelp}, nil)
	m.cover(o, d)
	return nil
}

// actNamed carries out an action by its name: in the view that it belongs to, which is shown. An action that
// takes a character, or a view's number, is asked for it.
func (m *Model) actNamed(s keymap.Scope, b keymap.Binding) tea.Cmd {
	switch {
	case b.Action == keymap.View:
		return m.Ask(":", "view ")
	case b.Takes():
		return m.Ask(":", string(b.Action)+" ")
	}
	var cmd tea.Cmd
	if s != m.view {
		cmd = m.Open(s)
	}
	return tea.Batch(cmd, m.act(b, ""))
}

// openMessages lists every message of the session.
func (m *Model) openMessages(string) tea.Cmd {
	o := &overlay{opens: keymap.Messages}
	m.cover(o, list.Data{})
	m.showMessages()
	m.list.Edge(1)
	return nil
}

// showMessages fills the list of messages.
func (m *Model) showMessages() {
	all, dropped := m.Log.Entries()
	d := list.Data{Title: fmt.Sprintf("%d MESSAGES", len(all)), Empty: "no message yet",
		Note: "y copies · / searches · Esc closes"}
	if dropped > 0 {
		d.Title += fmt.Sprintf(" · %s dropped", theme.Count(dropped, "older message"))
	}
	m.over.text = nil
	for _, e := range all {
		text := e.Text
		if e.Times > 1 {
			text += fmt.Sprintf(" (%d times)", e.Times)
		}
		d.Items = append(d.Items, list.Item{Lead: e.Time.Format("15:04:05"), Text: text, Bad: e.Bad})
		m.over.text = append(m.over.text, e.Text)
	}
	m.over.run = slices.Repeat([]func() tea.Cmd{nil}, len(all))
	m.list.SetData(d)
}
