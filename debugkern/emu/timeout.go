package emu

import (
	"slices"

	"tilescope/debugkern/ptx"
)

// A kernel may end a wait itself, after a time that it measures with %clock64. Such a time-out hides that
// nothing would ever have ended the wait: the clock gives the block another state each time that it looks. So
// each warp's state is compared once more, without the registers that follow from clocks. Where every warp
// that runs comes to such a state again, no memory has changed meanwhile, and all lanes that went round have
// found the phase of an mbarrier incomplete on the way, then only a clock can change what happens next. That
// is a hang. Execution goes on after it: the program's clock jumps until the time-out is over.

// timedCycle is what is known of a warp's waiting, apart from clocks. Its states are those at failed tests,
// and compared as cycle compares them; between the last two that are equal, what its lanes did is noted.
type timedCycle struct {
	epoch, polls  uint64 // block.wrote plus one, and block.polls, when it was begun
	hash          uint64
	power, length int
	repeats       int
	tests         int
	went, tested  uint32 // lanes that took a backward branch, and that found a phase incomplete
	read          bool   // a clock
}

// found reports whether nothing but a clock ends what the warp does.
func (c *timedCycle) found() bool { return c.repeats > 1 && c.went&^c.tested == 0 }

// The clock jumps by firstJump, then by twice as much each time, and by no more than lastJump: that is longer
// than any time-out.
const (
	firstJump = 1 << 14
	lastJump  = 1 << 56
)

// testFailed notes that lanes of the warp found a phase incomplete.
func (w *warp) testFailed(lanes uint32) {
	b, c := w.blk, &w.timed
	if b.p.clocks == nil || c.found() && c.epoch == b.wrote+1 {
		return
	}
	if c.epoch != b.wrote+1 {
		*c = timedCycle{epoch: b.wrote + 1, polls: b.polls}
	}
	c.tested |= lanes
	if c.tests++; c.tests%lookAfter != 0 {
		return
	}
	h := w.digest(b.p.clocks)
	switch {
	case c.power == 0:
		c.power = 1
	case h == c.hash:
		if c.repeats++; !c.found() {
			c.repeats, c.went, c.tested, c.read = 1, 0, 0, false
		}
		return
	default:
		if c.length++; c.length < c.power {
			return
		}
		c.power *= 2
	}
	c.hash, c.length, c.repeats = h, 0, 0
}

// timedOut reports whether nothing but a clock lets the warp do anything else; read, that it reads one.
func (w *warp) timedOut(alone bool) (yes, read bool) {
	b, c := w.blk, &w.timed
	if w.alive == 0 || !w.runnable() && !w.suspended() {
		return true, false
	}
	return c.epoch == b.wrote+1 && c.found() && (alone || c.polls == b.polls), c.read
}

// timeOut looks at a block, or at those of a cluster, that cannot go on by themselves. Waits that only a
// clock ends are reported, once, and the clock jumps.
func timeOut(blocks []*block) {
	read, alone := false, blocks[0].l.Grid.Count() == len(blocks)
	for _, b := range blocks {
		if b.p.clocks == nil || b.applied < len(b.inputs) || b.async.jump > lastJump {
			return
		}
		for _, w := range b.warps {
			yes, reads := w.timedOut(alone)
			if !yes {
				return
			}
			read = read || reads
		}
	}
	if !read {
		return
	}
	for _, b := range blocks {
		b.passTime()
	}
}

// passTime reports, the first time, the waits of the block that only a clock ends, and lets it go on.
func (b *block) passTime() {
	a := b.async
	if a.jump == 0 {
		a.jump = firstJump
		for _, x := range b.awaitings() {
			x.warps = slices.DeleteFunc(x.warps, func(id int) bool { return !b.warps[id].timed.read })
			if len(x.warps) > 0 {
				b.hangAt(&x, nil, true)
			}
		}
	}
	a.skew += a.jump
	a.jump *= 2
	for _, w := range b.warps {
		w.timed = timedCycle{}
	}
}

// clockRegisters are the registers of a function that follow from a clock by each of the instructions that
// write them; empty where there are none.
func clockRegisters(f *ptx.Func) map[int32]bool {
	set := map[int32]bool{}
	for again := true; again; {
		again = false
		for _, in := range f.Body {
			for _, r := range in.Dests(nil) {
				if !set[r] && fromClock(in, set) {
					set[r], again = true, true
				}
			}
		}
	}
	for again := len(set) > 0; again; { // without those that something else writes too
		again = false
		for _, in := range f.Body {
			for _, r := range in.Dests(nil) {
				if set[r] && !fromClock(in, set) {
					delete(set, r)
					again = true
				}
			}
		}
	}
	return set
}

// fromClock reports whether an instruction computes with a clock, or with a register that follows from one.
func fromClock(in *ptx.Instr, set map[int32]bool) bool {
	if in.Kind().Loads() || len(in.Args) == 0 {
		return false
	}
	for i := range in.Args[1:] {
		op := &in.Args[1+i]
		if op.Kind == ptx.OpSpecial && clocked(op.Name) {
			return true
		}
		for _, r := range op.Registers(nil) {
			if set[r] {
				return true
			}
		}
	}
	return false
}

// noteClocks notes the slots of a function's registers that follow from clocks.
func (d *decoder) noteClocks(f *ptx.Func, set map[int32]bool) {
	for r := range set {
		if d.p.clocks == nil {
			d.p.clocks = map[regSlot]bool{}
		}
		d.p.clocks[d.p.regs[f][r]] = true
	}
}

// now is the clock as the program reads it.
func (w *warp) now() uint64 {
	w.timed.read = true
	if a := w.blk.async; a != nil {
		return w.blk.clock + a.skew
	}
	return w.blk.clock
}
