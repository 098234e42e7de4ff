package cuda

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// detach gives the worker a process group of its own: Ctrl-C is for the parent.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func brokenPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, os.ErrClosed)
}

// killedFromOutside cannot be told from an exit code.
func killedFromOutside(*os.ProcessState) bool { return false }
