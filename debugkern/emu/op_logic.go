package emu

import "tilescope/debugkern/ptx"

// logic decodes and, or, xor, not, cnot, shl and shr.
func (d *decoder) logic() {
	t, op := d.typ(), d.in.Op
	switch {
	case t == ptx.Pred:
		d.predLogic()
	case t.Bits() == 64 && (op == "shl" || op == "shr"):
		d.shift64(t)
	case t.Bits() == 64:
		f := map[string]func(a, b uint64) uint64{
			"and": func(a, b uint64) uint64 { return a & b }, "or": func(a, b uint64) uint64 { return a | b },
			"xor": func(a, b uint64) uint64 { return a ^ b }, "not": func(a, _ uint64) uint64 { return ^a },
			"cnot": func(a, _ uint64) uint64 { return b2i(a == 0) },
		}[op]
		d.op64(lift64x2(f))
	default:
		f := d.logic32(t)
		if t.Bits() == 16 {
			f = narrow16(f)
		}
		d.op32(f, t.Bits())
		if op == "shl" || op == "shr" {
			d.out.b = d.src32(2, 32)
		}
	}
}

func (d *decoder) logic32(t ptx.Type) fn32 {
	switch d.in.Op {
	case "and":
		return and32
	case "or":
		return or32
	case "xor":
		return xor32
	case "not":
		return lift1(func(a uint32) uint32 { return ^a })
	case "cnot":
		return lift1(func(a uint32) uint32 { return uint32(b2i(a == 0)) })
	case "shl":
		return shl32
	}
	if !t.Signed() {
		return shrU32
	}
	if t.Bits() == 16 {
		return lift2(func(a, b uint32) uint32 { return uint32(int32(int16(a)) >> b) })
	}
	return shrS32
}

func b2i(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

func (d *decoder) shift64(t ptx.Type) {
	switch {
	case d.in.Op == "shl":
		d.opMix(shl64)
	case t.Signed():
		d.opMix(func(n int, d, a *row64, b, _ *row32) {
			for i := range n {
				d[i&31] = uint64(int64(a[i&31]) >> b[i&31])
			}
		})
	default:
		d.opMix(func(n int, d, a *row64, b, _ *row32) {
			for i := range n {
				d[i&31] = a[i&31] >> b[i&31]
			}
		})
	}
}

// predLogic decodes logic on predicates. The second source travels in inst.d2 as a predicate slot.
func (d *decoder) predLogic() {
	o := d.out
	o.pd = d.dstPred(d.arg(0))
	d.srcPred(1)
	a := predSource{o.pc, o.negC}
	b := predSource{-1, false}
	if len(d.in.Args) > 2 {
		d.srcPred(2)
		b = predSource{o.pc, o.negC}
	}
	op := d.in.Op
	o.run = func(w *warp, in *inst, mask uint32) {
		x, y := a.read(w), b.read(w)
		switch op {
		case "and":
			x &= y
		case "or":
			x |= y
		case "xor":
			x ^= y
		default:
			x = ^x
		}
		w.setPred(in.pd, x, mask)
	}
}

type predSource struct {
	slot int32
	neg  bool
}

func (p predSource) read(w *warp) uint32 {
	v := allLanes
	if p.slot >= 0 {
		v = w.pred[p.slot]
	}
	if p.neg {
		return ^v
	}
	return v
}

// lop3 is any function of three bits; the table's bit 4a+2b+c is its value.
func (d *decoder) lop3() {
	op := d.arg(4)
	if op.Kind != ptx.OpInt {
		d.unmodelled()
	}
	table := uint8(op.Imm)
	if d.has("and") || d.has("or") {
		d.lop3Predicate(table)
		return
	}
	in := *d.in
	in.Args = in.Args[:4]
	d.in = &in
	d.op32(func(n int, d, a, b, c *row32) {
		for i := range n {
			d[i&31] = lop3(a[i&31], b[i&31], c[i&31], table)
		}
	}, 32)
}

// lop3Predicate is lop3.and or lop3.or d|p, a, b, c, table, q: p is whether d is not zero, joined with q.
func (d *decoder) lop3Predicate(table uint8) {
	dst, o := d.arg(0), d.out
	if dst.Kind != ptx.OpPair {
		d.unmodelled()
	}
	o.d, o.pd = d.dest(&dst.Elems[0], bank32), d.dstPred(&dst.Elems[1])
	o.a, o.b, o.c = d.src32(1, 32), d.src32(2, 32), d.src32(3, 32)
	d.srcPred(5)
	join := "or"
	if d.has("and") {
		join = "and"
	}
	o.run = func(w *warp, in *inst, mask uint32) {
		a, b, c := w.full32(in.a), w.full32(in.b), w.full32(in.c)
		var t row32
		var set uint32
		for i := range t {
			if t[i] = lop3(a[i], b[i], c[i], table); t[i] != 0 {
				set |= 1 << i
			}
		}
		w.setPred(in.pd, joined(join, set, w.predicate(in)), mask)
		w.store32(in.d, &t, mask)
	}
}

func lop3(a, b, c uint32, table uint8) uint32 {
	var r uint32
	for k := range 8 {
		if table>>k&1 == 0 {
			continue
		}
		x, y, z := a, b, c
		if k&4 == 0 {
			x = ^a
		}
		if k&2 == 0 {
			y = ^b
		}
		if k&1 == 0 {
			z = ^c
		}
		r |= x & y & z
	}
	return r
}
