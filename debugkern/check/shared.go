package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// shared is an access to shared memory.
func (u *races) shared(e *target.Event) {
	if e.Probe {
		u.probed(e)
		return
	}
	u.begin(e)
	if len(u.contested) > 0 {
		u.observe(e)
	}
	if u.s.strong {
		u.strongShared(e)
		return
	}
	mem := u.mem
	unit := uint8(bits.Len(uint(min(e.Bytes, lineSize))) - 1)
	whole := u.s.whole
	store := e.Class == target.ClassStore
	clearing := store && len(u.fence.at)+len(u.fence.observed.chains) > 0
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

// strongShared is an access that does not race with others of its kind: atomics, volatile and relaxed
// accesses and stronger.
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

// strongElements hands on, or takes over, what goes with a strong access, for each of the accesses
// that it stands for.
func (u *races) strongElements(space target.Space, addr uint64, n, lane int) {
	for end := addr + uint64(n); addr < end; addr += uint64(u.s.element) {
		u.fence.access(u, fenceKey{space, addr}, lane)
	}
}

// probed is a read by a probe: never a race, but a barrier that it relies on is there for something.
func (u *races) probed(e *target.Event) {
	if e.Class != target.ClassLoad || u.clk.low == u.clk.blockEpoch {
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
		if c.w.stamp <= u.clk.blockEpoch && c.w.stamp > u.clk.before && u.clk.last >= 0 &&
			c.w.warp() != e.Warp {
			u.addr = addr
			u.needed(u.clk.last, &c.w, true)
			u.clk.low = u.clk.blockEpoch
			return
		}
	}
}
