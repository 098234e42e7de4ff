//go:build unix

package cuda

import (
	"errors"
	"os"
	"syscall"
)

func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }

// killedFromOutside reports a death by a signal that neither a driver nor a bug raises.
func killedFromOutside(st *os.ProcessState) bool {
	ws, ok := st.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() &&
		(ws.Signal() == syscall.SIGKILL || ws.Signal() == syscall.SIGTERM || ws.Signal() == syscall.SIGINT ||
			ws.Signal() == syscall.SIGHUP)
}
