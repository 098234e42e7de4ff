package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// A cp.async writes at some moment between its issue and the end of its issuer's wait, and when is not
// defined. So from the issue on its bytes are under way (access.stamp is underWay): whoever touches them
// is too early. The wait makes them a write of the issuing lane at that moment; for all others it still
// takes a barrier after it. Its source it reads at such a moment too: until the wait nobody may write
// there, the issuer included.

// asyncState follows the copies of one block.
type asyncState struct {
	open   [32][32]uint32 // by warp and lane: the number of the group that its next commit closes
	copies [32][]copyOut  // by warp: under way, oldest first
	waits  map[int]*waitUse

	sources int               // copies under way whose source the kernel may write
	ended   map[uint32]uint32 // by access.at of a wait: that of a copy whose read of such a source it ended
}

// copyOut is one cp.async of some lanes.
type copyOut struct {
	at    uint32
	mask  uint32
	bytes int
	dst   [32]uint64
	stamp uint32
	reads uint32 // lanes whose source the kernel may write
	src   [32]uint64
	group [32]uint32
	when  moment
}

// waitUse is what became of the executions of one wait.
type waitUse struct {
	executed, idle int // how often; how often it covered nothing although something was under way
}

func (s *asyncState) commit(e *target.Event) {
	for m := e.Mask; m != 0; m &= m - 1 {
		s.open[e.Warp][bits.TrailingZeros32(m)]++
	}
}

// issue is a cp.async: from here on nobody may touch the destination.
func (u *races) issue(e *target.Event) {
	if e.Probe {
		return
	}
	u.begin(e)
	c := copyOut{
		at: u.at, stamp: u.stamp, mask: e.Mask, bytes: e.Bytes, dst: *e.Addr, group: u.async.open[e.Warp],
		when: u.clk.warps[e.Warp].at,
	}
	if c.reads = u.source(e); c.reads != 0 {
		c.src = *e.Addr2
		u.async.sources++
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		if e.Addr[lane]+uint64(e.Bytes) > u.bytes || e.Addr[lane]%uint64(e.Bytes) != 0 {
			c.mask &^= 1 << lane
			continue
		}
		u.each(e.Addr[lane], e.Bytes, func(c *cell) {
			u.write(c, 1<<lane, &u.mem.list)
			c.w = access{underWay, allLanes, u.at}
		})
	}
	u.async.copies[e.Warp] = append(u.async.copies[e.Warp], c)
}

// each calls f for the cells of shared bytes, with u.addr at each.
func (u *races) each(addr uint64, bytes int, f func(*cell)) {
	unit := uint8(bits.Len(uint(min(bytes, lineSize))) - 1)
	for end := addr + uint64(bytes); addr < end; {
		line := int(addr >> lineBits)
		if u.mem.unit[line] > unit {
			u.mem.split(line, unit)
		}
		u.addr = addr
		f(&u.mem.cells[addr])
		addr += 1 << u.mem.unit[line]
	}
}

// wait makes what the lanes wait for theirs.
func (u *races) wait(e *target.Event) {
	if u.b.checker.ignored[e.PC] {
		return
	}
	u.begin(e)
	all, covered := e.Instr.Has("wait_all"), false
	u.copiesWaited(e, all)
	under := false
	kept := u.async.copies[e.Warp][:0]
	for _, c := range u.async.copies[e.Warp] {
		now := uint32(0)
		for m := c.mask & e.Mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			under = true
			if !all && c.group[lane]+uint32(e.Value) >= u.async.open[e.Warp][lane] {
				continue
			}
			now |= 1 << lane
			u.each(c.dst[lane], c.bytes, func(k *cell) {
				if k.w.stamp == underWay && k.w.at == c.at {
					k.w = access{u.stamp, 1 << lane, c.at}
				}
			})
		}
		u.sourceRead(&c, now)
		covered = covered || now != 0
		if c.mask &^= now; c.mask != 0 {
			kept = append(kept, c)
		}
	}
	u.async.copies[e.Warp] = kept
	u.async.waited(e.PC, covered, under)
}

// waited counts an execution of a wait.
func (s *asyncState) waited(pc int, covered, under bool) {
	if s.waits == nil {
		s.waits = map[int]*waitUse{}
	}
	w := s.waits[pc]
	if w == nil {
		w = &waitUse{}
		s.waits[pc] = w
	}
	w.executed++
	if !covered && under {
		w.idle++
	}
}

// tooEarly is an access to bytes under way.
func (u *races) tooEarly(a *access, who uint32) {
	for _, c := range u.async.copies[a.warp()] {
		if c.at != a.at {
			continue
		}
		for m := c.mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			if u.addr >= c.dst[lane] && u.addr < c.dst[lane]+uint64(c.bytes) {
				first := side{pc: a.pc(), warp: a.warp(), lane: lane, writes: true, when: c.when}
				u.record(first, u.now(firstLane(who, lane, a.warp() == u.e.Warp)), pairEarly)
				return
			}
		}
	}
}

// sourceRead ends the reads of the lanes of a copy that have waited: they took place up to now.
func (u *races) sourceRead(c *copyOut, lanes uint32) {
	if c.reads == 0 {
		return
	}
	if u.async.ended == nil {
		u.async.ended = map[uint32]uint32{}
	}
	u.async.ended[u.at] = c.at
	for m := lanes & c.reads; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		u.eachGlobal(c.src[lane], c.bytes, func(k *cell) { u.list(k, 1<<lane, &u.glob.list, false, false) })
	}
	if c.reads &^= lanes; c.reads == 0 {
		u.async.sources--
	}
}

// afterRead is a write to what a copy read that is ordered after its issue, perhaps, but not after the wait
// a: false where a is no wait.
func (u *races) afterRead(a *access, other, lane int) bool {
	at, ok := u.async.ended[a.at]
	if ok {
		u.record(side{pc: int(at >> 5), warp: a.warp(), lane: other, when: u.clk.moment(a.stamp)},
			u.now(lane), pairEarly)
	}
	return ok
}

// overSource is a write of one lane to what a copy under way reads. One that nothing orders after the copy's
// issue is a race like any other; here are those that are ordered, and come before the wait.
func (u *races) overSource(addr uint64, n, lane int) {
	for warp := range u.clk.warps {
		for i := range u.async.copies[warp] {
			c := &u.async.copies[warp][i]
			for m := c.reads; m != 0; m &= m - 1 {
				other := bits.TrailingZeros32(m) & 31
				if lo := c.src[other]; lo >= addr+uint64(n) || addr >= lo+uint64(c.bytes) ||
					!u.clk.ordered(c.stamp, warp, other, u.e.Warp, lane) {
					continue
				}
				u.addr = max(addr, c.src[other])
				past := side{pc: int(c.at >> 5), warp: warp, lane: other, when: c.when}
				u.record(past, u.now(lane), pairEarly)
				return
			}
		}
	}
}

// firstLane picks the lane of an access to name: the issuer itself where it is among them.
func firstLane(who uint32, issuer int, same bool) int {
	if same && who>>issuer&1 != 0 {
		return issuer
	}
	return bits.TrailingZeros32(who)
}
