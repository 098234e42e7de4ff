package emu

import (
	"bytes"
	"slices"

	"tilescope/debugkern/target"
)

// Asynchronous operations. An instruction issues one and goes on; what the operation reads and writes, it
// reads and writes later, through the async proxy. Three things make one: its effect (what it reads and
// writes), its completion (what it tells, and to whom, once it has), and the moment at which it lands.
//
// The moment is the schedule's. Latest: only when no warp can go on without it, and then one operation at a
// time, one that somebody waits for first. Earliest: when it is issued. Random: at random turns of the block,
// in random order. Operations are not ordered among each other. All of it is part of the block's state, so
// that a snapshot has it and the same schedule gives the same execution.

// effect is what an operation does to memory. Its values are never changed: what differs from one operation
// to the next is in the operation.
type effect interface {
	// read takes what the operation reads into operation.data.
	read(b *block, o *operation)
	// write makes the result visible.
	write(b *block, o *operation)
}

// completionKind is a completion mechanism.
type completionKind uint8

const (
	byBytes   completionKind = iota // complete-tx on an mbarrier, of the bytes moved
	byArrival                       // an arrive-on an mbarrier
	byGroup                         // a bulk group of the issuing thread
)

// completion is what an operation does when it has landed.
type completion struct {
	kind  completionKind
	mbar  uint64 // address of the mbarrier
	group uint32 // number of the bulk group
}

// operation is one asynchronous operation under way.
type operation struct {
	in         *inst
	warp, lane int
	seq        uint64 // operations of the block are numbered as they are issued
	effect     effect
	done       completion
	to, from   span
	tile       *tensorBox // of a tensor copy, whose span of global memory is empty
	copies     uint64     // of cp.async.mbarrier.arrive: the number of the last cp.async before it
	data       []byte     // what was read, where isRead
	written    []byte     // which bytes of it were written before; nil: all
	isRead     bool
	// at is the block whose shared memory it writes and whose mbarrier it completes on; nil: the issuing one
	at *block
}

// receiver is the block whose shared memory an operation of b writes.
func (o *operation) receiver(b *block) *block {
	if o.at != nil {
		return o.at
	}
	return b
}

// span is a range of memory.
type span struct {
	space target.Space
	addr  uint64
	size  int
}

// asyncBlock is what a block has under way. It is made for programs that use mbarriers or bulk
// operations or wgmma only.
type asyncBlock struct {
	flights []operation
	seq     uint64
	open    [][32]uint32 // by warp: the number of the bulk group that a lane's next commit closes
	mbars   []mbarrier   // by address
	awaited []uint64     // noteAwaited: the mbarriers at which threads are suspended, each once
	// products are the wgmma under way, in the order of their issue
	products []product
	buffers  *wgmmaBuffers
	random   bool
	early    bool
	stall    stall
	skew     uint64   // what the program's clock reads more than the block has executed
	jump     uint64   // the next jump of the clock; 0: none was needed yet
	layout   *layouts // nil: the program tracks none
}

// beginAsync makes a block's asynchronous state.
func (b *block) beginAsync() {
	if !b.p.async && b.cluster == nil {
		return
	}
	b.async = &asyncBlock{
		open: make([][32]uint32, len(b.warps)), random: b.l.Schedule.Async == "random",
		early: b.l.Schedule.Async == "earliest",
	}
	if b.p.layouts {
		b.async.layout = &layouts{chains: map[chainKey]int{}}
	}
	for _, w := range b.warps {
		if w.wgmma = nil; b.p.wgmma {
			w.wgmma = &wgmmaWarp{epoch: 1, regs: make([]wgmmaRegister, b.p.n32)}
		}
	}
}

// clone copies the state, for a snapshot.
func (a *asyncBlock) clone() *asyncBlock {
	if a == nil {
		return nil
	}
	t := *a
	t.buffers, t.products, t.layout = nil, slices.Clone(a.products), a.layout.clone()
	t.awaited = nil
	t.open, t.mbars, t.flights = slices.Clone(a.open), slices.Clone(a.mbars), slices.Clone(a.flights)
	for i := range t.flights {
		f := &t.flights[i]
		f.data, f.written = bytes.Clone(f.data), bytes.Clone(f.written)
	}
	return &t
}

// issue puts an operation under way.
func (b *block) issue(o operation) {
	a := b.async
	a.seq++
	o.seq = a.seq
	a.flights = append(a.flights, o)
	if b.onAsync != nil {
		b.happened(target.AsyncEvent{Kind: target.AsyncIssued, Operation: b.describeOperation(&o)})
	}
	if a.early {
		b.landFlight(len(a.flights) - 1)
	}
}

// landFlight lets an operation land.
func (b *block) landFlight(i int) {
	a := b.async
	o := a.flights[i]
	a.flights = slices.Delete(a.flights, i, i+1)
	a.stall = stall{}
	if !o.isRead {
		b.readFlight(&o)
	}
	if at := o.receiver(b); at.async != nil && len(at.async.mbars) > 0 {
		at.overwriting(o.in, func() { o.effect.write(b, &o) })
	} else {
		o.effect.write(b, &o)
	}
	b.landedLayout(&o)
	b.wrote++
	o.receiver(b).wrote++
	if b.onAsync != nil {
		b.happened(target.AsyncEvent{Kind: target.AsyncLanded, Operation: b.describeOperation(&o)})
	}
	switch o.done.kind {
	case byBytes:
		b.completeBytes(&o)
	case byArrival:
		b.arriveAsync(&o)
	}
}

// readFlight lets an operation read its source.
func (b *block) readFlight(o *operation) {
	o.effect.read(b, o)
	if !b.observedClasses.Has(target.ClassBulkRead) || o.in.bulk == nil || o.at != nil {
		return
	}
	w := b.warps[o.warp]
	var e target.Event
	w.describe(&e, o.in, w.pcOf(o.in), 1<<o.lane)
	e.Class, e.Space, e.Value = target.ClassBulkRead, o.to.space, o.seq
	e.Transfer = &target.Transfer{
		To: o.to.space, From: o.from.space, Element: o.in.bulk.effect.size,
	}
	if t := o.tile; t != nil {
		e.Transfer.Pieces = func(visit func(to, from uint64, n int)) { t.pieces(o.in.bulk.tensor, visit) }
		if o.in.bulk.tensor.reduce != "" {
			e.Transfer.Element = t.m.DType.Size()
		}
	} else {
		to, from := o.to, o.from
		e.Transfer.Pieces = func(visit func(to, from uint64, n int)) { visit(to.addr, from.addr, to.size) }
	}
	b.deliver(&e)
}

// landNext lets the operation land that comes first by the schedule, and reports whether there was one.
func (b *block) landNext() bool {
	a := b.async
	if len(a.flights) == 0 {
		return false
	}
	if a.random {
		b.landFlight(b.sched.rng.IntN(len(a.flights)))
		return true
	}
	b.noteAwaited()
	b.landFlight(max(b.firstAwaited(), 0))
	return true
}

// firstAwaited is the first operation of the block that completes on an mbarrier at which a thread is
// suspended, by what was noted of the block that it writes; -1 where there is none.
func (b *block) firstAwaited() int {
	for i := range b.async.flights {
		o := &b.async.flights[i]
		if o.done.kind != byGroup && slices.Contains(o.receiver(b).async.awaited, o.done.mbar) {
			return i
		}
	}
	return -1
}

// landSome lets an operation land before anybody needs it, once in a while.
func (b *block) landSome() {
	a := b.async
	if a.random && len(a.flights) > 0 && b.sched.rng.IntN(4) == 0 {
		b.landNext()
	}
	if a.random && len(a.products) > 0 && b.sched.rng.IntN(4) == 0 {
		b.landSomeProduct(b.sched.rng.IntN(len(a.products)))
	}
}

// landGroups lets the operations land that a lane waits for: of all bulk groups that it has committed but the
// last pending ones. With reads, they have only to have read their sources.
func (b *block) landGroups(w *warp, lane int, pending uint32, reads bool) {
	a := b.async
	for {
		var ready []int
		for i := range a.flights {
			o := &a.flights[i]
			if o.warp == w.id && o.lane == lane && o.done.kind == byGroup &&
				o.done.group+pending < a.open[w.id][lane] && !(reads && o.isRead) {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			return
		}
		i := ready[0]
		if a.random {
			i = ready[b.sched.rng.IntN(len(ready))]
		}
		if !reads {
			b.landFlight(i)
			continue
		}
		o := &a.flights[i]
		b.readFlight(o)
		o.isRead = true
	}
}

// drain ends the operations that are under way when the last thread has exited. Nothing waits for them, so
// that shared memory may belong to another block before they have read or written it.
func (b *block) drain() {
	b.drainProducts()
	b.endLayouts()
	a := b.async
	for i := 0; i < len(a.flights); {
		o := &a.flights[i]
		if o.at != nil && (o.isRead || o.from.space != target.SpaceShared) {
			i++ // it needs no memory of this block
			continue
		}
		if !(o.done.kind == byGroup && o.isRead) && o.done.kind != byArrival {
			b.neverAwaited(o)
		}
		b.landFlight(i)
	}
}

// placeOf is the memory of a span that was found to be there when the operation was issued.
func (b *block) placeOf(s span) place {
	p := place{space: s.space, addr: s.addr}
	end := s.addr + uint64(s.size)
	if s.space == target.SpaceShared {
		p.data, p.written, p.off = b.shared[s.addr:end], b.swrit[s.addr:end], int(s.addr)
		return p
	}
	a, off := b.at(s.addr)
	if a == nil || off+uint64(s.size) > uint64(len(a.data)) {
		return p // freed since
	}
	p.data, p.alloc, p.off = a.data[off:off+uint64(s.size)], a, int(off)
	if a.written != nil {
		p.written = a.written[off : off+uint64(s.size)]
	}
	return p
}
