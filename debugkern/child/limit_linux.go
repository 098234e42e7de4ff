package child

import "golang.org/x/sys/unix"

// limitFiles bounds the files that a process, and what it starts from now on, may write to n bytes each, and
// has a crash leave no core file. Where the system refuses, there is no limit.
func limitFiles(pid int, n int64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	_ = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)}, nil)
}
