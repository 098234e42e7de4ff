package cuda

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// detach gives the worker a process group of its own: Ctrl-C is for the parent.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// ownGroup makes cmd's cancellation kill everything that it has started.
func ownGroup(cmd *exec.Cmd) {
	detach(cmd)
	cmd.Cancel = func() error {
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}

func brokenPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, os.ErrClosed)
}

// killedFromOutside cannot be told from an exit code.
func killedFromOutside(*os.ProcessState) bool { return false }
