package check

import (
	"math/bits"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// Observation. A strong read sees a write, and by it the atomics that the value went through. These writes
// come before whatever the thread does afterwards, without any fence (PTX ISA, "Memory consistency model":
// observation order is part of causality order). So the block that finishes last may reset the counter that
// shows it by a plain write. Nothing else that the writers did is ordered by it: that takes a fence
// (fence.go).

// observations are those of the locations of one space: of a block, or of the blocks that share global
// memory.
type observations struct {
	chains map[fenceKey]*chain
	seen   map[fenceKey]map[actor]sighting
}

// actor is a thread of a block.
type actor struct {
	block  *block
	thread int
}

// chain has the strong writes of a location in their order: the first may be any, each that follows is an
// atomic, which continues what it read.
type chain struct {
	bytes uint64
	links []link
}

// link is one of them.
type link struct {
	actor
	stamp uint32
}

// sighting is a thread's last strong read of a location that saw another write than the one before: it has
// seen the first n links of a chain.
type sighting struct {
	of    *chain
	n     int
	stamp uint32
}

// strong notes a strong access of one lane to a location.
func (o *observations) strong(u *races, key fenceKey, lane int) {
	s := u.s
	if k := s.in.Kind(); k == isa.MBarrier || k == isa.ArriveAsync {
		return
	}
	if o.chains == nil {
		o.chains, o.seen = map[fenceKey]*chain{}, map[fenceKey]map[actor]sighting{}
	}
	c, who := o.chains[key], actor{u.b, 32*u.e.Warp + lane}
	if c != nil && c.bytes != uint64(s.element) {
		c = nil
	}
	if s.returns && c != nil {
		by := o.seen[key]
		if by == nil {
			by = map[actor]sighting{}
			o.seen[key] = by
		}
		if old := by[who]; old.of != c || old.n != len(c.links) {
			by[who] = sighting{c, len(c.links), u.stamp}
		}
	}
	if !s.writes {
		return
	}
	if c == nil || !s.reads {
		c = &chain{bytes: uint64(s.element)}
		o.chains[key] = c
	}
	c.links = append(c.links, link{who, u.stamp})
}

// overwritten ends the chains of the locations that a plain write touches.
func (o *observations) overwritten(key fenceKey, n int) {
	if len(o.chains) == 0 {
		return
	}
	for a := key.addr - min(key.addr, widest-1); a < key.addr+uint64(n); a++ {
		if c := o.chains[fenceKey{key.space, a}]; c != nil && key.addr < a+c.bytes {
			delete(o.chains, fenceKey{key.space, a})
		}
	}
}

// ordered reports whether a write at a byte that a thread made at a stamp was seen by a strong read which
// what a lane of u does now comes after.
func (o *observations) ordered(u *races, key fenceKey, by actor, stamp uint32, lane int) bool {
	if len(o.seen) == 0 {
		return false
	}
	for a := key.addr - min(key.addr, widest-1); a <= key.addr; a++ {
		for who, s := range o.seen[fenceKey{key.space, a}] {
			if key.addr < a+s.of.bytes && s.has(by, stamp) && u.follows(who, s.stamp, lane) {
				return true
			}
		}
	}
	return false
}

// has reports whether a sighting has seen a write that a thread made at a stamp.
func (s *sighting) has(by actor, stamp uint32) bool {
	for i := range s.of.links[:s.n] {
		if l := &s.of.links[i]; l.actor == by && l.stamp >= stamp {
			return true
		}
	}
	return false
}

// follows reports whether what a lane does now comes after what a thread did at a stamp.
func (u *races) follows(who actor, stamp uint32, lane int) bool {
	if who.block == u.b {
		return u.clk.ordered(stamp, who.thread/32, who.thread%32, u.e.Warp, lane)
	}
	block, own := u.grid.number[who.block], u.fence.reach[32*u.e.Warp+lane]
	return covers(u.fence.all[block], stamp, who.thread) || covers(own[block], stamp, who.thread)
}

// observed reports whether a lane comes after a past strong access of other lanes because it saw what they
// wrote, or comes after a thread that did.
func (u *races) observed(
	space target.Space, addr uint64, of *block, a *access, others uint32, lane int,
) bool {
	o := u.observations(space)
	for m := others; m != 0; m &= m - 1 {
		by := actor{of, 32*a.warp() + bits.TrailingZeros32(m)&31}
		if !o.ordered(u, fenceKey{space, addr}, by, a.stamp, lane) {
			return false
		}
	}
	return true
}

// observations are those that a location of a space belongs to.
func (u *races) observations(space target.Space) *observations {
	if space == target.SpaceGlobal && u.grid != nil {
		return &u.grid.observed
	}
	return &u.fence.observed
}
