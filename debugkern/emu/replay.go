package emu

import (
	"bytes"
	"context"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A block of a launch whose blocks share memory is executed again by what it got from the others: the launch
// is executed once more in the defined order, and what differs in global memory between two turns of the
// block is kept with the clock of the block. A stepped block then gets these bytes at the same moments, and
// needs no other block.

// patch is what other blocks changed before the block's clock went past a moment.
type patch struct {
	clock uint64
	parts []patchPart
}

// patchPart is bytes of one allocation, with which of them are written (nil: all).
type patchPart struct {
	alloc, off    int
	data, written []byte
}

// history records the patches of one block.
type history struct {
	index   int // in launch.ids
	mem     *memory
	before  []patchPart // every allocation when the block gave way, or nil before it began
	patches []patch
}

// resume compares memory with what the block left. Before its first turn everything is a change.
func (h *history) resume(b *block) {
	p := patch{clock: b.clock}
	for i, a := range h.mem.allocs {
		lo, hi := 0, len(a.data)
		if h.before != nil {
			lo, hi = differ(a, &h.before[i])
		}
		if lo < hi {
			part := patchPart{alloc: i, off: lo, data: bytes.Clone(a.data[lo:hi])}
			if a.written != nil {
				part.written = bytes.Clone(a.written[lo:hi])
			}
			p.parts = append(p.parts, part)
		}
	}
	if h.before == nil || len(p.parts) > 0 {
		h.patches = append(h.patches, p)
	}
}

// differ is the range of bytes in which an allocation differs from a copy.
func differ(a *alloc, was *patchPart) (lo, hi int) {
	same := func(i int) bool {
		return a.data[i] == was.data[i] && (a.written == nil || a.written[i] == was.written[i])
	}
	if bytes.Equal(a.data, was.data) && bytes.Equal(a.written, was.written) {
		return 0, 0
	}
	for hi = len(a.data); same(hi - 1); hi-- {
	}
	for same(lo) {
		lo++
	}
	return lo, hi
}

// pause keeps memory as the block leaves it to others.
func (h *history) pause(*block) {
	h.before = h.before[:0]
	for i, a := range h.mem.allocs {
		h.before = append(h.before, patchPart{
			alloc: i, data: bytes.Clone(a.data), written: bytes.Clone(a.written),
		})
	}
}

// replay executes a launch in the defined order until block id has ended, and returns what that block got
// from the others: the first patch is all of global memory when it began.
func (k *Kernel) replay(ctx context.Context, l *target.Launch, id probes.Dim3) ([]patch, error) {
	one := *l
	one.Only, one.Observe, one.Ordered = []probes.Dim3{id}, nil, true
	r, err := k.begin(&one, linearly(l.Grid))
	if err != nil {
		return nil, err
	}
	r.wanted = map[probes.Dim3]bool{id: true}
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	o := newOrder(r)
	o.history = &history{index: l.Grid.Linear(id), mem: r.mem}
	o.run()
	return o.history.patches, ctx.Err()
}

// receive gives a block that is stepped what it got from other blocks.
func (b *block) receive(ps []patch) {
	if len(ps) == 0 {
		return
	}
	for _, part := range ps[0].parts {
		a := b.mem.allocs[part.alloc]
		copy(a.data, part.data)
		copy(a.written, part.written)
		a.initial, a.initialWritten = bytes.Clone(a.data), bytes.Clone(a.written)
	}
	b.inputs = ps[1:]
}

// patch applies what other blocks changed at the block's clock, and reports whether there was anything.
func (b *block) patch() bool {
	if b.applied >= len(b.inputs) || b.clock < b.inputs[b.applied].clock {
		return false
	}
	for _, part := range b.inputs[b.applied].parts {
		a := b.mem.allocs[part.alloc]
		copy(a.data[part.off:], part.data)
		if a.written != nil {
			copy(a.written[part.off:], part.written)
		}
		if a.dirty != nil {
			a.touch(part.off, len(part.data))
		}
	}
	b.applied++
	return true
}

// reapply finds the first patch that is due after the block was put back to an earlier moment. One that was
// applied at that very moment is applied again, to the same bytes.
func (b *block) reapply() {
	for b.applied = 0; b.applied < len(b.inputs) && b.inputs[b.applied].clock < b.clock; b.applied++ {
	}
}
