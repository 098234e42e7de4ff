package child

import (
	"os/exec"
	"strconv"
	"syscall"
)

// Detach gives a process a group of its own: Ctrl-C is for the parent.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// OwnGroup makes cmd's cancellation kill everything that it has started.
func OwnGroup(cmd *exec.Cmd) {
	Detach(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
}

// killGroup kills cmd and what it has started.
func killGroup(cmd *exec.Cmd) error {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
		return nil
	}
	return cmd.Process.Kill()
}
