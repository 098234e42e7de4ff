//go:build !unix

package tui

import tea "charm.land/bubbletea/v2"

// sessionLeader reports whether the process leads its session; there are none here.
func sessionLeader() bool { return false }

// unixLocale reports whether the locale is set by environment variables: consoles here are Unicode.
func unixLocale() bool { return false }

// suspend refuses: there is no job control here.
func (m *Model) suspend(string) tea.Cmd {
	m.Complain("there is no job control on this system")
	return nil
}
