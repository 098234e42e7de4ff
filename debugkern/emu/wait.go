package emu

import "bytes"

// Waiting for other blocks. A block waits where every warp of it that can run goes round in a circle: the
// state of the warp (where its lanes stand, and their registers) is what it was some backward branches ago,
// and the block has not changed any memory since. As execution is a function of that state and of memory, the
// block goes round for ever unless somebody else changes a byte that it reads on the way, so passing it over
// until one of those bytes has another value changes nothing that anybody could see. Only that is a wait; no
// number of rounds makes one.
//
// A loop that counts its rounds, or doubles a delay, has another state each time. A block that has polled
// global memory patience times without changing memory lets the others go first, and goes on after them.

// patience is how often a block polls before it lets others go first.
const patience = 1 << 12

// lookAfter is how many backward branches a warp takes from one look at its state to the next. A block that
// executes on its own is looked at less often: most wait for nobody.
const (
	lookAfter      = 16
	lookAfterApart = 64
)

// turnLength is how many warp instructions a block executes before it lets others go first.
const turnLength = 1 << 24

// maxPolled is how many ranges of bytes a waiting block may read; one that reads more is not passed over.
const maxPolled = 1 << 12

// gave says why a block gave way to others.
type gave uint8

const (
	gaveNone  gave = iota
	gaveWait       // it waits for one of the bytes that it polls to change
	gaveTired      // it has polled or run for long
)

// waiting is what is known of a block's waiting.
type waiting struct {
	apart    bool // the block executes on its own: that it may wait is all that is asked
	every    int  // backward branches between two looks
	gave     gave
	tired    bool
	until    uint64 // clock at which its turn is over
	wrote    uint64 // block.wrote when it was last looked at
	polled   uint64 // block.polls at that change of memory
	tracking bool   // what it reads is being noted
	foot     *footprint
	own      uint64 // block.wrote plus one, where the block goes round without reading global memory
	bytes    []polledBytes
}

// polledBytes is what a waiting block has read again and again.
type polledBytes struct {
	byteRange
	value []byte
}

// cycle looks for a state that comes again (Brent's algorithm: the state compared with is renewed
// after 1, 2, 4, … looks).
type cycle struct {
	epoch         uint64 // block.wrote plus one when hash was taken; 0: never
	hash          uint64
	power, length int
	found         bool
}

func (x *waiting) begin(b *block) {
	if *x = (waiting{foot: x.foot, apart: x.apart, every: lookAfterApart, until: turnLength}); !x.apart {
		x.every = lookAfter
		b.note(nil)
	}
}

// wake lets a block go on after others have run.
func (x *waiting) wake(b *block) {
	x.gave, x.tired, x.bytes, x.polled, x.until = gaveNone, false, nil, b.polls, b.clock+turnLength
	x.track(b, false)
	for _, w := range b.warps {
		w.cycle = cycle{}
	}
}

// track begins or ends noting what the block reads.
func (x *waiting) track(b *block, on bool) {
	if x.tracking == on {
		return
	}
	x.tracking = on
	if !on {
		b.note(nil)
		return
	}
	if x.foot == nil {
		x.foot = newFootprint(b.mem, func(*alloc) bool { return true })
	}
	x.foot.clear()
	b.note(x.foot)
}

// cycles looks at the warp's state, and reports whether the warp need not go on for now.
func (w *warp) cycles() bool {
	b := w.blk
	x, c := b.wait, &w.cycle
	if x.wrote != b.wrote {
		x.wrote, x.polled = b.wrote, b.polls
		x.track(b, false)
	}
	if !x.apart && b.polls-x.polled >= patience {
		x.tired = true
		return true
	}
	if w.async.random && len(w.async.copies) > 0 {
		return false // one may land at any time
	}
	if b.async != nil && len(b.async.flights) > 0 {
		return false
	}
	if c.epoch != b.wrote+1 { // what changes memory on every round costs no digest
		*c = cycle{epoch: b.wrote + 1}
		return false
	}
	h := w.hash()
	if c.power == 0 {
		c.hash, c.power = h, 1
		return false
	}
	if c.found = c.found || c.hash == h; c.found {
		return true
	}
	if c.length++; c.length == c.power {
		c.hash, c.power, c.length = h, 2*c.power, 0
	}
	return false
}

// over reports, when the turn of a warp has ended, whether the block gives way to others.
func (x *waiting) over(b *block) bool {
	switch {
	case x.apart:
		if b.circling() {
			x.gave = gaveWait
		}
		return x.gave != gaveNone
	case x.tired || b.clock >= x.until:
		x.gave = gaveTired
		return true
	case x.own == b.wrote+1 || !b.circling():
		return false
	case !x.tracking:
		x.track(b, true)
		for _, w := range b.warps {
			w.cycle = cycle{}
		}
		return false
	}
	ranges, ok := x.foot.reads(maxPolled)
	if len(ranges) == 0 {
		x.track(b, false)
		if ok {
			x.own = b.wrote + 1 // nobody but the block itself could end this
		}
		return false
	}
	for _, r := range ranges {
		x.bytes = append(x.bytes, polledBytes{r, bytes.Clone(b.mem.allocs[r.alloc].data[r.off : r.off+r.n])})
	}
	x.gave = gaveWait
	return true
}

// circling reports whether every warp that can run goes round in a circle, and there is one.
func (b *block) circling() bool {
	some := false
	for _, w := range b.warps {
		if w.alive == 0 || !w.runnable() {
			continue
		}
		if w.cycle.epoch != b.wrote+1 || !w.cycle.found {
			return false
		}
		some = true
	}
	return some
}

// changed reports whether a byte that a waiting block polls has another value.
func (x *waiting) changed(m *memory) bool {
	for _, p := range x.bytes {
		if !bytes.Equal(p.value, m.allocs[p.alloc].data[p.off:p.off+p.n]) {
			return true
		}
	}
	return false
}

// hash is a digest of the warp's state: all that decides what it does next, memory aside.
func (w *warp) hash() uint64 { return w.digest(nil) }

// digest is hash without some registers.
func (w *warp) digest(without map[regSlot]bool) uint64 {
	h := uint64(w.cur)<<32 | uint64(w.alive)
	mix := func(v uint64) {
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	for i := range w.groups {
		g := &w.groups[i]
		mix(uint64(uint32(g.pc))<<32 | uint64(g.mask))
		mix(uint64(g.need)<<32 | uint64(uint32(g.back)))
		mix(uint64(g.wait)<<16 | uint64(g.barrier)<<8 | uint64(boolMask(g.yielded)&1))
		for _, pc := range g.stack {
			mix(uint64(uint32(pc)))
		}
	}
	skip := func(b bank, i int) bool { return without != nil && without[regSlot{b, int32(i)}] }
	for i, p := range w.pred {
		if !skip(bankPred, i) {
			mix(uint64(p))
		}
	}
	for i := 0; i < 32 && w.blk.p.stacks; i++ {
		mix(uint64(w.sp[i]))
		for _, v := range w.saved[i] {
			mix(v)
		}
	}
	for i, s := range w.u32 {
		r := &w.r32[i]
		if skip(bank32, i) {
			continue
		}
		if mix(uint64(r[0])<<8 | uint64(s&stUniform)); s&stUniform != 0 {
			continue
		}
		for j := 0; j < 32; j += 2 {
			mix(uint64(r[j])<<32 | uint64(r[j+1]))
		}
	}
	for i, s := range w.u64 {
		r := &w.r64[i]
		if skip(bank64, i) {
			continue
		}
		mix(uint64(s & stUniform))
		if mix(r[0]); s&stUniform != 0 {
			continue
		}
		for _, v := range r {
			mix(v)
		}
	}
	return h
}
