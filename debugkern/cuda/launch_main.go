package cuda

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"tilescope/debugkern/file"
)

// LaunchMain performs the launch that a file describes (Sanitize writes it), once, and returns the process's
// exit code: 0 where the device did it, 1 else. It exists to be watched by a tool that wants a process of its
// own. stdout gets a line for each buffer: "argument NAME ADDRESS BYTES".
func LaunchMain(ctx context.Context, path string, stdout, stderr io.Writer) int {
	if err := launchFile(ctx, path, stdout); err != nil {
		fmt.Fprintln(stderr, "launch:", err)
		return 1
	}
	return 0
}

func launchFile(ctx context.Context, path string, stdout io.Writer) error {
	f, _, err := file.Open(ctx, path, math.MaxInt64, file.Want{What: "a launch that this program wrote"})
	if err != nil {
		return err
	}
	defer f.Close()
	runtime.LockOSThread() // the driver's context is bound to this thread
	defer runtime.UnlockOSThread()
	w := &worker{
		out: &frameWriter{w: io.Discard}, pool: map[int64][]uint64{}, addrs: stdout, budget: DefaultBudget,
	}
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := readHeader(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		in := &incoming{id: h.id}
		if h.kind != frameRequest {
			return fmt.Errorf("%s: frame of kind %d out of turn", path, h.kind)
		}
		if err := readJSON(r, h, &in.request); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if n := in.memory(); n > 0 {
			w.budget = n
		}
		if err := w.readBuffers(r, in); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, err := w.handle(in); err != nil {
			return err
		}
	}
}

// launchBare launches exactly once, from buffers that are allocated to the byte, and compares nothing.
func (w *worker) launchBare(in *incoming) (*launchResult, error) {
	op := in.Launch
	w.bare, w.unset = true, op.Unset
	p, err := w.prepare(&op.Spec, in.buffers)
	if err != nil {
		return nil, err
	}
	for i, a := range op.Spec.Args {
		if b := p.buffers[i]; b != nil && w.addrs != nil {
			fmt.Fprintf(w.addrs, "argument %s %#x %d\n", a.Name, b.addr(), b.bytes)
		}
	}
	return &launchResult{}, p.run(1, false)
}

// allocateBare makes a buffer without guard bands. It is never given back: the process ends.
func (w *worker) allocateBare(bytes int64) (*deviceBuffer, error) {
	var at uint64
	if err := w.drv.check("cuMemAlloc", w.drv.memAlloc(&at, uint(max(bytes, 1)))); err != nil {
		return nil, fmt.Errorf("a buffer of %d bytes: %w", bytes, err)
	}
	return &deviceBuffer{base: at - guardBytes, bytes: bytes}, nil
}
