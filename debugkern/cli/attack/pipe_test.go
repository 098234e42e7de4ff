//go:build unix

package attack

import "os"

// closedPipe is the device of a case whose reader has gone before the program writes.
const closedPipe = "closed pipe"

// openStdout opens what standard output goes to.
func openStdout(device string) (*os.File, error) {
	if device != closedPipe {
		return os.OpenFile(device, os.O_WRONLY, 0)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return w, r.Close()
}
