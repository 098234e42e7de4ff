//go:build unix

package cuda

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tilescope/debugkern/cuda/internal/dl"
)

// printedMax is how much of what a launch prints is kept.
const printedMax = 1 << 20

// printed collects what the driver writes to the process's standard output: the kernels' printf.
type printed struct {
	file  *os.File
	flush func(uintptr) int32
}

// claimStdout gives standard output's pipe a descriptor of its own and points descriptor 1 at a file, where w
// is standard output and that can be done. Else w stays what it is and nothing is collected.
func claimStdout(w io.Writer) (io.Writer, *printed) {
	if f, ok := w.(*os.File); !ok || f.Fd() != 1 {
		return w, nil
	}
	own, err := unix.Dup(1)
	if err != nil {
		return w, nil
	}
	unix.CloseOnExec(own)
	file, err := os.CreateTemp("", "tilescope-printf-")
	if err != nil {
		redirect(2, 1) // at least out of the protocol's way
		return os.NewFile(uintptr(own), "protocol"), nil
	}
	os.Remove(file.Name())
	if err := redirect(int(file.Fd()), 1); err != nil {
		file.Close()
		unix.Close(own)
		return w, nil
	}
	return os.NewFile(uintptr(own), "protocol"), &printed{file: file, flush: libcFlush()}
}

// libcFlush finds fflush: the driver prints through C's buffered standard output.
func libcFlush() func(uintptr) int32 {
	for _, name := range []string{"libc.so.6", "/usr/lib/libSystem.B.dylib"} {
		lib, err := dl.Open(name)
		if err != nil {
			continue
		}
		var f func(uintptr) int32
		if lib.Bind(&f, "fflush") == nil {
			return f
		}
	}
	return nil
}

// take returns what was printed since the last drop or take.
func (p *printed) take() []byte {
	if p == nil {
		return nil
	}
	if p.flush != nil {
		p.flush(0)
	}
	st, err := p.file.Stat()
	if err != nil || st.Size() == 0 {
		return nil
	}
	out := make([]byte, min(st.Size(), printedMax))
	n, _ := p.file.ReadAt(out, 0)
	p.empty()
	return out[:n]
}

// drop forgets what was printed so far.
func (p *printed) drop() {
	if p == nil {
		return
	}
	if p.flush != nil {
		p.flush(0)
	}
	p.empty()
}

// empty makes the file start anew; descriptor 1 shares its offset.
func (p *printed) empty() {
	if p.file.Truncate(0) == nil {
		p.file.Seek(0, io.SeekStart)
	}
}
