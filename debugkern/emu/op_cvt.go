package emu

import (
	"tilescope/debugkern/fp"
	"tilescope/debugkern/ptx"
)

// cvt decodes every conversion of values; conversions of pairs to and from 8-bit floats are in cvtPacked.
func (d *decoder) cvt() {
	ts := d.in.Types()
	if d.has("pack") {
		d.cvtPack(ts)
		return
	}
	if len(ts) != 2 || len(d.in.Args) > 3 {
		d.unmodelled()
	}
	to, from := ts[0], ts[1]
	if s := d.arg(1); s.Kind == ptx.OpSpecial && clocked(s.Name) && !to.Float() {
		d.clock(s)
		return
	}
	for _, t := range ts {
		switch t {
		case ptx.F16x2, ptx.BF16x2, ptx.E4M3x2, ptx.E5M2x2, ptx.TF32:
			d.cvtPacked(to, from)
			return
		}
	}
	if f := hotConvert(to, from, d.mode(), d.has("rni") || d.has("rzi") || d.has("rmi") ||
		d.has("rpi")); f != nil {
		if s := d.arg(1); d.reg(d.arg(0)).bank == bank32 && (s.Kind != ptx.OpReg || d.reg(s).bank == bank32) {
			d.op32(f, from.Bits())
			return
		}
	}
	if d.integerMove(to, from) {
		return
	}
	dst := d.reg(d.arg(0))
	f := d.conversion(to, from)
	if !to.Float() { // the result fills its register, which may be wider or narrower than the type
		g, keep := f, ^uint64(0)>>(64-d.regBits(d.arg(0)))
		f = func(v uint64) uint64 { return extended(g(v), to) & keep }
	}
	src, wide := d.anySource(1, from.Bits())
	d.out.run = func(w *warp, _ *inst, mask uint32) {
		if wide && w.u64[src]&stUniform != 0 || !wide && w.u32[src]&stUniform != 0 {
			v := uint64(0)
			if wide {
				v = f(w.r64[src][0])
			} else {
				v = f(uint64(w.r32[src][0]))
			}
			if dst.bank == bank64 {
				w.set64(dst.slot, v, mask)
			} else {
				w.set32(dst.slot, uint32(v), mask)
			}
			return
		}
		var t row64
		if wide {
			for i, v := range w.full64(src) {
				t[i] = f(v)
			}
		} else {
			for i, v := range w.full32(src) {
				t[i] = f(uint64(v))
			}
		}
		w.storeAny(dst, &t, mask)
	}
}

// anySource is a source register of either bank.
func (d *decoder) anySource(i, bits int) (slot int32, wide bool) {
	op := d.arg(i)
	if op.Kind == ptx.OpReg {
		s := d.reg(op)
		if s.bank == bankPred {
			d.unmodelled()
		}
		return s.slot, s.bank == bank64
	}
	if bits == 64 {
		return d.source(op, bank64, 64), true
	}
	return d.source(op, bank32, bits), false
}

// hotConvert has the conversions that kernels are full of, between 32-bit slots; nil for the others.
func hotConvert(to, from ptx.Type, m fp.Mode, integral bool) fn32 {
	if m != (fp.Mode{}) || integral {
		return nil
	}
	switch {
	case to == ptx.F32 && from == ptx.U32:
		return cvtF32U32
	case to == ptx.F32 && from == ptx.S32:
		return cvtF32S32
	case to == ptx.F32 && from == ptx.F16:
		return cvtF32F16
	case to == ptx.F16 && from == ptx.F32:
		return cvtF16F32
	}
	return nil
}

// integerMove decodes the integer conversions between 32 and 64 bits, which address arithmetic is full of.
func (d *decoder) integerMove(to, from ptx.Type) bool {
	if to.Float() || from.Float() || d.has("sat") {
		return false
	}
	o := d.out
	dst := d.reg(d.arg(0))
	src, wide := d.anySource(1, from.Bits())
	switch {
	case dst.bank == bank64 && !wide && to.Bits() == 64 && from.Bits() == 32:
		o.run, o.d, o.a = runWide, dst.slot, src
		if from.Signed() {
			o.wide = func(n int, d *row64, a, _ *row32, _ *row64) {
				dd, aa := d[:n], a[:n]
				for i := range dd {
					dd[i] = uint64(int64(int32(aa[i])))
				}
			}
		} else {
			o.wide = func(n int, d *row64, a, _ *row32, _ *row64) {
				dd, aa := d[:n], a[:n]
				for i := range dd {
					dd[i] = uint64(aa[i])
				}
			}
		}
		return true
	case dst.bank == bank32 && wide && to.Bits() == 32 && from.Bits() == 64:
		o.run, o.d, o.a = runNarrow, dst.slot, src
		o.narrow = func(n int, d *row32, a, _ *row64) {
			dd, aa := d[:n], a[:n]
			for i := range dd {
				dd[i] = uint32(aa[i])
			}
		}
		return true
	}
	return false
}

func intOf(t ptx.Type) fp.Int { return fp.Int{Bits: uint8(t.Bits()), Signed: t.Signed()} }

// extended sign-extends an integer result to the width of its register, which may be wider than the type.
func extended(v uint64, t ptx.Type) uint64 {
	if t.Signed() && t.Bits() < 64 {
		shift := 64 - t.Bits()
		return uint64(int64(v<<shift) >> shift)
	}
	return v
}

// conversion is one value's conversion.
func (d *decoder) conversion(to, from ptx.Type) func(uint64) uint64 {
	m := d.mode()
	integral := d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi")
	switch {
	case !to.Float() && !from.Float():
		a, b, sat := intOf(from), intOf(to), d.has("sat")
		return func(v uint64) uint64 { return fp.IntToInt(v, a, b, sat) }
	case !to.Float():
		return d.toInteger(to, from, m)
	case !from.Float():
		a := intOf(from)
		switch to {
		case ptx.F32:
			return func(v uint64) uint64 { return uint64(fp.IntToF32(v, a, m)) }
		case ptx.F16:
			return func(v uint64) uint64 { return uint64(fp.IntToF16(v, a, m)) }
		case ptx.BF16:
			return func(v uint64) uint64 { return uint64(fp.IntToBF16(v, a, m)) }
		case ptx.F64:
			return func(v uint64) uint64 { return fp.IntToF64(v, a, m) }
		}
	case to == from && integral:
		return d.integralFloat(to, m)
	}
	return d.floatToFloat(to, from, m)
}

// regBits is the width of a register operand.
func (d *decoder) regBits(op *ptx.Operand) int { return d.fn.Regs[op.Reg].Type.Bits() }

func (d *decoder) toInteger(to, from ptx.Type, m fp.Mode) func(uint64) uint64 {
	t := intOf(to)
	switch from {
	case ptx.F32:
		return func(v uint64) uint64 { return fp.F32ToInt(uint32(v), t, m) }
	case ptx.F16:
		return func(v uint64) uint64 { return fp.F16ToInt(uint16(v), t, m) }
	case ptx.BF16:
		return func(v uint64) uint64 { return fp.BF16ToInt(uint16(v), t, m) }
	case ptx.F64:
		return func(v uint64) uint64 { return fp.F64ToInt(v, t, m) }
	}
	d.unmodelled()
	return nil
}

func (d *decoder) integralFloat(t ptx.Type, m fp.Mode) func(uint64) uint64 {
	switch t {
	case ptx.F32:
		return func(v uint64) uint64 { return uint64(fp.RoundInt32(uint32(v), m)) }
	case ptx.F16:
		return func(v uint64) uint64 { return uint64(fp.RoundInt16(uint16(v), m)) }
	case ptx.BF16:
		return func(v uint64) uint64 { return uint64(fp.RoundIntBF16(uint16(v), m)) }
	case ptx.F64:
		return func(v uint64) uint64 { return fp.RoundInt64(v, m.Rnd) }
	}
	d.unmodelled()
	return nil
}

func (d *decoder) floatToFloat(to, from ptx.Type, m fp.Mode) func(uint64) uint64 {
	switch to {
	case ptx.F32:
		switch from {
		case ptx.F32:
			return func(v uint64) uint64 { return uint64(fp.Cvt32(uint32(v), m)) }
		case ptx.F16:
			return func(v uint64) uint64 {
				return uint64(fp.Cvt32(fp.F16ToF32(uint16(v)), fp.Mode{Ftz: m.Ftz, Sat: m.Sat}))
			}
		case ptx.BF16:
			return func(v uint64) uint64 { return uint64(fp.BF16ToF32(uint16(v))) }
		case ptx.F64:
			return func(v uint64) uint64 { return uint64(fp.F64ToF32(v, m)) }
		}
	case ptx.F16:
		switch from {
		case ptx.F32:
			return func(v uint64) uint64 { return uint64(fp.F32ToF16M(uint32(v), m)) }
		case ptx.F16:
			return func(v uint64) uint64 { return uint64(fp.F32ToF16M(fp.F16ToF32(uint16(v)), m)) }
		case ptx.BF16:
			return func(v uint64) uint64 { return uint64(fp.F32ToF16M(fp.BF16ToF32(uint16(v)), m)) }
		case ptx.F64:
			return func(v uint64) uint64 { return uint64(fp.F64ToF16(v, m)) }
		}
	case ptx.BF16:
		switch from {
		case ptx.F32:
			return func(v uint64) uint64 { return uint64(fp.F32ToBF16M(uint32(v), m)) }
		case ptx.F16:
			return func(v uint64) uint64 { return uint64(fp.F32ToBF16M(fp.F16ToF32(uint16(v)), m)) }
		case ptx.F64:
			return func(v uint64) uint64 { return uint64(fp.F64ToBF16(v, m)) }
		}
	case ptx.F64:
		switch from {
		case ptx.F32:
			return func(v uint64) uint64 { return fp.F32ToF64(uint32(v), m.Ftz) }
		case ptx.F16:
			return func(v uint64) uint64 { return fp.F16ToF64(uint16(v)) }
		case ptx.BF16:
			return func(v uint64) uint64 { return fp.BF16ToF64(uint16(v)) }
		case ptx.F64:
			return func(v uint64) uint64 { return fp.RoundInt64(v, m.Rnd) }
		}
	}
	d.unmodelled()
	return nil
}

// cvtPacked decodes conversions to and from pairs, and to tf32.
func (d *decoder) cvtPacked(to, from ptx.Type) {
	m, relu := d.mode(), d.has("relu")
	three := len(d.in.Args) == 3
	var f fn32
	switch {
	case to == ptx.F16x2 && from == ptx.F32 && three:
		f = lift2(func(a, b uint32) uint32 { return fp.F32ToF16x2(a, b, m) })
	case to == ptx.BF16x2 && from == ptx.F32 && three:
		f = lift2(func(a, b uint32) uint32 { return fp.F32ToBF16x2(a, b, m) })
	case to == ptx.E4M3x2 && from == ptx.F32 && three:
		f = lift2(func(a, b uint32) uint32 { return uint32(fp.F32ToE4M3x2(a, b, relu)) })
	case to == ptx.E5M2x2 && from == ptx.F32 && three:
		f = lift2(func(a, b uint32) uint32 { return uint32(fp.F32ToE5M2x2(a, b, relu)) })
	case to == ptx.E4M3x2 && from == ptx.F16x2:
		f = lift1(func(a uint32) uint32 { return uint32(fp.F16x2ToE4M3x2(a, relu)) })
	case to == ptx.E5M2x2 && from == ptx.F16x2:
		f = lift1(func(a uint32) uint32 { return uint32(fp.F16x2ToE5M2x2(a, relu)) })
	case to == ptx.F16x2 && from == ptx.E4M3x2:
		f = lift1(func(a uint32) uint32 { return fp.E4M3x2ToF16x2(uint16(a), relu) })
	case to == ptx.F16x2 && from == ptx.E5M2x2:
		f = lift1(func(a uint32) uint32 { return fp.E5M2x2ToF16x2(uint16(a), relu) })
	case to == ptx.TF32 && from == ptx.F32:
		f = lift1(func(a uint32) uint32 { return fp.F32ToTF32(a, m) })
	default:
		d.unmodelled()
	}
	d.op32(f, from.Bits())
}

// cvtPack decodes cvt.pack.sat d, a, b{, c}: a above b, each the nearest of the narrow type, below as many of
// the low bits of c as there is room for.
func (d *decoder) cvtPack(ts []ptx.Type) {
	if len(ts) < 2 || ts[1] != ptx.S32 || len(d.in.Args) != len(ts)+1 || ts[0].Float() || ts[0].Bits() > 16 ||
		!d.has("sat") {
		d.unmodelled()
	}
	n := ts[0].Bits()
	lo, hi := int32(0), int32(1)<<n-1
	if ts[0].Signed() {
		lo, hi = -1<<(n-1), 1<<(n-1)-1
	}
	near := func(v uint32) uint32 { return uint32(min(max(int32(v), lo), hi)) & (1<<n - 1) }
	d.op32(lift3(func(a, b, c uint32) uint32 { return c<<(2*n) | near(a)<<n | near(b) }), 32)
}
