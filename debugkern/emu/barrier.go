package emu

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/target"
)

type barKind uint8

const (
	barSync barKind = iota
	barArrive
	barRedPopc
	barRedAnd
	barRedOr
	barWarp
)

// barOp is a barrier instruction: inst.a is the barrier's number, inst.b the number of threads.
type barOp struct {
	op    barKind
	count bool // a number of threads is given
}

// barrierState is one of the block's 16 barriers.
type barrierState struct {
	arrived int
	expect  int // 0: all threads of the block that have not exited
	pc      int32
	mixed   bool // arrivals without a count came from different instructions
	warps   uint32
	ones    int // predicates that were true, and false
	zeros   int
}

// warpBarrier decodes bar.warp.sync.
func (d *decoder) warpBarrier() {
	d.out.bar = &barOp{op: barWarp}
	d.out.flow, d.out.class = flowSync, target.ClassWarpSync
	d.out.c = d.src32(0, 32)
	d.out.run = func(*warp, *inst, uint32) {}
}

func (d *decoder) barrier() {
	op := &barOp{}
	d.out.bar = op
	d.out.flow, d.out.class = flowBarrier, target.ClassBarrier
	args := d.in.Args
	switch {
	case d.has("arrive"):
		op.op = barArrive
	case d.has("red"):
		d.barrierReduce(op)
		return
	}
	if len(args) > 0 {
		d.out.a = d.src32(0, 32)
	}
	if len(args) > 1 {
		d.out.b, op.count = d.src32(1, 32), true
	}
	if op.op == barArrive && !op.count {
		d.fail("bar.arrive needs a number of threads")
	}
}

// barrierReduce decodes bar.red.op d, a{, b}, {!}c.
func (d *decoder) barrierReduce(op *barOp) {
	args := d.in.Args
	if len(args) < 3 {
		d.fail("bar.red: operands are missing")
	}
	switch {
	case d.has("popc"):
		op.op = barRedPopc
		d.out.d = d.dst32(0)
	case d.has("and"):
		op.op = barRedAnd
		d.out.pd = d.dstPred(d.arg(0))
	default:
		op.op = barRedOr
		d.out.pd = d.dstPred(d.arg(0))
	}
	d.out.a = d.src32(1, 32)
	if len(args) > 3 {
		d.out.b, op.count = d.src32(2, 32), true
	}
	d.srcPred(len(args) - 1)
}

// arrive brings the lanes m of the current group to a barrier.
func (w *warp) arrive(in *inst, m uint32) bool {
	b := w.blk
	lane := bits.TrailingZeros32(m)
	id := w.lane32(in.a, lane)
	if id > 15 {
		b.report(w, in, lane, target.Barrier, variable{}, place{}, fmt.Sprintf(
			"%s at barrier %d: a block has barriers 0 to 15", in.src.Opcode(), id), "")
		id &= 15
	}
	s := &b.barriers[id]
	b.counts.Barriers++
	here := w.groups[w.cur].pc
	if s.arrived == 0 {
		s.pc = here
	} else if s.pc != here && !in.bar.count {
		s.mixed = true
	}
	if in.bar.count {
		s.expect = int(w.lane32(in.b, lane))
	}
	s.arrived += bits.OnesCount32(m)
	s.warps |= 1 << (w.id & 31)
	if in.bar.op >= barRedPopc && in.bar.op <= barRedOr {
		ones := bits.OnesCount32(w.predicate(in) & m)
		s.ones += ones
		s.zeros += bits.OnesCount32(m) - ones
	}
	g := &w.groups[w.cur]
	if in.bar.op == barArrive {
		g.pc++
	} else {
		if m != g.mask {
			rest := group{pc: g.pc + 1, mask: g.mask &^ m, stack: append([]int32(nil), g.stack...)}
			g.mask = m
			w.groups = append(w.groups, rest)
			g = &w.groups[w.cur]
		}
		g.wait, g.barrier = waitBarrier, uint8(id)
	}
	b.complete(int(id))
	return b.broken || b.err != nil || b.halted || b.released && b.sched.eager
}

// exited looks at the barriers again: threads that are gone are not waited for. Where all are, what is left
// on the heap is reported.
func (b *block) exited() {
	if b.threads() == 0 {
		b.leaks()
		b.endRegisters()
	}
	if b.p.clusterSync || b.cluster != nil {
		b.completeCluster()
	}
	for id := range b.barriers {
		if b.barriers[id].arrived > 0 && b.barriers[id].expect == 0 {
			b.complete(id)
		}
	}
}

// threads is the number of threads that have not exited.
func (b *block) threads() int {
	n := 0
	for _, w := range b.warps {
		n += bits.OnesCount32(w.alive)
	}
	return n
}

// complete releases a barrier that everybody has reached.
func (b *block) complete(id int) {
	s := &b.barriers[id]
	want := s.expect
	if want == 0 {
		want = b.threads()
	}
	if s.arrived < want {
		return
	}
	if s.mixed {
		b.divergentBarrier(id)
		return
	}
	done := *s
	*s = barrierState{}
	b.released = true
	for _, w := range b.warps {
		for i := range w.groups {
			g := &w.groups[i]
			if g.wait != waitBarrier || int(g.barrier) != id {
				continue
			}
			in := &b.p.code[g.pc]
			switch in.bar.op {
			case barRedPopc:
				w.set32(in.d, uint32(done.ones), g.mask)
			case barRedAnd:
				w.setPred(in.pd, boolMask(done.zeros == 0), g.mask)
			case barRedOr:
				w.setPred(in.pd, boolMask(done.ones > 0), g.mask)
			}
			g.wait = waitNone
			g.pc++
		}
	}
	if b.watched {
		b.barrierDone(id, done)
	}
}

func boolMask(v bool) uint32 {
	if v {
		return allLanes
	}
	return 0
}

// waiter is where some warps wait.
type waiter struct {
	pc    int32
	warps []int
	lanes uint32
	what  string
}

// waiters lists, by place, who waits.
func (b *block) waiters() []waiter {
	var ws []waiter
	for _, w := range b.warps {
		for i := range w.groups {
			g := &w.groups[i]
			if g.wait == waitNone {
				continue
			}
			j := 0
			for j < len(ws) && ws[j].pc != g.pc {
				j++
			}
			if j == len(ws) {
				ws = append(ws, waiter{pc: g.pc, what: b.p.code[g.pc].src.Opcode()})
			}
			if n := len(ws[j].warps); n == 0 || ws[j].warps[n-1] != w.id {
				ws[j].warps = append(ws[j].warps, w.id)
			}
			ws[j].lanes |= g.mask
		}
	}
	return ws
}

// whoWaits writes waiters for a message: "warps 0, 1 at k.cu:12 (bar.sync)".
func (b *block) whoWaits(ws []waiter) string {
	var parts []string
	for _, w := range ws {
		parts = append(parts, fmt.Sprintf("%s at %s (%s)", warpList(w.warps), b.p.code[w.pc].where(), w.what))
	}
	var gone []int
	for _, w := range b.warps {
		if w.alive == 0 {
			gone = append(gone, w.id)
		}
	}
	if len(gone) > 0 {
		parts = append(parts, warpList(gone)+" exited")
	}
	return strings.Join(parts, "; ")
}

func warpList(ids []int) string {
	s := "warps "
	if len(ids) == 1 {
		s = "warp "
	}
	for i, id := range ids {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(id)
	}
	return s
}

// divergentBarrier ends the block: its threads meet in different bar.sync instructions.
func (b *block) divergentBarrier(id int) {
	ws := b.waiters()
	b.endWith(target.Barrier, fmt.Sprintf("block barrier %d is reached at different places: %s", id,
		b.whoWaits(ws)), ws)
}

// waitVerb is the verb of a list of warps.
func waitVerb(ids []int) string {
	if len(ids) == 1 {
		return "waits"
	}
	return "wait"
}

// stuck ends a block in which nobody can go on.
func (b *block) stuck() {
	ws := b.waiters()
	if b.registerHang(ws) {
		return
	}
	b.endWith(target.Deadlock, "no thread can go on: "+b.whoWaits(ws)+b.absent()+b.lacking(), ws)
}

func (b *block) endWith(kind target.Kind, msg string, ws []waiter) {
	b.broken = true
	f := target.Finding{
		Kind: kind, Severity: kind.Severity(), Message: msg, Block: b.id, KVTile: -1, Count: 1,
	}
	key := findingKey{kind: kind}
	for i, w := range ws {
		f.Warps = append(f.Warps, w.warps...)
		f.Lanes = lanesOf(w.lanes)
		in := &b.p.code[w.pc]
		switch i {
		case 0:
			f.Source = in.source()
			key.pc = w.pc
			f.KVTile = b.warps[w.warps[0]].tile(in, bits.TrailingZeros32(w.lanes))
		case 1:
			f.Other = in.source()
		}
	}
	slices.Sort(f.Warps)
	b.found.add(key, f)
}

func (d *decoder) fence() {
	d.out.class = target.ClassFence
	d.proxyFenceOperands()
	d.out.run = func(*warp, *inst, uint32) {}
}
