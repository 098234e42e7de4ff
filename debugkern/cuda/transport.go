package cuda

import (
	"context"
	"errors"
	"fmt"
)

// Transport starts worker processes and gives their two streams: those of a local process, which is the
// worker itself (Local), or what connects to one on another machine.
type Transport interface {
	// Command returns the command whose standard input and output are the worker's streams. It may connect to
	// a machine to find out.
	Command(ctx context.Context) ([]string, error)
	// Link is the connection that every worker of the transport is reached over, nil for this machine's.
	Link() *Link
}

// Local is the command of a worker on this machine: a process that calls WorkerMain on its standard input and
// output and exits with its result.
type Local []string

// Command implements Transport.
func (l Local) Command(context.Context) ([]string, error) {
	if len(l) == 0 {
		return nil, errors.New("cuda backend: no worker command")
	}
	return l, nil
}

// Link implements Transport: there is none.
func (l Local) Link() *Link { return nil }

// linked returns the link of a transport, which may be nil.
func linked(t Transport) *Link {
	if t == nil {
		return nil
	}
	return t.Link()
}

// launchWorker starts a worker and waits for its first frame.
func launchWorker(ctx context.Context, t Transport) (*process, error) {
	if t == nil {
		t = Local(nil)
	}
	command, err := t.Command(ctx)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(command, nil, t.Link())
	if err != nil {
		return nil, err
	}
	if err := p.handshake(ctx, startTimeout); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// startError is the error of a worker that did not start. One on another machine names the machine itself.
func startError(err error) error {
	var far interface{ Far() }
	if errors.As(err, &far) || lostLink(err) {
		return err
	}
	return fmt.Errorf("start the GPU worker: %w", err)
}
