package emu

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
)

var le = binary.LittleEndian

// access is the memory side of an instruction.
type access struct {
	space  target.Space // SpaceNone: generic
	base   int32        // slot of the address, -1: none
	wide   bool         // the address register has 64 bits
	off    uint64
	size   int  // bytes of an element
	n      int  // elements
	signed bool // of fewer than 64 bits, widened with their sign
	regs   [8]int32
	banks  [8]bank
	short  [8]bool // a 16-bit register
	set    int     // index in program.sets
	second *access
	aop    *atomOp
	async  *asyncOp
	nth    int // which of the instruction's addresses it is
}

// total is the bytes of one lane's access.
func (x *access) total() int { return x.size * x.n }

// region is where an access with known provenance must stay. data is nil where provenance does not settle it,
// and the general path decides.
type region struct {
	lo      uint64
	data    []byte
	written []byte // nil: all written
	alloc   *alloc
	print   *allocPrint // where accesses are noted; nil where they are not
	unknown bool        // no symbol is known that the address started from: it may go anywhere
}

// resolve fills in the block's regions.
func (b *block) resolve() {
	b.regions = make([]region, len(b.p.sets))
	for i, set := range b.p.sets {
		if bits.OnesCount64(uint64(set)) != 1 {
			set = b.pointers(set)
		}
		b.regions[i].unknown = set == 0
		if bits.OnesCount64(uint64(set)) != 1 {
			continue
		}
		s := b.p.syms[bits.TrailingZeros64(uint64(set))]
		switch space := b.p.spaces[i]; {
		case space == s.space:
		case space == target.SpaceNone && s.space != target.SpaceShared:
		case s.space == target.SpaceConst && space == target.SpaceGlobal:
		default:
			continue // an address of another space: the general path says what is wrong
		}
		switch s.space {
		case target.SpaceShared:
			lo, size := s.addr, s.size
			if s.v.Dynamic() {
				size = b.l.DynShared
			}
			if int(lo)+size <= len(b.shared) && size > 0 {
				b.regions[i] = region{
					lo: lo, data: b.shared[lo : int(lo)+size], written: b.swrit[lo : int(lo)+size],
				}
			}
		case target.SpaceGlobal, target.SpaceConst:
			if a := b.symAlloc(s); a != nil && len(a.data) < 1<<32 {
				b.regions[i] = region{
					lo: a.base, data: a.data, written: a.written, alloc: a, print: b.noted(a),
				}
			}
		}
	}
}

// note has the block's accesses to global memory noted in f from now on; nil: in nothing.
func (b *block) note(f *footprint) {
	b.foot = f
	for i := range b.regions {
		if r := &b.regions[i]; r.alloc != nil {
			r.print = b.noted(r.alloc)
		}
	}
}

// noted is where accesses to an allocation are noted, nil where they are not.
func (b *block) noted(a *alloc) *allocPrint {
	if b.foot == nil || a.capture || a.heap { // a slot is one block's, and so is a heap
		return nil
	}
	return b.foot.allocs[allocOf(a.base)]
}

// pointers drops from a set the parameters that turned out to be scalars.
func (b *block) pointers(set symSet) symSet {
	out := symSet(0)
	for m := uint64(set); m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		if s := b.p.syms[i]; s.param < 0 || b.symAlloc(s) != nil {
			out |= 1 << i
		}
	}
	return out
}

// symAlloc is the allocation behind a global symbol or a pointer parameter, nil for a scalar.
func (b *block) symAlloc(s *symbol) *alloc {
	i := s.alloc
	if s.param >= 0 {
		j, ok := b.mem.byParam[s.param]
		if !ok {
			return nil
		}
		i = j
	}
	if i < 0 || i >= len(b.mem.allocs) {
		return nil
	}
	return b.mem.allocs[i]
}

// place is where one lane's access landed.
type place struct {
	data    []byte // from the address on, total bytes; nil: nowhere
	written []byte // nil: all written
	alloc   *alloc
	off     int
	space   target.Space
	addr    uint64 // in its space
	peer    *block // of the cluster, whose shared memory it is; nil: the executing block's
}

// locate finds the memory of one lane's access and reports what is wrong with it. size is the bytes, align
// what the address must be a multiple of.
func (b *block) locate(w *warp, in *inst, x *access, lane int, addr uint64, size, align int) place {
	space := x.space
	if space == target.SpaceNone {
		space, addr = ungeneric(addr)
	}
	if space == target.SpaceShared && addr&^(windowSize-1) == sharedWindow {
		addr &= windowSize - 1
	}
	p := place{space: space, addr: addr}
	if space == target.SpaceShared && addr>>24 != 0 && b.maps() {
		at, off := b.distributed(addr)
		switch {
		case at == nil:
			b.noRank(w, in, lane, p)
			return p
		case at != b:
			p.peer = at
		}
		addr, p.addr = off, off
	}
	if addr%uint64(align) != 0 {
		b.misaligned(w, in, x, lane, p, align)
		return p
	}
	b.bounds(w, x, lane, &p, size)
	if p.peer != nil && p.data != nil {
		b.reachPeer(w, in, x, lane, p.peer, p)
		if in.class != target.ClassLoad {
			p.peer.wrote++
		}
	}
	switch {
	case p.data == nil && space == target.SpaceGlobal && b.foreign(w, in, addr, lane):
	case p.data == nil:
		b.outOfBounds(w, in, x, lane, p, size)
	case p.alloc != nil:
		b.touched(in, &p, size)
	}
	return p
}

// touched notes an access of one lane to global memory: an atomic both reads and writes, and so does a change
// of a tensor map.
func (b *block) touched(in *inst, p *place, size int) {
	both := in.class == target.ClassAtomic || in.class == target.ClassTensorMap
	if in.class == target.ClassStore || in.class == target.ClassTensorMap {
		b.wroteGlobal++
	}
	if in.probe {
		return
	}
	if f := b.noted(p.alloc); f != nil {
		if both {
			f.mark(p.off, size, false)
		}
		f.mark(p.off, size, both || in.class == target.ClassStore)
	}
}

// bounds sets p.data where an access of size bytes stays inside what it may touch.
func (b *block) bounds(w *warp, x *access, lane int, p *place, size int) {
	set := b.pointers(b.p.sets[x.set])
	// nothing else that an address can have started from is near it
	inside := set == 0 || p.space == target.SpaceGlobal && onHeap(p.addr)
	for m := uint64(set); m != 0; m &= m - 1 {
		s := b.p.syms[bits.TrailingZeros64(m)]
		lo, n, ok := b.extent(s)
		if !ok || s.space != p.space && !(s.space == target.SpaceConst && p.space == target.SpaceGlobal) &&
			!(s.space == target.SpaceGlobal && p.space == target.SpaceConst) {
			inside = inside || s.space != p.space && onlySpace(b, set, p.space)
			continue
		}
		if p.addr >= lo && p.addr-lo+uint64(size) <= uint64(n) {
			inside = true
		}
	}
	if !inside {
		return
	}
	end := p.addr + uint64(size)
	switch p.space {
	case target.SpaceShared:
		at := b
		if p.peer != nil {
			at = p.peer
		}
		if end <= uint64(len(at.shared)) && end >= p.addr {
			p.data, p.written, p.off = at.shared[p.addr:end], at.swrit[p.addr:end], int(p.addr)
		}
	case target.SpaceLocal:
		if data, written := b.frame(w.id*32 + lane); end <= uint64(len(data)) && end >= p.addr {
			p.data, p.written, p.off = data[p.addr:end], written[p.addr:end], int(p.addr)
		}
	case target.SpaceParam:
		if end <= uint64(len(b.mem.params)) && end >= p.addr {
			p.data, p.off = b.mem.params[p.addr:end], int(p.addr)
		}
	default:
		if a, off := b.at(p.addr); a != nil && off < uint64(len(a.data)) &&
			off+uint64(size) <= uint64(len(a.data)) {
			p.data, p.alloc, p.off = a.data[off:off+uint64(size)], a, int(off)
			if a.written != nil {
				p.written = a.written[off : off+uint64(size)]
			}
		}
	}
}

// onlySpace reports whether no symbol of the set lies in the space: a pointer that was converted in a way
// that dataflow does not follow, so provenance says nothing.
func onlySpace(b *block, set symSet, space target.Space) bool {
	for m := uint64(set); m != 0; m &= m - 1 {
		if b.p.syms[bits.TrailingZeros64(m)].space == space {
			return false
		}
	}
	return true
}

// at returns the allocation that holds a global address, and the offset in it; of the capture buffer, the
// block's own slots, and of the device heap what the block has allocated.
func (b *block) at(addr uint64) (*alloc, uint64) {
	if onHeap(addr) {
		return b.heap.at(addr)
	}
	a, off := b.mem.at(addr)
	if a != nil && a == b.mem.capture {
		return b.slots.at(addr)
	}
	return a, off
}

// allocs lists the global memory that the block can access.
func (b *block) allocs() []*alloc { return slices.Concat(b.mem.allocs, b.slots.spans) }

// extent is a symbol's address and size in its own space.
func (b *block) extent(s *symbol) (lo uint64, n int, ok bool) {
	if s.space == target.SpaceShared && s.v.Dynamic() {
		return s.addr, b.l.DynShared, true
	}
	if s.space == target.SpaceGlobal || s.space == target.SpaceConst {
		a := b.symAlloc(s)
		if a == nil {
			return 0, 0, false
		}
		return a.base, len(a.data), true
	}
	return s.addr, s.size, true
}

// address is the address operand of one lane.
func (w *warp) address(x *access, lane int) uint64 {
	switch {
	case x.base < 0:
		return x.off
	case x.wide:
		return w.lane64(x.base, lane) + x.off
	}
	return uint64(w.lane32(x.base, lane) + uint32(x.off))
}

// uniformAddress reports whether all lanes have the same address, and it.
func (w *warp) uniformAddress(x *access) (uint64, bool) {
	switch {
	case x.base < 0:
		return x.off, true
	case x.wide:
		return w.r64[x.base][0] + x.off, w.u64[x.base]&stUniform != 0
	}
	return uint64(w.r32[x.base][0] + uint32(x.off)), w.u32[x.base]&stUniform != 0
}

// ones is what marks bytes as written.
var ones = func() (p [512]byte) {
	fill(p[:], 0xff)
	return p
}()

// span returns the offset in a region of a whole warp's access whose lanes lie side by side, in order; ok is
// false where they do not, or leave the region, or break alignment.
func (w *warp) span(x *access, r *region) (at int, ok bool) {
	total := uint64(x.size * x.n)
	var first, bad uint64
	if x.wide {
		a := w.full64(x.base)
		first = a[0]
		next := first
		for _, v := range a {
			bad |= v ^ next
			next += total
		}
		first += x.off - r.lo
	} else {
		a := w.full32(x.base)
		next := a[0]
		var b uint32
		for _, v := range a {
			b |= v ^ next
			next += uint32(total)
		}
		bad = uint64(b)
		first = uint64(a[0] + uint32(x.off) - uint32(r.lo))
	}
	size := uint64(len(r.data))
	if bad != 0 || size < 32*total || first > size-32*total || (first+r.lo)&(total-1) != 0 {
		return 0, false
	}
	return int(first), true
}

// offsets computes each lane's offset in a region, for lanes of mask; the others get that of some lane in
// mask. ok is false where a lane leaves the region or breaks alignment. contiguous: lane i lies i
// elements after lane 0.
func (w *warp) offsets(x *access, r *region, mask uint32, rel *row32) (ok, contiguous bool) {
	total := uint64(x.size * x.n)
	if uint64(len(r.data)) < total || r.lo&(total-1) != 0 {
		return false, false
	}
	lo := r.lo - x.off
	var most, low uint64
	if x.wide {
		for i, v := range w.full64(x.base) {
			v -= lo
			rel[i] = uint32(v)
			if v > most {
				most = v
			}
			low |= v
		}
	} else {
		lo32 := uint32(lo)
		for i, v := range w.full32(x.base) {
			v -= lo32
			rel[i] = v
			if uint64(v) > most {
				most = uint64(v)
			}
			low |= uint64(v)
		}
	}
	if (most > uint64(len(r.data))-total || low&(total-1) != 0) && mask != allLanes {
		most, low = 0, 0
		one := rel[bits.TrailingZeros32(mask)&31]
		for i := range rel {
			v := w.address(x, i) - r.lo
			if !x.wide {
				v = uint64(uint32(v))
			}
			if mask>>i&1 == 0 {
				rel[i] = one
				continue
			}
			most = max(most, v)
			low |= v
		}
	}
	if most > uint64(len(r.data))-total || low&(total-1) != 0 {
		return false, false
	}
	step, at, bad := uint32(total), rel[0], uint32(0)
	for i := range rel {
		bad |= rel[i] ^ at
		at += step
	}
	return true, bad == 0
}
