package emu

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// observe tells the observers about an instruction that is about to execute for the lanes m. It reports false where a
// breakpoint stops the block before it.
func (w *warp) observe(in *inst, m uint32, pc int32) bool {
	b := w.blk
	if m == 0 {
		return true
	}
	if in.flow == flowSync {
		if need := w.named(in, m) & w.alive; need&^w.groups[w.cur].mask != 0 {
			return true // it waits; the event comes when it executes
		}
	}
	if b.halt != nil && b.clock != b.resume {
		w.events(in, m, pc, func(e *target.Event) { b.halted = b.halted || b.halt(e) })
		if b.halted {
			b.resume = b.clock
			return false
		}
	}
	if len(b.obs) > 0 {
		w.events(in, m, pc, b.deliver)
	}
	return true
}

func (b *block) deliver(e *target.Event) {
	for _, o := range b.obs {
		o.Event(e)
	}
}

// events describes an instruction: one event, or for whole matrices one a row segment of the lanes.
func (w *warp) events(in *inst, m uint32, pc int32, emit func(*target.Event)) {
	b := w.blk
	e := &b.event
	*e = target.Event{
		Class: in.class, Step: b.clock, Warp: w.id, PC: int(pc), Instr: in.src, Mask: m, Probe: in.probe,
	}
	lane := bits.TrailingZeros32(m)
	switch in.class {
	case target.ClassBarrier:
		e.Barrier = int(w.lane32(in.a, lane) & 15)
		e.Threads = b.threads()
		if in.bar.count {
			e.Threads = int(w.lane32(in.b, lane))
		}
	case target.ClassAsyncWait:
		e.Value = in.imm
	}
	switch {
	case in.mem == nil:
		emit(e)
	case in.mma != nil && in.mma.matrix > 0:
		w.matrixEvents(in, m, e, emit)
	case in.mma != nil:
		w.fragmentEvents(in, m, e, emit)
	case in.mem.second != nil:
		w.copyEvent(in, m, e, emit)
	default:
		w.memoryEvent(in.mem, m, e, func(lane int) uint64 { return w.address(in.mem, lane) }, in.mem.total(), emit)
	}
}

// memoryEvent fills in addresses. Lanes whose generic addresses lie in different spaces get an event each.
func (w *warp) memoryEvent(x *access, m uint32, e *target.Event, at func(lane int) uint64, size int, emit func(*target.Event)) {
	b := w.blk
	e.Addr, e.Bytes = &b.addr, size
	for m != 0 {
		e.Mask, e.Space = 0, target.SpaceNone
		for l := m; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			space, addr := x.space, at(lane)
			if space == target.SpaceNone {
				space, addr = ungeneric(addr)
			}
			if e.Space == target.SpaceNone {
				e.Space = space
			}
			if space == e.Space {
				b.addr[lane] = addr
				e.Mask |= 1 << lane
			}
		}
		m &^= e.Mask
		emit(e)
	}
}

// copyEvent is a cp.async: destination and source.
func (w *warp) copyEvent(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	b, x := w.blk, in.mem
	for l := m; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		b.addr[lane] = w.address(x, lane) & (windowSize - 1)
		b.addr2[lane] = w.address(x.second, lane)
	}
	e.Space, e.Addr, e.Addr2, e.Bytes = target.SpaceShared, &b.addr, &b.addr2, x.size
	emit(e)
}

// fragmentEvents is a wmma load or store: for each pair of elements that lie side by side one event, else one for each
// element. Value is the first element's number in the fragment.
func (w *warp) fragmentEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	op := in.mma
	cells := op.cells()
	pair := op.elementOffset(cells[0][1], 1<<16)-op.elementOffset(cells[0][0], 1<<16) == op.kind.size()
	step := 1
	if pair {
		step = 2
	}
	for k := 0; k < 8; k += step {
		e.Value = uint64(k)
		at := func(lane int) uint64 {
			return w.address(in.mem, lane) + uint64(op.elementOffset(cells[lane][k], w.wmmaStride(op, lane)))
		}
		w.memoryEvent(in.mem, m, e, at, step*op.kind.size(), emit)
	}
}

// matrixEvents is ldmatrix or stmatrix: the rows that lanes 0 to 8n-1 point at.
func (w *warp) matrixEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	rows := m
	if n := 8 * in.mma.matrix; n < 32 {
		rows &= 1<<n - 1
	}
	w.memoryEvent(in.mem, rows, e, func(lane int) uint64 { return w.address(in.mem, lane) }, 16, emit)
}

// landed tells that bytes of a cp.async became visible.
func (w *warp) landed(c *asyncCopy, lanes uint32) {
	b := w.blk
	addr := c.dst
	b.notify(&target.Event{
		Class: target.ClassAsyncLand, Step: b.clock, Warp: w.id, PC: w.pcOf(c.in), Instr: c.in.src, Mask: lanes,
		Space: target.SpaceShared, Addr: &addr, Bytes: c.in.mem.size, Probe: c.in.probe,
	})
}

// pcOf is an instruction's index in the program.
func (w *warp) pcOf(in *inst) int { return w.blk.p.base[in.fn] + int(in.index) }

// barrierDone tells that a barrier completed.
func (b *block) barrierDone(id int, s barrierState) {
	b.notify(&target.Event{
		Class: target.ClassBarrierDone, Step: b.clock, PC: int(s.pc), Instr: b.p.code[s.pc].src, Barrier: id,
		Threads: s.arrived, Warps: s.warps,
	})
}

// notify delivers an event that no breakpoint stands in front of; one on it stops the block after it.
func (b *block) notify(e *target.Event) {
	b.deliver(e)
	if b.halt != nil && b.halt(e) {
		b.halted = true
		b.resume = b.clock
	}
}
