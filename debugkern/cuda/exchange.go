package cuda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tilescope/debugkern/cuda/internal/dl"
	"tilescope/debugkern/join"
)

// exchange is one request to a worker, and what its answer fills.
type exchange struct {
	request *request
	buffers [][]byte       // sent behind the request
	into    map[int][]byte // where answered buffers go, by stream: their lengths are what is expected
	// collected grows by what is answered as stream 0, to at most collectMax bytes; 0: into
	// says what is expected.
	collected  []byte
	collectMax int
	limit      time.Duration      // how long the worker may be silent about it
	onLaunch   func(launches int) // as launches end; may be nil
	// apart is a request that the worker answers while it serves others. The caller may give up waiting: the
	// worker finishes it, and its answer is dropped.
	apart bool

	launched int // launches that are known to have ended
	result   *result

	id    uint64
	at    map[int]int   // bytes of each stream that have come
	heard chan struct{} // the worker lives
	done  chan struct{} // closed when the exchange is over, after err
	err   error
}

// exchange sends a request and waits for the answer. The error is a *remoteError, *errDied, *errSilent or the
// context's; after any but the first, and after a fatal one, the process is of no more use, save where the
// request was apart and its context ended. Requests that are not apart come from one goroutine at a time.
func (p *process) exchange(ctx context.Context, x *exchange) error {
	x.at, x.heard, x.done = map[int]int{}, make(chan struct{}, 1), make(chan struct{})
	x.request.Buffers = nil
	for _, b := range x.buffers {
		x.request.Buffers = append(x.request.Buffers, int64(len(b)))
	}
	p.begin(x)
	w := p.watch(ctx, x)
	if err := p.send(x); err != nil {
		p.finish(x.id, err)
	}
	var gone <-chan struct{}
	if x.apart {
		gone = ctx.Done()
	}
	select {
	case <-x.done:
	case <-gone:
		p.finish(x.id, ctx.Err())
		<-x.done
	}
	w.stop()
	join.Raise(x.err)                  // of whoever listens
	if x.err == nil || ctxErr(x.err) { // given up on: nothing is wrong with the worker
		return x.err
	}
	return w.explain(x.err)
}

// begin gives the exchange its number and has its answer heard.
func (p *process) begin(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id++
	x.id = p.id
	if p.broken != nil {
		x.err = p.broken
		close(x.done)
		return
	}
	p.calls[x.id] = x
}

func (p *process) send(x *exchange) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := p.frames.json(frameRequest, x.id, x.request); err != nil {
		return err
	}
	for i, b := range x.buffers {
		if err := p.frames.data(i, x.id, b, x.alive); err != nil {
			return err
		}
	}
	return nil
}

// finish ends an exchange that is under way.
func (p *process) finish(id uint64, err error) {
	p.mu.Lock()
	x := p.calls[id]
	delete(p.calls, id)
	p.mu.Unlock()
	if x != nil {
		x.err = err
		close(x.done)
	}
}

// listen hands every frame to its exchange until the worker's output ends, and then ends all of them.
func (p *process) listen() {
	err := join.Try(func() error {
		for {
			h, err := readHeader(p.reader)
			if err == nil {
				err = p.hear(h)
			}
			if err != nil {
				return err
			}
		}
	})
	p.mu.Lock()
	p.broken = err
	var all []uint64
	for id := range p.calls {
		all = append(all, id)
	}
	p.mu.Unlock()
	for _, id := range all {
		p.finish(id, err)
	}
}

// hear takes one frame. An error is one of the stream: nothing can be read from it any more.
func (p *process) hear(h header) error {
	if h.kind == framePong && h.length == 0 && p.hold != nil {
		p.ponged()
		return nil
	}
	p.mu.Lock()
	x, last := p.calls[h.id], p.id
	p.mu.Unlock()
	if x == nil {
		if h.id == 0 || h.id > last {
			return fmt.Errorf("an answer to request %d", h.id)
		}
		_, err := io.CopyN(io.Discard, p.reader, int64(h.length)) // somebody has given up on it
		return err
	}
	_ = x.alive()
	switch h.kind {
	case frameProgress:
		var reported progress
		if err := readJSON(p.reader, h, &reported); err != nil {
			return err
		}
		if reported.N > x.launched {
			x.launched = reported.N
			if x.onLaunch != nil {
				x.onLaunch(reported.N)
			}
		}
		return nil
	case frameData, framePacked:
		return p.data(x, h)
	case frameResult:
		x.result = &result{}
		if err := readJSON(p.reader, h, x.result); err != nil {
			return err
		}
		p.finish(x.id, x.complete())
		return nil
	case frameError:
		e := &remoteError{}
		if err := readJSON(p.reader, h, &e.failure); err != nil {
			return err
		}
		p.finish(x.id, e)
		return nil
	}
	return fmt.Errorf("frame of kind %d out of turn", h.kind)
}

// data takes a chunk of an answered buffer.
func (p *process) data(x *exchange, h header) error {
	n, err := x.data(p.reader, h)
	if p.hold != nil {
		p.hold.link.raw.Add(int64(n))
	}
	return err
}

// data returns how many bytes the chunk has, decoded.
func (x *exchange) data(r io.Reader, h header) (n int, err error) {
	s := int(h.stream)
	if x.collectMax > 0 {
		if s != 0 {
			return 0, fmt.Errorf("bytes of buffer %d", s)
		}
		at := len(x.collected)
		x.collected, err = readChunk(r, h, x.collected, int64(x.collectMax))
		return len(x.collected) - at, err
	}
	at := x.at[s]
	got, err := readChunk(r, h, x.into[s][:at:len(x.into[s])], int64(len(x.into[s])))
	x.at[s] = len(got)
	return len(got) - at, err
}

// complete checks that everything expected has come.
func (x *exchange) complete() error {
	for s, b := range x.into {
		if x.at[s] != len(b) {
			return fmt.Errorf("%d of %d bytes of buffer %d", x.at[s], len(b), s)
		}
	}
	return nil
}

// remoteError is a failure that the worker reported.
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
	case "unsupported":
		out = append(out, dl.ErrUnsupported)
	case "no-sanitizer":
		out = append(out, ErrNoSanitizer)
	}
	return out
}

// alive says that the worker lives. It never fails.
func (x *exchange) alive() error {
	select {
	case x.heard <- struct{}{}:
	default:
	}
	return nil
}

// watcher ends an exchange from outside: when the context ends, or the worker is silent for too long.
type watcher struct {
	p     *process
	ctx   context.Context
	x     *exchange
	done  chan struct{} // closed when the exchange is over
	ended *join.Task[struct{}]
	cause error // why the process was killed; read after ended
}

// watch starts a watcher; it has to be stopped.
func (p *process) watch(ctx context.Context, x *exchange) *watcher {
	w := &watcher{p: p, ctx: ctx, x: x, done: make(chan struct{})}
	w.ended = join.Run(w.run)
	return w
}

func (w *watcher) stop() {
	close(w.done)
	w.ended.Wait()
}

func (w *watcher) run() {
	limit := time.NewTimer(w.x.limit)
	defer limit.Stop()
	gone := w.ctx.Done()
	for {
		select {
		case <-w.done:
			return
		case <-w.x.heard:
			limit.Reset(w.x.limit)
		case <-limit.C:
			if w.p.delayed() { // what was sent may still be under way; the link has a limit of its own
				limit.Reset(w.x.limit)
				continue
			}
			w.cause = &errSilent{w.x.limit}
			w.p.kill()
			return
		case <-gone:
			w.cause = w.ctx.Err()
			if !w.x.apart {
				w.cancel()
				return
			}
			gone = nil // it may still be being sent, to a worker that reads nothing
		}
	}
}

// cancel asks the worker to stop, and kills it where it does not answer in time.
func (w *watcher) cancel() {
	asked := join.Run(func() {
		w.p.frames.write(frameCancel, 0, w.x.id, nil) // ends at the latest when kill closes the pipe
	})
	grace := time.NewTimer(w.p.cancelGrace())
	defer grace.Stop()
	select {
	case <-w.done:
	case <-grace.C:
		w.p.kill()
	}
	asked.Wait()
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
