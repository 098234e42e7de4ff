package tui

import (
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals that end the terminal, and leave it as it was found. One that whoever started the
// program ignores (nohup ignores SIGHUP) stays ignored. SIGPIPE, which the rest of the program ignores, ends
// the terminal: nobody sees it any more.
func endings() []os.Signal {
	out := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}
