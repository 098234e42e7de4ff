package emu

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// observer is an attached observer with what it wants to hear of.
type observer struct {
	target.Observer
	wants   target.ClassSet
	follows target.ClassSet
	after   target.Follower
}

// observe attaches an observer.
func (b *block) observe(o target.Observer) {
	if v, ok := o.(target.Viewer); ok {
		v.View(&view{b})
	}
	wants := target.AllClasses
	if i, ok := o.(target.Interested); ok {
		wants = i.Interests()
	}
	ob := observer{Observer: o, wants: wants}
	if f, ok := o.(target.Follower); ok {
		ob.after, ob.follows = f, f.Follows()
	}
	b.obs = append(b.obs, ob)
	b.attend()
}

// attend updates observedClasses: which instructions have to be reported.
func (b *block) attend() {
	b.watched, b.observedClasses, b.follows = b.halt != nil || len(b.obs) > 0, 0, 0
	for _, o := range b.obs {
		b.observedClasses |= o.wants
		b.follows |= o.follows
	}
	// results are reported before the next instruction executes, of any class
	if b.halt != nil || b.follows != 0 {
		b.observedClasses = target.AllClasses
	}
}

// follow reports what the last instruction has done, to the observers that want it.
func (b *block) follow() {
	if !b.executed {
		return
	}
	b.executed = false
	b.followed(&b.outcome)
}

// followed reports what has been done to the observers that want it.
func (b *block) followed(e *target.Event) {
	for i := range b.obs {
		if o := &b.obs[i]; o.follows.Has(e.Class) {
			o.after.After(e)
		}
	}
}

// end reports to the observers that the block is over.
func (b *block) end() {
	b.follow()
	for _, o := range b.obs {
		if e, ok := o.Observer.(target.Ender); ok {
			e.End()
		}
	}
}

// observe reports to the observers an instruction that is about to execute for the lanes m. It reports false
// where a breakpoint stops the block before it.
func (w *warp) observe(in *inst, m uint32, pc int32) bool {
	b := w.blk
	b.follow()
	switch {
	case b.halted: // at a copy that landed during the instruction before
		return false
	case m == 0:
		return w.skipped(in, pc)
	}
	if in.flow.whole() {
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
		w.events(in, m, pc, b.emit)
	}
	if b.follows.Has(in.class) {
		w.describe(&b.outcome, in, int(pc), m)
		b.executed = true
	}
	return true
}

// skipped asks the breakpoint, which sees every instruction, about one that no lane executes.
func (w *warp) skipped(in *inst, pc int32) bool {
	b := w.blk
	if b.halt == nil || b.clock == b.resume {
		return true
	}
	b.event = target.Event{
		Class: in.class, Step: b.clock, Warp: w.id, PC: int(pc), Instr: in.src, Probe: in.probe,
	}
	if b.halted = b.halted || b.halt(&b.event); b.halted {
		b.resume = b.clock
	}
	return !b.halted
}

func (b *block) deliver(e *target.Event) {
	for i := range b.obs {
		if o := &b.obs[i]; o.wants.Has(e.Class) {
			o.Event(e)
		}
	}
}

// describe fills in what every event has.
func (w *warp) describe(e *target.Event, in *inst, pc int, m uint32) {
	lane := bits.TrailingZeros32(m)
	*e = target.Event{
		Class: in.class, Step: w.blk.clock, Warp: w.id, PC: pc, Func: in.fn, Instr: in.src, Mask: m,
		Probe:  in.probe,
		KVTile: w.tile(in, lane), Iteration: w.iteration(in, lane), Loop: int(in.around),
	}
}

// events describes an instruction: one event, or for whole matrices one a row segment of the lanes.
func (w *warp) events(in *inst, m uint32, pc int32, emit func(*target.Event)) {
	b := w.blk
	e := &b.event
	w.describe(e, in, int(pc), m)
	b.eventInst, b.eventWarp = in, w
	lane := bits.TrailingZeros32(m)
	switch in.class {
	case target.ClassBarrier:
		e.Barrier = int(w.lane32(in.a, lane) & 15)
		e.Threads, e.Off = b.threads(), w.groups[w.cur].mask&^m
		if in.bar.count {
			e.Threads = int(w.lane32(in.b, lane))
		}
	case target.ClassWarpSync:
		w.syncEvents(in, m, e, emit)
		b.eventInst = nil
		return
	case target.ClassWgmma:
		e.Ranges = w.wgmmaRanges(in)
	case target.ClassAsyncWait, target.ClassBulkWait, target.ClassWgmmaWait:
		e.Value = in.imm
	case target.ClassTensorMap:
		w.mapEvents(in, m, e, emit)
		b.eventInst = nil
		return
	case target.ClassBulk:
		w.bulkEvents(in, m, e, emit)
		b.eventInst = nil
		return
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
		w.addresses(in.mem, m)
		w.memoryEvent(in.mem, m, e, in.mem.total(), emit)
	}
	b.eventInst = nil
}

// syncEvents reports a bar.warp.sync, once for each set of lanes that is named.
func (w *warp) syncEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	for m != 0 {
		e.Members = w.lane32(in.c, bits.TrailingZeros32(m))
		e.Mask = 0
		for l := m; l != 0; l &= l - 1 {
			if lane := bits.TrailingZeros32(l); w.lane32(in.c, lane) == e.Members {
				e.Mask |= 1 << lane
			}
		}
		m &^= e.Mask
		emit(e)
	}
}

// joined reports that lanes which waited at several bar.warp.sync instructions went on together.
func (w *warp) joined(in *inst, here uint32) {
	var e target.Event
	w.describe(&e, in, w.pcOf(in), here)
	e.Step-- // the clock counts it already
	e.Members = here
	w.blk.notify(&e)
}

// addresses fills in the address operand of the lanes of m.
func (w *warp) addresses(x *access, m uint32) {
	a := &w.blk.addr
	switch {
	case x.base < 0:
		for i := range a {
			a[i] = x.off
		}
	case x.wide:
		for i, v := range w.full64(x.base) {
			a[i] = v + x.off
		}
	default:
		off := uint32(x.off)
		for i, v := range w.full32(x.base) {
			a[i] = uint64(v + off)
		}
	}
}

// memoryEvent reports an access to the addresses in b.addr. Lanes whose generic addresses lie in different
// spaces get an event each.
func (w *warp) memoryEvent(x *access, m uint32, e *target.Event, size int, emit func(*target.Event)) {
	b := w.blk
	e.Addr, e.Bytes = &b.addr, size
	if b.maps() && (x.space == target.SpaceNone || x.space == target.SpaceShared) {
		w.clusterEvent(x, m, e, emit)
		return
	}
	if e.Space = x.space; x.space != target.SpaceNone {
		e.Mask = m
		emit(e)
		return
	}
	generic := b.addr
	for m != 0 {
		e.Mask, e.Space = 0, target.SpaceNone
		for l := m; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			space, addr := ungeneric(generic[lane])
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

// bulkEvents reports the issue of bulk operations: one event a lane.
func (w *warp) bulkEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	if in.bulk.tensor != nil {
		w.tensorEvents(in, m, e, emit)
		return
	}
	b, x := w.blk, in.mem
	y := x.second
	if in.bulk.store != nil {
		w.storeEvents(in, m, e, emit)
		return
	}
	at := func(x *access, lane int) uint64 {
		if x.space == target.SpaceShared {
			return w.sharedAddress(x, lane)
		}
		_, addr := ungeneric(w.address(x, lane))
		return addr
	}
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		e.Mask, e.Space, e.Barrier = 1<<lane, x.space, -1
		b.addr[lane], b.addr2[lane] = at(x, lane), at(y, lane)
		e.Addr, e.Addr2, e.Bytes = &b.addr, &b.addr2, int(w.lane32(in.bulk.size, lane))
		if z := y.second; z != nil {
			e.Barrier = int(w.sharedAddress(z, lane))
		}
		w.elsewhere(in, e, lane)
		emit(e)
	}
}

// fragmentEvents is a wmma load or store: for each pair of elements that lie side by side one event, else one
// for each element. Value is the first element's number in the fragment.
func (w *warp) fragmentEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	op := in.mma
	step, size := op.frag.Moved()
	for most := min(max(op.frag.PerRegister, 2), op.frag.Elements); 2*step <= most && op.frag.Bits >= 8 &&
		op.cellOffset(0, step, 1<<16)-op.cellOffset(0, 0, 1<<16) == size; {
		step, size = 2*step, 2*size
	}
	for k := 0; k < op.frag.Elements; k += step {
		e.Value = uint64(k)
		w.addresses(in.mem, m)
		for l := m; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			w.blk.addr[lane] += uint64(op.cellOffset(lane, k, w.wmmaStride(op, lane)))
		}
		w.memoryEvent(in.mem, m, e, size, emit)
	}
}

// matrixEvents is ldmatrix or stmatrix: the rows that lanes 0 to 8n-1 point at.
func (w *warp) matrixEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	rows := m
	if n := 8 * in.mma.matrix; n < 32 {
		rows &= 1<<n - 1
	}
	w.addresses(in.mem, m)
	w.memoryEvent(in.mem, rows, e, 16, emit)
}

// landed reports that bytes of a cp.async became visible.
func (w *warp) landed(c *asyncCopy, lanes uint32) {
	if !w.blk.observedClasses.Has(target.ClassAsyncLand) {
		return
	}
	addr := c.dst
	var e target.Event
	w.describe(&e, c.in, w.pcOf(c.in), lanes)
	e.Class, e.Space, e.Addr, e.Bytes = target.ClassAsyncLand, target.SpaceShared, &addr, c.in.mem.size
	w.blk.notify(&e)
}

// pcOf is an instruction's index in the program.
func (w *warp) pcOf(in *inst) int { return w.blk.p.base[in.fn] + int(in.index) }

// barrierDone reports that a barrier completed.
func (b *block) barrierDone(id int, s barrierState) {
	b.notify(&target.Event{
		Class: target.ClassBarrierDone, Step: b.clock, PC: int(s.pc), Func: b.p.code[s.pc].fn,
		Instr: b.p.code[s.pc].src, Barrier: id, Threads: s.arrived, Warps: s.warps, KVTile: -1, Iteration: -1,
		Loop: -1,
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
