package cuda

import (
	"errors"
	"os"
	"syscall"
)

func brokenPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, os.ErrClosed)
}

// killedFromOutside cannot be read from an exit code.
func killedFromOutside(*os.ProcessState) bool { return false }
