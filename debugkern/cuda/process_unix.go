//go:build unix

package cuda

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// detach gives the worker a process group of its own: an interrupt typed at the terminal is for the parent, which cancels
// or closes as it sees fit.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// ownGroup makes cmd's cancellation kill everything that it has started.
func ownGroup(cmd *exec.Cmd) {
	detach(cmd)
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }

// killedFromOutside reports a death by a signal that neither a driver nor a bug raises.
func killedFromOutside(st *os.ProcessState) bool {
	ws, ok := st.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && (ws.Signal() == syscall.SIGKILL || ws.Signal() == syscall.SIGTERM || ws.Signal() == syscall.SIGINT || ws.Signal() == syscall.SIGHUP)
}
