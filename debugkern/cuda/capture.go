package cuda

import (
	"bytes"
	"context"
	"errors"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// What a capture buffer is filled with before a launch. An element that still has this value was either not
// stored or stored with just those bits; a second launch, from the other filling, decides which. Few kernels
// ever compute the first: as f16 it is a NaN that no instruction makes, as f32 and bf16 a number near 2·10³⁷.
const (
	captureFill      = 0x7d
	captureOtherFill = captureFill ^ 0xff
)

// filled is a capture that began as captureFill, and how to get one that began as captureOtherFill. It
// implements probes.Stores.
type filled struct {
	data  []byte
	again func() ([]byte, error) // the same launch from the other filling
	other []byte                 // what that captured; nil: it has not been needed
	err   error
}

// Whole implements probes.Stores.
func (f *filled) Whole(lo, hi uint64, size int) bool {
	data, pattern := f.data[lo:hi], bytes.Repeat([]byte{captureFill}, size)
	for at := 0; ; {
		i := bytes.Index(data[at:], pattern)
		if i < 0 {
			return true
		}
		if at += i; at%size == 0 {
			return false
		}
		at++
	}
}

// Untouched implements probes.Stores.
func (f *filled) Untouched(lo, hi uint64) bool { return all(f.data[lo:hi], captureFill) }

// Stored implements probes.Stores.
func (f *filled) Stored(lo, hi uint64) bool {
	if !all(f.data[lo:hi], captureFill) {
		return true
	}
	if f.other == nil && f.err == nil {
		if f.other, f.err = f.again(); f.err == nil && len(f.other) != len(f.data) {
			f.err = errors.New("malformed answer")
		}
	}
	return f.err == nil && !all(f.other[lo:hi], captureOtherFill)
}

func all(p []byte, v byte) bool {
	for _, b := range p {
		if b != v {
			return false
		}
	}
	return true
}

// settleCapture finds the cells that no thread captured. Only where some seem to be missing is the
// kernel launched again.
func (k *kernel) settleCapture(
	ctx context.Context, p *process, l *target.Launch, op *launchOp, u *upload, out *target.Result,
) error {
	if l.Probe == nil || !l.Probe.Control {
		return nil
	}
	captured, ok := out.Capture.(probes.Buffer)
	if !ok {
		return errors.New("BUG: a capture that is not the buffer that came back")
	}
	f := &filled{data: captured, again: func() ([]byte, error) {
		spec, probe := op.Spec, *op.Spec.Probe
		probe.Fill = captureOtherFill
		spec.Probe = &probe
		release, err := l.Memory.Reserve("another launch, to see what was captured of "+k.entry.Name,
			answerBytes(l))
		if err != nil {
			return nil, &hostError{err}
		}
		defer release() // what is still needed of it is as large as what the worker has given back
		x := &exchange{
			request: &request{Launch: &launchOp{Spec: spec, Repeat: 1}}, buffers: u.bodies, into: answered(l),
			limit: k.b.cfg.Timeout,
		}
		if err := p.exchange(ctx, x); err != nil {
			return nil, k.launchError(err, l, op.Repeat+x.launched+1, op.Repeat+1)
		}
		return x.into[len(l.Args)], nil
	}}
	lay := l.Probe.Layout
	for i := range lay.Range.N.Count() {
		if out.Missing = out.Missing.Merge(lay.Missing(out.Capture, lay.Range.Block(i), f)); f.err != nil {
			return f.err
		}
	}
	return nil
}
