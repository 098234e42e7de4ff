package emu

import (
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// mov copies a register, a constant, a special register, an address, or packs and unpacks {…}.
func (d *decoder) mov() {
	o := d.out
	dst, src := d.arg(0), d.arg(1)
	switch {
	case src.Kind == ptx.OpSpecial && clocked(src.Name):
		d.clock(src)
	case src.Kind == ptx.OpSym && d.stackOf(src.Var) != nil:
		d.stackAddress(d.stackOf(src.Var), src)
	case dst.Kind == ptx.OpVec:
		d.unpack(dst.Elems)
	case src.Kind == ptx.OpVec:
		d.pack(src.Elems)
	case d.typ() == ptx.Pred && src.Kind == ptx.OpSpecial && src.Name == "%is_explicit_cluster":
		o.pd = d.dstPred(dst)
		o.run = func(w *warp, in *inst, mask uint32) {
			w.setPred(in.pd, boolMask(w.blk.explicitCluster()), mask)
		}
	case d.typ() == ptx.Pred:
		o.pd = d.dstPred(dst)
		d.srcPred(1)
		o.run = func(w *warp, in *inst, mask uint32) { w.setPred(in.pd, w.predicate(in), mask) }
	case dst.Kind == ptx.OpSink:
		o.run = func(*warp, *inst, uint32) {}
	case d.reg(dst).bank == bank64:
		o.run, o.d, o.a = runMov64, d.dst64(0), d.source(src, bank64, 64)
	default:
		o.run, o.d, o.a = runMov32, d.dst32(0), d.source(src, bank32, d.typ().Bits())
	}
}

// pack joins the elements of src, lowest first.
func (d *decoder) pack(elems []ptx.Operand) {
	o := d.out
	bits := d.typ().Bits()
	each := bits / len(elems)
	switch {
	case bits == 32 && len(elems) == 2:
		o.d, o.a, o.b = d.dst32(0), d.source(&elems[0], bank32, 16), d.source(&elems[1], bank32, 16)
		o.run = run32
		o.f32 = func(n int, d, a, b, _ *row32) {
			dd, aa, bb := d[:n], a[:n], b[:n]
			for i := range dd {
				dd[i] = aa[i]&0xffff | bb[i]<<16
			}
		}
	case bits == 64 && len(elems) == 2:
		o.d, o.a, o.b = d.dst64(0), d.source(&elems[0], bank32, 32), d.source(&elems[1], bank32, 32)
		o.run = runWide
		o.wide = func(n int, d *row64, a, b *row32, _ *row64) {
			for i := range n {
				d[i&31] = uint64(a[i&31]) | uint64(b[i&31])<<32
			}
		}
	case bits <= 32 && len(elems) > 1 || bits == 64 && len(elems) == 4:
		d.packMany(elems, each)
	default:
		d.unmodelled()
	}
}

func (d *decoder) packMany(elems []ptx.Operand, each int) {
	srcs := make([]int32, len(elems))
	for i := range elems {
		srcs[i] = d.source(&elems[i], bank32, each)
	}
	dst := d.reg(d.arg(0))
	d.out.run = func(w *warp, in *inst, mask uint32) {
		var t row64
		for e, s := range srcs {
			for i, v := range w.full32(s) {
				t[i] |= uint64(v) & (1<<each - 1) << (e * each)
			}
		}
		w.storeAny(dst, &t, mask)
	}
}

// storeAny writes 64-bit values to a register of either bank.
func (w *warp) storeAny(s regSlot, v *row64, mask uint32) {
	if s.bank == bank64 {
		w.store64(s.slot, v, mask)
		return
	}
	var t row32
	for i, x := range v {
		t[i] = uint32(x)
	}
	w.store32(s.slot, &t, mask)
}

// unpack splits a register into elements, lowest first.
func (d *decoder) unpack(elems []ptx.Operand) {
	bits := d.typ().Bits()
	each := bits / len(elems)
	dsts := make([]regSlot, len(elems))
	for i := range elems {
		if elems[i].Kind != ptx.OpSink {
			dsts[i] = d.reg(&elems[i])
		}
	}
	if bits == 64 {
		src := d.source(d.arg(1), bank64, 64)
		d.out.run = func(w *warp, _ *inst, mask uint32) {
			from := *w.full64(src)
			for e, s := range dsts {
				if s.bank == bankNone {
					continue
				}
				var t row64
				for i, v := range from {
					t[i] = v >> (e * each) & (1<<each - 1)
				}
				w.storeAny(s, &t, mask)
			}
		}
		return
	}
	src := d.source(d.arg(1), bank32, bits)
	d.out.run = func(w *warp, _ *inst, mask uint32) {
		from := *w.full32(src)
		for e, s := range dsts {
			if s.bank == bankNone {
				continue
			}
			shift, low := e*each&31, uint32(1)<<each-1
			var t row32
			for i, v := range from {
				t[i] = v >> shift & low
			}
			w.store32(s.slot, &t, mask)
		}
	}
}

// cvta converts between generic addresses and those of a space.
func (d *decoder) cvta() {
	space := spaceOf(d.in.Space())
	o := d.out
	to := d.has("to")
	if d.typ().Bits() != 64 {
		d.unmodelled()
	}
	if space == target.SpaceGlobal || space == target.SpaceConst {
		o.run, o.d, o.a = runMov64, d.dst64(0), d.src64(1)
		return
	}
	f := func(a uint64) uint64 { return generic(space, a) }
	if to {
		f = func(a uint64) uint64 { return a & (windowSize - 1) }
	}
	d.op64(lift64x1(f))
}

func (d *decoder) isspacep() {
	space, whole := spaceOf(d.in.Space()), d.has("shared::cluster")
	o := d.out
	o.pd, o.a = d.dstPred(d.arg(0)), d.src64(1)
	o.run = func(w *warp, in *inst, mask uint32) {
		var v uint32
		for i, a := range w.full64(in.a) {
			s, at := ungeneric(a)
			if s == target.SpaceShared && !whole && w.blk.maps() {
				if own, _ := w.blk.distributed(at); own != w.blk {
					continue
				}
			}
			if s == space || space == target.SpaceConst && w.blk.isConst(a) {
				v |= 1 << i
			}
		}
		w.setPred(in.pd, v, mask)
	}
}

func (b *block) isConst(addr uint64) bool {
	a, _ := b.mem.at(addr)
	return a != nil && a.space == target.SpaceConst
}

// clocked reports whether a special register changes while a warp runs.
func clocked(name string) bool {
	switch name {
	case "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi":
		return true
	}
	return false
}

// clock reads the block's clock: one tick a warp instruction, the same in every run of a schedule.
func (d *decoder) clock(src *ptx.Operand) {
	s := d.reg(d.arg(0))
	high := strings.HasSuffix(src.Name, "_hi")
	d.out.run = func(w *warp, _ *inst, mask uint32) {
		v := w.now()
		if high {
			v >>= 32
		}
		if s.bank == bank64 {
			w.set64(s.slot, v, mask)
		} else {
			w.set32(s.slot, uint32(v), mask)
		}
	}
}
