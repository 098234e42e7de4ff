package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// Blocks that run one after another can hand on what they did: a counter in global memory, incremented after a fence, tells the
// block that reads it. What a block knows of the blocks before it is a reach: for each of them a floor and a row, as they
// stood at the release that was acquired. All of this belongs to the launch, and is used by one block at a time.

// snap is how much of one block is known.
type snap struct {
	floor uint32
	row   []uint32
}

// reach is what is known of other blocks, by their number in the order of execution. It is never changed once made.
type reach map[int]snap

// join is the union of two.
func (r reach) join(o reach) reach {
	if len(r) == 0 {
		return o
	}
	if len(o) == 0 {
		return r
	}
	out := reach{}
	for k, s := range r {
		out[k] = s
	}
	for k, s := range o {
		t, ok := out[k]
		if !ok {
			out[k] = s
			continue
		}
		row := append([]uint32(nil), t.row...)
		maximum(row, s.row)
		out[k] = snap{max(t.floor, s.floor), row}
	}
	return out
}

// gridState is what is known between the blocks of a launch that run in order.
type gridState struct {
	blocks int                // begun so far
	lines  map[uint64][]touch // by 16 bytes: what blocks before this one left
	number map[*block]int
	at     map[uint64]handed // by location: what its last strong write released

	pairs map[pairKey]*pair
	order []*pair
}

// gridOf returns the launch's state, and begins a block in it.
func (c *Checker) gridOf(u *races) *gridState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grid == nil {
		c.grid = &gridState{lines: map[uint64][]touch{}, number: map[*block]int{}, at: map[uint64]handed{}, pairs: map[pairKey]*pair{}}
	}
	c.grid.number[u.b] = c.grid.blocks
	c.grid.blocks++
	return c.grid
}

// add keeps what a block leaves.
func (g *gridState) add(u *races, ts []touch) {
	for _, t := range ts {
		g.lines[t.lo>>lineBits] = append(g.lines[t.lo>>lineBits], t)
	}
}

// across compares an access of one lane with those of the blocks before.
func (g *gridState) across(u *races, addr uint64, n, lane int, mine *stored) {
	strong := u.s.strong && u.s.scope >= scopeDevice
	for line := addr >> lineBits; line <= (addr+uint64(n)-1)>>lineBits; line++ {
		past := g.lines[line]
		for i := range past {
			t := &past[i]
			if t.lo >= addr+uint64(n) || t.hi <= addr || !t.writes && !u.s.writes {
				continue
			}
			if o := &u.sites[t.pc()]; strong && t.strong && o.scope >= scopeDevice && u.compatible(o) || g.reached(u, t, lane) {
				continue
			}
			now := touch{
				access: access{u.stamp, 1 << lane, u.at}, strong: u.s.strong, writes: u.s.writes,
				when: u.clk.warps[u.e.Warp].at, block: u.b,
			}
			if u.b.view.Strays(u.e.PC, target.SpaceGlobal, addr) {
				continue
			}
			now.lo, now.hi, now.value = addr, addr+uint64(n), mine
			p := acrossPair(*t, now, max(t.lo, addr))
			if old := g.pairs[p.pairKey]; old != nil {
				old.count++
				continue
			}
			g.pairs[p.pairKey] = p
			g.order = append(g.order, p)
		}
	}
}

// reached reports whether a lane knows of all of a past access.
func (g *gridState) reached(u *races, t *touch, lane int) bool {
	block := g.number[t.block]
	own := u.fence.reach[32*u.e.Warp+lane]
	for m := t.mask; m != 0; m &= m - 1 {
		thread := 32*t.warp() + bits.TrailingZeros32(m)
		if !covers(u.fence.all[block], t.stamp, thread) && !covers(own[block], t.stamp, thread) {
			return false
		}
	}
	return true
}

func covers(s snap, stamp uint32, thread int) bool {
	return stamp <= s.floor || thread < len(s.row) && s.row[thread] >= stamp
}

// overwritten ends what a plain write hides.
func (g *gridState) overwritten(addr uint64, n int) {
	if len(g.at) == 0 {
		return
	}
	for a := addr - min(addr, widest-1); a < addr+uint64(n); a++ {
		if h, ok := g.at[a]; ok && h.hides(a, addr, n) {
			delete(g.at, a)
		}
	}
}
