//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// locksInUse: a temporary file is locked while it is written. Locks here are advisory and survive a rename.
const locksInUse = true

// ownedByUser reports whether the file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// dontWait lets opening a pipe that nobody reads fail at once instead of blocking.
const dontWait = syscall.O_NONBLOCK

// hasOwners: a file has one owner, and permissions say what others may do.
const hasOwners = true

// ownedByRoot reports whether the file belongs to the administrator.
func ownedByRoot(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}

// syncDir makes a rename survive a power cut. A file system that cannot do it has done what it can.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
