//go:build !linux

package child

// limitFiles does nothing: elsewhere than on Linux a process cannot set the limits of another.
func limitFiles(int, int64) {}
