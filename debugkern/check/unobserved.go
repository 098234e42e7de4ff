package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// A conflict of two writes by lanes of one warp is harmless where nothing can see which came last: nobody
// reads the cell before a write that comes after both in every order (behind a barrier of the block or of all
// the warp), or before the block ends. As nothing reads the cell, all orders of the two writes are one
// execution from there on, so one execution proves it. Reads by probes do not count: they are not the
// kernel's.

// contest is the conflicts on a byte of shared memory that nothing has read since.
type contest struct {
	pairs []*pair
	stamp uint32 // of the last write
	warp  int
}

// contend notes that the contents of the cell under way are not defined.
func (u *races) contend(p *pair) {
	if u.contested == nil {
		u.contested = map[uint64]*contest{}
	}
	size := uint64(1) << u.mem.unit[u.addr>>lineBits]
	for a := u.addr; a < u.addr+size; a++ {
		c := u.contested[a]
		if c == nil {
			c = &contest{}
			u.contested[a] = c
		}
		c.stamp, c.warp = u.stamp, u.e.Warp
		known := false
		for _, q := range c.pairs {
			known = known || q == p
		}
		if !known {
			c.pairs = append(c.pairs, p)
		}
	}
}

// observe looks at an access of the kernel to contested cells: a read makes their conflicts visible, a write
// behind a barrier ends them.
func (u *races) observe(e *target.Event) {
	for m := e.Mask; m != 0; m &= m - 1 {
		addr := e.Addr[bits.TrailingZeros32(m)&31]
		for a := addr; a < addr+uint64(e.Bytes); a++ {
			c := u.contested[a]
			switch {
			case c == nil:
				continue
			case e.Class != target.ClassStore:
				for _, p := range c.pairs {
					p.observed = true
				}
			case c.stamp > u.clk.blockEpoch && (c.warp != e.Warp || c.stamp > u.clk.warps[e.Warp].joined):
				continue
			}
			delete(u.contested, a)
		}
	}
}

// harmless reports whether a pair changes nothing whatever its order: one store instruction writes one value
// to the cell in several lanes or warps, or nothing can observe the order.
func (p *pair) harmless() bool {
	return p.kind == pairRace && p.wrote && p.writes &&
		(p.same && p.first == p.second || p.warp && p.space == target.SpaceShared && !p.observed)
}

// because says why pairs are harmless, for a message; "" where one of them is not.
func because(ps []*pair) string {
	value := true
	for _, p := range ps {
		if !p.harmless() {
			return ""
		}
		value = value && p.same && p.first == p.second
	}
	if value {
		return "harmless: one store instruction writes one value"
	}
	return "harmless: nothing reads the cell before it is written again behind a barrier, or before the block ends"
}

// onlyAlone takes back that races are harmless where another is not: what is stored, and what is read, then
// depends on an order.
func onlyAlone(fs []target.Finding) {
	for i := range fs {
		if fs[i].Severity == target.SeverityError {
			for j := range fs {
				if fs[j].Severity == target.SeverityAdvice {
					fs[j].Severity, fs[j].Consequence = target.SeverityError, ""
				}
			}
			return
		}
	}
}
