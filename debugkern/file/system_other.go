//go:build !unix

package file

import "io/fs"

// locksInUse: a locked file cannot be written through another handle, nor renamed.
const locksInUse = false

// ownedByUser is true: creating a symbolic link needs a privilege here, and files have no single owner.
func ownedByUser(fs.FileInfo) bool { return true }

// dontWait: opening a pipe does not block here.
const dontWait = 0

// hasOwners: access is decided by lists, which are left to the system.
const hasOwners = false

// ownedByRoot is never asked where hasOwners is false.
func ownedByRoot(fs.FileInfo) bool { return true }

// syncDir does nothing: a rename is flushed with the volume's log.
func syncDir(string) {}
