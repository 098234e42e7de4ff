package cuda

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	cancelGrace = 25 * time.Millisecond  // what a cancelled worker has to end its request in before it is killed
	closeGrace  = 500 * time.Millisecond // what a worker has to end in once its input ended
	stderrMax   = 4 << 10
)

// process is a worker from the parent's side. One goroutine at a time exchanges.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // the worker's standard input
	out    *os.File // its standard output
	frames *frameWriter
	reader *bufio.Reader
	stderr *tail
	id     uint64
	// launched is how many launches of the last exchange are known to have ended.
	launched int
	tell     func(launches int) // of the last exchange, may be nil

	mu     sync.Mutex
	killed bool
	exited chan struct{} // closed once the process is reaped
}

// errDied is a worker that ended without having been asked to.
type errDied struct {
	state  string // "signal: killed", "exit status 2"
	killed bool   // by a signal that a driver does not raise: somebody, or the system short of memory
	stderr string
}

func (e *errDied) Error() string {
	s := "the worker process ended (" + e.state + ")"
	if e.stderr != "" {
		s += ": " + e.stderr
	}
	return s
}

// errSilent is a worker that has not said anything for the time limit.
type errSilent struct{ limit time.Duration }

func (e *errSilent) Error() string {
	return fmt.Sprintf("nothing heard within the time limit of %s", e.limit)
}

// startProcess starts a worker. Its pipes are ours alone: what the worker has still said is read even after it ended.
func startProcess(command []string) (*process, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		in.Close()
		return nil, fmt.Errorf("start worker: %w", err)
	}
	widen(in)
	widen(out)
	p := &process{in: in, out: out, frames: &frameWriter{w: in}, reader: bufio.NewReaderSize(out, 64<<10), stderr: &tail{}, exited: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirIn, theirOut, p.stderr
	p.cmd.WaitDelay = time.Second
	detach(p.cmd)
	err = p.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start worker: %w", err)
	}
	go func() {
		p.cmd.Wait() // how it ended is in ProcessState
		close(p.exited)
	}()
	return p, nil
}

// kill ends the process and unblocks whoever reads from or writes to it, without waiting: a process inside the driver may
// take its time to go.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return
	}
	p.killed = true
	p.cmd.Process.Kill()
	p.in.Close()
	p.out.Close()
}

// close lets the worker end by itself, then kills it, and waits for it a moment.
func (p *process) close() {
	p.in.Close()
	select {
	case <-p.exited:
	case <-time.After(closeGrace):
	}
	p.kill()
	select {
	case <-p.exited:
	case <-time.After(closeGrace):
	}
}

// handshake waits for the worker's first word.
func (p *process) handshake(ctx context.Context, limit time.Duration) error {
	stop, stopped := p.watch(ctx, limit, 0)
	defer stop()
	h, err := readHeader(p.reader)
	var word hello
	if err == nil && h.kind == frameHello {
		err = readJSON(p.reader, h, &word)
	}
	switch {
	case err != nil:
		return stopped(err)
	case h.kind != frameHello || word.Protocol != protocolVersion:
		return fmt.Errorf("the worker speaks protocol %d, not %d: is it another version of this program?", word.Protocol, protocolVersion)
	}
	return nil
}

// exchange sends a request with its buffers and waits for the answer; into holds where answered buffers go, by stream.
// limit is how long the worker may be silent. The error is a *remoteError, *errDied, *errSilent or the context's; after
// any but the first, and after a fatal one, the process is of no more use.
func (p *process) exchange(ctx context.Context, req *request, buffers [][]byte, into map[int][]byte, limit time.Duration) (*result, error) {
	p.id++
	p.launched = 0
	for _, b := range buffers {
		req.Buffers = append(req.Buffers, int64(len(b)))
	}
	w := &watcher{p: p, ctx: ctx, limit: limit, id: p.id, heard: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	res, err := p.converse(req, buffers, into, w)
	close(w.done)
	<-w.ended
	if err == nil {
		return res, nil
	}
	return nil, w.explain(err)
}

func (p *process) converse(req *request, buffers [][]byte, into map[int][]byte, w *watcher) (*result, error) {
	if err := p.frames.json(frameRequest, p.id, req); err != nil {
		return nil, err
	}
	for i, b := range buffers {
		if err := p.frames.data(i, p.id, b, w.tick); err != nil {
			return nil, err
		}
	}
	at := map[int]int{}
	for {
		h, err := readHeader(p.reader)
		if err != nil {
			return nil, err
		}
		w.tick()
		if h.id != p.id {
			return nil, fmt.Errorf("an answer to request %d", h.id)
		}
		switch h.kind {
		case frameProgress:
			var told progress
			if err := readJSON(p.reader, h, &told); err != nil {
				return nil, err
			}
			if told.N > p.launched {
				p.launched = told.N
				if p.tell != nil {
					p.tell(told.N)
				}
			}
		case frameData:
			s := int(h.stream)
			if at[s]+int(h.length) > len(into[s]) {
				return nil, fmt.Errorf("too many bytes for buffer %d", s)
			}
			if _, err := io.ReadFull(p.reader, into[s][at[s]:at[s]+int(h.length)]); err != nil {
				return nil, err
			}
			at[s] += int(h.length)
		case frameResult:
			var res result
			if err := readJSON(p.reader, h, &res); err != nil {
				return nil, err
			}
			for s, b := range into {
				if at[s] != len(b) {
					return nil, fmt.Errorf("%d of %d bytes of buffer %d", at[s], len(b), s)
				}
			}
			return &res, nil
		case frameError:
			e := &remoteError{}
			if err := readJSON(p.reader, h, &e.failure); err != nil {
				return nil, err
			}
			return nil, e
		default:
			return nil, fmt.Errorf("frame of kind %d out of turn", h.kind)
		}
	}
}

// remoteError is a failure that the worker has told of.
type remoteError struct{ failure }

func (e *remoteError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return (&Error{e.Call, e.Code, e.Name}).Error()
}

// Unwrap gives the errors that callers ask for.
func (e *remoteError) Unwrap() []error {
	var out []error
	if e.Code != 0 {
		out = append(out, &Error{e.Call, e.Code, e.Name})
	}
	switch e.Kind {
	case "no-driver":
		out = append(out, ErrNoDriver)
	case "no-device":
		out = append(out, ErrNoDevice)
	}
	return out
}

// watcher ends an exchange from outside: when the context ends, or the worker is silent for too long.
type watcher struct {
	p     *process
	ctx   context.Context
	limit time.Duration
	id    uint64
	heard chan struct{}
	done  chan struct{} // closed by the exchange when it is over
	ended chan struct{} // closed by the watcher when it is
	cause error         // why the process was killed; read after ended
}

// tick says that the worker lives.
func (w *watcher) tick() error {
	select {
	case w.heard <- struct{}{}:
	default:
	}
	return nil
}

func (w *watcher) run() {
	defer close(w.ended)
	limit := time.NewTimer(w.limit)
	defer limit.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-w.heard:
			limit.Reset(w.limit)
		case <-limit.C:
			w.cause = &errSilent{w.limit}
			w.p.kill()
			return
		case <-w.ctx.Done():
			w.cause = w.ctx.Err()
			w.cancel()
			return
		}
	}
}

// cancel asks the worker to stop, and kills it where it does not answer in time.
func (w *watcher) cancel() {
	asked := make(chan struct{})
	go func() {
		w.p.frames.write(frameCancel, 0, w.id, nil) // ends at the latest when kill closes the pipe
		close(asked)
	}()
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	select {
	case <-w.done:
	case <-grace.C:
		w.p.kill()
	}
	<-asked
}

// explain says why a conversation broke off.
func (w *watcher) explain(err error) error {
	var remote *remoteError
	if errors.As(err, &remote) && !remote.Cancelled {
		return err
	}
	if w.cause != nil {
		return w.cause
	}
	if remote != nil {
		return context.Canceled
	}
	return w.p.died(err)
}

// watch is the watcher of a read without a request.
func (p *process) watch(ctx context.Context, limit time.Duration, id uint64) (stop func(), explain func(error) error) {
	w := &watcher{p: p, ctx: ctx, limit: limit, id: id, heard: make(chan struct{}), done: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	stop = sync.OnceFunc(func() { close(w.done); <-w.ended })
	return stop, func(err error) error { stop(); return w.explain(err) }
}

// died describes a worker that went away, or one that broke the protocol: that one is killed first.
func (p *process) died(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !brokenPipe(err) {
		p.kill()
		return fmt.Errorf("worker protocol: %w", err)
	}
	select {
	case <-p.exited:
	case <-time.After(closeGrace):
		p.kill()
		return &errDied{state: "its output closed", stderr: p.stderr.String()}
	}
	return &errDied{state: p.cmd.ProcessState.String(), killed: killedFromOutside(p.cmd.ProcessState), stderr: p.stderr.String()}
}

// tail keeps the start and the end of what a worker says on standard error: a crash of the process says why at the start
// of its dump, a library at the end.
type tail struct {
	mu         sync.Mutex
	start, buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start = append(t.start, b[:min(len(b), stderrMax-len(t.start))]...)
	t.buf = append(t.buf, b...)
	if len(t.buf) > stderrMax {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-stderrMax:]...)
	}
	return len(b), nil
}

// String is the line that says why the process crashed, else the last line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.Lines(string(t.start)) {
		for _, crash := range []string{"SIG", "panic: ", "fatal error: "} {
			if strings.HasPrefix(line, crash) {
				return strings.TrimSpace(line)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return lines[len(lines)-1]
}
