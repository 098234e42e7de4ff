package emu

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// mbarKind is an operation on mbarriers.
type mbarKind uint8

const (
	mbarInit mbarKind = iota
	mbarInval
	mbarArrive
	mbarDrop
	mbarExpect
	mbarComplete
	mbarTest
	mbarTry
)

// mbarOp is an mbarrier instruction: inst.mem is the address of the object.
type mbarOp struct {
	kind       mbarKind
	expect     bool  // arrive.expect_tx: count is bytes
	noComplete bool  // the arrival must not complete the phase
	parity     bool  // count is a parity
	remote     bool  // .shared::cluster: the object may be another block's
	count      int32 // slot of 32 bits; -1: one arrival
	state      int32 // slot of 64 bits: of a wait the state waited for
	d          regSlot
}

// mbarForm is an instruction of mbarriers, by its first modifier.
type mbarForm struct {
	mod  string
	kind mbarKind
	run  func(*warp, *inst, uint32)
}

// mbarrier decodes the instructions of mbarriers (PTX ISA 9.7.13.15).
func (d *decoder) mbarrier() {
	o := d.out
	if d.has("pending_count") {
		o.class = target.ClassALU
		o.d, o.a = d.dst32(0), d.src64(1)
		o.run = func(w *warp, in *inst, mask uint32) {
			var out row32
			for i, s := range w.full64(in.a) {
				out[i] = pendingOf(s)
			}
			w.store32(in.d, &out, mask)
		}
		return
	}
	if d.in.Type() != ptx.B64 {
		d.unmodelled()
	}
	d.p.async = true
	op := &mbarOp{count: -1}
	o.mbar, o.class, o.flow = op, target.ClassMBarrier, flowAsync
	kinds := []mbarForm{
		{"init", mbarInit, runMBarrier}, {"inval", mbarInval, runMBarrier},
		{"arrive", mbarArrive, runMBarrier}, {"arrive_drop", mbarDrop, runMBarrier},
		{"expect_tx", mbarExpect, runMBarrier}, {"complete_tx", mbarComplete, runMBarrier},
		{"test_wait", mbarTest, testWait}, {"try_wait", mbarTry, nil},
	}
	i := slices.IndexFunc(kinds, func(k mbarForm) bool { return d.has(k.mod) })
	if i < 0 {
		d.unmodelled()
	}
	op.kind, o.run = kinds[i].kind, kinds[i].run
	d.mbarrierMods()
	op.expect = d.has("expect_tx") && op.kind != mbarExpect
	op.noComplete, op.parity = d.has("noComplete"), d.has("parity")
	op.remote = d.has("shared::cluster")
	switch op.kind {
	case mbarInit, mbarInval, mbarTest, mbarTry:
		if op.remote {
			d.fail("%s: .shared::cluster is no modifier of it", d.in.Opcode())
		}
	case mbarArrive, mbarDrop:
		if op.remote && d.arg(0).Kind != ptx.OpSink {
			d.fail("%s returns no state of an mbarrier in .shared::cluster: its destination must be _", d.in.Opcode())
		}
		if op.remote && op.noComplete {
			d.fail("%s: .noComplete is no modifier of it in .shared::cluster", d.in.Opcode())
		}
	}
	at := 0
	switch op.kind {
	case mbarArrive, mbarDrop, mbarTest, mbarTry:
		at = 1
	}
	o.mem = d.access(d.arg(at), d.mbarrierSpace())
	o.mem.size, o.mem.n = mbarrierBytes, 1
	switch op.kind {
	case mbarTest, mbarTry:
		o.pd = d.dstPred(d.arg(0))
		if op.parity {
			op.count = d.src32(at+1, 32)
		} else {
			op.state = d.src64(at + 1)
		}
		if op.kind == mbarTry {
			o.flow = flowTry
		}
		return
	case mbarArrive, mbarDrop:
		if d.arg(0).Kind != ptx.OpSink {
			op.d = d.reg(d.arg(0))
		}
	}
	if len(d.in.Args) > at+1 {
		op.count = d.src32(at+1, 32)
	}
	if op.noComplete && op.count < 0 {
		d.fail("%s needs a count", d.in.Opcode())
	}
}

// mbarrierMods refuses modifiers that no instruction of mbarriers has.
func (d *decoder) mbarrierMods() {
	for _, m := range d.in.Mods {
		switch m {
		case "init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait",
			"noComplete", "parity", "release", "acquire", "relaxed", "cta", "cluster", "shared",
			"shared::cta", "shared::cluster", "b64":
		default:
			d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
		}
	}
}

// mbarrierSpace is the space of an mbarrier's address: shared memory, where it is not generic.
func (d *decoder) mbarrierSpace() target.Space {
	if d.has("shared") || d.has("shared::cta") || d.has("shared::cluster") {
		return target.SpaceShared
	}
	return target.SpaceNone
}

// arriveCopies decodes cp.async.mbarrier.arrive{.noinc} [addr]: an arrival, once all cp.async that the thread
// has issued before have landed.
func (d *decoder) arriveCopies() {
	o := d.out
	d.p.async = true
	o.mem = d.access(d.arg(0), d.mbarrierSpace())
	o.mem.size, o.mem.n = mbarrierBytes, 1
	o.mbar = &mbarOp{kind: mbarArrive, count: -1, noComplete: d.has("noinc")}
	o.class, o.flow, o.run = target.ClassMBarrier, flowAsync, runArriveCopies
}

// copiesLanded is the effect of a cp.async.mbarrier.arrive: what its thread has copied before has landed.
type copiesLanded struct{}

func (copiesLanded) read(*block, *operation) {}

func (copiesLanded) write(b *block, o *operation) {
	w := b.warps[o.warp]
	kept := w.async.copies[:0]
	for i := range w.async.copies {
		c := &w.async.copies[i]
		if c.seq <= o.copies && c.mask>>o.lane&1 != 0 {
			w.landCopy(c, 1<<o.lane)
			c.mask &^= 1 << o.lane
		}
		if c.mask != 0 {
			kept = append(kept, *c)
		} else {
			w.async.recycle(c.data)
		}
	}
	w.async.copies = kept
}

// runArriveCopies puts an arrival under way for each lane. Without .noinc the phase expects it in addition to
// the arrivals that it was initialised with.
func runArriveCopies(w *warp, in *inst, mask uint32) {
	b := w.blk
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		mb, _ := w.object(in, lane)
		if mb == nil {
			continue
		}
		if !in.mbar.noComplete {
			if mb.pending++; mb.pending > maxArrivals {
				b.mbarrierFinding(w, in, lane, mb.addr, "at",
					fmt.Sprintf("which then expects more than %d arrivals", maxArrivals))
				mb.pending--
				continue
			}
			b.storeMBarrier(mb)
		}
		b.issue(operation{
			in: in, warp: w.id, lane: lane, effect: copiesLanded{},
			done: completion{kind: byArrival, mbar: mb.addr}, copies: w.async.seq,
		})
	}
}

// object is the mbarrier that one lane names, and the block of the cluster that it belongs to; where there is
// none, that is a finding.
func (w *warp) object(in *inst, lane int) (*mbarrier, *block) {
	b := w.blk
	p := b.locate(w, in, in.mem, lane, w.address(in.mem, lane), mbarrierBytes, mbarrierBytes)
	switch {
	case p.data == nil:
		return nil, nil
	case p.space != target.SpaceShared:
		b.mbarrierFinding(w, in, lane, p.addr, "names",
			"a place outside shared memory, where mbarriers cannot be")
		return nil, nil
	case p.peer != nil && !in.mbar.remote:
		b.mbarrierFinding(w, in, lane, p.addr, "names",
			fmt.Sprintf("which is in the shared memory of another block of the cluster (rank %d): only arrivals and "+
				"counts of bytes with .shared::cluster may", p.peer.rank))
		return nil, nil
	}
	at := b
	if p.peer != nil {
		at = p.peer
	}
	m := at.mbarrier(p.addr)
	if m == nil {
		b.mbarrierFinding(w, in, lane, p.addr, "is executed on", "which mbarrier.init has not initialised")
		return nil, nil
	}
	if le.Uint64(p.data) != m.bits() {
		b.writtenOver(w, in, lane, m, at)
	}
	return m, at
}

// runMBarrier executes what changes mbarriers, lane by lane.
func runMBarrier(w *warp, in *inst, mask uint32) {
	b, op := w.blk, in.mbar
	b.count(target.SpaceShared)
	var states row64
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		count := int64(1)
		if op.count >= 0 {
			count = int64(w.lane32(op.count, lane))
		}
		if op.kind == mbarInit {
			w.initMBarrier(in, lane, count)
			continue
		}
		mb, at := w.object(in, lane)
		if mb == nil {
			continue
		}
		states[lane] = mb.bits()
		w.changeMBarrier(in, mb, at, lane, count)
	}
	if op.d.bank != bankNone {
		w.storeAny(op.d, &states, mask)
	}
}

// changeMBarrier is one lane's operation on an object of a block.
func (w *warp) changeMBarrier(in *inst, m *mbarrier, owner *block, lane int, count int64) {
	b, op := w.blk, in.mbar
	wrong := func(why string, args ...any) {
		b.mbarrierFinding(w, in, lane, m.addr, "is executed on", fmt.Sprintf(why, args...))
		owner.storeMBarrier(m) // the bytes may be expected already
	}
	bytes := op.expect || op.kind == mbarExpect || op.kind == mbarComplete
	if bytes && count > maxBytes {
		wrong("with %d bytes: at most %d", count, maxBytes)
		return
	}
	if bytes && op.kind != mbarComplete {
		if m.tx+count > maxBytes {
			wrong("which then expects %d bytes in one phase: at most %d", m.tx+count, maxBytes)
			return
		}
		m.tx += count
		m.promised += int(count)
		m.expects = in
		owner.counted(w, in, target.AsyncExpects, m, count)
		count = 1
	}
	switch op.kind {
	case mbarInval:
		at := m.addr
		b.async.mbars = slices.DeleteFunc(b.async.mbars, func(x mbarrier) bool { return x.addr == at })
		clear(b.swrit[at : at+mbarrierBytes])
		b.wrote++
		return
	case mbarComplete:
		if m.tx-count < -maxBytes {
			wrong("which then has %d more bytes than it expects: at most %d", count-m.tx, maxBytes)
			return
		}
		m.tx -= count
		m.arrived += int(count)
	case mbarArrive, mbarDrop:
		switch {
		case count < 1 || count > maxArrivals:
			wrong("with a count of %d: from 1 to %d", count, maxArrivals)
			return
		case count > m.pending:
			wrong("with %d arrivals, where the current phase has %d pending", count, m.pending)
			return
		case op.noComplete && count == m.pending && m.tx == 0:
			wrong("completes its phase: .noComplete must not")
		}
		if op.kind == mbarDrop {
			m.expected -= count
		}
		owner.counted(w, in, target.AsyncArrives, m, count)
		m.pending -= count
	}
	owner.advance(m)
}

// initMBarrier makes an object.
func (w *warp) initMBarrier(in *inst, lane int, count int64) {
	b := w.blk
	p := b.locate(w, in, in.mem, lane, w.address(in.mem, lane), mbarrierBytes, mbarrierBytes)
	if p.data == nil {
		return
	}
	switch {
	case p.space != target.SpaceShared || p.peer != nil:
		b.mbarrierFinding(w, in, lane, p.addr, "names",
			"a place outside the block's shared memory, where mbarrier.init cannot make one")
		return
	case count < 1 || count > maxArrivals:
		b.mbarrierFinding(w, in, lane, p.addr, "initialises",
			fmt.Sprintf("with a count of %d: from 1 to %d", count, maxArrivals))
		return
	}
	m := mbarrier{addr: p.addr, init: in, expected: count, pending: count}
	old := b.mbarrier(p.addr)
	if old == nil {
		i, _ := slices.BinarySearchFunc(b.async.mbars, p.addr, func(x mbarrier, at uint64) int {
			return int(int64(x.addr) - int64(at))
		})
		b.async.mbars = slices.Insert(b.async.mbars, i, m)
	} else {
		if le.Uint64(p.data) == old.bits() {
			b.reinitialised(w, in, lane, old)
		}
		*old = m
	}
	b.storeMBarrier(&m)
}

// reinitialised reports an mbarrier.init of an object that is one already: undefined by the ISA, which wants
// an mbarrier.inval first.
func (b *block) reinitialised(w *warp, in *inst, lane int, old *mbarrier) {
	b.mbarrierFinding(w, in, lane, old.addr, "is executed on", fmt.Sprintf(
		"which is an mbarrier already (%s): without mbarrier.inval before it the result is undefined",
		old.init.where()))
}

// testWait is mbarrier.test_wait, which does not wait.
func testWait(w *warp, in *inst, mask uint32) {
	done := w.tested(in, mask)
	w.setPred(in.pd, done, mask)
	if done != mask {
		w.blk.async.stall.failed(in)
	}
}

// tested is the lanes of mask whose wait is over. A lane that names no mbarrier does not wait.
func (w *warp) tested(in *inst, mask uint32) uint32 {
	b := w.blk
	b.count(target.SpaceShared)
	var done, seen uint32
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		mb, _ := w.object(in, lane)
		if mb == nil {
			done |= 1 << lane
			continue
		}
		if in.mbar.parity {
			if p := w.lane32(in.mbar.count, lane); p > 1 {
				b.mbarrierFinding(w, in, lane, mb.addr, "waits at", fmt.Sprintf("for parity %d: 0 or 1", p))
			}
		} else if _, known := mb.over(w.lane64(in.mbar.state, lane)); !known {
			b.mbarrierFinding(w, in, lane, mb.addr, "waits at",
				"for a phase that is neither the current one nor the one before it")
		}
		if mb.passed(w, in, lane) {
			done |= 1 << lane
			seen |= 1 << lane
		}
	}
	if done != mask {
		w.testFailed(mask &^ done)
	}
	w.passedEvent(in, seen)
	w.waits(in, mask&^done)
	return done
}

// tryWait is mbarrier.try_wait: lanes whose phase is not over are suspended, until it is, or until nothing
// else can happen, which is when their time limit ends.
func (w *warp) tryWait(in *inst, m uint32) {
	g := &w.groups[w.cur]
	if m == 0 {
		g.pc++
		return
	}
	done := w.tested(in, m)
	w.setPred(in.pd, allLanes, done)
	rest := m &^ done
	switch rest {
	case 0:
		g.pc++
		return
	case g.mask:
	default:
		other := group{
			pc: g.pc + 1, mask: g.mask &^ rest, back: g.back, stack: append([]int32(nil), g.stack...),
		}
		g.mask = rest
		g.wait = waitMBarrier
		w.groups = append(w.groups, other)
		return
	}
	g.wait = waitMBarrier
}
