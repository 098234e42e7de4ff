//go:build unix

package child

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Detach gives a process a group of its own: an interrupt typed at the terminal is for the parent, which
// cancels or closes as it sees fit.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// OwnGroup makes cmd's cancellation kill everything that it has started.
func OwnGroup(cmd *exec.Cmd) {
	Detach(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
}

// killGroup kills the processes of cmd's group, which may outlive it.
func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
