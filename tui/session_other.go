//go:build !unix

package tui

// sessionLeader reports whether the process leads its session; there are none here.
func sessionLeader() bool { return false }

// unixLocale reports whether the locale is told by environment variables: consoles here are Unicode.
func unixLocale() bool { return false }
