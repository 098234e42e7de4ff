package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
)

// bitField decodes lop3, shf, prmt, bfe, bfi and the bit counts.
func (d *decoder) bitField() {
	t := d.typ()
	switch d.in.Op {
	case "lop3":
		d.lop3()
	case "shf":
		d.op32(lift3(d.funnel()), 32)
	case "prmt":
		d.op32(lift3(d.permute()), 32)
	case "bfe":
		d.extract(t)
	case "bfi":
		d.insert(t)
	case "bfind":
		d.find(t)
	case "popc", "clz":
		d.bitCount(t)
	case "brev":
		if t.Bits() == 64 {
			d.op64(lift64x1(bits.Reverse64))
		} else {
			d.op32(lift1(bits.Reverse32), 32)
		}
	case "bmsk":
		clamp := d.has("clamp")
		d.op32(lift2(func(a, b uint32) uint32 { return bitMask(a, b, clamp) }), 32)
	case "szext":
		signed, clamp := t.Signed(), d.has("clamp")
		d.op32(lift2(func(a, b uint32) uint32 { return signZeroExtend(a, b, signed, clamp) }), 32)
	case "fns":
		d.op32(lift3(findNthSet), 32)
	case "vadd2", "vadd4", "vsub2", "vsub4", "vavrg2", "vavrg4", "vabsdiff2", "vabsdiff4", "vmin2", "vmin4",
		"vmax2", "vmax4":
		d.video()
	case "dp4a":
		d.dotBytes()
	case "dp2a":
		d.dotHalves()
	default:
		d.unmodelled()
	}
}

// funnel shifts the 64 bits b:a and gives one half.
func (d *decoder) funnel() func(a, b, c uint32) uint32 {
	left, wrap := d.has("l"), d.has("wrap")
	return func(a, b, c uint32) uint32 {
		if wrap {
			c &= 31
		} else {
			c = min(c, 32)
		}
		v := uint64(b)<<32 | uint64(a)
		if left {
			return uint32(v << c >> 32)
		}
		return uint32(v >> c)
	}
}

// permute picks bytes of b:a.
func (d *decoder) permute() func(a, b, c uint32) uint32 {
	mode := ""
	for _, m := range d.in.Mods {
		if m != "b32" {
			mode = m
		}
	}
	return func(a, b, c uint32) uint32 {
		v := uint64(b)<<32 | uint64(a)
		sel := permSelectors(mode, c)
		var r uint32
		for i := range 4 {
			s := sel >> (4 * i) & 15
			x := uint32(v>>(8*(s&7))) & 0xff
			if s&8 != 0 { // the byte's sign in all its bits
				x = uint32(int32(int8(x))>>7) & 0xff
			}
			r |= x << (8 * i)
		}
		return r
	}
}

// permSelectors gives the four selectors of a prmt mode.
func permSelectors(mode string, c uint32) uint32 {
	k := c & 3
	at := func(f func(i uint32) uint32) uint32 {
		var s uint32
		for i := range uint32(4) {
			s |= f(i) << (4 * i)
		}
		return s
	}
	switch mode {
	case "f4e":
		return at(func(i uint32) uint32 { return k + i })
	case "b4e":
		return at(func(i uint32) uint32 { return (k - i) & 7 })
	case "rc8":
		return at(func(uint32) uint32 { return k })
	case "ecl":
		return at(func(i uint32) uint32 { return max(i, k) })
	case "ecr":
		return at(func(i uint32) uint32 { return min(i, k) })
	case "rc16":
		return at(func(i uint32) uint32 { return i&1 + 2*(k&1) })
	}
	return c & 0xffff
}

func (d *decoder) extract(t ptx.Type) {
	signed := t.Signed()
	if t.Bits() == 64 {
		d.opMix(func(n int, d, a *row64, b, c *row32) {
			for i := range n {
				d[i&31] = bfe(a[i&31], b[i&31], c[i&31], 64, signed)
			}
		})
		return
	}
	d.op32(lift3(func(a, b, c uint32) uint32 { return uint32(bfe(uint64(a), b, c, 32, signed)) }), 32)
}

// bfe extracts len bits from pos on, zero- or sign-extended.
func bfe(a uint64, pos, length uint32, width uint32, signed bool) uint64 {
	pos, length = pos&0xff, length&0xff
	if length == 0 {
		return 0
	}
	top := min(pos+length-1, width-1)
	var sign uint64
	if signed && a>>top&1 != 0 {
		sign = ^uint64(0)
	}
	if pos >= width {
		return sign
	}
	v := a >> pos
	if n := min(length, width-pos); n < 64 {
		mask := uint64(1)<<n - 1
		v = v&mask | sign&^mask
	}
	return v
}

func (d *decoder) insert(t ptx.Type) {
	if t.Bits() == 64 {
		d.insert64()
		return
	}
	o := d.out
	o.d, o.a, o.b, o.c = d.dst32(0), d.src32(1, 32), d.src32(2, 32), d.src32(3, 32)
	length := d.src32(4, 32)
	o.run = func(w *warp, in *inst, mask uint32) {
		a, b, c, l := w.full32(in.a), w.full32(in.b), w.full32(in.c), w.full32(length)
		var t row32
		for i := range t {
			t[i] = uint32(bfi(uint64(a[i]), uint64(b[i]), c[i], l[i], 32))
		}
		w.store32(in.d, &t, mask)
	}
}

func (d *decoder) insert64() {
	o := d.out
	o.d, o.a, o.b, o.c = d.dst64(0), d.src64(1), d.src64(2), d.src32(3, 32)
	length := d.src32(4, 32)
	o.run = func(w *warp, in *inst, mask uint32) {
		a, b, c, l := w.full64(in.a), w.full64(in.b), w.full32(in.c), w.full32(length)
		var t row64
		for i := range t {
			t[i] = bfi(a[i], b[i], c[i], l[i], 64)
		}
		w.store64(in.d, &t, mask)
	}
}

// bfi inserts the low bits of a into b.
func bfi(a, b uint64, pos, length, width uint32) uint64 {
	pos, length = pos&0xff, length&0xff
	if length == 0 || pos >= width {
		return b
	}
	n := min(length, width-pos)
	mask := ^uint64(0)
	if n < 64 {
		mask = 1<<n - 1
	}
	return b&^(mask<<pos) | a&mask<<pos
}

// find is bfind: the highest bit that differs from the sign.
func (d *decoder) find(t ptx.Type) {
	signed, width, amount := t.Signed(), t.Bits(), d.has("shiftamt")
	f := func(a uint64) uint32 {
		if signed {
			if v := int64(a<<(64-width)) >> (64 - width); v < 0 {
				a = uint64(^v)
			}
		}
		if a == 0 {
			return allLanes
		}
		top := uint32(bits.Len64(a) - 1)
		if amount {
			return uint32(width-1) - top
		}
		return top
	}
	if width == 64 {
		d.opNarrow(func(n int, d *row32, a, _ *row64) {
			for i := range n {
				d[i&31] = f(a[i&31])
			}
		})
		return
	}
	d.op32(lift1(func(a uint32) uint32 { return f(uint64(a)) }), 32)
}

func (d *decoder) bitCount(t ptx.Type) {
	popc := d.in.Op == "popc"
	if t.Bits() == 64 {
		d.opNarrow(func(n int, d *row32, a, _ *row64) {
			for i := range n {
				if popc {
					d[i&31] = uint32(bits.OnesCount64(a[i&31]))
				} else {
					d[i&31] = uint32(bits.LeadingZeros64(a[i&31]))
				}
			}
		})
		return
	}
	if popc {
		d.op32(lift1(func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) }), 32)
	} else {
		d.op32(lift1(func(a uint32) uint32 { return uint32(bits.LeadingZeros32(a)) }), 32)
	}
}

// bitMask is bmsk: b ones from bit a on.
func bitMask(a, b uint32, clamp bool) uint32 {
	if clamp {
		a, b = min(a, 32), min(b, 32)
	} else {
		a, b = a&31, b&31
	}
	return uint32((uint64(1)<<b - 1) << a)
}

// signZeroExtend is szext: the low b bits of a.
func signZeroExtend(a, b uint32, signed, clamp bool) uint32 {
	if clamp {
		b = min(b, 32)
	} else {
		b &= 31
	}
	return uint32(bfe(uint64(a), 0, b, 32, signed))
}

// findNthSet is fns: the position of the n-th set bit of mask from bit base on, upwards, or downwards where n
// is negative; bit base itself counts, and is all that is looked at where n is 0. All ones: there is none. A
// base above 31 is undefined in the ISA. For n = -2^31 an H200 gives 0, whatever mask and base are (measured
// on 49 pairs; 1231 rows with other n agree).
func findNthSet(mask, base, n uint32) uint32 {
	if n == 1<<31 {
		return 0
	}
	step, left := 1, int64(int32(n))
	if left < 0 {
		step, left = -1, -left
	}
	for at := int(int32(base)); at >= 0 && at < 32; at += step {
		switch set := mask>>at&1 != 0; {
		case left == 0 && !set:
			return allLanes
		case set && left <= 1:
			return uint32(at)
		case set:
			left--
		}
	}
	return allLanes
}

// dotBytes is dp4a: four products of bytes, added to c.
func (d *decoder) dotBytes() {
	ts := d.in.Types()
	if len(ts) != 2 {
		d.unmodelled()
	}
	sa, sb := ts[0].Signed(), ts[1].Signed()
	d.op32(lift3(func(a, b, c uint32) uint32 {
		for i := range 4 {
			c += part(a, 8*i, 8, sa) * part(b, 8*i, 8, sb)
		}
		return c
	}), 32)
}

// dotHalves is dp2a: two products of a half of a and a byte of b, added to c.
func (d *decoder) dotHalves() {
	ts := d.in.Types()
	if len(ts) != 2 {
		d.unmodelled()
	}
	sa, sb, hi := ts[0].Signed(), ts[1].Signed(), 0
	if d.has("hi") {
		hi = 16
	}
	d.op32(lift3(func(a, b, c uint32) uint32 {
		for i := range 2 {
			c += part(a, 16*i, 16, sa) * part(b, hi+8*i, 8, sb)
		}
		return c
	}), 32)
}

func part(v uint32, pos, n int, signed bool) uint32 {
	return uint32(bfe(uint64(v), uint32(pos), uint32(n), 32, signed))
}
