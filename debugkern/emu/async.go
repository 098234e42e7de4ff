package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// asyncOp is a cp.async: the instruction's access is the shared destination, its second the global source.
type asyncOp struct {
	source  bool  // this access is the source
	srcSize int32 // slot of the bytes to copy, the rest is zeroes; -1: all
	ignore  predSource
	ignores bool
}

// asyncCopy is the part of one warp's cp.async that has not landed yet: bytes already read, not yet visible.
type asyncCopy struct {
	in    *inst
	mask  uint32
	dst   [32]uint64
	group [32]uint32 // the lane's group that the copy belongs to
	data  []byte     // size bytes a lane
	seq   uint64     // copies of the warp are numbered as they are issued
}

// asyncQueue is a warp's copies under way. A lane's groups are numbered; open is the one that its
// next commit closes.
type asyncQueue struct {
	copies   []asyncCopy
	open     [32]uint32
	seq      uint64 // number of the last copy issued
	random   bool   // copies may land at any load
	earliest bool
	spare    [][]byte // buffers of copies that have landed
}

// commitAsync decodes cp.async.commit_group.
func (d *decoder) commitAsync() {
	d.out.class, d.out.run = target.ClassAsyncCommit, func(w *warp, _ *inst, mask uint32) {
		for m := mask; m != 0; m &= m - 1 {
			w.async.open[bits.TrailingZeros32(m)&31]++
		}
	}
}

// waitAsync decodes cp.async.wait_group and wait_all.
func (d *decoder) waitAsync() {
	o := d.out
	o.class = target.ClassAsyncWait
	if d.has("wait_all") {
		o.run = func(w *warp, _ *inst, mask uint32) { w.land(mask, 0, true) }
		return
	}
	op := d.arg(0)
	if op.Kind != ptx.OpInt {
		d.unmodelled()
	}
	o.imm = op.Imm
	o.run = func(w *warp, in *inst, mask uint32) { w.land(mask, uint32(in.imm), false) }
}

// copyAsync decodes cp.async.{ca,cg}.shared.global [dst], [src], size{, src-size}{, ignore-src}.
func (d *decoder) copyAsync() {
	size := d.arg(2)
	if size.Kind != ptx.OpInt || size.Imm != 4 && size.Imm != 8 && size.Imm != 16 {
		d.fail("cp.async copies 4, 8 or 16 bytes")
	}
	x := d.access(d.arg(0), target.SpaceShared)
	y := d.access(d.arg(1), target.SpaceGlobal)
	x.async = &asyncOp{srcSize: -1}
	y.async = &asyncOp{source: true}
	x.size, x.n, x.second = int(size.Imm), 1, y
	y.size, y.n, y.nth = x.size, 1, 1
	for i := 3; i < len(d.in.Args); i++ {
		op := d.arg(i)
		switch {
		case op.Kind == ptx.OpReg && d.reg(op).bank == bankPred:
			d.srcPred(i)
			x.async.ignore, x.async.ignores = predSource{d.out.pc, d.out.negC}, true
		case op.Kind == ptx.OpReg && d.reg(op).bank == bank64: // a cache policy
		default:
			x.async.srcSize = d.source(op, bank32, 32)
		}
	}
	d.out.mem, d.out.class, d.out.run = x, target.ClassAsync, runAsync
}

// runAsync reads the source and queues the bytes. The source of a lane that copies nothing is not looked at.
func runAsync(w *warp, in *inst, mask uint32) {
	x, b := in.mem, w.blk
	y := x.second
	b.count(target.SpaceShared)
	b.count(target.SpaceGlobal)
	if w.copyAtOnce(in, mask) {
		return
	}
	c := asyncCopy{in: in, mask: mask, group: w.async.open, data: make([]byte, 32*x.size)}
	ignored := uint32(0)
	if x.async.ignores {
		ignored = x.async.ignore.read(w)
	}
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		n := x.size
		if x.async.srcSize >= 0 {
			n = min(n, int(w.lane32(x.async.srcSize, lane)))
		}
		if ignored>>lane&1 != 0 {
			n = 0
		}
		dst := b.locate(w, in, x, lane, w.address(x, lane), x.size, x.size)
		if dst.data == nil {
			c.mask &^= 1 << lane
			continue
		}
		c.dst[lane] = dst.addr
		if n == 0 {
			continue
		}
		to := c.data[lane*x.size:][:n]
		src := b.locate(w, in, y, lane, w.address(y, lane), n, x.size)
		if src.data == nil {
			fill(to, 0xff)
			continue
		}
		if src.written != nil && !allWritten(src.written) {
			b.uninitialised(w, in, y, lane, src)
		}
		copy(to, src.data)
	}
	w.enqueue(c)
}

// enqueue puts a copy under way.
func (w *warp) enqueue(c asyncCopy) {
	w.async.seq++
	c.seq = w.async.seq
	if w.blk.onAsync != nil && c.mask != 0 {
		w.blk.happened(target.AsyncEvent{Kind: target.AsyncIssued, Operation: w.describeCopy(&c)})
	}
	if w.async.earliest {
		w.landCopy(&c, c.mask)
		w.async.recycle(c.data)
		return
	}
	w.async.copies = append(w.async.copies, c)
}

// recycle keeps a copy's buffer for the next one.
func (q *asyncQueue) recycle(data []byte) {
	if len(q.spare) < 16 {
		q.spare = append(q.spare, data)
	}
}

// buffer returns n bytes of any contents.
func (q *asyncQueue) buffer(n int) []byte {
	if k := len(q.spare); k > 0 && cap(q.spare[k-1]) >= n {
		b := q.spare[k-1][:n]
		q.spare = q.spare[:k-1]
		return b
	}
	return make([]byte, n)
}

// copyAtOnce queues a copy in which every lane moves all its bytes inside the regions it may touch; ok is
// false, and nothing done, where some lane needs a closer look.
func (w *warp) copyAtOnce(in *inst, mask uint32) (ok bool) {
	x := in.mem
	y, b := x.second, w.blk
	to, from := &b.regions[x.set], &b.regions[y.set]
	s := x.async.srcSize
	if mask != allLanes || to.data == nil || from.data == nil || x.base < 0 || y.base < 0 ||
		x.async.ignores || from.written != nil ||
		s >= 0 && (w.u32[s]&stUniform == 0 || int(w.r32[s][0]) != x.size) {
		return false
	}
	var dst, src row32
	if ok, _ := w.offsets(x, to, mask, &dst); !ok {
		return false
	}
	if ok, _ := w.offsets(y, from, mask, &src); !ok {
		return false
	}
	if from.print != nil {
		from.print.lanes(&src, mask, x.size, false, false)
	}
	c := asyncCopy{in: in, mask: mask, group: w.async.open, data: w.async.buffer(32 * x.size)}
	for i, at := range src {
		c.dst[i] = to.lo + uint64(dst[i])
		copy(c.data[i*x.size:(i+1)*x.size], from.data[at:])
	}
	w.enqueue(c)
	return true
}

// land makes visible what the lanes of mask wait for: all but the last pending groups that they committed, or
// everything that they issued.
func (w *warp) land(mask uint32, pending uint32, all bool) {
	kept := w.async.copies[:0]
	for i := range w.async.copies {
		c := &w.async.copies[i]
		var now uint32
		for m := c.mask & mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			if all || c.group[lane]+pending < w.async.open[lane] {
				now |= 1 << lane
			}
		}
		w.landCopy(c, now)
		if c.mask &^= now; c.mask != 0 {
			kept = append(kept, *c)
		} else {
			w.async.recycle(c.data)
		}
	}
	w.async.copies = kept
}

// landCopy writes the lanes' bytes.
func (w *warp) landCopy(c *asyncCopy, lanes uint32) {
	if lanes == 0 {
		return
	}
	b := w.blk
	b.wrote++
	if b.onAsync != nil && c.mask&^lanes == 0 {
		b.happened(target.AsyncEvent{Kind: target.AsyncLanded, Operation: w.describeCopy(c)})
	}
	size := c.in.mem.size
	for m := lanes & c.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		at := int(c.dst[lane])
		copy(b.shared[at:at+size], c.data[lane*size:(lane+1)*size])
		fill(b.swrit[at:at+size], 0xff)
	}
	if b.watched {
		w.landed(c, lanes&c.mask)
	}
}

// landRandom lets a copy land before anybody waits for it, once in a while.
func (w *warp) landRandom() {
	if !w.async.random || len(w.async.copies) == 0 || w.blk.sched.rng.IntN(4) != 0 {
		return
	}
	i := w.blk.sched.rng.IntN(len(w.async.copies))
	c := w.async.copies[i]
	w.landCopy(&c, c.mask)
	w.async.copies = append(w.async.copies[:i:i], w.async.copies[i+1:]...)
}
