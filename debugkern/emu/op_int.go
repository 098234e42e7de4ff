package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
)

// arith decodes add, sub, mul, mad, fma, div, rem, abs, neg, min, max and their like.
func (d *decoder) arith() {
	if d.has("cc") || d.in.Op == "addc" || d.in.Op == "subc" || d.in.Op == "madc" {
		d.carry()
		return
	}
	t := d.typ()
	switch {
	case t == ptx.F64:
		d.op64(d.floatOp64())
	case t == ptx.F32, t == ptx.F16, t == ptx.F16x2, t == ptx.BF16, t == ptx.BF16x2:
		d.op32(d.floatOp(t), t.Bits())
	case d.has("wide"):
		d.wideMul(t)
	case t == ptx.U16x2 || t == ptx.S16x2 || t.Float():
		d.unmodelled()
	case t.Bits() == 64:
		d.op64(d.intOp64(t))
	case t.Bits() == 32:
		d.op32(d.intOp32(t), 32)
	case t.Bits() == 16:
		d.op32(narrow16(d.intOp16(t)), 16)
	default:
		d.unmodelled()
	}
}

// wideMul decodes mul.wide and mad.wide.
func (d *decoder) wideMul(t ptx.Type) {
	mad := d.in.Op == "mad"
	if !mad && d.in.Op != "mul" {
		d.unmodelled()
	}
	if t.Bits() == 16 {
		f := func(a, b, c uint32) uint32 { return a*b + c }
		if t.Signed() {
			f = func(a, b, c uint32) uint32 { return uint32(int32(int16(a))*int32(int16(b))) + c }
		}
		d.op32(lift3(f), 16)
		if mad {
			d.out.c = d.src32(3, 32)
		}
		return
	}
	if t.Bits() != 32 {
		d.unmodelled()
	}
	o := d.out
	o.run, o.d, o.a, o.b = runWide, d.dst64(0), d.src32(1, 32), d.src32(2, 32)
	switch {
	case mad && t.Signed():
		o.wide = madWideS
	case mad:
		o.wide = madWideU
	case t.Signed():
		o.wide = mulWideS
	default:
		o.wide = mulWideU
	}
	if mad {
		o.c = d.src64(3)
	}
}

// narrow16 keeps 16-bit results zero-extended.
func narrow16(f fn32) fn32 {
	return func(n int, d, a, b, c *row32) {
		f(n, d, a, b, c)
		for i := range n {
			d[i&31] &= 0xffff
		}
	}
}

func mulHiS(a, b uint32) uint32 { return uint32(int64(int32(a)) * int64(int32(b)) >> 32) }
func mulHiU(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) }

// saturate clamps to s32.
func saturate(v int64) uint32 { return uint32(max(-1<<31, min(v, 1<<31-1))) }

func sext24(v uint32) int64 { return int64(int32(v<<8) >> 8) }

// intOp32 is a 32-bit integer instruction.
func (d *decoder) intOp32(t ptx.Type) fn32 {
	s, hi, sat := t.Signed(), d.has("hi"), d.has("sat")
	switch d.in.Op {
	case "add":
		if sat {
			return lift2(func(a, b uint32) uint32 { return saturate(int64(int32(a)) + int64(int32(b))) })
		}
		return add32
	case "sub":
		if sat {
			return lift2(func(a, b uint32) uint32 { return saturate(int64(int32(a)) - int64(int32(b))) })
		}
		return sub32
	case "mul":
		switch {
		case hi && s:
			return lift2(mulHiS)
		case hi:
			return lift2(mulHiU)
		}
		return mul32
	case "mad":
		switch {
		case hi && s && sat:
			return lift3(func(a, b, c uint32) uint32 {
				return saturate(int64(int32(mulHiS(a, b))) + int64(int32(c)))
			})
		case hi && s:
			return lift3(func(a, b, c uint32) uint32 { return mulHiS(a, b) + c })
		case hi:
			return lift3(func(a, b, c uint32) uint32 { return mulHiU(a, b) + c })
		}
		return mad32
	case "mul24", "mad24":
		return mul24(s, hi, sat)
	case "sad":
		if s {
			return lift3(func(a, b, c uint32) uint32 {
				return c + uint32(max(int32(a), int32(b))) - uint32(min(int32(a), int32(b)))
			})
		}
		return lift3(func(a, b, c uint32) uint32 { return c + max(a, b) - min(a, b) })
	case "min":
		if s {
			return d.relu(minS32)
		}
		return lift2(func(a, b uint32) uint32 { return min(a, b) })
	case "max":
		if s {
			return d.relu(maxS32)
		}
		return lift2(func(a, b uint32) uint32 { return max(a, b) })
	case "abs":
		return lift1(func(a uint32) uint32 { return uint32(max(int32(a), -int32(a))) })
	case "neg":
		return lift1(func(a uint32) uint32 { return -a })
	case "div":
		if s {
			return lift2(divS32)
		}
		return lift2(func(a, b uint32) uint32 {
			if b == 0 {
				return allLanes
			}
			return a / b
		})
	case "rem":
		if s {
			return lift2(remS32)
		}
		return lift2(func(a, b uint32) uint32 {
			if b == 0 {
				return a
			}
			return a % b
		})
	}
	d.unmodelled()
	return nil
}

// relu refuses .relu, which sm_90 has for packed halves only.
func (d *decoder) relu(f fn32) fn32 {
	if d.has("relu") {
		d.unmodelled()
	}
	return f
}

// Division by zero gives all ones and leaves the dividend as remainder, as the machine code for it does.
func divS32(a, b uint32) uint32 {
	switch {
	case b == 0:
		return allLanes
	case b == allLanes:
		return -a
	}
	return uint32(int32(a) / int32(b))
}

func remS32(a, b uint32) uint32 {
	switch {
	case b == 0:
		return a
	case b == allLanes:
		return 0
	}
	return uint32(int32(a) % int32(b))
}

// mul24 is mul24 and mad24: the low or high 32 of 48 bits.
func mul24(signed, hi, sat bool) fn32 {
	shift := 0
	if hi {
		shift = 16
	}
	return lift3(func(a, b, c uint32) uint32 {
		p := int64(uint64(a&0xffffff) * uint64(b&0xffffff))
		if signed {
			p = sext24(a) * sext24(b)
		}
		if sat {
			return saturate(int64(int32(p>>shift)) + int64(int32(c)))
		}
		return uint32(p>>shift) + c
	})
}

// intOp16 computes on zero-extended 16-bit values; the caller cuts the result.
func (d *decoder) intOp16(t ptx.Type) fn32 {
	s := t.Signed()
	ext := func(v uint32) int32 {
		if s {
			return int32(int16(v))
		}
		return int32(v & 0xffff)
	}
	switch d.in.Op {
	case "add":
		return add32
	case "sub":
		return sub32
	case "mul":
		if d.has("hi") {
			return lift2(func(a, b uint32) uint32 { return uint32(int64(ext(a)) * int64(ext(b)) >> 16) })
		}
		return mul32
	case "mad":
		if d.has("hi") {
			return lift3(func(a, b, c uint32) uint32 { return uint32(int64(ext(a))*int64(ext(b))>>16) + c })
		}
		return mad32
	case "min":
		return lift2(func(a, b uint32) uint32 { return uint32(min(ext(a), ext(b))) })
	case "max":
		return lift2(func(a, b uint32) uint32 { return uint32(max(ext(a), ext(b))) })
	case "abs":
		return lift1(func(a uint32) uint32 { return uint32(max(ext(a), -ext(a))) })
	case "neg":
		return lift1(func(a uint32) uint32 { return -a })
	case "sad":
		return lift3(func(a, b, c uint32) uint32 {
			return c + uint32(max(ext(a), ext(b))-min(ext(a), ext(b)))
		})
	case "div":
		return lift2(func(a, b uint32) uint32 {
			if ext(b) == 0 {
				return 0xffff
			}
			return uint32(ext(a) / ext(b))
		})
	case "rem":
		return lift2(func(a, b uint32) uint32 {
			if ext(b) == 0 {
				return a
			}
			return uint32(ext(a) % ext(b))
		})
	}
	d.unmodelled()
	return nil
}

// intOp64 is a 64-bit integer instruction.
func (d *decoder) intOp64(t ptx.Type) fn64 {
	s, hi := t.Signed(), d.has("hi")
	switch d.in.Op {
	case "add":
		return add64
	case "sub":
		return lift64x2(func(a, b uint64) uint64 { return a - b })
	case "mul":
		if hi {
			return lift64x2(func(a, b uint64) uint64 { return mulHi64(a, b, s) })
		}
		return lift64x2(func(a, b uint64) uint64 { return a * b })
	case "mad":
		if hi {
			return lift64x3(func(a, b, c uint64) uint64 { return mulHi64(a, b, s) + c })
		}
		return lift64x3(func(a, b, c uint64) uint64 { return a*b + c })
	case "sad":
		if s {
			return lift64x3(func(a, b, c uint64) uint64 {
				return c + uint64(max(int64(a), int64(b))) - uint64(min(int64(a), int64(b)))
			})
		}
		return lift64x3(func(a, b, c uint64) uint64 { return c + max(a, b) - min(a, b) })
	case "min":
		if s {
			return lift64x2(func(a, b uint64) uint64 { return uint64(min(int64(a), int64(b))) })
		}
		return lift64x2(func(a, b uint64) uint64 { return min(a, b) })
	case "max":
		if s {
			return lift64x2(func(a, b uint64) uint64 { return uint64(max(int64(a), int64(b))) })
		}
		return lift64x2(func(a, b uint64) uint64 { return max(a, b) })
	case "abs":
		return lift64x1(func(a uint64) uint64 { return uint64(max(int64(a), -int64(a))) })
	case "neg":
		return lift64x1(func(a uint64) uint64 { return -a })
	case "div":
		return lift64x2(func(a, b uint64) uint64 {
			switch {
			case b == 0:
				return ^uint64(0)
			case s && b == ^uint64(0):
				return -a
			case s:
				return uint64(int64(a) / int64(b))
			}
			return a / b
		})
	case "rem":
		return lift64x2(func(a, b uint64) uint64 {
			switch {
			case b == 0:
				return a
			case s && b == ^uint64(0):
				return 0
			case s:
				return uint64(int64(a) % int64(b))
			}
			return a % b
		})
	}
	d.unmodelled()
	return nil
}

func mulHi64(a, b uint64, signed bool) uint64 {
	hi, _ := bits.Mul64(a, b)
	if signed {
		hi -= uint64(int64(a)>>63)&b + uint64(int64(b)>>63)&a
	}
	return hi
}
