package check

import (
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
)

// Global memory. Within a block it is ordered like shared memory, in cells that are made as they are touched.
// Between blocks nothing orders plain accesses but what threads release and acquire. Blocks that share memory
// execute one at a time (target.View.InOrder): every access is compared with those that other blocks have
// made before it (across.go). Blocks that do not share any byte have nothing to compare.
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

// source is what a cp.async reads; it returns the lanes whose source the kernel may write. A copy that may be
// of fewer bytes is left out: its source need not be looked at.
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
	u.leaveAll()
	u.glob = globalShadow{}
}

// Pause implements target.Pauser: others are compared with what the block has done so far. Its later
// accesses take new stamps.
func (u *races) Pause() {
	u.leaveAll()
	for i := range u.clk.warps {
		u.clk.warps[i].fresh = true
	}
}

// leaveAll hands the accesses since the last time to the launch's state.
func (u *races) leaveAll() {
	if u.grid == nil {
		return
	}
	g := &u.glob
	keys := make([]uint64, 0, len(g.lines))
	for k := range g.lines {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		l := g.lines[k]
		for i := range l.cells {
			u.leave(k<<lineBits+uint64(i)<<l.unit, 1<<l.unit, &l.cells[i])
		}
	}
	u.grid.add(u.touched, u.left > 0)
	u.touched, u.left = u.touched[:0], u.clk.now
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

// leaveAccess notes one access, unless it was noted when the block paused.
func (u *races) leaveAccess(addr uint64, n int, a access, strong, writes bool) {
	if a.stamp == 0 || a.stamp <= u.left {
		return
	}
	if at, ok := u.async.ended[a.at]; ok {
		a.at = at
	}
	t := touch{
		lo: addr, hi: addr + uint64(n), access: a, strong: strong, writes: writes,
		when: u.clk.moment(a.stamp), block: u.b,
	}
	if writes {
		t.value = u.values[a.pc()]
	}
	u.touched = append(u.touched, t)
}

// acrossPair describes two accesses of different blocks. Which of them executed first is chance: the first is
// the write, of two writes that of the block with the lower index.
func acrossPair(first, second touch, addr uint64) *pair {
	if !first.writes || second.writes && second.block.linear() < first.block.linear() {
		first, second = second, first
	}
	name, index := second.block.view.Name(target.SpaceGlobal, addr)
	same := first.writes && second.writes && first.lo == second.lo && first.value.same(second.value)
	return &pair{
		pairKey: pairKey{
			kind: pairBlocks, first: int32(first.pc()), second: int32(second.pc()), wrote: first.writes,
			writes: second.writes, same: same, variable: name,
		},
		one: first.side(), two: second.side(), index: index, space: target.SpaceGlobal,
		loop: -1, count: 1,
		block: [2]int{first.block.linear(), second.block.linear()},
	}
}

func (t *touch) side() side {
	return side{
		pc: t.pc(), warp: t.warp(), lane: bits.TrailingZeros32(t.mask) & 31, writes: t.writes, when: t.when,
	}
}
