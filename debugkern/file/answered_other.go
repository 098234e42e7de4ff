//go:build !linux

package file

import "os"

// answered reports whether the operating system makes the file's content as it is read. Only Linux has such
// files.
func answered(*os.File) bool { return false }
