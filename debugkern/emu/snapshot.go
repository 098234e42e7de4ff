package emu

import (
	"bytes"

	"tilescope/debugkern/target"
)

// snapshot is a block's whole state. Global memory is saved by the pages that the block has changed.
type snapshot struct {
	clock     uint64
	warps     []warp
	shared    []byte
	swrit     []byte
	local     []byte
	lwrit     []byte
	barriers  [16]barrierState
	async     *asyncBlock
	registers *registerPool
	counts    target.Counts
	found     findings
	err       *target.Fault
	broken    bool
	released  bool
	printed   []byte
	sched     scheduler
	rng       []byte
	resume    uint64
	last      int
	pages     []map[int]page // by allocation
	watcher   *watcher
	gathered  []gathered
	replaced  []siteState // by site of the replacer
	heap      heapMemory
	paused    int // index of the paused warp, -1
	pausedAs  turn
	filling   []filled
	polled    bool
	alone     clusterBarrier
	cluster   *clusterSnapshot // of the whole cluster, with its other blocks; nil: none
}

// clusterSnapshot is what a cluster has beyond the block of the snapshot.
type clusterSnapshot struct {
	clusterState
	rng   []byte
	peers []*snapshot // by rank; nil for the block itself
}

type page struct{ data, written []byte }

func (s *snapshot) Steps() uint64 { return s.clock }

// Snapshot copies the block's state.
func (s *stepper) Snapshot() target.Snapshot {
	t := s.b.snapshot(s.b.allocs())
	c := s.b.cluster
	if c == nil {
		return t
	}
	t.cluster = &clusterSnapshot{clusterState: c.clusterState, peers: make([]*snapshot, len(c.blocks))}
	t.cluster.rng, _ = c.src.MarshalBinary()
	for i, b := range c.blocks {
		if b != s.b {
			t.cluster.peers[i] = b.snapshot(b.slots.spans)
		}
	}
	return t
}

// snapshot copies the state of one block, with some of global memory.
func (b *block) snapshot(allocs []*alloc) *snapshot {
	t := &snapshot{
		polled: b.polled, alone: b.alone,
		clock: b.clock, shared: bytes.Clone(b.shared), swrit: bytes.Clone(b.swrit),
		local: bytes.Clone(b.local), lwrit: bytes.Clone(b.lwrit), barriers: b.barriers, counts: b.counts,
		found: b.found.clone(), err: b.err, broken: b.broken, released: b.released,
		printed: bytes.Clone(b.printed), sched: b.sched, resume: b.resume, last: b.last, paused: -1,
		registers: b.registers.clone(), async: b.async.clone(), pausedAs: b.pausedAs,
		filling: append([]filled(nil), b.filling...),
	}
	if b.paused != nil {
		t.paused = b.paused.id
	}
	t.sched.order = append([]int(nil), b.sched.order...)
	t.rng, _ = b.sched.src.MarshalBinary()
	for _, w := range b.warps {
		t.warps = append(t.warps, w.clone())
	}
	for _, a := range allocs {
		ps := map[int]page{}
		for p := range a.dirty {
			ps[p] = a.page(p)
		}
		t.pages = append(t.pages, ps)
	}
	if b.watch != nil {
		t.watcher = b.watch.clone()
	}
	t.gathered = b.gather.clone()
	t.replaced, t.heap = b.replace.state(), b.heap.clone()
	return t
}

// page copies one page.
func (a *alloc) page(p int) page {
	lo, hi := p<<pageBits, min((p+1)<<pageBits, len(a.data))
	pg := page{data: bytes.Clone(a.data[lo:hi])}
	if a.written != nil {
		pg.written = bytes.Clone(a.written[lo:hi])
	}
	return pg
}

// Restore puts the block back; a snapshot may be restored any number of times.
func (s *stepper) Restore(from target.Snapshot) {
	t, ok := from.(*snapshot)
	if !ok {
		return
	}
	s.b.restore(t, s.b.allocs())
	if c := s.b.cluster; c != nil && t.cluster != nil {
		c.clusterState, c.waits = t.cluster.clusterState, false
		_ = c.src.UnmarshalBinary(t.cluster.rng)
		for i, b := range c.blocks {
			if p := t.cluster.peers[i]; p != nil {
				b.restore(p, b.slots.spans)
			}
		}
	}
}

// restore puts one block back, with some of global memory.
func (b *block) restore(t *snapshot, allocs []*alloc) {
	b.polled, b.alone = t.polled, t.alone
	b.clock, b.barriers, b.counts, b.found = t.clock, t.barriers, t.counts, t.found.clone()
	b.quick, b.executed, b.async = nil, false, t.async.clone()
	b.registers = t.registers.clone()
	b.err, b.broken, b.released, b.resume, b.last = t.err, t.broken, t.released, t.resume, t.last
	b.printed = bytes.Clone(t.printed)
	copy(b.shared, t.shared)
	copy(b.swrit, t.swrit)
	copy(b.local, t.local)
	copy(b.lwrit, t.lwrit)
	b.paused, b.pausedAs, b.filling = nil, t.pausedAs, append([]filled(nil), t.filling...)
	if t.paused >= 0 {
		b.paused = b.warps[t.paused]
	}
	src, rng := b.sched.src, b.sched.rng
	b.sched = t.sched
	b.sched.src, b.sched.rng = src, rng
	b.sched.order = append([]int(nil), t.sched.order...)
	_ = src.UnmarshalBinary(t.rng)
	for i, w := range b.warps {
		w.restore(&t.warps[i])
	}
	for i, a := range allocs {
		a.restore(t.pages[i], b)
	}
	if t.watcher != nil {
		b.watch.restore(t.watcher)
	}
	b.gather.restore(t.gathered)
	b.replace.restore(t.replaced)
	b.heap = t.heap.clone()
	b.reapply()
}

// restore puts pages back, and those changed since to what the allocation began with.
func (a *alloc) restore(pages map[int]page, b *block) {
	for p := range a.dirty {
		lo, hi := p<<pageBits, min((p+1)<<pageBits, len(a.data))
		if pg, ok := pages[p]; ok {
			copy(a.data[lo:hi], pg.data)
			if a.written != nil {
				copy(a.written[lo:hi], pg.written)
			}
			continue
		}
		a.reset(lo, hi)
		delete(a.dirty, p)
	}
	for p, pg := range pages {
		lo := p << pageBits
		copy(a.data[lo:], pg.data)
		if a.written != nil {
			copy(a.written[lo:], pg.written)
		}
		a.dirty[p] = struct{}{}
	}
}

// reset gives bytes their contents from before the launch.
func (a *alloc) reset(lo, hi int) {
	switch {
	case a.initial != nil:
		copy(a.data[lo:hi], a.initial[lo:min(hi, len(a.initial))])
	case a.capture:
		clear(a.data[lo:hi])
	default:
		fill(a.data[lo:hi], 0xff)
	}
	if a.written != nil {
		clear(a.written[lo:hi])
		if a.initialWritten != nil {
			copy(a.written[lo:hi], a.initialWritten[lo:hi])
		}
	}
}

// clone copies a warp.
func (w *warp) clone() warp {
	t := *w
	t.r32 = append([]row32(nil), w.r32...)
	t.r64 = append([]row64(nil), w.r64...)
	t.u32 = bytes.Clone(w.u32)
	t.u64 = bytes.Clone(w.u64)
	t.pred = append([]uint32(nil), w.pred...)
	t.loops, t.ahead = append([]int32(nil), w.loops...), append([][32]int32(nil), w.ahead...)
	t.groups = cloneGroups(w.groups)
	t.saved = cloneSaved(&w.saved)
	t.async = w.async.clone()
	t.wgmma = w.wgmma.clone()
	return t
}

func cloneSaved(s *[32][]uint64) (out [32][]uint64) {
	for i := range s {
		out[i] = append([]uint64(nil), s[i]...)
	}
	return out
}

func cloneGroups(gs []group) []group {
	out := append([]group(nil), gs...)
	for i := range out {
		out[i].stack = append([]int32(nil), out[i].stack...)
	}
	return out
}

// restore copies a saved warp back into the slots that regions and observers know.
func (w *warp) restore(t *warp) {
	copy(w.r32, t.r32)
	copy(w.r64, t.r64)
	copy(w.u32, t.u32)
	copy(w.u64, t.u64)
	copy(w.pred, t.pred)
	copy(w.loops, t.loops)
	w.ahead = append([][32]int32(nil), t.ahead...)
	w.alive, w.cur, w.spins, w.timed = t.alive, t.cur, t.spins, t.timed
	w.groups = cloneGroups(t.groups)
	w.sp, w.saved = t.sp, cloneSaved(&t.saved)
	w.async, w.cluster = t.async.clone(), t.cluster
	w.wgmma = t.wgmma.clone()
}

// clone copies the copies under way, with buffers of their own.
func (q *asyncQueue) clone() asyncQueue {
	t := *q
	t.spare = nil
	t.copies = append([]asyncCopy(nil), q.copies...)
	for i := range t.copies {
		t.copies[i].data = bytes.Clone(t.copies[i].data)
	}
	return t
}

// clone copies the findings.
func (fs *findings) clone() findings {
	out := findings{order: append([]findingKey(nil), fs.order...)}
	if fs.byKey != nil {
		out.byKey = make(map[findingKey]*target.Finding, len(fs.byKey))
		for k, f := range fs.byKey {
			g := *f
			g.Warps = append([]int(nil), f.Warps...)
			g.Lanes = append([]int(nil), f.Lanes...)
			out.byKey[k] = &g
		}
	}
	return out
}
