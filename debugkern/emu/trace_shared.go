package emu

import (
	"context"
	"math/bits"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// sharedTracer collects every write to some bytes of shared memory.
type sharedTracer struct {
	*tracer
	lo, hi uint64
	out    []target.WriteSite
}

// SharedWrites executes the block again up to a moment of its clock.
func (k *Kernel) SharedWrites(
	ctx context.Context, l *target.Launch, id probes.Dim3, addr, n int, until uint64,
) ([]target.WriteSite, error) {
	one := *l
	one.Observe = nil
	s, err := k.open(&one, id)
	if err != nil {
		return nil, err
	}
	t := &sharedTracer{tracer: newTracer(s.b), lo: uint64(addr), hi: uint64(addr + n)}
	s.b.observe(t)
	if _, err := s.RunTo(ctx, until, nil); err != nil {
		if f, ok := err.(*target.Fault); !ok || f.Err != nil { // else the kernel's block ended
			return nil, err
		}
	}
	return t.out, nil
}

// Event implements target.Observer. A row segment of a fragment store is an event of its own, so is
// every lane's write.
func (t *sharedTracer) Event(e *target.Event) {
	switch e.Class {
	case target.ClassMMA:
		t.tracer.Event(e)
	case target.ClassStore, target.ClassAtomic, target.ClassAsyncLand, target.ClassBulkLand:
		if e.Space != target.SpaceShared {
			return
		}
		for m := e.Mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			at := e.Addr[lane]
			if at >= t.hi || at+uint64(e.Bytes) <= t.lo {
				continue
			}
			w := t.record(e, lane)
			if in := &t.b.p.code[e.PC]; w.mma > 0 && t.lo > at {
				w.element += uint8((t.lo - at) / uint64(in.mma.size))
			}
			t.out = append(t.out, *t.b.describe(w, target.SpaceShared, max(at, t.lo)))
		}
	}
}
