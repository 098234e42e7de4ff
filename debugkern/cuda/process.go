package cuda

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
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
	hold   *hold           // of a worker over a link, else nil
	pinged atomic.Int64    // when the ping that is not answered yet was sent, UnixNano; 0: none
	exited <-chan struct{} // closed once the process is reaped

	sending sync.Mutex // held while a request and its buffers are sent
	mu      sync.Mutex
	killed  bool
	lost    error                // the connection ended, and why
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
//
// link is what the worker is reached over, nil where the process is the worker itself.
func startProcess(command, env []string, link *Link) (*process, error) {
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
	if link != nil {
		p.hold = newHold(link)
		p.frames = &frameWriter{w: &linkWriter{p.hold, in}, pack: true, raw: &link.raw}
		p.reader = bufio.NewReaderSize(&linkReader{p.hold, out}, 64<<10)
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

// ended reports that the process was killed or has ended.
func (p *process) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
		return true
	default:
		return p.killed
	}
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
	var err error
	if p.hold != nil {
		err = p.skipToMark()
	}
	var h header
	if err == nil {
		h, err = readHeader(p.reader)
	}
	var word hello
	if err == nil && h.kind == frameHello {
		err = readJSON(p.reader, h, &word)
	}
	w.stop()
	switch {
	case err != nil:
		return w.explain(err)
	case (h.kind != frameHello || word.Protocol != protocolVersion) && p.hold != nil:
		return fmt.Errorf("host %s: the tilescope there (version %s) speaks worker protocol %d, and this one %d: "+
			"install the same version there, or remove it from the PATH there and let this one be copied",
			p.hold.link.Host, cmp.Or(word.Version, "unknown"), word.Protocol, protocolVersion)
	case h.kind != frameHello || word.Protocol != protocolVersion:
		return fmt.Errorf("the worker speaks protocol %d, not %d: is it another version of this program?",
			word.Protocol, protocolVersion)
	}
	join.Run(p.listen)
	if p.hold != nil {
		p.hold.link.connected.Add(1)
		join.Run(p.beat)
	}
	return nil
}

// noiseMax is how much text may precede a worker's frames on a link.
const noiseMax = 64 << 10

// skipToMark reads up to the end of linkMark.
func (p *process) skipToMark() error {
	var noise []byte
	for !bytes.HasSuffix(noise, []byte(linkMark)) {
		b, err := p.reader.ReadByte()
		if err != nil {
			if text := bytes.TrimSpace(noise); len(text) > 0 && errors.Is(err, io.EOF) {
				p.stderr.Write(append(text, '\n'))
			}
			return err
		}
		if noise = append(noise, b); len(noise) > noiseMax {
			return fmt.Errorf("no worker, but text: %.200q", noise)
		}
	}
	return nil
}

// died describes a worker that went away, or one that broke the protocol: that one is killed first. One that
// another exchange has cost was killed from outside as far as this one is concerned.
func (p *process) died(err error) error {
	p.mu.Lock()
	killed, lost := p.killed, p.lost
	p.mu.Unlock()
	if lost != nil {
		return lost
	}
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
		if p.hold != nil {
			return p.lose(errors.New("the stream ended"))
		}
		p.kill()
		return &errDied{state: "its output closed", stderr: p.stderr.String()}
	}
	if p.hold != nil {
		return p.endedThere()
	}
	return &errDied{
		state: p.cmd.ProcessState.String(), killed: killedFromOutside(p.cmd.ProcessState),
		stderr: p.stderr.String(),
	}
}

// endedThere describes how a worker on another machine ended, by its ssh's exit status: 255 is an error of
// ssh's own, 128 and more a signal.
func (p *process) endedThere() error {
	host, said := p.hold.link.Host, p.stderr.String()
	switch code := p.cmd.ProcessState.ExitCode(); {
	case code == 255 || code < 0: // of ssh itself, or a signal that ended it
		err := fmt.Errorf("ssh ended (%s)", p.cmd.ProcessState)
		if p.hold.link.Refused != nil && code == 255 {
			err = p.hold.link.Refused(p.stderr.text())
		}
		return p.lose(err)
	case code == 126 || code == 127:
		return fmt.Errorf("host %s: tilescope cannot be executed there: %s", host,
			cmp.Or(said, p.cmd.ProcessState.String()))
	case code > 128:
		sig := code - 128
		return &errDied{
			state: fmt.Sprintf("signal %d on %s", sig, host), killed: sig == 1 || sig == 2 || sig == 9 ||
				sig == 15,
			stderr: said,
		}
	default:
		return &errDied{state: fmt.Sprintf("exit status %d on %s", code, host), stderr: said}
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

// text is all that is stored of the end.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
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
