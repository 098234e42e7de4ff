package check

import (
	"math/bits"
	"sort"

	"tilescope/debugkern/target"
)

// Global memory. Within a block it is ordered like shared memory, in cells that are made as they are touched. Between blocks
// nothing orders plain accesses but what threads release and acquire, which only blocks that run one after another can do: then
// every access is compared with those of the blocks before it (across.go). Blocks that run at once leave the ranges that they
// touched, and any two that overlap, one of them written, are a race.
//
// Memory that no instruction of the kernel can write is left out: inputs cost nothing.
type globalShadow struct {
	lines map[uint64]*globalLine
	list  list
	// The allocation looked at last.
	lo, hi   uint64
	writable bool
}

// globalLine is 16 bytes.
type globalLine struct {
	unit  uint8
	cells []cell // 16 >> unit
}

func (u *races) startGlobal() {
	u.glob.lines = map[uint64]*globalLine{}
	if u.b.view.InOrder() {
		u.grid = u.b.checker.gridOf(u)
	}
}

// watched reports whether a global address is worth following.
func (u *races) watched(addr uint64) bool {
	g := &u.glob
	if addr < g.lo || addr >= g.hi {
		if g.lo, g.hi, g.writable = u.b.view.Extent(addr); g.hi == 0 {
			return false // nowhere: out of bounds
		}
	}
	return g.writable
}

// global is an access to global memory.
func (u *races) global(e *target.Event) {
	if e.Probe {
		return
	}
	begun := false
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := e.Addr[lane]
		if !u.watched(addr) || addr+uint64(e.Bytes) > u.glob.hi {
			continue
		}
		if !begun {
			u.begin(e)
			begun = true
		}
		who := uint32(1) << lane
		if u.s.whole {
			who = allLanes
		}
		u.globalLane(addr, e.Bytes, lane, who)
	}
}

// globalLane is the access of one lane.
func (u *races) globalLane(addr uint64, n, lane int, who uint32) {
	if u.s.strong {
		u.strongElements(target.SpaceGlobal, addr, n, lane)
	}
	var mine *stored
	if u.s.writes {
		mine = u.remember(lane)
	}
	if u.grid != nil {
		u.grid.across(u, addr, n, lane, mine)
		if !u.s.strong && u.s.writes {
			u.fence.overwritten(fenceKey{target.SpaceGlobal, addr}, n)
			u.grid.overwritten(addr, n)
		}
	}
	if u.s.writes && u.async.sources > 0 {
		u.overSource(addr, n, lane)
	}
	u.eachGlobal(addr, n, func(c *cell) {
		switch l := &u.glob.list; {
		case u.s.strong:
			u.strong(c, who, l)
		case u.s.writes:
			u.write(c, who, l)
		default:
			u.read(c, who, l)
		}
	})
}

// source is what a cp.async reads; it returns the lanes whose source the kernel may write. A copy that may be of fewer bytes
// is left out: its source need not be looked at.
func (u *races) source(e *target.Event) (mask uint32) {
	if len(e.Instr.Args) > 3 {
		return 0
	}
	u.space = target.SpaceGlobal
	defer func() { u.space = target.SpaceShared }()
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		if addr := e.Addr2[lane]; u.watched(addr) {
			mask |= 1 << lane
			u.eachGlobal(addr, e.Bytes, func(c *cell) { u.read(c, 1<<lane, &u.glob.list) })
		}
	}
	return mask
}

// eachGlobal calls f for the cells of global bytes, with u.addr at each.
func (u *races) eachGlobal(addr uint64, n int, f func(*cell)) {
	unit := uint8(bits.Len(uint(min(n, lineSize))) - 1)
	if addr&(1<<unit-1) != 0 {
		return
	}
	for end := addr + uint64(n); addr < end; {
		l := u.glob.lines[addr>>lineBits]
		if l == nil {
			l = &globalLine{unit: unit, cells: make([]cell, lineSize>>unit)}
			u.glob.lines[addr>>lineBits] = l
		}
		if l.unit > unit {
			var all [lineSize]cell
			for i := range l.cells {
				all[i<<l.unit] = l.cells[i]
			}
			splitCells(all[:], l.unit, unit, &u.glob.list)
			l.unit, l.cells = unit, make([]cell, lineSize>>unit)
			for i := range l.cells {
				l.cells[i] = all[i<<unit]
			}
		}
		u.addr = addr
		f(&l.cells[addr&(lineSize-1)>>l.unit])
		addr += 1 << l.unit
	}
}

// touch is a range of global memory that a block accessed with one instruction.
type touch struct {
	lo, hi uint64
	access
	strong, writes bool
	when           moment
	block          *block
	value          *stored // what a write wrote; nil where that is not known
}

// endGlobal keeps what other blocks have to be compared with.
func (u *races) endGlobal() {
	g := &u.glob
	if len(g.lines) > 0 {
		keys := make([]uint64, 0, len(g.lines))
		for k := range g.lines {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
		for _, k := range keys {
			l := g.lines[k]
			for i := range l.cells {
				u.leave(k<<lineBits+uint64(i)<<l.unit, 1<<l.unit, &l.cells[i])
			}
		}
	}
	if u.grid != nil {
		u.grid.add(u, u.touched)
		u.touched = nil
	}
	*g = globalShadow{}
}

// leave notes what is known of a cell.
func (u *races) leave(addr uint64, n int, c *cell) {
	u.leaveAccess(addr, n, c.w, false, true)
	u.leaveAccess(addr, n, c.r, false, false)
	u.leaveAccess(addr, n, c.r2, false, false)
	for i := c.more; i != 0; i = u.glob.list.nodes[i].next {
		x := &u.glob.list.nodes[i]
		u.leaveAccess(addr, n, x.access, x.strong, x.writes)
	}
}

// leaveAccess notes one access. Where blocks run at once, who it was is of no matter, and neighbours become one range.
func (u *races) leaveAccess(addr uint64, n int, a access, strong, writes bool) {
	if a.stamp == 0 {
		return
	}
	if at, ok := u.async.ended[a.at]; ok {
		a.at = at
	}
	t := touch{lo: addr, hi: addr + uint64(n), access: a, strong: strong, writes: writes, when: u.clk.moment(a.stamp), block: u.b}
	if writes {
		t.value = u.values[a.pc()]
	}
	for i := len(u.touched) - 1; i >= 0 && i >= len(u.touched)-4 && u.grid == nil; i-- {
		o := &u.touched[i]
		if o.hi == addr && o.pc() == a.pc() && o.strong == strong && o.writes == writes && o.when == t.when {
			o.hi = t.hi
			return
		}
	}
	u.touched = append(u.touched, t)
}

// overlaps finds the overlaps of what blocks touched that ran at once.
func overlaps(us []unit) []*pair {
	var all []touch
	for _, v := range us {
		all = append(all, v.(*races).touched...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].lo < all[j].lo })
	byKey := map[pairKey]*pair{}
	var out []*pair
	var open []touch
	for _, t := range all {
		kept := open[:0]
		for _, o := range open {
			if o.hi <= t.lo {
				continue
			}
			kept = append(kept, o)
			if o.block == t.block || !o.writes && !t.writes || o.strong && t.strong {
				continue
			}
			first, second := o, t
			if second.block.linear() < first.block.linear() {
				first, second = second, first
			}
			p := acrossPair(first, second, max(o.lo, t.lo))
			if old := byKey[p.pairKey]; old != nil {
				old.count++
				continue
			}
			byKey[p.pairKey] = p
			out = append(out, p)
		}
		open = append(kept, t)
	}
	return out
}

// acrossPair describes two accesses of different blocks.
func acrossPair(first, second touch, addr uint64) *pair {
	name, index := second.block.view.Name(target.SpaceGlobal, addr)
	same := first.writes && second.writes && first.lo == second.lo && first.value.same(second.value)
	return &pair{
		pairKey: pairKey{kind: pairBlocks, first: int32(first.pc()), second: int32(second.pc()), wrote: first.writes, writes: second.writes, same: same, variable: name},
		one:     first.side(), two: second.side(), index: index, space: target.SpaceGlobal, loop: -1, count: 1,
		block: [2]int{first.block.linear(), second.block.linear()},
	}
}

func (t *touch) side() side {
	return side{pc: t.pc(), warp: t.warp(), lane: bits.TrailingZeros32(t.mask) & 31, writes: t.writes, when: t.when}
}
