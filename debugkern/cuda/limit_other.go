//go:build !linux

package cuda

import "time"

// limitMemory does nothing: elsewhere than on Linux a process cannot ask how much address space it takes, or
// the limit is not kept.
func limitMemory(int64) {}

// limitTime does nothing: the parent ends the process at its own limit.
func limitTime(time.Duration) {}
