package cuda

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"tilescope/debugkern/join"
)

// CompilerMain is the compiler's process: it serves compileOp of the protocol of frame.go on r and w until r
// ends, and returns the process's exit code. The caller must exit with it at once: a thread may be inside the
// compiler. memory is how many bytes it may allocate until a library is opened, which says it, 0 for a
// default; on systems without such limits it is not enforced.
func CompilerMain(ctx context.Context, r io.Reader, w io.Writer, memory int64) int {
	if memory <= 0 {
		memory = compilerMemory
	}
	w, _ = claimStdout(w)
	wk := &worker{out: &frameWriter{w: w}, lost: make(chan struct{}), budget: memory}
	limitMemory(memory)
	if err := wk.out.json(frameHello, 0, hello{Protocol: protocolVersion, PID: os.Getpid()}); err != nil {
		return 1
	}
	requests := make(chan *incoming)
	read := join.Start(func() error { return wk.read(bufio.NewReaderSize(r, 64<<10), requests) })
	served := join.Start(func() int { return wk.serveCompiler(requests) })
	select {
	case <-served.Done():
		return served.Wait()
	case <-read.Done():
		if err := read.Wait(); !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, "compiler:", err)
			return 1
		}
		return 0
	case <-ctx.Done():
		return 1
	}
}

// serveCompiler answers requests one after the other on one OS thread.
func (w *worker) serveCompiler(requests <-chan *incoming) int {
	runtime.LockOSThread()
	var lib *nvrtc
	for in := range requests {
		err := w.compileRequest(&lib, in)
		w.drop(in)
		if err != nil && w.out.json(frameError, in.id, failureOf(err)) != nil {
			return 1
		}
	}
	return 0
}

// loggedError is a compilation's error with the compiler's log.
type loggedError struct {
	err error
	log string
}

func (e *loggedError) Error() string { return e.err.Error() }
func (e *loggedError) Unwrap() error { return e.err }

func (w *worker) compileRequest(lib **nvrtc, in *incoming) error {
	op := in.Compile
	switch {
	case op != nil && len(in.buffers) == 0:
		if op.Memory > 0 {
			limitMemory(op.Memory)
		}
		n, err := openNVRTC(op.Library)
		if err != nil {
			return err
		}
		*lib = n
		return w.out.json(frameResult, in.id, &result{Compile: &compiledResult{n.major, n.minor}})
	case op == nil || *lib == nil || len(in.buffers) != 1:
		return errors.New("malformed request, or no library is open")
	}
	var job program
	if err := json.Unmarshal(in.buffers[0], &job); err != nil {
		return fmt.Errorf("malformed program: %w", err)
	}
	if err := os.Chdir(op.Dir); err != nil {
		return err
	}
	limitTime(compilerLimit)
	text, log, err := (*lib).build(job.Name, job.Source, job.Headers, job.Options)
	if err != nil {
		// a failure is one frame, where each byte may take six
		return &loggedError{err, log[:min(len(log), frameMax/8)]}
	}
	body, err := json.Marshal(compiledText{[]byte(text), []byte(strings.ToValidUTF8(log, "\ufffd"))})
	if err != nil {
		return err
	}
	if err := w.out.data(0, in.id, body, nil); err != nil {
		return err
	}
	return w.out.json(frameResult, in.id, &result{Compile: &compiledResult{(*lib).major, (*lib).minor}})
}
