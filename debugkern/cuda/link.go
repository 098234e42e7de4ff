package cuda

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"tilescope/debugkern/join"
)

// Link is a connection to another machine, over which workers there are reached. Its counts are of all of
// them together. It is safe for concurrent use.
type Link struct {
	Host string
	// Refused makes an error of what an ssh printed that ended with an error of its own.
	Refused func(printed string) error

	sent, received atomic.Int64 // bytes on the way, as the transport is given them
	raw            atomic.Int64 // bytes of buffers before they were compressed, both directions
	latency        atomic.Int64 // of the last ping, nanoseconds
	connected      atomic.Int64
	lost           atomic.Int64
}

// LinkStats are the counts of a link.
type LinkStats struct {
	Host           string
	Latency        time.Duration // from a ping to its answer, the last one; 0: none yet
	Sent, Received int64         // bytes, compressed as they travel
	Raw            int64         // bytes of buffers in both directions, before they were compressed
	Connected      int64         // workers that were started
	Lost           int64         // connections that were lost
}

// Stats returns the counts; of a nil Link zeros.
func (l *Link) Stats() LinkStats {
	if l == nil {
		return LinkStats{}
	}
	return LinkStats{
		Host: l.Host, Latency: time.Duration(l.latency.Load()), Sent: l.sent.Load(),
		Received: l.received.Load(),
		Raw:      l.raw.Load(), Connected: l.connected.Load(), Lost: l.lost.Load(),
	}
}

// Times of a link. Variables, for tests.
var (
	// beatEvery is the pause between two pings.
	beatEvery = time.Second
	// beatLimit is how long a connection may show no sign of life: no answer, and no byte that is taken.
	beatLimit = 15 * time.Second
	// silenceLimit is how long a worker lives that hears nothing from the other side of its link.
	silenceLimit = 45 * time.Second
)

// maxReconnects is how often in a row a lost connection is made again for one call.
const maxReconnects = 6

// firstWait is the pause before the first reconnection; each further one is twice as long.
var firstWait = 200 * time.Millisecond

// ErrLost is wrapped where the connection to another machine was lost and could not be made again.
var ErrLost = errors.New("the connection was lost")

// errLost is a connection that ended before its worker did.
type errLost struct {
	host string
	err  error
}

func (e *errLost) Error() string { return fmt.Sprintf("%v: %v", ErrLost, e.err) }

// Unwrap gives ErrLost and what was observed.
func (e *errLost) Unwrap() []error { return []error{ErrLost, e.err} }

// lostLink reports that err is a connection that was lost.
func lostLink(err error) bool {
	var lost *errLost
	return errors.As(err, &lost)
}

// hold is how a process's streams are observed: bytes are counted, and each is a sign of life.
type hold struct {
	link *Link
	last atomic.Int64 // when the last byte was taken or came, UnixNano
	// every and limit are beatEvery and beatLimit as they were at the start.
	every, limit time.Duration
}

func newHold(l *Link) *hold {
	h := &hold{link: l, every: beatEvery, limit: beatLimit}
	h.alive()
	return h
}

func (h *hold) alive() { h.last.Store(time.Now().UnixNano()) }

func (h *hold) silent() time.Duration { return time.Duration(time.Now().UnixNano() - h.last.Load()) }

// linkWriter writes in pieces, so that each that is taken is a sign of life.
type linkWriter struct {
	h *hold
	w io.Writer
}

const linkPiece = 32 << 10

func (l *linkWriter) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := l.w.Write(b[done:min(len(b), done+linkPiece)])
		done += n
		l.h.link.sent.Add(int64(n))
		if err != nil {
			return done, err
		}
		l.h.alive()
	}
	return done, nil
}

type linkReader struct {
	h *hold
	r io.Reader
}

func (l *linkReader) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if n > 0 {
		l.h.link.received.Add(int64(n))
		l.h.alive()
	}
	return n, err
}

// beat pings the worker until the process ends, and ends it where the connection shows no sign of life.
func (p *process) beat() {
	tick := time.NewTicker(p.hold.every)
	defer tick.Stop()
	for n := uint64(1); ; n++ {
		if n > 1 { // the first one measures the way there and back at once
			select {
			case <-p.exited:
				return
			case <-tick.C:
			}
		}
		if silent := p.hold.silent(); silent > p.hold.limit {
			_ = p.lose(fmt.Errorf("no sign of life for %s", silent.Round(time.Second)))
			return
		}
		if p.pinged.CompareAndSwap(0, time.Now().UnixNano()) {
			join.Run(func() { // a write may wait for room, and the limit holds meanwhile
				_ = p.frames.write(framePing, 0, n, nil)
			})
		}
	}
}

// ponged takes the answer to a ping.
func (p *process) ponged() {
	if at := p.pinged.Swap(0); at != 0 {
		p.hold.link.latency.Store(max(1, time.Now().UnixNano()-at))
	}
}

// lose ends a process whose connection is of no more use.
func (p *process) lose(err error) error {
	p.mu.Lock()
	if p.lost == nil {
		p.lost = &errLost{p.hold.link.Host, err}
		p.hold.link.lost.Add(1)
	}
	err = p.lost
	p.mu.Unlock()
	p.kill()
	return err
}

// cancelGrace is what a cancelled worker has to end its request in: over a link also the way there and back.
func (p *process) cancelGrace() time.Duration {
	if p.hold == nil {
		return cancelGrace
	}
	return cancelGrace + min(3*time.Duration(p.hold.link.latency.Load()), time.Second) + 100*time.Millisecond
}

// delayed reports that a ping has waited for its answer for longer than a beat: requests may have, too.
func (p *process) delayed() bool {
	at := p.pinged.Load()
	return p.hold != nil && at != 0 && time.Now().UnixNano()-at > int64(p.hold.every)
}

// lifeline ends a worker that has heard nothing for long: where a connection is cut without either side being
// told, its input never ends, and a kernel would go on.
type lifeline struct {
	r     io.Reader
	last  atomic.Int64
	limit time.Duration
}

func newLifeline(r io.Reader) *lifeline {
	l := &lifeline{r: r, limit: silenceLimit}
	l.last.Store(time.Now().UnixNano())
	return l
}

func (l *lifeline) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	l.last.Store(time.Now().UnixNano())
	return n, err
}

// cut returns when nothing has been read for silenceLimit.
func (l *lifeline) cut() {
	for {
		left := l.limit - time.Duration(time.Now().UnixNano()-l.last.Load())
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}
