package check

import (
	"maps"
	"math/bits"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// Blocks that share memory execute one at a time, and can hand on what they did: a counter in global memory,
// incremented after a fence, passes it to the block that reads the counter. What a block has acquired from
// others is a reach: for each of them its blockEpoch and a row, as of the release that was acquired. All of
// this belongs to the launch, and is used by one block at a time.
//
// A second reach, the wide one, is kept as if every strong write were a release and every strong read an
// acquire, of the whole device. It is never a reason to leave out a race: it says why one is there, a scope
// that is too narrow or a fence that is missing.

// snap is how much of one block is known.
type snap struct {
	blockEpoch uint32
	row        []uint32
}

// reach is what is known of other blocks, by their number in the order of execution. It is
// never changed once made.
type reach map[int]snap

// join is the union of two; r itself, where o adds nothing.
func (r reach) join(o reach) reach {
	if len(r) == 0 {
		return o
	}
	out, own := r, false
	for k, s := range o {
		t, ok := r[k]
		if ok && s.within(t) {
			continue
		}
		if !own {
			out, own = maps.Clone(r), true
		}
		if ok && !t.within(s) {
			s = t.union(s)
		}
		out[k] = s
	}
	return out
}

// union is the more of both.
func (s snap) union(t snap) snap {
	if t.row == nil && t.blockEpoch <= s.blockEpoch {
		return s
	}
	row := make([]uint32, max(len(s.row), len(t.row)))
	copy(row, s.row)
	maximum(row, t.row)
	return snap{max(s.blockEpoch, t.blockEpoch), row}
}

// within reports whether all of s is part of t.
func (s snap) within(t snap) bool {
	if s.blockEpoch > t.blockEpoch {
		return false
	}
	for i, v := range s.row {
		if v > t.blockEpoch && (i >= len(t.row) || v > t.row[i]) {
			return false
		}
	}
	return true
}

// gridState is what is known between the blocks of a launch that share memory.
type gridState struct {
	blocks int                // begun so far
	writes uint64             // strong writes so far
	lines  map[uint64][]touch // by 16 bytes: what other blocks have done
	number map[*block]int
	// observed: strong writes of the device's scope, and who has seen them
	observed observations
	at       map[uint64]handed // by location: what its last strong write released
	wide     map[uint64]handed // and what it would have, with the scope of the device
	polled   map[uint64]bool   // locations that a thread has read again and again by one instruction

	pairs map[pairKey]*pair
	order []*pair
}

// gridOf returns the launch's state, and begins a block in it.
func (c *Checker) gridOf(u *races) *gridState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grid == nil {
		c.grid = &gridState{
			lines: map[uint64][]touch{}, number: map[*block]int{}, at: map[uint64]handed{},
			wide: map[uint64]handed{}, polled: map[uint64]bool{}, pairs: map[pairKey]*pair{},
		}
	}
	c.grid.number[u.b] = c.grid.blocks
	c.grid.blocks++
	return c.grid
}

// add keeps what a block leaves. A block that has left something before replaces accesses of the same lanes
// by the same instruction: whoever comes after the later one comes after the earlier.
func (g *gridState) add(ts []touch, again bool) {
next:
	for _, t := range ts {
		line := g.lines[t.lo>>lineBits]
		for i := range line {
			if o := &line[i]; again && o.block == t.block && o.at == t.at && o.mask == t.mask &&
				o.lo == t.lo && o.hi == t.hi && o.writes == t.writes {
				line[i] = t
				continue next
			}
		}
		g.lines[t.lo>>lineBits] = append(line, t)
	}
}

// across compares an access of one lane with those that other blocks have made.
func (g *gridState) across(u *races, addr uint64, n, lane int, mine *stored) {
	strong, writes := u.s.strong && u.s.scope >= scopeDevice, u.s.writes || u.bulkWrites
	for line := addr >> lineBits; line <= (addr+uint64(n)-1)>>lineBits; line++ {
		past := g.lines[line]
		for i := range past {
			t := &past[i]
			if t.block == u.b || t.lo >= addr+uint64(n) || t.hi <= addr || !t.writes && !writes {
				continue
			}
			o := &u.sites[t.pc()]
			relaxed := strong && t.strong && o.scope >= scopeDevice && u.compatible(o)
			if relaxed && !g.flagged(u, t, addr, lane) || g.reached(u, t, lane, &u.fence.acquired) ||
				!relaxed && t.strong && t.writes &&
					u.observed(target.SpaceGlobal, max(t.lo, addr), t.block, &t.access, t.mask, lane) {
				continue
			}
			now := touch{
				access: access{u.stamp, 1 << lane, u.at}, strong: u.s.strong, writes: writes,
				when: u.clk.warps[u.e.Warp].at, block: u.b,
			}
			if u.b.view.Strays(u.e.PC, target.SpaceGlobal, addr) {
				continue
			}
			now.lo, now.hi, now.value = addr, addr+uint64(n), mine
			p := acrossPair(*t, now, max(t.lo, addr))
			p.lacks = g.lacks(u, t, lane)
			if old := g.pairs[p.pairKey]; old != nil {
				old.count++
				continue
			}
			g.pairs[p.pairKey] = p
			g.order = append(g.order, p)
		}
	}
}

// flagged reports whether a strong read of what a strong write of another block has left follows a read of a
// flag that the writer set, with no fence of the writer between the two writes: the reader may see the flag
// and not the value. Atomics are no such values, nor is what somebody waits for: whoever reads it again sees
// it in the end.
func (g *gridState) flagged(u *races, t *touch, addr uint64, lane int) bool {
	f := &u.fence
	if u.s.writes || u.s.in.Kind() != isa.Load || !t.writes || u.sites[t.pc()].reads || g.polled[addr] {
		return false
	}
	thread := 32*u.e.Warp + lane
	before := acquired{f.wide.all, map[int]reach{thread: f.before}}
	if !g.reached(u, t, lane, &before) {
		return false
	}
	l := g.lacks(u, t, lane)
	return l.some && l.scope == 0 && !l.acquire
}

// reached reports whether a lane has acquired all of a past access.
func (g *gridState) reached(u *races, t *touch, lane int, k *acquired) bool {
	block := g.number[t.block]
	own := k.reach[32*u.e.Warp+lane]
	for m := t.mask; m != 0; m &= m - 1 {
		thread := 32*t.warp() + bits.TrailingZeros32(m)
		if !covers(k.all[block], t.stamp, thread) && !covers(own[block], t.stamp, thread) {
			return false
		}
	}
	return true
}

// lacks says why a race between blocks is one: which instruction has too narrow a scope, or that there is a
// strong write and a strong read between the accesses but no fence. Zero where neither would help.
func (g *gridState) lacks(u *races, t *touch, lane int) lack {
	o := &u.sites[t.pc()]
	switch {
	case u.s.strong && t.strong && u.s.scope < scopeDevice:
		return lack{scope: int32(u.e.PC) + 1, some: true, from: int32(t.pc()), to: int32(u.e.PC)}
	case u.s.strong && t.strong && o.scope < scopeDevice:
		return lack{scope: int32(t.pc()) + 1, some: true, from: int32(t.pc()), to: int32(u.e.PC)}
	case !g.reached(u, t, lane, &u.fence.wide):
		return lack{}
	}
	out := lack{scope: u.fence.narrow, some: true, from: int32(t.pc()), to: int32(u.e.PC)}
	thread, f := 32*u.e.Warp+lane, &u.fence
	fenced := acquired{f.all, map[int]reach{thread: f.reach[thread].join(f.awaited[thread]).join(f.open)}}
	out.acquire = g.reached(u, t, lane, &fenced)
	return out
}

// lack is what would order a pair: a wider scope of an instruction (its PC plus one), or where that is 0 a
// fence. from and to are the accesses as they were executed.
type lack struct {
	scope    int32
	some     bool // there is something that would
	acquire  bool // it is the fence behind the read of the flag alone
	from, to int32
}

func covers(s snap, stamp uint32, thread int) bool {
	return stamp <= s.blockEpoch || thread < len(s.row) && s.row[thread] >= stamp
}

// overwritten ends what a plain write hides.
func (g *gridState) overwritten(addr uint64, n int) {
	g.observed.overwritten(fenceKey{target.SpaceGlobal, addr}, n)
	for _, at := range []map[uint64]handed{g.at, g.wide} {
		if len(at) == 0 {
			continue
		}
		for a := addr - min(addr, widest-1); a < addr+uint64(n); a++ {
			if h, ok := at[a]; ok && h.hides(a, addr, n) {
				delete(at, a)
			}
		}
	}
}
