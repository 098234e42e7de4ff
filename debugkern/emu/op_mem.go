package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// memory decodes the address operand of a load or store.
func (d *decoder) access(op *ptx.Operand, space target.Space) *access {
	x := &access{space: space, base: -1}
	if op.Kind != ptx.OpAddr {
		d.fail("%s: an address is expected", d.in.Opcode())
	}
	switch op.Base {
	case ptx.BaseReg:
		s := d.reg(&ptx.Operand{Kind: ptx.OpReg, Reg: op.Reg, Comp: -1})
		if s.bank == bankPred {
			d.fail("%s: an address is expected", d.in.Opcode())
		}
		x.base, x.wide, x.off = s.slot, s.bank == bank64, uint64(op.Off)
	case ptx.BaseSym:
		if op.Var == nil {
			d.fail("%s: the address of %s is not modelled", d.in.Opcode(), op.Name)
		}
		sp, addr := d.place(op.Var)
		if x.space == target.SpaceParam || x.space == target.SpaceNone {
			x.space = sp // a .param variable of a call lies in the lane's frame
		}
		x.off = addr + uint64(op.Off)
	default:
		x.off = uint64(op.Off)
	}
	if x.space == target.SpaceParam && !d.fn.Entry {
		x.space = target.SpaceLocal
	}
	return x
}

// elements sets what a load or store moves.
func (d *decoder) elements(x *access, op *ptx.Operand, dest bool) {
	t := d.typ()
	x.size, x.n, x.signed = t.Bytes(), d.in.Vec(), t.Signed()
	if x.size == 0 || x.size > 8 {
		d.unmodelled()
	}
	elems := []ptx.Operand{*op}
	if op.Kind == ptx.OpVec {
		elems = op.Elems
	}
	if len(elems) != x.n || x.n > len(x.regs) {
		d.fail("%s: %d registers for %d elements", d.in.Opcode(), len(elems), x.n)
	}
	for i := range elems {
		x.regs[i], x.banks[i] = d.element(&elems[i], x.size, dest)
		x.short[i] = elems[i].Kind == ptx.OpReg && d.regBits(&elems[i]) == 16
	}
}

// element returns the slot of one register of a load or store: of any width for a load's destination, as constants go too
// for a store's source.
func (d *decoder) element(op *ptx.Operand, size int, dest bool) (int32, bank) {
	b := bank32
	if size == 8 {
		b = bank64
	}
	switch {
	case op.Kind == ptx.OpReg:
		s := d.reg(op)
		if s.bank == bankPred || s.bank == bank32 && size == 8 {
			d.fail("%s: the register is too narrow", d.in.Opcode())
		}
		return s.slot, s.bank
	case dest && op.Kind == ptx.OpSink:
		return d.scratch(b), b
	case dest:
		d.fail("%s: a register is expected", d.in.Opcode())
	}
	return d.source(op, b, size*8), b
}

// checkSemantics refuses what has no meaning here.
func (d *decoder) checkSemantics() {
	for _, m := range d.in.Mods {
		switch m {
		case "cluster", "shared::cluster", "async", "mmio":
			d.unmodelled()
		}
	}
}

// strong notes a load or store that other blocks may be meant to see at once: such a launch runs its blocks in order.
func (d *decoder) strong(x *access) {
	if x.space != target.SpaceGlobal && x.space != target.SpaceNone {
		return
	}
	for _, m := range d.in.Mods {
		switch m {
		case "volatile", "relaxed", "acquire", "release":
			d.p.atomics = true
		}
	}
}

func (d *decoder) ld() {
	d.checkSemantics()
	x := d.access(d.arg(1), spaceOf(d.in.Space()))
	d.elements(x, d.arg(0), true)
	d.strong(x)
	d.out.mem, d.out.class, d.out.run = x, target.ClassLoad, runLoad
	if x.base < 0 && x.space == target.SpaceParam && d.fn.Entry {
		d.out.run = runLoadParam
	}
}

func (d *decoder) st() {
	d.checkSemantics()
	x := d.access(d.arg(0), spaceOf(d.in.Space()))
	d.elements(x, d.arg(1), false)
	d.strong(x)
	d.out.mem, d.out.class, d.out.run = x, target.ClassStore, runStore
}

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

// scalarAt reads size bytes.
func scalarAt(p []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(le.Uint16(p))
	case 4:
		return uint64(le.Uint32(p))
	}
	return le.Uint64(p)
}

func putScalar(p []byte, size int, v uint64) {
	switch size {
	case 1:
		p[0] = byte(v)
	case 2:
		le.PutUint16(p, uint16(v))
	case 4:
		le.PutUint32(p, uint32(v))
	default:
		le.PutUint64(p, v)
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

func allWritten(p []byte) bool {
	for len(p) >= 8 {
		if le.Uint64(p) != ^uint64(0) {
			return false
		}
		p = p[8:]
	}
	for _, v := range p {
		if v != 0xff {
			return false
		}
	}
	return true
}

// count notes a memory instruction.
func (b *block) count(s target.Space) {
	switch s {
	case target.SpaceShared:
		b.counts.SharedAccesses++
	case target.SpaceGlobal, target.SpaceNone:
		b.counts.GlobalAccesses++
	}
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
	if addr, ok := w.uniformAddress(x); ok {
		rel, total := addr-r.lo, uint64(x.size*x.n)
		if uint64(len(r.data)) < total || rel > uint64(len(r.data))-total || addr&(total-1) != 0 ||
			r.written != nil && !allWritten(r.written[rel:rel+total]) {
			loadSlowly(w, in, mask)
			return
		}
		for e := range x.n {
			w.setElement(x, e, scalarAt(r.data[int(rel)+e*x.size:], x.size), mask)
		}
		return
	}
	if mask == allLanes && x.n == 1 && x.size <= 4 && x.banks[0] == bank32 {
		if at, ok := w.span(x, r); ok && (r.written == nil || allWritten(r.written[at:at+32*x.size])) {
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

func runStore(w *warp, in *inst, mask uint32) {
	x := in.mem
	b := w.blk
	b.count(x.space)
	r := &b.regions[x.set]
	if r.data == nil || r.alloc != nil && r.alloc.dirty != nil {
		storeSlowly(w, in, mask)
		return
	}
	var rel row32
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
			w.storeSpan(x, r, at)
			return
		}
		if ok, _ := w.offsets(x, r, mask, &rel); !ok {
			storeSlowly(w, in, mask)
			return
		}
	} else if ok, _ := w.offsets(x, r, mask, &rel); !ok {
		storeSlowly(w, in, mask)
		return
	}
	for e := range x.n {
		w.scatterElement(x, e, r, &rel, mask)
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
