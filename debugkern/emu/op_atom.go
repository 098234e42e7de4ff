package emu

import (
	"math/bits"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// atomOp is the arithmetic of an atom or red.
type atomOp struct {
	op   func(old, b, c uint64) uint64
	b, c int32
	wide bool // operands of 64 bits
	d    regSlot
	// stores: what was there has no part in what is stored, and nothing reads it
	stores bool
}

// combiner is an atomic operation of two values, also what redux combines with; nil where the type has none.
func combiner(in *ptx.Instr, t ptx.Type) func(a, b uint64) uint64 {
	keep := ^uint64(0) >> (64 - max(t.Bits(), 1))
	s := func(v uint64) int64 { return int64(v<<(64-t.Bits())) >> (64 - t.Bits()) }
	op := ""
	for _, m := range in.Mods {
		switch m {
		case "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec":
			op = m
		}
	}
	switch op {
	case "and":
		return func(a, b uint64) uint64 { return a & b }
	case "or":
		return func(a, b uint64) uint64 { return a | b }
	case "xor":
		return func(a, b uint64) uint64 { return a ^ b }
	case "exch":
		return func(_, b uint64) uint64 { return b }
	case "inc":
		return func(a, b uint64) uint64 {
			if a >= b {
				return 0
			}
			return a + 1
		}
	case "dec":
		return func(a, b uint64) uint64 {
			if a == 0 || a > b {
				return b
			}
			return a - 1
		}
	case "add":
		return atomicAdd(t, keep)
	case "min", "max":
		if t.Float() {
			return atomicMinMax(t, op == "max")
		}
		less := func(a, b uint64) bool { return a < b }
		if t.Signed() {
			less = func(a, b uint64) bool { return s(a) < s(b) }
		}
		return func(a, b uint64) uint64 {
			if less(a, b) == (op == "min") {
				return a
			}
			return b
		}
	}
	return nil
}

// atomicAdd adds; f32 in global memory flushes nothing, as measured for red.add.f32 on sm_90.
func atomicAdd(t ptx.Type, keep uint64) func(a, b uint64) uint64 {
	switch t {
	case ptx.F32:
		return func(a, b uint64) uint64 { return uint64(fp.Add32(uint32(a), uint32(b))) }
	case ptx.F64:
		return func(a, b uint64) uint64 { return fp.Add64(a, b, fp.RN) }
	case ptx.F16:
		return func(a, b uint64) uint64 { return uint64(fp.Add16(uint16(a), uint16(b))) }
	case ptx.BF16:
		return func(a, b uint64) uint64 { return uint64(fp.AddBF16(uint16(a), uint16(b))) }
	case ptx.F16x2:
		return pairwise(fp.Add16)
	case ptx.BF16x2:
		return pairwise(fp.AddBF16)
	}
	if t.Float() {
		return nil
	}
	return func(a, b uint64) uint64 { return (a + b) & keep }
}

func pairwise(f func(a, b uint16) uint16) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		return uint64(f(uint16(a>>16), uint16(b>>16)))<<16 | uint64(f(uint16(a), uint16(b)))
	}
}

func atomicMinMax(t ptx.Type, most bool) func(a, b uint64) uint64 {
	pick := func(lo, hi func(a, b uint16, m fp.Mode) uint16) func(a, b uint16) uint16 {
		f := lo
		if most {
			f = hi
		}
		return func(a, b uint16) uint16 { return f(a, b, fp.Mode{}) }
	}
	switch t {
	case ptx.F16x2:
		return pairwise(pick(fp.Min16, fp.Max16))
	case ptx.BF16x2:
		return pairwise(pick(fp.MinBF16, fp.MaxBF16))
	case ptx.F16:
		f := pick(fp.Min16, fp.Max16)
		return func(a, b uint64) uint64 { return uint64(f(uint16(a), uint16(b))) }
	case ptx.BF16:
		f := pick(fp.MinBF16, fp.MaxBF16)
		return func(a, b uint64) uint64 { return uint64(f(uint16(a), uint16(b))) }
	}
	return nil
}

// unread reports whether no instruction of the function reads a register.
func (d *decoder) unread(reg int32) bool {
	var mentions func(o *ptx.Operand) bool
	mentions = func(o *ptx.Operand) bool {
		for i := range o.Elems {
			if mentions(&o.Elems[i]) {
				return true
			}
		}
		return (o.Kind == ptx.OpReg || o.Kind == ptx.OpAddr) && o.Reg == reg
	}
	for _, in := range d.fn.Body {
		for k := range in.Args {
			if !(k == 0 && in.HasDest()) && mentions(&in.Args[k]) {
				return false
			}
		}
	}
	return true
}

// atom decodes atom d, [a], b{, c} and red [a], b.
func (d *decoder) atom() {
	if d.has("async") {
		d.storeAsync()
		return
	}
	d.checkSemantics()
	red := d.in.Kind() == isa.Reduce
	at := 1
	if red {
		at = 0
	}
	t := d.typ()
	if d.in.Vec() != 1 || t.Bits() > 64 || t.Bits() < 16 {
		d.unmodelled()
	}
	x := d.access(d.arg(at), spaceOf(d.in.Space()))
	x.size, x.n = t.Bytes(), 1
	a := &atomOp{wide: t.Bits() == 64}
	x.aop = a
	if d.has("cas") {
		if red {
			d.unmodelled()
		}
		a.op = func(old, b, c uint64) uint64 {
			if old == b {
				return c
			}
			return old
		}
		a.c = d.srcOf(at+2, t)
	} else {
		f := combiner(d.in, t)
		if f == nil {
			d.unmodelled()
		}
		a.op = func(old, b, _ uint64) uint64 { return f(old, b) }
	}
	a.b = d.srcOf(at+1, t)
	if !red && d.arg(0).Kind != ptx.OpSink {
		a.d = d.reg(d.arg(0))
	}
	a.stores = d.has("exch") && (d.arg(0).Kind == ptx.OpSink || d.unread(d.arg(0).Reg))
	if x.space != target.SpaceShared && !red {
		d.p.waits = true
	}
	d.out.mem, d.out.class, d.out.run = x, target.ClassAtomic, runAtomic
}

// runAtomic executes the lanes in order. Blocks that meet at one location execute in a defined order too
// (order.go), so that sums of floats come out the same however many cores there are.
func runAtomic(w *warp, in *inst, mask uint32) {
	x := in.mem
	a := x.aop
	w.blk.count(x.space)
	var old row64
	changed := false
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		p := w.blk.locate(w, in, x, lane, w.address(x, lane), x.size, x.size)
		if p.data == nil {
			old[lane] = ^uint64(0) >> (64 - 8*x.size)
			continue
		}
		if p.written != nil && !allWritten(p.written) && !a.stores {
			w.blk.uninitialised(w, in, x, lane, p)
		}
		v := scalarAt(p.data, x.size)
		old[lane] = v
		var b, c uint64
		if a.wide {
			b, c = w.lane64(a.b, lane), w.lane64(a.c, lane)
		} else {
			b, c = uint64(w.lane32(a.b, lane)), uint64(w.lane32(a.c, lane))
		}
		if to := a.op(v, b, c); to != v || p.written != nil && !allWritten(p.written) {
			changed = true
			if p.alloc != nil {
				w.blk.wroteGlobal++
			}
			putScalar(p.data, x.size, to)
		}
		p.wrote()
	}
	switch {
	case changed:
		w.blk.wrote++
	case x.space != target.SpaceShared:
		w.blk.polls++
		w.lastPoll, w.pollers = in, mask
	}
	if a.d.bank != bankNone {
		w.storeAny(a.d, &old, mask)
	}
}
