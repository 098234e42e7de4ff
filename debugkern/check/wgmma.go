package check

import (
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// A wgmma reads shared memory between its issue and its completion, as an asynchronous copy does: each of the
// four warps that issue it has a record of the bytes that it reads for that warp. What a thread has written
// there before must be ordered before the issue of every warp, with a fence.proxy.async between. The product
// is complete for a warp that waits for the group it is in, and with it the parts of the other warps.

// warpgroupKey is the completion mechanism of a warpgroup's products.
func warpgroupKey(warp int) int { return -1<<30 - warp/4 }

// issueWgmma compares a wgmma with what was before it, and begins the record of one warp's part.
func (u *races) issueWgmma(e *target.Event) {
	if len(e.Ranges) == 0 {
		return // its descriptors are wrong, which is found elsewhere
	}
	lane := bits.TrailingZeros32(e.Mask) & 31
	u.begin(e)
	u.space = target.SpaceShared
	r := bulkRecord{
		space: target.SpaceShared, lo: e.Ranges[0].Lo, at: u.at, lane: lane, when: u.clk.warps[e.Warp].at,
		mechanism: u.bulk.mechanism(warpgroupKey(e.Warp)), mbar: -1, group: u.bulk.products[e.Warp],
		landed: true, parts: slices.Clone(e.Ranges),
	}
	for _, p := range e.Ranges {
		r.lo, r.hi = min(r.lo, p.Lo), max(r.hi, p.Hi)
		part := r
		part.lo, part.hi = p.Lo, p.Hi
		u.overBulk(part.space, p.Lo, p.Hi, lane, false, false)
		u.overCells(&part, lane)
	}
	// Of completed products that read the same bytes at the same place, the last one is enough: it
	// completes after the others.
	u.bulk.live = slices.DeleteFunc(u.bulk.live, func(o bulkRecord) bool {
		return o.done && o.at == r.at && o.lo == r.lo && o.hi == r.hi && slices.Equal(o.parts, r.parts)
	})
	u.bulk.live = append(u.bulk.live, r)
	u.clk.warps[e.Warp].fresh = true
}

// waitWgmma completes the products of the groups that a warp waits for.
func (u *races) waitWgmma(e *target.Event) {
	if u.b.checker.ignored[e.PC] {
		return
	}
	key := warpgroupKey(e.Warp)
	mechanism := u.bulk.mechanism(key)
	var stamp, last uint32
	for i := range u.bulk.live {
		r := &u.bulk.live[i]
		if !r.wgmma() || warpgroupKey(r.warp()) != key ||
			r.group+uint32(e.Value) >= u.bulk.products[e.Warp] {
			continue
		}
		if !r.done {
			if stamp == 0 {
				stamp = u.clk.event()
			}
			r.done, r.stamp = true, stamp
		}
		last = max(last, r.stamp)
	}
	if last == 0 {
		return
	}
	_, _, completed := u.clk.extension()
	for m := e.Mask; m != 0; m &= m - 1 {
		u.clk.setComponent(32*e.Warp+bits.TrailingZeros32(m)&31, completed+mechanism, last)
	}
}

// product reports whether an instruction is a wgmma.
func (s *site) product() bool { return s.in.Kind() == isa.WgmmaMultiply }
