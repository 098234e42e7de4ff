package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
)

// Extended-precision arithmetic (PTX ISA, "Extended-Precision Integer Arithmetic Instructions"): add, sub
// and mad with .cc leave the carry of each lane in CC.CF, addc, subc and madc take it. CC.CF is a
// predicate of the program's that no register names. A difference is the sum with the complement: CC.CF
// is 1 where nothing was borrowed. Within a chain of differences nobody can see that; compilers look at
// it with addc behind subc.cc.

// carryOp is such an instruction.
type carryOp struct {
	op          string // add, sub, mad.lo, mad.hi
	bits        int
	signed      bool
	takes, sets bool
}

// carry decodes it.
func (d *decoder) carry() {
	t := d.typ()
	c := carryOp{op: d.in.Op, bits: t.Bits(), signed: t.Signed(), sets: d.has("cc")}
	if c.takes = len(c.op) == 4; c.takes { // addc, subc, madc
		c.op = c.op[:3]
	}
	if c.bits != 32 && c.bits != 64 || c.op == "mad" && !d.has("lo") && !d.has("hi") {
		d.unmodelled()
	}
	if c.op == "mad" {
		c.op = map[bool]string{true: "mad.hi", false: "mad.lo"}[d.has("hi")]
	}
	if d.p.carry < 0 {
		d.p.carry = int32(d.p.npred)
		d.p.npred++
	}
	var src [3]int32
	for i := range d.in.Args[1:] {
		src[i] = d.srcOf(i+1, t)
	}
	n := len(d.in.Args) - 1
	var dst regSlot
	if sink := d.arg(0); sink.Kind != ptx.OpSink {
		dst = d.reg(sink)
	}
	flag := d.p.carry
	d.out.run = func(w *warp, _ *inst, mask uint32) {
		var in [3]row64
		for i := range n {
			in[i] = *w.wide(src[i], c.bits)
		}
		var out row64
		carries := w.pred[flag] &^ mask
		for l := mask; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l) & 31
			v, carry := c.compute(in[0][lane], in[1][lane], in[2][lane], uint64(w.pred[flag]>>lane&1))
			out[lane] = v
			carries |= uint32(carry) << lane
		}
		if c.sets {
			w.pred[flag] = carries
		}
		if dst.bank != bankNone {
			w.storeAny(dst, &out, mask)
		}
	}
}

// wide is the values of a slot, widened with zeros.
func (w *warp) wide(slot int32, width int) *row64 {
	if width == 64 {
		return w.full64(slot)
	}
	var r row64
	for i, v := range w.full32(slot) {
		r[i] = uint64(v)
	}
	return &r
}

// compute returns an element of the result, and what it leaves in CC.CF.
func (c *carryOp) compute(x, y, z, carry uint64) (v, out uint64) {
	if !c.takes {
		carry = 0
	}
	switch c.op {
	case "sub":
		if c.takes {
			carry ^= 1
		}
		v, out = bits.Sub64(x, y, carry)
	case "mad.lo":
		v, out = bits.Add64(c.low(x*y), z, carry)
	case "mad.hi":
		v, out = bits.Add64(c.high(x, y), z, carry)
	default:
		v, out = bits.Add64(x, y, carry)
	}
	if c.bits == 32 {
		out = v >> 32 & 1
	}
	if c.op == "sub" {
		out ^= 1
	}
	return c.low(v), out
}

func (c *carryOp) low(v uint64) uint64 {
	if c.bits == 32 {
		return v & 0xffffffff
	}
	return v
}

// high is the upper half of a product.
func (c *carryOp) high(x, y uint64) uint64 {
	if c.bits == 32 {
		if c.signed {
			return uint64(int64(int32(x))*int64(int32(y))) >> 32
		}
		return x * y >> 32
	}
	hi, _ := bits.Mul64(x, y)
	if c.signed {
		if int64(x) < 0 {
			hi -= y
		}
		if int64(y) < 0 {
			hi -= x
		}
	}
	return hi
}
