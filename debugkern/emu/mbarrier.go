package emu

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
)

// mbarrier is an mbarrier object (PTX ISA 9.7.13.15): 64 bits of shared memory that count, in phases, threads
// that arrive and bytes that asynchronous operations bring. A phase completes when no arrival and no byte is
// pending; the next one begins with it.
//
// What the object is, is kept here. Its bytes in shared memory are a digest (bits), which no instruction
// interprets: where they differ, something else has written them.
type mbarrier struct {
	addr     uint64
	init     *inst
	expects  *inst // the last that had the current phase expect bytes; nil: none has
	expected int64 // arrivals in a phase
	pending  int64 // of those, in the current phase
	tx       int64 // bytes expected less bytes arrived
	phase    uint64
	promised int   // bytes expected in the current phase
	arrived  int   // and arrived
	left     int   // bytes in it of copies that are wrong and were left out
	by       *inst // the operation that has written its bytes since mbarrier.init; nil: none has
}

// lacks says what would let the current phase end; "" where nothing about it is known to be wrong: no arrival
// has come, or copies that other findings are about were left out.
func (m *mbarrier) lacks() string {
	switch {
	case m.left > 0:
	case m.pending == 0 && m.expects == nil:
		return fmt.Sprintf("an expectation of %d bytes in this phase, in which nothing expects any", m.arrived)
	case m.pending == 0:
		return fmt.Sprintf("expect %d bytes in place of %d at %s, or copies of %d bytes", m.arrived, m.promised,
			m.expects.source().Place(), m.promised)
	case m.pending < m.expected:
		return fmt.Sprintf("a count of %d in place of %d at %s, or as many arrivals", m.expected-m.pending,
			m.expected, m.init.source().Place())
	}
	return ""
}

const (
	mbarrierBytes = 8
	// maxArrivals and maxBytes bound the counts of an mbarrier (PTX ISA 9.7.13.15.2).
	maxArrivals = 1<<20 - 1
	maxBytes    = 1<<20 - 1
)

// bits are the object as threads see it: also the state that an arrival returns. From the top, 3 bits of the
// phase's number, 21 of bytes, 20 of pending arrivals, 20 of expected ones.
func (m *mbarrier) bits() uint64 {
	return m.phase<<61 | uint64(m.tx)&(1<<21-1)<<40 | uint64(m.pending)&(1<<20-1)<<20 |
		uint64(m.expected)&(1<<20-1)
}

// pendingOf is the pending arrivals in a state.
func pendingOf(state uint64) uint32 { return uint32(state >> 20 & (1<<20 - 1)) }

// over reports whether the phase of a state is over, and whether that phase was the last one: of older ones
// the object remembers nothing.
func (m *mbarrier) over(state uint64) (over, known bool) {
	d := (m.phase - state>>61) & 7
	return d != 0, d < 2
}

// mbarrier is the object at an address of shared memory, nil where there is none.
func (b *block) mbarrier(addr uint64) *mbarrier {
	i, ok := slices.BinarySearchFunc(b.async.mbars, addr, func(m mbarrier, at uint64) int {
		switch {
		case m.addr < at:
			return -1
		case m.addr > at:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &b.async.mbars[i]
}

// store writes an object's bits to shared memory.
func (b *block) storeMBarrier(m *mbarrier) {
	le.PutUint64(b.shared[m.addr:], m.bits())
	fill(b.swrit[m.addr:m.addr+mbarrierBytes], 0xff)
	b.wrote++
	b.async.stall = stall{}
}

// advance completes an object's phase where nothing is pending, and lets those go on who wait for it.
func (b *block) advance(m *mbarrier) {
	if m.pending > 0 || m.tx != 0 {
		b.storeMBarrier(m)
		return
	}
	phase, at := m.phase, m.addr
	m.phase++
	m.pending, m.promised, m.arrived, m.left, m.expects = m.expected, 0, 0, 0, nil
	b.storeMBarrier(m)
	if b.onAsync != nil {
		b.happened(target.AsyncEvent{Kind: target.AsyncPhase, MBarrier: at, Number: phase, Warp: -1, PC: -1})
	}
	if b.watched {
		b.deliver(&target.Event{
			Class: target.ClassMBarrierDone, Step: b.clock, PC: b.warps[0].pcOf(m.init), Func: m.init.fn,
			Instr: m.init.src, Barrier: int(at), Value: phase, KVTile: -1, Iteration: -1, Loop: -1,
		})
	}
	for _, w := range b.warps {
		for i := 0; i < len(w.groups); i++ {
			if g := &w.groups[i]; g.wait == waitMBarrier {
				w.release(i, w.passing(&b.p.code[g.pc], g.mask))
			}
		}
	}
}

// landsOn is the mbarrier of an operation that lands; nil, with a finding, where it was invalidated. what is
// what was not complete: "copy was".
func (b *block) landsOn(o *operation, what string) *mbarrier {
	m := o.receiver(b).mbarrier(o.done.mbar)
	if m == nil {
		b.mbarrierFinding(b.warps[o.warp], o.in, o.lane, o.done.mbar, "lands on",
			"which is no longer an mbarrier: it was invalidated before the "+what+" complete")
	}
	return m
}

// completeBytes is the complete-tx of an operation.
func (b *block) completeBytes(o *operation) {
	m := b.landsOn(o, "copy was")
	if m == nil {
		return
	}
	n := o.to.size
	if o.tile != nil {
		n = o.tile.m.BoxBytes()
	}
	m.tx -= int64(n)
	m.arrived += n
	o.receiver(b).advance(m)
}

// arriveAsync is the arrival of a cp.async.mbarrier.arrive.
func (b *block) arriveAsync(o *operation) {
	m := b.landsOn(o, "copies were")
	if m == nil {
		return
	}
	if m.pending--; m.pending < 0 {
		m.pending = 0
		b.mbarrierFinding(b.warps[o.warp], o.in, o.lane, m.addr, "lands on",
			"whose current phase expects no further arrival")
	}
	b.advance(m)
}

// intact reports whether an mbarrier's bytes are its own.
func (b *block) intact(m *mbarrier) bool { return le.Uint64(b.shared[m.addr:]) == m.bits() }

// overwriting lets an operation write, and notes the mbarriers whose bytes it changes.
func (b *block) overwriting(by *inst, write func()) {
	var was []bool
	for i := range b.async.mbars {
		was = append(was, b.intact(&b.async.mbars[i]))
	}
	write()
	for i, whole := range was {
		if m := &b.async.mbars[i]; whole && !b.intact(m) {
			m.by = by
		}
	}
}

// writtenOver reports that an mbarrier is used whose bytes are not its own any more, and gives them back.
func (b *block) writtenOver(w *warp, in *inst, lane int, m *mbarrier, at *block) {
	why := "whose bytes were written by something else since mbarrier.init"
	if m.by != nil {
		why = fmt.Sprintf("whose bytes %s at %s %s", m.by.src.Opcode(), m.by.source().Place(),
			target.WrittenSinceInit)
	}
	v := b.mbarrierFinding(w, in, lane, m.addr, "is executed on", why)
	if f := b.found.byKey[findingKey{kind: target.MBarrier, source: *w.called(in), name: v.name}]; f != nil &&
		m.by != nil {
		f.Other = m.by.source()
	}
	m.by = nil
	at.storeMBarrier(m)
}

// mbarrierFinding reports an mbarrier that is used in a way that has no defined result, and returns what it
// is called.
func (b *block) mbarrierFinding(w *warp, in *inst, lane int, addr uint64, does, why string) variable {
	v := b.variableAt(target.SpaceShared, addr)
	name := v.String()
	if v.name == "" {
		name = fmt.Sprintf("shared address %#x", addr)
	}
	b.report(w, in, lane, target.MBarrier, v, place{space: target.SpaceShared, addr: addr},
		fmt.Sprintf("%s %s %s, %s", in.src.Opcode(), does, name, why), "")
	return v
}

// neverAwaited reports a bulk operation that is under way when the block ends: one that nobody waits for at
// its mbarrier, or one that may still read shared memory.
func (b *block) neverAwaited(o *operation) {
	w := b.warps[o.warp]
	if o.done.kind != byGroup {
		b.mbarrierFinding(w, o.in, o.lane, o.done.mbar, "completes on",
			"where no thread has waited for it when the block ends")
		return
	}
	missing := "cp.async.bulk.wait_group.read 0"
	v := b.variableAt(o.from.space, o.from.addr)
	msg := fmt.Sprintf("the block ends while %s may still read %s: its thread exits without %s",
		o.in.src.Opcode(), v, missing)
	b.report(w, o.in, o.lane, target.Race, v, place{space: o.from.space, addr: o.from.addr}, msg, "")
	key := findingKey{kind: target.Race, source: *w.called(o.in), name: v.name}
	if f := b.found.byKey[key]; f != nil {
		f.Other = f.Source
		f.Missing = fmt.Sprintf("%s between %s and the end of the kernel", missing, f.Source)
	}
}

// passing is the lanes of m whose wait at an mbarrier is over.
func (w *warp) passing(in *inst, m uint32) uint32 {
	var out uint32
	for l := m; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		addr := w.sharedAddress(in.mem, lane)
		mb := w.blk.mbarrier(addr)
		if mb == nil || mb.passed(w, in, lane) {
			out |= 1 << lane
		}
	}
	return out
}

// passed reports whether what one lane waits for is over.
func (m *mbarrier) passed(w *warp, in *inst, lane int) bool {
	if in.mbar.parity {
		return m.phase&1 != uint64(w.lane32(in.mbar.count, lane)&1)
	}
	over, _ := m.over(w.lane64(in.mbar.state, lane))
	return over
}

// noteAwaited notes the mbarriers at which threads of the block are suspended.
func (b *block) noteAwaited() {
	a := b.async
	a.awaited = a.awaited[:0]
	for _, w := range b.warps {
		for i := range w.groups {
			g := &w.groups[i]
			if g.wait != waitMBarrier {
				continue
			}
			in := &b.p.code[g.pc]
			for m := g.mask; m != 0; m &= m - 1 {
				addr := w.sharedAddress(in.mem, bits.TrailingZeros32(m)&31)
				if !slices.Contains(a.awaited, addr) {
					a.awaited = append(a.awaited, addr)
				}
			}
		}
	}
}

// sharedAddress is one lane's address in shared memory, also where it is a generic one.
func (w *warp) sharedAddress(x *access, lane int) uint64 {
	addr := w.address(x, lane) & (windowSize - 1)
	if addr>>24 != 0 && w.blk.maps() {
		if at, off := w.blk.distributed(addr); at == w.blk {
			return off
		}
	}
	return addr
}

// release ends the wait of some lanes of group i, whose phase is over.
func (w *warp) release(i int, lanes uint32) {
	g := &w.groups[i]
	if lanes == 0 {
		return
	}
	in := &w.blk.p.code[g.pc]
	w.setPred(in.pd, allLanes, lanes)
	w.passedEvent(in, lanes)
	if lanes != g.mask {
		g.mask &^= lanes
		w.groups = append(w.groups, group{
			pc: g.pc + 1, mask: lanes, back: g.back, stack: append([]int32(nil), g.stack...),
		})
		return
	}
	g.wait = waitNone
	g.pc++
}

// passedEvent reports that lanes have seen a phase complete.
func (w *warp) passedEvent(in *inst, lanes uint32) {
	b := w.blk
	w.passes(in, lanes)
	if !b.watched || lanes == 0 {
		return
	}
	var addr [32]uint64
	for m := lanes; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr[lane] = w.sharedAddress(in.mem, lane)
	}
	var e target.Event
	w.describe(&e, in, w.pcOf(in), lanes)
	e.Class, e.Space, e.Addr, e.Bytes = target.ClassMBarrierPass, target.SpaceShared, &addr, mbarrierBytes
	b.deliver(&e)
}
