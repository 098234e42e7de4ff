package cuda

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// limitMemory bounds this process's address space to size bytes more than it takes now, and has a crash leave
// no core file. Where the system refuses, there is no limit.
func limitMemory(size int64) {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return
	}
	pages, err := strconv.ParseInt(string(bytes.SplitN(statm, []byte(" "), 2)[0]), 10, 64)
	if err != nil {
		return
	}
	limit(unix.RLIMIT_AS, uint64(pages*int64(os.Getpagesize())+size))
}

// limitTime has the system end this process after that much more processor time.
func limitTime(d time.Duration) {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		limit(unix.RLIMIT_CPU, uint64(used.Utime.Sec+used.Stime.Sec)+uint64(d/time.Second)+1)
	}
}

// limit lowers or raises a soft limit within the hard one.
func limit(which int, n uint64) {
	var l unix.Rlimit
	if unix.Getrlimit(which, &l) == nil {
		l.Cur = min(n, l.Max)
		_ = unix.Setrlimit(which, &l)
	}
}
