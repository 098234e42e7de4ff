package cuda

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen makes a pipe hold a whole chunk: tiles come back in fewer switches between the two processes.
func widen(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		// a smaller one works too
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, chunkBytes) })
	}
}
