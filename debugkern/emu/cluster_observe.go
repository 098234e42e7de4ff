package emu

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// clusterEvent is memoryEvent where addresses of shared memory may be those of other blocks of the cluster:
// lanes that access one get an event of SpaceCluster.
func (w *warp) clusterEvent(x *access, m uint32, e *target.Event, emit func(*target.Event)) {
	b := w.blk
	given := b.addr
	for m != 0 {
		e.Mask, e.Space = 0, target.SpaceNone
		for l := m; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			space, addr := x.space, given[lane]
			if space == target.SpaceNone {
				space, addr = ungeneric(addr)
			}
			if space == target.SpaceShared {
				space, addr = b.sharedSpace(addr & (windowSize - 1))
			}
			if e.Space == target.SpaceNone {
				e.Space = space
			}
			if space == e.Space {
				b.addr[lane] = addr
				e.Mask |= 1 << lane
			}
		}
		m &^= e.Mask
		emit(e)
	}
}

// sharedSpace is the space of an address of shared memory, and the address in it: the block's own, or
// SpaceCluster.
func (b *block) sharedSpace(addr uint64) (target.Space, uint64) {
	if addr>>24 == 0 || !b.maps() {
		return target.SpaceShared, addr
	}
	if at, off := b.distributed(addr); at == b {
		return target.SpaceShared, off
	}
	return target.SpaceCluster, addr
}

// elsewhere makes the event of a bulk operation, which one lane issues, one of the cluster's memory where it
// does not write the block's own.
func (w *warp) elsewhere(in *inst, e *target.Event, lane int) {
	b := w.blk
	if e.Space != target.SpaceShared || !b.maps() {
		return
	}
	if in.bulk.mask >= 0 {
		mask := w.lane32(in.bulk.mask, lane) & 0xffff
		if mask>>b.rank&1 == 0 && mask != 0 {
			e.Space = target.SpaceCluster
			b.addr[lane] = target.DistributedAddress(bits.TrailingZeros32(mask), b.addr[lane])
		}
		return
	}
	e.Space, b.addr[lane] = b.sharedSpace(b.addr[lane])
}

// storeEvents reports the issue of st.async and red.async: one event a lane, of the cluster's memory also
// where the block's own is written.
func (w *warp) storeEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	b, x := w.blk, in.mem
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := w.sharedAddress(x, lane)
		if addr>>24 == 0 {
			addr = target.DistributedAddress(b.rank, addr)
		}
		e.Mask, e.Space, e.Barrier = 1<<lane, target.SpaceCluster, int(w.sharedAddress(x.second, lane))
		b.addr[lane], b.addr2[lane] = addr, 0
		e.Addr, e.Addr2, e.Bytes = &b.addr, &b.addr2, x.size
		emit(e)
	}
}
