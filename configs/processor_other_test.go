//go:build !unix

package configs

import "time"

var began = time.Now()

// processorTime is the time that has passed, where the system is not asked for that of a process.
func processorTime() time.Duration { return time.Since(began) }
