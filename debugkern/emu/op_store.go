package emu

import (
	"math/bits"

	"tilescope/debugkern/target"
)

func runStore(w *warp, in *inst, mask uint32) {
	x := in.mem
	b := w.blk
	b.count(x.space)
	b.wrote++
	r := &b.regions[x.set]
	// the pointer was loaded from the control block
	if r.unknown && in.probe && x.wide && x.space != target.SpaceShared {
		r = b.slots.region(w.address(x, bits.TrailingZeros32(mask)&31))
	}
	if r.data == nil || r.alloc != nil && r.alloc.dirty != nil {
		storeSlowly(w, in, mask)
		return
	}
	if r.alloc != nil {
		b.wroteGlobal++
	}
	print := r.print
	if in.probe {
		print = nil
	}
	var rel row32
	contiguous := false
	if addr, ok := w.uniformAddress(x); ok {
		at, total := addr-r.lo, uint64(x.total())
		if uint64(len(r.data)) < total || at > uint64(len(r.data))-total || addr&(total-1) != 0 {
			storeSlowly(w, in, mask)
			return
		}
		mask = 1 << (31 - bits.LeadingZeros32(mask)) // the last lane wins
		rel[31-bits.LeadingZeros32(mask)] = uint32(at)
	} else if at, ok := 0, mask == allLanes && x.n == 1 && x.size <= 4 && x.banks[0] == bank32; ok {
		if at, ok = w.span(x, r); ok {
			if print != nil {
				print.mark(at, 32*x.size, true)
			}
			w.storeSpan(x, r, at)
			return
		}
		if ok, contiguous = w.offsets(x, r, mask, &rel); !ok {
			storeSlowly(w, in, mask)
			return
		}
	} else if ok, contiguous = w.offsets(x, r, mask, &rel); !ok {
		storeSlowly(w, in, mask)
		return
	}
	if print != nil {
		print.lanes(&rel, mask, x.total(), contiguous, true)
	}
	for e := range x.n {
		w.scatterElement(x, e, r, &rel, mask)
	}
}

// storeSpan stores 32 elements side by side.
func (w *warp) storeSpan(x *access, r *region, at int) {
	v := w.full32(x.regs[0])
	n := 32 * x.size
	data := r.data[at : at+n]
	switch x.size {
	case 4:
		data = data[:128]
		for i, u := range v {
			le.PutUint32(data[4*i:4*i+4], u)
		}
	case 2:
		data = data[:64]
		for i, u := range v {
			le.PutUint16(data[2*i:2*i+2], uint16(u))
		}
	default:
		for i, u := range v {
			data[i] = byte(u)
		}
	}
	if r.written != nil {
		copy(r.written[at:at+n], ones[:n])
	}
}

// scatterElement stores element e of the lanes of mask.
func (w *warp) scatterElement(x *access, e int, r *region, rel *row32, mask uint32) {
	if x.size == 4 && x.n == 4 && mask == allLanes && x.banks[e] == bank32 {
		w.scatterWord(x, e, r, rel)
		return
	}
	off := e * x.size
	data := r.data[off:]
	wr := r.written
	if wr != nil {
		wr = wr[off:]
	}
	if x.banks[e] == bank64 {
		v := w.full64(x.regs[e])
		for m := mask; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			putScalar(data[rel[i]:], x.size, v[i])
			if wr != nil {
				putScalar(wr[rel[i]:], x.size, ^uint64(0))
			}
		}
		return
	}
	v := w.full32(x.regs[e])
	switch {
	case x.size == 4 && mask == allLanes:
		for i, at := range rel {
			le.PutUint32(data[at:], v[i])
		}
		if wr != nil {
			for _, at := range rel {
				le.PutUint32(wr[at:], allLanes)
			}
		}
	case x.size == 2 && mask == allLanes:
		for i, at := range rel {
			le.PutUint16(data[at:], uint16(v[i]))
		}
		if wr != nil {
			for _, at := range rel {
				le.PutUint16(wr[at:], 0xffff)
			}
		}
	default:
		for m := mask; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			putScalar(data[rel[i]:], x.size, uint64(v[i]))
			if wr != nil {
				putScalar(wr[rel[i]:], x.size, ^uint64(0))
			}
		}
	}
}

// scatterWord stores a word of a vector of four for every lane; the last one marks them all as written.
func (w *warp) scatterWord(x *access, e int, r *region, rel *row32) {
	v := w.full32(x.regs[e])
	data := r.data[4*e:]
	for i, at := range rel {
		le.PutUint32(data[at:], v[i])
	}
	if r.written == nil || e < 3 {
		return
	}
	for _, at := range rel {
		p := r.written[at:][:16]
		le.PutUint64(p, ^uint64(0))
		le.PutUint64(p[8:], ^uint64(0))
	}
}

// storeSlowly stores lane by lane and reports what is wrong.
func storeSlowly(w *warp, in *inst, mask uint32) {
	x := in.mem
	total := x.total()
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		p := w.blk.locate(w, in, x, lane, w.address(x, lane), total, total)
		if p.data == nil {
			continue
		}
		for e := range x.n {
			v := uint64(0)
			if x.banks[e] == bank64 {
				v = w.lane64(x.regs[e], lane)
			} else {
				v = uint64(w.lane32(x.regs[e], lane))
			}
			putScalar(p.data[e*x.size:], x.size, v)
		}
		p.wrote()
	}
}

// wrote marks the bytes of a place as written.
func (p *place) wrote() {
	if p.written != nil {
		fill(p.written, 0xff)
	}
	if p.alloc != nil && p.alloc.dirty != nil {
		p.alloc.touch(p.off, len(p.data))
	}
}
