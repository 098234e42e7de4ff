package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// raceKind orders accesses by happens-before: races, cp.async read too early, barriers that order nothing.
func raceKind() kind {
	return kind{set: Races | Async | Redundant, start: startRaces, findings: raceFindings}
}

// races watches the accesses of one block.
type races struct {
	b     *block
	sites []site
	clk   clocks
	mem   *shadow
	bytes uint64 // of shared memory; mem has whole lines
	glob  globalShadow
	grid  *gridState // nil where blocks run at once
	bar   [16][]arrival
	async asyncState
	fence fenceState
	need  needs

	pairs   map[pairKey]*pair
	order   []*pair
	raised  int             // how many there were at the last barrier of all threads
	touched []touch         // global memory, for other blocks
	values  map[int]*stored // by PC: what global stores wrote
	names   []int32         // by shared word: number of the variable, 0: not looked up yet
	titles  []string
	made    map[[2]int]bool // by the PCs of a load and a store: what inPlace found

	// The access under way.
	e     *target.Event
	s     *site
	stamp uint32
	at    uint32
	space target.Space // of addr: a cp.async has one address in each
	addr  uint64
	lowJ  uint32
}

func startRaces(b *block) unit {
	n := b.view.Launch().Block.Count()
	u := &races{b: b, sites: b.checker.program(b.view), pairs: map[pairKey]*pair{}, titles: []string{""}}
	var from uint32
	u.mem, from = b.checker.takeShadow()
	u.bytes = uint64(b.view.SharedBytes())
	u.mem.begin(b.view.SharedBytes())
	u.names = make([]int32, (b.view.SharedBytes()+3)/4)
	u.clk.begin(n, from)
	u.need.begin()
	u.startGlobal()
	return u
}

// Interests implements unit.
func (u *races) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsync, target.ClassAsyncCommit,
		target.ClassAsyncWait, target.ClassBarrier, target.ClassBarrierDone, target.ClassWarpSync, target.ClassFence, target.ClassExit)
}

// Event implements unit.
func (u *races) Event(e *target.Event) {
	switch e.Class {
	case target.ClassLoad, target.ClassStore, target.ClassAtomic:
		switch e.Space {
		case target.SpaceShared:
			u.shared(e)
		case target.SpaceGlobal:
			u.global(e)
		}
	case target.ClassAsync:
		u.issue(e)
	case target.ClassAsyncCommit:
		u.async.commit(e)
	case target.ClassAsyncWait:
		u.wait(e)
	case target.ClassBarrier:
		if !u.b.checker.ignored[e.PC] {
			waits := !e.Instr.Has("arrive")
			u.bar[e.Barrier] = append(u.bar[e.Barrier], u.clk.arrive(e.Warp, e.PC, e.Mask, waits))
		}
	case target.ClassBarrierDone:
		u.completed(e)
	case target.ClassWarpSync:
		if !u.b.checker.ignored[e.PC] {
			u.need.executed(e.PC)
			u.clk.sync(e.Warp, e.PC, e.Mask, u.need.known(e.PC) != nil)
			u.fence.sync(e.Warp, e.Mask)
		}
	case target.ClassFence:
		if !e.Probe {
			u.fenced(e)
		}
	case target.ClassExit:
		u.clk.warps[e.Warp].alive &^= e.Mask
	}
}

// End implements target.Ender.
func (u *races) End() {
	u.dropStuck()
	u.need.single = u.clk.single
	u.endGlobal()
	u.b.checker.giveShadow(u.mem, u.clk.now)
	u.mem, u.clk, u.names, u.fence = nil, clocks{}, nil, fenceState{}
}

// dropStuck forgets what was first seen since the last barrier of all threads, where somebody waits at one that never
// completed: it is the barrier that is wrong, and the others went on without it.
func (u *races) dropStuck() {
	for _, as := range u.bar {
		if len(as) > 0 && as[0].waits {
			u.order = u.order[:u.raised]
			return
		}
	}
}

// completed is the end of a block barrier.
func (u *races) completed(e *target.Event) {
	as := u.bar[e.Barrier]
	u.bar[e.Barrier] = as[:0]
	if len(as) == 0 {
		return // all of it is ignored
	}
	pc := as[0].pc
	for i := range as {
		if as[i].pc != pc {
			pc = -1
		}
	}
	if !u.clk.full(as) {
		for i := range as {
			u.need.partial(as[i].pc)
		}
		u.fence.exchange(as)
		u.clk.exchange(as)
		return
	}
	if pc < 0 {
		for i := range as {
			u.need.partial(as[i].pc)
		}
	} else {
		u.need.executed(pc)
	}
	u.fence.everyone(u)
	u.raised = len(u.order)
	u.clk.raise(pc, pc >= 0 && u.need.known(pc) != nil)
}

// begin sets what the accesses of an event have in common.
func (u *races) begin(e *target.Event) {
	w := &u.clk.warps[e.Warp]
	u.e, u.s, u.space = e, &u.sites[e.PC], e.Space
	u.stamp = u.clk.stamp(w, moment{int32(e.KVTile), int32(e.Iteration), int32(e.Loop)})
	u.at = uint32(e.PC)<<5 | uint32(e.Warp)
	u.lowJ = max(w.lowJoined, u.clk.low)
	w.touched |= e.Mask
}

// shared is an access to shared memory.
func (u *races) shared(e *target.Event) {
	if e.Probe {
		u.probed(e)
		return
	}
	u.begin(e)
	if u.s.strong {
		u.strongShared(e)
		return
	}
	mem := u.mem
	unit := uint8(bits.Len(uint(min(e.Bytes, lineSize))) - 1)
	whole := u.s.whole
	store := e.Class == target.ClassStore
	clearing := store && len(u.fence.at) > 0
	mask, one := e.Mask, uint32(0)
	if !store && !whole && broadcast(e) { // all lanes read one place: one access by all of them
		mask, one = mask&-mask, mask
	}
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := e.Addr[lane]
		end := addr + uint64(e.Bytes)
		if end > u.bytes || addr&(1<<unit-1) != 0 {
			continue // out of bounds or misaligned: found elsewhere, and without effect
		}
		who := uint32(1)<<lane | one
		if whole {
			who = allLanes
		}
		if clearing {
			u.fence.overwritten(fenceKey{target.SpaceShared, addr}, e.Bytes)
		}
		for addr < end {
			line := int(addr >> lineBits)
			have := mem.unit[line]
			if have > unit {
				mem.split(line, unit)
				have = unit
			}
			stop := min(end, uint64(line+1)<<lineBits)
			for ; addr < stop; addr += 1 << have {
				c := &mem.cells[addr]
				if store {
					u.addr = addr
					u.write(c, who, &mem.list)
				} else if c.more == 0 && u.readFast(c, who) {
					continue
				} else {
					u.addr = addr
					u.read(c, who, &mem.list)
				}
			}
		}
	}
}

// broadcast reports whether all lanes of an access have one address.
func broadcast(e *target.Event) bool {
	first := bits.TrailingZeros32(e.Mask)
	a := e.Addr[first&31]
	for m := e.Mask; m != 0; m &= m - 1 {
		if e.Addr[bits.TrailingZeros32(m)&31] != a {
			return false
		}
	}
	return true
}

// settled reports whether a past access is certain to come before one by lanes who of the warp under way, whatever single
// barrier is taken away that is not known to be needed.
func (u *races) settled(a *access, who uint32) bool {
	return a.stamp <= u.clk.low || (a.at^u.at)&31 == 0 && (a.stamp <= u.lowJ || a.mask == who && who&(who-1) == 0)
}

// replaceable reports whether a new access by lanes who can take the place of a past one: whatever is ordered after the new
// one comes after the past one too.
func (u *races) replaceable(a *access, who uint32) bool {
	return a.stamp <= u.clk.low || (a.at^u.at)&31 == 0 && (a.stamp <= u.lowJ || a.mask&^who == 0)
}

// readFast is a plain read where nothing stands in its way: the usual case. It reports false, with nothing done, for others.
func (u *races) readFast(c *cell, who uint32) bool {
	if w := &c.w; w.stamp > u.clk.low && !u.settled(w, who) {
		return false
	}
	if c.r.at == u.at && c.r.stamp == u.stamp {
		c.r.mask |= who
		return true
	}
	if u.replaceable(&c.r, who) {
		c.r = access{u.stamp, who, u.at}
		return true
	}
	if c.r2.at == u.at && c.r2.stamp == u.stamp {
		c.r2.mask |= who
		return true
	}
	if u.replaceable(&c.r2, who) {
		c.r2 = access{u.stamp, who, u.at}
		return true
	}
	return false
}

// read is a plain read of a cell by lanes who.
func (u *races) read(c *cell, who uint32, l *list) {
	if !u.settled(&c.w, who) {
		u.conflict(&c.w, who, true)
	}
	for i := c.more; i != 0; i = l.nodes[i].next {
		if n := &l.nodes[i]; n.writes && !u.settled(&n.access, who) {
			u.conflict(&n.access, who, true)
		}
	}
	for _, r := range []*access{&c.r, &c.r2} {
		if (r.at^u.at)&31 == 0 && (r.at != u.at || r.stamp != u.stamp) {
			r.mask &^= who // what the same lanes did before is covered by what they do now
		}
		if u.replaceable(r, who) {
			*r = access{u.stamp, who, u.at}
			return
		}
		if r.at == u.at && r.stamp == u.stamp {
			r.mask |= who
			return
		}
	}
	u.list(c, who, l, false, false)
}

// list adds an access to a cell's list, in the place of those that it makes superfluous.
func (u *races) list(c *cell, who uint32, l *list, strong, writes bool) {
	for link := &c.more; *link != 0; {
		n := &l.nodes[*link]
		if n.strong != strong || n.writes != writes {
			if n.stamp > u.clk.low {
				link = &n.next
				continue
			}
			l.remove(link)
			continue
		}
		if n.at == u.at && n.stamp == u.stamp {
			n.mask |= who
			return
		}
		if (n.at^u.at)&31 == 0 {
			n.mask &^= who
		}
		if u.replaceable(&n.access, who) {
			l.remove(link)
			continue
		}
		link = &n.next
	}
	l.push(&c.more, access{u.stamp, who, u.at}, strong, writes)
}

// write is a plain write of a cell by lanes who.
func (u *races) write(c *cell, who uint32, l *list) {
	if !u.settled(&c.w, who) {
		u.conflict(&c.w, who, true)
	}
	if !u.settled(&c.r, who) {
		u.conflict(&c.r, who, false)
	}
	if !u.settled(&c.r2, who) {
		u.conflict(&c.r2, who, false)
	}
	if c.more != 0 {
		for i := c.more; i != 0; i = l.nodes[i].next {
			if n := &l.nodes[i]; !u.settled(&n.access, who) {
				u.conflict(&n.access, who, n.writes)
			}
		}
		l.drop(&c.more)
	}
	c.w = access{u.stamp, who, u.at}
	c.r, c.r2 = access{}, access{}
}

// strongShared is an access that does not race with others of its kind: atomics, volatile and relaxed accesses and stronger.
func (u *races) strongShared(e *target.Event) {
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := e.Addr[lane]
		unit := uint8(bits.Len(uint(min(e.Bytes, lineSize))) - 1)
		if addr+uint64(e.Bytes) > u.bytes || addr&(1<<unit-1) != 0 {
			continue
		}
		u.strongElements(target.SpaceShared, addr, e.Bytes, lane)
		for at := addr; at < addr+uint64(e.Bytes); {
			line := int(at >> lineBits)
			if u.mem.unit[line] > unit {
				u.mem.split(line, unit)
			}
			u.addr = at
			u.strong(&u.mem.cells[at], 1<<lane, &u.mem.list)
			at += 1 << u.mem.unit[line]
		}
	}
}

// strongElements hands on, or takes over, what goes with a strong access, for each of the accesses that it stands for.
func (u *races) strongElements(space target.Space, addr uint64, n, lane int) {
	for end := addr + uint64(n); addr < end; addr += uint64(u.s.element) {
		u.fence.access(u, fenceKey{space, addr}, lane)
	}
}

// strong is a strong access of a cell by one lane.
func (u *races) strong(c *cell, who uint32, l *list) {
	writes := u.s.writes
	if !u.settled(&c.w, who) {
		u.conflict(&c.w, who, true)
	}
	if writes {
		if !u.settled(&c.r, who) {
			u.conflict(&c.r, who, false)
		}
		if !u.settled(&c.r2, who) {
			u.conflict(&c.r2, who, false)
		}
	}
	for i := c.more; i != 0; i = l.nodes[i].next {
		n := &l.nodes[i]
		if !n.writes && !writes || n.strong && u.compatible(&u.sites[n.pc()]) || u.settled(&n.access, who) {
			continue
		}
		u.conflict(&n.access, who, n.writes)
	}
	u.list(c, who, l, true, writes)
}

// compatible reports whether another strong access of the same block is morally strong with the one under way: scopes always
// reach within a block, so what is left is that they overlap completely.
func (u *races) compatible(o *site) bool { return o.element == u.s.element }

// conflict is a pair of accesses, one of them a write, that is not settled: the full order decides, and where it holds by one
// barrier alone, that barrier is needed.
func (u *races) conflict(a *access, who uint32, wrote bool) {
	warp, now := a.warp(), u.e.Warp
	if a.stamp == underWay {
		u.tooEarly(a, who)
		return
	}
	if warp == now && (a.mask == who && who&(who-1) == 0 || !wrote && u.inPlace(a.pc())) {
		return
	}
	c := &u.clk
	byBlock, byWarp := a.stamp <= c.floor, warp == now && a.stamp <= c.warps[now].joined
	switch {
	case byBlock && byWarp:
		return
	case byBlock:
		if a.stamp > c.before && c.last >= 0 {
			u.needed(c.last, a, wrote)
			c.low = c.floor
			u.lowJ = max(u.lowJ, c.low)
		}
		return
	case byWarp:
		if w := &c.warps[now]; a.stamp > w.beforeJoined {
			u.needed(w.last, a, wrote)
			w.lowJoined = w.joined
			u.lowJ = max(u.lowJ, w.lowJoined)
		}
		return
	}
	for m := who; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		for o := a.mask & c.warps[warp].existing(); o != 0; o &= o - 1 {
			if other := bits.TrailingZeros32(o); !c.ordered(a.stamp, warp, other, now, lane) {
				u.found(a, other, lane, wrote)
				return
			}
		}
	}
}

// existing is the lanes that a warp has, or had.
func (w *warpClock) existing() uint32 { return w.alive | w.touched }

// probed is a read by a probe: never a race, but a barrier that it relies on is there for something.
func (u *races) probed(e *target.Event) {
	if e.Class != target.ClassLoad || u.clk.low == u.clk.floor {
		return
	}
	u.begin(e)
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := e.Addr[lane]
		if addr >= u.bytes {
			continue // out of bounds: found elsewhere
		}
		line := addr >> lineBits
		c := &u.mem.cells[addr&^(1<<u.mem.unit[line]-1)]
		if c.w.stamp <= u.clk.floor && c.w.stamp > u.clk.before && u.clk.last >= 0 && c.w.warp() != e.Warp {
			u.addr = addr
			u.needed(u.clk.last, &c.w, true)
			u.clk.low = u.clk.floor
			return
		}
	}
}
