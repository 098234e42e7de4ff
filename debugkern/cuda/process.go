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

	"tilescope/debugkern/child"
	"tilescope/debugkern/join"
)

const (
	// cancelGrace: what a cancelled worker has to end its request in before it is killed
	cancelGrace = 25 * time.Millisecond
	closeGrace  = 500 * time.Millisecond // what a worker has to end in once its input ended
	stderrMax   = 4 << 10
)

// process is a worker from the parent's side.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // the worker's standard input
	out    *os.File // its standard output
	frames *frameWriter
	reader *bufio.Reader
	stderr *tail
	exited <-chan struct{} // closed once the process is reaped

	sending sync.Mutex // held while a request and its buffers are sent
	mu      sync.Mutex
	killed  bool
	id      uint64               // of the last request
	calls   map[uint64]*exchange // under way
	broken  error                // why nothing more is heard
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

// startProcess starts a worker. Its pipes are ours alone: what the worker has still said is read
// even after it ended.
func startProcess(command, env []string) (*process, error) {
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
	p := &process{
		in: in, out: out, frames: &frameWriter{w: in}, reader: bufio.NewReaderSize(out, 64<<10),
		stderr: &tail{},
		calls:  map[uint64]*exchange{},
	}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirIn, theirOut, p.stderr
	p.cmd.Env = env
	p.cmd.WaitDelay = time.Second
	child.Detach(p.cmd)
	err = p.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start worker: %w", err)
	}
	p.exited = join.Run(func() { p.cmd.Wait() }).Done() // how it ended is in ProcessState
	return p, nil
}

// kill ends the process and unblocks whoever reads from or writes to it, without waiting: a process inside
// the driver may take its time to go.
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

// handshake waits for the worker's first word, and has its answers heard from then on.
func (p *process) handshake(ctx context.Context, limit time.Duration) error {
	w := p.watch(ctx, &exchange{limit: limit})
	h, err := readHeader(p.reader)
	var word hello
	if err == nil && h.kind == frameHello {
		err = readJSON(p.reader, h, &word)
	}
	w.stop()
	switch {
	case err != nil:
		return w.explain(err)
	case h.kind != frameHello || word.Protocol != protocolVersion:
		return fmt.Errorf("the worker speaks protocol %d, not %d: is it another version of this program?",
			word.Protocol, protocolVersion)
	}
	join.Run(p.listen)
	return nil
}

// died describes a worker that went away, or one that broke the protocol: that one is killed first. One that
// another exchange has cost was killed from outside as far as this one is concerned.
func (p *process) died(err error) error {
	p.mu.Lock()
	killed := p.killed
	p.mu.Unlock()
	if killed {
		return &errDied{state: "it was killed", killed: true, stderr: p.stderr.String()}
	}
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
	return &errDied{
		state: p.cmd.ProcessState.String(), killed: killedFromOutside(p.cmd.ProcessState),
		stderr: p.stderr.String(),
	}
}

// tail keeps the start and the end of what a worker says on standard error: a crash of the process says why
// at the start of its dump, a library at the end.
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

// String is the line that says why the process crashed, behind the last one before it, which is the library's
// own; else it is the last line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := ""
	for line := range strings.Lines(string(t.start)) {
		for _, crash := range []string{"SIG", "panic: ", "fatal error: "} {
			if strings.HasPrefix(line, crash) {
				return own + strings.TrimSpace(line)
			}
		}
		if line = strings.TrimSpace(line); line != "" {
			own = line + ": "
		}
	}
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return lines[len(lines)-1]
}
