package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/tile"
	"tilescope/tui/theme"
)

// set changes the Tile view's drawing.
func (m *Model) set(change func(*tile.Settings)) tea.Cmd {
	s := m.pane.tile.Settings()
	heat := s.Heat
	change(&s)
	m.pane.tile.Set(s)
	m.showTile()
	if m.applyFocus(); s.Heat != heat {
		m.resize(m.w, m.h)
	}
	return m.changed()
}

func (m *Model) nextHeat(string) tea.Cmd {
	return m.set(func(s *tile.Settings) {
		s.Heat = s.Heat.Next()
		m.say("heat: " + s.Heat.String())
	})
}

func (m *Model) nextFormat(string) tea.Cmd {
	switch {
	case m.view == keymap.Frag:
		m.say("the tile shows: " + m.pane.frag.NextShow().String())
		return nil
	case m.view == keymap.Source && m.focused() != partShared:
		m.say("registers: " + m.pane.regs.NextFormat().String())
		return nil
	}
	cmd := m.set(func(s *tile.Settings) {
		s.Format = s.Format.Next()
		m.say("numbers: " + s.Format.String())
	})
	m.showWalk(false)
	return cmd
}

func (m *Model) nextDiff(string) tea.Cmd {
	if m.view == keymap.Frag {
		return m.toggleTable()
	}
	return m.set(func(s *tile.Settings) {
		s.Diff = s.Diff.Next()
		m.say("error: " + s.Diff.String())
	})
}

func (m *Model) bound(b cell.Bound) tea.Cmd {
	return m.set(func(s *tile.Settings) {
		s.Bound = b
		m.say("bound: " + b.String())
	})
}

// nextColumns lays what two backends computed side by side, where two did.
func (m *Model) nextColumns(string) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	if m.run.report.Cross == nil && m.run.pair == nil {
		m.say("one backend ran: `:backend both` runs GPU and emulator on the same PTX and lays them side by side here")
		return nil
	}
	return m.set(func(s *tile.Settings) {
		s.Choice = s.Choice.Next()
		m.say("columns: " + s.Choice.Name(m.run.pair != nil))
	})
}

// crossing reports whether the Tile view shows two backends' tiles: then the next cell is one where they differ.
func (m *Model) crossing() bool {
	return m.view == keymap.Tile && m.run != nil && (m.run.report.Cross != nil || m.run.pair != nil) && m.pane.tile.Settings().Choice != tile.Usual
}

func (m *Model) toggleFollow(string) tea.Cmd {
	m.follow = !m.follow
	if m.view == keymap.Source {
		m.say("source, PTX and kv tile follow the warp: " + onOff(m.follow))
		m.showWalk(m.follow)
		return m.changed()
	}
	m.say("source follows the cell's writer: " + onOff(m.follow))
	return m.changed()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (m *Model) nextPalette(string) tea.Cmd { return m.setPalette(theme.NextPalette(m.th.Palette)) }

// setPalette makes a new theme and gives it to the panes.
func (m *Model) setPalette(name string) tea.Cmd {
	m.th = m.theme(name)
	m.pane.pipe.SetTheme(m.th)
	m.pane.tile.SetTheme(m.th)
	m.pane.flags.SetTheme(m.th)
	m.pane.frag.SetTheme(m.th)
	m.pane.gates.SetTheme(m.th)
	m.pane.rail.SetTheme(m.th)
	m.pane.source.SetTheme(m.th)
	m.pane.mini.SetTheme(m.th)
	m.pane.help.SetTheme(m.th)
	m.pane.prompt.SetTheme(m.th)
	m.pane.gpu.SetTheme(m.th)
	m.pane.fail.SetTheme(m.th)
	m.pane.races.SetTheme(m.th)
	m.pane.failSource.SetTheme(m.th)
	m.pane.code.SetTheme(m.th)
	m.pane.ptx.SetTheme(m.th)
	m.pane.regs.SetTheme(m.th)
	m.pane.shared.SetTheme(m.th)
	m.pane.warps.SetTheme(m.th)
	m.pane.consent.SetTheme(m.th)
	m.say("palette: " + m.th.Palette)
	return m.changed()
}
