package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// maxSanitized is how many bytes the description of what a tool reported may have.
const maxSanitized = 64 << 20

// sanitizeThere has a worker on another machine run the tool. A connection that is lost is made again, and
// the tool runs again.
func sanitizeThere(
	ctx context.Context, t Transport, op *sanitizeOp, buffers [][]byte,
) (*Sanitized, error) {
	for a := (again{}); ; {
		out, err := sanitizeOnce(ctx, t, op, buffers)
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !a.after(ctx, err):
			return nil, a.final(err)
		}
	}
}

// sanitizeOnce starts a worker for it, which ends with the tool.
func sanitizeOnce(
	ctx context.Context, t Transport, op *sanitizeOp, buffers [][]byte,
) (*Sanitized, error) {
	p, err := launchWorker(ctx, t)
	if err != nil {
		return nil, startError(err)
	}
	defer p.close()
	x := &exchange{
		request: &request{Sanitize: op}, buffers: buffers, limit: startTimeout, collectMax: maxSanitized,
	}
	var remote *remoteError
	if err := p.exchange(ctx, x); errors.As(err, &remote) {
		return nil, fmt.Errorf("host %s: %w", t.Link().name(), err)
	} else if err != nil {
		return nil, err
	}
	var out Sanitized
	if err := json.Unmarshal(x.collected, &out); err != nil || out.Tool != op.Tool {
		return nil, errors.New("worker protocol: malformed answer of a tool")
	}
	return &out, nil
}

// sanitize runs a tool of this machine and streams what it reported.
func (w *worker) sanitize(in *incoming) error {
	if w.sanitizer == nil {
		return errors.New("this worker runs no tools")
	}
	w.program.Lock()
	defer w.program.Unlock()
	var out *Sanitized
	if err := w.accompanied(in.id, in.Sanitize.Tool, func(ctx context.Context) error {
		cfg, err := w.sanitizer(ctx)
		if err == nil {
			out, err = sanitizeHere(ctx, cfg, in.Sanitize, in.buffers)
		}
		return err
	}); err != nil {
		return err
	}
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return w.out.data(0, in.id, body, nil)
}
