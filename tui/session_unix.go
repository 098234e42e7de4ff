//go:build unix

package tui

import "golang.org/x/sys/unix"

// sessionLeader reports whether the process leads its session: stopping it then stops the terminal for good.
func sessionLeader() bool {
	sid, err := unix.Getsid(0)
	return err == nil && sid == unix.Getpid()
}

// unixLocale reports whether the locale is told by environment variables.
func unixLocale() bool { return true }
