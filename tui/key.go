package tui

import (
	"fmt"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
)

// handler acts on a key; arg is the key, or the character after a prefix.
type handler func(m *Model, arg string) tea.Cmd

// escapeKey is Esc.
var escapeKey = tea.KeyPressMsg{Code: tea.KeyEscape}

// key routes a key: an open prompt, question or help first, then the table. A terminal sends Esc and a key in quick succession as the same
// bytes as Alt and the key; where Alt with the key means nothing, it was Esc, then the key.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	if bare, ok := withoutAlt(msg); ok && !m.means(msg) {
		return tea.Batch(m.key(escapeKey), m.key(bare))
	}
	if _, open := m.pane.prompt.Active(); open {
		return m.promptKey(msg)
	}
	name := msg.String()
	if m.asking() {
		return m.answer(name)
	}
	if b, _, _, ok := m.keys.Match("", name); ok && b.Action == keymap.Cancel && m.pending != "" {
		m.pending, m.status = "", status{}
		return nil
	}
	b, arg, more, ok := m.keys.Match(m.pending, name)
	switch {
	case !ok && m.pending != "":
		m.complain(fmt.Sprintf("%s %s means nothing", m.pending, name))
		m.pending = ""
		return nil
	case !ok:
		m.complain(fmt.Sprintf("%s has no meaning: %s lists the keys", name, m.keys.Label(keymap.Help)))
		return nil
	case more:
		m.pending = name
		m.say(name + " …")
		return nil
	}
	m.pending = ""
	m.status = status{}
	if m.help && !m.small() && m.helpKey(b) {
		return nil
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
	if _, open := m.pane.prompt.Active(); open {
		return keymap.Editing(msg.String()) != keymap.EditInsert
	}
	if m.asking() {
		return keymap.Answering(msg.String()) != keymap.AnswerNone
	}
	_, _, _, ok := m.keys.Match(m.pending, msg.String())
	return ok
}

// act carries out a binding, or says why not.
func (m *Model) act(b keymap.Binding, arg string) tea.Cmd {
	switch {
	case !b.Works(m.view):
		m.say(fmt.Sprintf("%s (%s) belongs to %s", b.Label, b.Help, viewsOf(b)))
		return nil
	case b.Later != "":
		m.say(fmt.Sprintf("%s (%s): %s", b.Label, b.Help, b.Later))
		return nil
	}
	if here := racing()[b.Action]; here != nil && m.view == keymap.Races {
		return here(m, arg)
	}
	return m.handlers[b.Action](m, arg)
}

// viewsOf names the views that a binding works in, with their keys.
func viewsOf(b keymap.Binding) string {
	out := ""
	for i, s := range b.In {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s [%d]", s, s)
	}
	return out
}

// helpKey scrolls or closes the help overlay; any other key closes it and acts.
func (m *Model) helpKey(b keymap.Binding) bool {
	switch b.Action {
	case keymap.Down:
		m.pane.help.Scroll(1)
	case keymap.Up:
		m.pane.help.Scroll(-1)
	case keymap.PageDown:
		m.pane.help.Scroll(m.h / 2)
	case keymap.PageUp:
		m.pane.help.Scroll(-m.h / 2)
	case keymap.Cancel, keymap.Help, keymap.Quit: // only the bare screen is left by q
		m.help = false
	default:
		m.help = false
		return false
	}
	return true
}

// handlers is what every action of the table does. A test holds it against the table.
func handlers() map[keymap.Action]handler {
	h := map[keymap.Action]handler{}
	for _, part := range []map[keymap.Action]handler{moving(), looking(), acting(), fragmenting(), stepping()} {
		for a, f := range part {
			h[a] = f
		}
	}
	return h
}

func moving() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Left:      func(m *Model, _ string) tea.Cmd { return m.move(0, -1) },
		keymap.Right:     func(m *Model, _ string) tea.Cmd { return m.move(0, 1) },
		keymap.Up:        func(m *Model, _ string) tea.Cmd { return m.move(-1, 0) },
		keymap.Down:      func(m *Model, _ string) tea.Cmd { return m.move(1, 0) },
		keymap.NextStage: func(m *Model, _ string) tea.Cmd { return m.stage(1) },
		keymap.PrevStage: func(m *Model, _ string) tea.Cmd { return m.stage(-1) },
		keymap.NextTile:  func(m *Model, _ string) tea.Cmd { return m.kv(1) },
		keymap.PrevTile:  func(m *Model, _ string) tea.Cmd { return m.kv(-1) },
		keymap.NextBlock: func(m *Model, _ string) tea.Cmd { return m.block(1) },
		keymap.PrevBlock: func(m *Model, _ string) tea.Cmd { return m.block(-1) },
		keymap.Top:       func(m *Model, _ string) tea.Cmd { return m.edge(-1, 0) },
		keymap.Bottom:    func(m *Model, _ string) tea.Cmd { return m.edge(1, 0) },
		keymap.RowStart:  func(m *Model, _ string) tea.Cmd { return m.edge(0, -1) },
		keymap.RowEnd:    func(m *Model, _ string) tea.Cmd { return m.edge(0, 1) },
		keymap.PageDown:  func(m *Model, _ string) tea.Cmd { return m.page(1) },
		keymap.PageUp:    func(m *Model, _ string) tea.Cmd { return m.page(-1) },
		keymap.NextBad:   func(m *Model, _ string) tea.Cmd { return m.next(1) },
		keymap.PrevBad:   func(m *Model, _ string) tea.Cmd { return m.next(-1) },
		keymap.SetMark:   (*Model).setMark,
		keymap.GoMark:    (*Model).goMark,
		keymap.Back: func(m *Model, _ string) tea.Cmd {
			return m.retrace(step(&m.past.back, &m.past.forward, m.cursor))
		},
		keymap.Forward: func(m *Model, _ string) tea.Cmd {
			return m.retrace(step(&m.past.forward, &m.past.back, m.cursor))
		},
		keymap.NextPane: func(m *Model, _ string) tea.Cmd { return m.turn(1) },
		keymap.PrevPane: func(m *Model, _ string) tea.Cmd { return m.turn(-1) },
		keymap.View: func(m *Model, key string) tea.Cmd {
			return m.show(keymap.Scope(key[0] - '0'))
		},
		keymap.NextView: func(m *Model, _ string) tea.Cmd { return m.show(m.view%keymap.Source + 1) },
		keymap.PrevView: func(m *Model, _ string) tea.Cmd { return m.show((m.view+keymap.Source-2)%keymap.Source + 1) },
	}
}

func looking() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Heat:      (*Model).nextHeat,
		keymap.Format:    (*Model).nextFormat,
		keymap.Diff:      (*Model).nextDiff,
		keymap.Columns:   (*Model).nextColumns,
		keymap.BoundUp:   func(m *Model, _ string) tea.Cmd { return m.bound(m.pane.tile.Settings().Bound.Wider()) },
		keymap.BoundDown: func(m *Model, _ string) tea.Cmd { return m.bound(m.pane.tile.Settings().Bound.Narrower()) },
		keymap.Follow:    (*Model).toggleFollow,
		keymap.Who:       (*Model).askWho,
		keymap.Search:    func(m *Model, _ string) tea.Cmd { return m.ask("/", "") },
		keymap.Filter:    func(m *Model, _ string) tea.Cmd { return m.ask("&", m.filter[m.view]) },
		keymap.Palette:   (*Model).nextPalette,
		keymap.Grow:      func(m *Model, _ string) tea.Cmd { return m.grow(1) },
		keymap.Shrink:    func(m *Model, _ string) tea.Cmd { return m.grow(-1) },
		keymap.Command:   func(m *Model, _ string) tea.Cmd { return m.ask(":", "") },
		keymap.Help: func(m *Model, _ string) tea.Cmd {
			m.help = true
			m.pane.help.Reset()
			return nil
		},
	}
}

func acting() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Open:      (*Model).open,
		keymap.Toggle:    func(m *Model, _ string) tea.Cmd { return m.toggle() },
		keymap.Again:     func(m *Model, _ string) tea.Cmd { return m.again(m.nextRequest().Backend) },
		keymap.AgainEmu:  func(m *Model, _ string) tea.Cmd { return m.again("emu") },
		keymap.Yank:      (*Model).yank,
		keymap.Edit:      (*Model).edit,
		keymap.Pin:       (*Model).pin,
		keymap.Unpin:     (*Model).unpin,
		keymap.Bisect:    (*Model).bisect,
		keymap.Versus:    (*Model).compare,
		keymap.WhatIf:    func(m *Model, _ string) tea.Cmd { return m.whatIf() },
		keymap.Replay:    func(m *Model, _ string) tea.Cmd { return m.replay() },
		keymap.Cancel:    (*Model).cancel,
		keymap.Interrupt: (*Model).interrupt,
		keymap.Suspend:   (*Model).suspend,
		keymap.Quit:      func(*Model, string) tea.Cmd { return tea.Quit },
	}
}

// cancel is Esc: the run, then a search in the background, then search and filter, then back to Pipe.
func (m *Model) cancel(string) tea.Cmd {
	switch {
	case m.job.active:
		m.job.stop()
		m.job.gen++ // whatever it still reports is stale
		m.say("cancelled; x runs again")
		m.showTile()
		m.showRun()
		m.requestChanged()
	case m.walk.busy:
		m.walk.stop() // what it answers says so
	case m.task.active:
		m.cancelTask()
	case m.hunt.active:
		m.hunt.stop()
		m.hunt.seq++
		m.say("search cancelled")
	case m.cancelRace():
	case m.search[m.view] != "" || m.filter[m.view] != "":
		m.setSearch("")
		m.setFilter("")
		m.say("search and filter cleared")
	case m.view != keymap.Pipe:
		return m.show(keymap.Pipe)
	default:
		m.say(fmt.Sprintf("nothing to cancel: %s quits", m.keys.Label(keymap.Quit)))
	}
	return nil
}

// interrupt is Ctrl-C: running work, else the program.
func (m *Model) interrupt(string) tea.Cmd {
	if m.job.active || m.hunt.active || m.task.active || m.race.active || m.race.trying || m.walk.busy {
		return m.cancel("")
	}
	return tea.Quit
}

// promptKey edits the prompt. These are an editor's keys, the same in every prompt, and not in the table.
func (m *Model) promptKey(msg tea.KeyPressMsg) tea.Cmd {
	p := m.pane.prompt
	switch keymap.Editing(msg.String()) {
	case keymap.EditAccept:
		return m.accept(p.Accept())
	case keymap.EditAbort:
		p.Close()
	case keymap.EditBackspace:
		if p.Text() == "" {
			p.Close()
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
		p.Recall(-1)
	case keymap.EditNewer:
		p.Recall(1)
	default:
		p.Insert(msg.Text)
	}
	return nil
}

// paste types into an open prompt.
func (m *Model) paste(text string) tea.Cmd {
	if _, open := m.pane.prompt.Active(); open {
		m.pane.prompt.Insert(text)
		return nil
	}
	m.say("pasted text goes into a prompt: : / or & opens one")
	return nil
}
