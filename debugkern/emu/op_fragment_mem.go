package emu

import (
	"math/bits"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// elementOffset is the byte offset of a cell from the matrix's address.
func (m *mmaOp) elementOffset(cell uint8, stride int) int {
	r, c := int(cell>>4), int(cell&15)
	if m.swap {
		r, c = c, r
	}
	return (r*stride + c) * m.size
}

func (w *warp) wmmaStride(m *mmaOp, lane int) int {
	if m.fixed {
		if m.swap {
			return m.frag.Rows
		}
		return m.frag.Cols
	}
	return int(int32(w.lane32(m.stride, lane)))
}

// tileRegion returns the part of a region that a matrix lies in, nil where the lane-by-lane path has to look.
func (w *warp) tileRegion(in *inst, mask uint32) (at, stride int, r *region) {
	x, m := in.mem, in.mma
	r = &w.blk.regions[x.set]
	addr, ok := w.uniformAddress(x)
	if !ok || r.data == nil || mask != allLanes || w.async.random {
		return 0, 0, nil
	}
	if !m.fixed && w.u32[m.stride]&stUniform == 0 {
		return 0, 0, nil
	}
	stride = w.wmmaStride(m, 0)
	last := (15*stride + 16) * m.size
	rel := addr - r.lo
	if stride < 16 || stride > 1<<20 || rel > uint64(len(r.data)) || rel+uint64(last) > uint64(len(r.data)) ||
		addr%uint64(m.align) != 0 || stride*m.size%m.rows != 0 {
		return 0, 0, nil
	}
	return int(rel), stride, r
}

func runLoadFragment(w *warp, in *inst, mask uint32) {
	m := in.mma
	w.blk.count(in.mem.space)
	at, stride, r := w.tileRegion(in, mask)
	size := m.size
	if r != nil && r.written != nil {
		for i := range 16 {
			if o := at + i*stride*size; !allWritten(r.written[o : o+16*size]) {
				r = nil
				break
			}
		}
	}
	if r == nil {
		w.wmmaSlowLoad(in, mask)
		return
	}
	m.note(r, at, stride, false)
	if m.frag.Role != isa.ClassC {
		w.loadOperand(m, r.data[at:], stride)
		return
	}
	var tile [256]uint32 // by cell
	m.readTile(&tile, r.data[at:], stride)
	w.setFragment(&m.frag, &tile, mask)
}

// loadOperand loads an A or B fragment for the whole warp. Where the pairs of a register lie side by side in
// memory, a register is one word.
func (w *warp) loadOperand(m *mmaOp, data []byte, stride int) {
	pairs, ofB, regs := !m.swap, m.frag.Role == isa.ClassB, &m.frag.regs
	for k := range 4 {
		d := &w.r32[regs[k]]
		w.u32[regs[k]] = stFilled
		down, right := 8*(k&1), 8*(k>>1)
		if ofB {
			down, right = right, down
		}
		if !pairs {
			for t := range 4 { // lanes t, t+4, ... : two rows of memory
				o := 2 * ((2*t+right)*stride + down)
				low, high := data[o:][:16], data[o+2*stride:][:16]
				for g := range 8 {
					d[(4*g+t)&31] = uint32(le.Uint16(low[2*g:])) | uint32(le.Uint16(high[2*g:]))<<16
				}
			}
			continue
		}
		for g := range 8 { // lanes 4g to 4g+3
			line := data[2*((g+down)*stride+right):][:16]
			q := d[4*g:][:4]
			q[0], q[1] = le.Uint32(line), le.Uint32(line[4:])
			q[2], q[3] = le.Uint32(line[8:]), le.Uint32(line[12:])
		}
	}
	for k := 4; k < 8; k++ {
		w.r32[regs[k]] = w.r32[regs[k-4]]
		w.u32[regs[k]] = stFilled
	}
}

// note puts the rows of a matrix into the footprint.
func (m *mmaOp) note(r *region, at, stride int, write bool) {
	if r.print == nil {
		return
	}
	size := m.size
	for i := range 16 {
		r.print.mark(at+i*stride*size, 16*size, write)
	}
}

// readTile reads a matrix into [row][col].
func (m *mmaOp) readTile(tile *[256]uint32, data []byte, stride int) {
	size := m.size
	for i := range 16 {
		line := data[i*stride*size:][:16*size]
		for j := range 16 {
			cell := 16*i + j
			if m.swap {
				cell = 16*j + i
			}
			if size == 4 {
				tile[cell] = le.Uint32(line[4*j:])
			} else {
				tile[cell] = uint32(le.Uint16(line[2*j:]))
			}
		}
	}
}

// storeAccumulator writes an accumulator for the whole warp. Four lanes have eight columns of a row, in
// pairs; where memory has the columns side by side, they are one line.
func (w *warp) storeAccumulator(m *mmaOp, r *region, at, stride int) {
	size, regs := m.size, &m.frag.regs
	for pair := range 4 {
		o := at + (8*(pair&1)*stride+8*(pair>>1))*size
		switch {
		case m.swap:
			w.storeTransposed(m, r.data[at:], pair, stride)
		case size == 4:
			low, high := &w.r32[regs[2*pair]], &w.r32[regs[2*pair+1]]
			for g := range 8 {
				line, l, h := r.data[o+g*stride*4:][:32], low[4*g:][:4], high[4*g:][:4]
				for t := range 4 {
					le.PutUint32(line[8*t:], l[t])
					le.PutUint32(line[8*t+4:], h[t])
				}
			}
		default:
			both := &w.r32[regs[pair]]
			for g := range 8 {
				line, v := r.data[o+g*stride*2:][:16], both[4*g:][:4]
				for t := range 4 {
					le.PutUint32(line[4*t:], v[t])
				}
			}
		}
	}
	if r.written != nil {
		for i := range 16 {
			copy(r.written[at+i*stride*size:][:16*size], ones[:])
		}
	}
}

// storeTransposed writes a pair of columns where memory has the rows of the matrix side by side.
func (w *warp) storeTransposed(m *mmaOp, data []byte, pair, stride int) {
	regs := &m.frag.regs
	for lane := range 32 {
		row, col := 8*(pair&1)+lane>>2, 8*(pair>>1)+lane&3*2
		if m.size == 4 {
			le.PutUint32(data[4*(col*stride+row):], w.r32[regs[2*pair]][lane])
			le.PutUint32(data[4*((col+1)*stride+row):], w.r32[regs[2*pair+1]][lane])
			continue
		}
		v := w.r32[regs[pair]][lane]
		le.PutUint16(data[2*(col*stride+row):], uint16(v))
		le.PutUint16(data[2*((col+1)*stride+row):], uint16(v>>16))
	}
}

// wmmaSlowLoad loads element by element, with each lane's own findings.
func (w *warp) wmmaSlowLoad(in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	cells := &m.frag.Cells
	var vals [8]row32
	for l := mask; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		base, stride, ok := w.wmmaBase(in, lane)
		for e := range 8 {
			v := uint32(1)<<(8*m.size-1)<<1 - 1
			if ok {
				p := b.locate(w, in, x, lane, base+uint64(m.elementOffset(cells[e&7][lane], stride)),
					x.size, x.size)
				if p.data != nil {
					if p.written != nil && !allWritten(p.written) {
						b.uninitialised(w, in, x, lane, p)
					}
					v = uint32(scalarAt(p.data, x.size))
				}
			}
			vals[e][lane] = v
		}
	}
	for k := range m.frag.Registers {
		v := vals[k&7]
		if !m.frag.wide() {
			lo, hi := &vals[2*(k&3)], &vals[2*(k&3)+1]
			for i := range v {
				v[i] = lo[i]&0xffff | hi[i]<<16
			}
		}
		w.store32(m.frag.regs[k], &v, mask)
	}
}

// wmmaBase is one lane's address and stride; ok is false, and a finding made, where they break the alignment.
func (w *warp) wmmaBase(in *inst, lane int) (base uint64, stride int, ok bool) {
	m, x, b := in.mma, in.mem, w.blk
	base, stride = w.address(x, lane), w.wmmaStride(m, lane)
	space, addr := x.space, base
	if space == target.SpaceNone {
		space, addr = ungeneric(addr)
	}
	p := place{space: space, addr: addr}
	if addr%uint64(m.align) != 0 {
		b.misaligned(w, in, x, lane, p, m.align)
		return base, stride, false
	}
	if row := stride * m.frag.Bits / 8; row%m.rows != 0 {
		b.badStride(w, in, x, lane, p, row)
		return base, stride, false
	}
	return base, stride, true
}

func runStoreFragment(w *warp, in *inst, mask uint32) {
	m, x, b := in.mma, in.mem, w.blk
	b.count(x.space)
	b.wrote++
	cells, regs := &m.frag.Cells, &m.frag.regs
	value := func(lane, e int) uint32 {
		if m.frag.wide() {
			return w.r32[regs[e]][lane]
		}
		return w.r32[regs[e>>1]][lane] >> (16 * (e & 1)) & 0xffff
	}
	for k := range m.frag.Registers {
		w.full32(regs[k])
	}
	size := m.size
	at, stride, r := w.tileRegion(in, mask)
	if r != nil && (r.alloc == nil || r.alloc.dirty == nil) {
		m.note(r, at, stride, true)
		if r.alloc != nil {
			b.wroteGlobal++
		}
		w.storeAccumulator(m, r, at, stride)
		return
	}
	for l := mask; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		base, stride, ok := w.wmmaBase(in, lane)
		for e := 0; e < 8 && ok; e++ {
			p := b.locate(w, in, x, lane, base+uint64(m.elementOffset(cells[e&7][lane], stride)), size, size)
			if p.data != nil {
				putScalar(p.data, size, uint64(value(lane, e)))
				p.wrote()
			}
		}
	}
}
