package emu

import "math/bits"

// runLoadParam reads the parameter block.
func runLoadParam(w *warp, in *inst, mask uint32) {
	x := in.mem
	p := w.blk.mem.params
	if x.off+uint64(x.total()) > uint64(len(p)) {
		loadSlowly(w, in, mask)
		return
	}
	for e := range x.n {
		w.setElement(x, e, scalarAt(p[int(x.off)+e*x.size:], x.size), mask)
	}
}

// widen extends an element to its register.
func (x *access) widen(v uint64, e int) uint64 {
	if x.signed && x.size < 8 {
		shift := uint(64 - 8*x.size)
		v = uint64(int64(v<<shift) >> shift)
	}
	switch {
	case x.short[e]:
		return v & 0xffff
	case x.banks[e] == bank32:
		return v & 0xffffffff
	}
	return v
}

// setElement gives element e's register one value in all lanes of mask.
func (w *warp) setElement(x *access, e int, v uint64, mask uint32) {
	v = x.widen(v, e)
	if x.banks[e] == bank64 {
		w.set64(x.regs[e], v, mask)
	} else {
		w.set32(x.regs[e], uint32(v), mask)
	}
}

// runStrongLoad is a load that other blocks' writes may be waited for with.
func runStrongLoad(w *warp, in *inst, mask uint32) {
	w.blk.polls++
	w.lastPoll, w.pollers = in, mask
	runLoad(w, in, mask)
}

func runLoad(w *warp, in *inst, mask uint32) {
	x := in.mem
	b := w.blk
	b.count(x.space)
	r := &b.regions[x.set]
	if r.data == nil || w.async.random {
		w.landRandom()
		loadSlowly(w, in, mask)
		return
	}
	print := r.print
	if in.probe {
		print = nil
	}
	if print != nil {
		w.lastPoll, w.pollers = in, mask
	}
	if addr, ok := w.uniformAddress(x); ok {
		rel, total := addr-r.lo, uint64(x.size*x.n)
		if uint64(len(r.data)) < total || rel > uint64(len(r.data))-total || addr&(total-1) != 0 ||
			r.written != nil && !allWritten(r.written[rel:rel+total]) {
			loadSlowly(w, in, mask)
			return
		}
		if print != nil {
			print.mark(int(rel), int(total), false)
		}
		for e := range x.n {
			w.setElement(x, e, scalarAt(r.data[int(rel)+e*x.size:], x.size), mask)
		}
		return
	}
	if mask == allLanes && x.n == 1 && x.size <= 4 && x.banks[0] == bank32 {
		if at, ok := w.span(x, r); ok && (r.written == nil || allWritten(r.written[at:at+32*x.size])) {
			if print != nil {
				print.mark(at, 32*x.size, false)
			}
			w.loadSpan(x, r.data[at:])
			return
		}
	}
	var rel row32
	ok, contiguous := w.offsets(x, r, mask, &rel)
	if !ok || r.written != nil && !written(r.written, &rel, x.total(), contiguous) {
		loadSlowly(w, in, mask)
		return
	}
	if print != nil {
		print.lanes(&rel, mask, x.total(), contiguous, false)
	}
	for e := range x.n {
		w.gather(x, e, r.data, &rel, mask)
	}
}

// loadSpan loads 32 elements that lie side by side.
func (w *warp) loadSpan(x *access, data []byte) {
	d := &w.r32[x.regs[0]]
	w.u32[x.regs[0]] = stFilled
	switch {
	case x.size == 4:
		data = data[:128]
		for i := range d {
			d[i] = le.Uint32(data[4*i : 4*i+4])
		}
	case x.size == 2 && !x.signed:
		data = data[:64]
		for i := range d {
			d[i] = uint32(le.Uint16(data[2*i : 2*i+2]))
		}
	default:
		for i := range d {
			d[i] = uint32(x.widen(scalarAt(data[i*x.size:], x.size), 0))
		}
	}
}

// written reports whether every lane's bytes were written.
func written(wr []byte, rel *row32, total int, contiguous bool) bool {
	if contiguous {
		return allWritten(wr[rel[0] : int(rel[0])+32*total])
	}
	switch total {
	case 4:
		acc := allLanes
		for _, r := range rel {
			acc &= le.Uint32(wr[r:])
		}
		return acc == allLanes
	case 2:
		acc := uint16(0xffff)
		for _, r := range rel {
			acc &= le.Uint16(wr[r:])
		}
		return acc == 0xffff
	case 8:
		acc := ^uint64(0)
		for _, r := range rel {
			acc &= le.Uint64(wr[r:])
		}
		return acc == ^uint64(0)
	case 16:
		acc := ^uint64(0)
		for _, r := range rel {
			p := wr[r:]
			acc &= le.Uint64(p) & le.Uint64(p[8:])
		}
		return acc == ^uint64(0)
	}
	for _, r := range rel {
		if !allWritten(wr[r : int(r)+total]) {
			return false
		}
	}
	return true
}

// gather loads element e of every lane.
func (w *warp) gather(x *access, e int, data []byte, rel *row32, mask uint32) {
	data = data[e*x.size:]
	s := x.regs[e]
	if x.banks[e] == bank64 {
		var v row64
		for i, r := range rel {
			v[i] = x.widen(scalarAt(data[r:], x.size), e)
		}
		w.store64(s, &v, mask)
		return
	}
	d := &w.r32[s]
	var v row32
	direct := mask == w.alive
	if !direct {
		d = &v
	}
	switch {
	case x.size == 4:
		for i, r := range rel {
			d[i] = le.Uint32(data[r:])
		}
	case x.size == 2 && !x.signed:
		for i, r := range rel {
			d[i] = uint32(le.Uint16(data[r:]))
		}
	default:
		for i, r := range rel {
			d[i] = uint32(x.widen(scalarAt(data[r:], x.size), e))
		}
	}
	if direct {
		w.u32[s] = stFilled
		return
	}
	w.store32(s, &v, mask)
}

// loadSlowly loads lane by lane and reports what is wrong.
func loadSlowly(w *warp, in *inst, mask uint32) {
	x := in.mem
	var vals [8]row64
	total := x.total()
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		p := w.blk.locate(w, in, x, lane, w.address(x, lane), total, total)
		if p.data == nil {
			for e := range x.n {
				vals[e][lane] = x.widen(^uint64(0)>>(64-8*x.size), e)
			}
			continue
		}
		if p.written != nil && !allWritten(p.written) {
			w.blk.uninitialised(w, in, x, lane, p)
		}
		for e := range x.n {
			vals[e][lane] = x.widen(scalarAt(p.data[e*x.size:], x.size), e)
		}
	}
	for e := range x.n {
		if x.banks[e] == bank64 {
			w.store64(x.regs[e], &vals[e], mask)
			continue
		}
		var v row32
		for i, u := range vals[e] {
			v[i] = uint32(u)
		}
		w.store32(x.regs[e], &v, mask)
	}
}
