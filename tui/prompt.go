package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
)

// promptKey edits the prompt. These are an editor's keys, the same in every prompt, and not in the table.
func (m *Model) promptKey(msg tea.KeyPressMsg) tea.Cmd {
	p := m.prompt
	switch keymap.Editing(msg.String()) {
	case keymap.EditAccept:
		return m.palette().accept(p.Accept())
	case keymap.EditAbort:
		return m.abort()
	case keymap.EditBackspace:
		if p.Text() == "" {
			return m.abort()
		} else {
			p.Backspace()
		}
	case keymap.EditDelete:
		p.Delete()
	case keymap.EditDeleteWord:
		p.DeleteWord()
	case keymap.EditClear:
		p.Clear()
	case keymap.EditLeft:
		p.Move(-1)
	case keymap.EditRight:
		p.Move(1)
	case keymap.EditHome:
		p.Move(-1 << 20)
	case keymap.EditEnd:
		p.Move(1 << 20)
	case keymap.EditComplete:
		p.Complete(1)
	case keymap.EditCompleteBack:
		p.Complete(-1)
	case keymap.EditOlder:
		if p.Picking() {
			p.Pick(-1)
		} else {
			p.Recall(-1)
		}
	case keymap.EditNewer:
		if p.Recalling() {
			p.Recall(1)
		} else {
			p.Pick(1)
		}
	default:
		p.Insert(msg.Text)
	}
	return nil
}

// abort closes the prompt; a search that was being typed is left.
func (m *Model) abort() tea.Cmd {
	cmd := m.abandonSearch()
	m.declineLaunch()
	m.prompt.Close()
	return cmd
}

// paste types into an open prompt.
func (m *Model) paste(text string) tea.Cmd {
	if _, open := m.prompt.Active(); open {
		m.prompt.Insert(strings.TrimRight(text, "\r\n")) // the end of a copied line is no text
		return m.typed()
	}
	m.Say("pasted text goes into a prompt: : / or & opens one")
	return nil
}
