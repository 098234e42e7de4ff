package cuda

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// printed collects nothing on Windows.
type printed struct{}

func (*printed) take() []byte { return nil }
func (*printed) drop()        {}

// claimStdout points the standard output that libraries see at standard error; the protocol
// keeps its own handle.
func claimStdout(w io.Writer) (io.Writer, *printed) {
	if w == io.Writer(os.Stdout) {
		windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd()))
	}
	return w, nil
}
