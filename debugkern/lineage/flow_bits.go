package lineage

import "tilescope/debugkern/ptx"

// logic reads instructions on bits. Of those with constant operands the text says which bytes go where.
func (r *reader) logic() {
	x, in := r.x, r.x.in
	x.kind = flowCompute
	r.sources(1)
	if in.Op == "lop3" && len(x.src) > 3 {
		x.src = x.src[:3] // the table is part of the operation
	}
	r.packed()
	if in.Type() == ptx.Pred || len(x.dst) != 1 || x.dst[0].reg < 0 {
		return
	}
	if zeroes(in) {
		x.src = nil
	}
	n := int(x.dst[0].bytes)
	switch in.Op {
	case "and", "or", "xor", "not", "lop3":
		x.bytes = bitwise(x, n)
	case "shl", "shr":
		x.bytes = shifted(x, n, in.Op == "shr", in.Type().Signed())
	case "shf":
		x.bytes = funnel(x, in.Has("l"), in.Has("wrap"))
	case "prmt":
		r.permute()
		return
	case "bfe":
		x.bytes = extracted(x, n, in.Type().Signed())
	case "bfi":
		x.bytes = inserted(x, n)
	}
	if x.bytes != nil {
		x.kind = flowBytes
	}
}

// zeroes reports whether the result is zero whatever the operands are: a register and itself.
func zeroes(in *ptx.Instr) bool {
	return in.Op == "xor" && len(in.Args) == 3 && in.Args[1].Kind == ptx.OpReg &&
		in.Args[2].Kind == ptx.OpReg &&
		in.Args[1].Reg == in.Args[2].Reg
}

// table is the truth table of a bitwise instruction: bit 4a+2b+c.
func table(in *ptx.Instr) uint8 {
	const a, b = 0xf0, 0xcc
	switch in.Op {
	case "and":
		return a & b
	case "or":
		return a | b
	case "xor":
		return a ^ b
	case "not":
		return 0x0f
	}
	return uint8(in.Args[4].Imm)
}

// bitwise is a function of the bits at one place: with constants, a byte may be one of a source,
// or depend on fewer.
func bitwise(x *flow, n int) []byteFlow {
	if x.in.Op == "lop3" && (len(x.in.Args) != 5 || x.in.Args[4].Kind != ptx.OpInt) {
		return nil
	}
	t := table(x.in)
	out := make([]byteFlow, n)
	for i := range out {
		out[i] = bitwiseByte(x, t, i)
	}
	return out
}

// bitwiseByte asks the table about every bit of byte i: which sources it depends on, and whether it
// is one source's bit.
func bitwiseByte(x *flow, t uint8, i int) byteFlow {
	out := byteFlow{src: isZero}
	copied, all := int8(isMade), true // the source that all bits so far are copies of
	zero := true
	for bit := range 8 {
		// The rows of the table that the constants leave.
		rows := uint8(0xff)
		for j, col := range [3]uint8{0xf0, 0xcc, 0xaa} {
			switch {
			case j >= len(x.src):
				rows &= ^col
			case x.src[j].form == fromImmediate && x.src[j].bits>>(8*i+bit)&1 != 0:
				rows &= col
			case x.src[j].form == fromImmediate:
				rows &= ^col
			}
		}
		one := int8(isMade)
		for j, col := range [3]uint8{0xf0, 0xcc, 0xaa} {
			if j >= len(x.src) || x.src[j].form == fromImmediate {
				continue
			}
			shift := uint(4 >> j)
			if (t>>shift^t)&rows&^col&(rows>>shift) != 0 { // flipping the source's bit flips the result
				out.deps[j] |= 1 << i
			}
			if (t^col)&rows == 0 {
				one = int8(j)
			}
		}
		zero = zero && t&rows == 0
		if copied == isMade {
			copied = one
		}
		all = all && one == copied && one >= 0
	}
	switch {
	case zero:
		return byteFlow{src: isZero}
	case all:
		return byteFlow{src: copied, byte: int8(i)}
	}
	out.src = isMade
	return out
}

// shifted is shl and shr by a constant.
func shifted(x *flow, n int, right, signed bool) []byteFlow {
	if len(x.src) != 2 || x.src[1].form != fromImmediate {
		return nil
	}
	by := int(min(x.src[1].bits&0xffffffff, uint64(8*n)))
	if !right {
		by = -by
	}
	out := make([]byteFlow, n)
	for i := range out {
		out[i] = window(8*i+by, 8, 8*n, 0, signed && right)
	}
	return out
}

// window is a byte made of the bits [from, from+len) of a source of width bits; what lies outside
// is zero, or the sign.
func window(from, length, width, src int, signed bool) byteFlow {
	b := byteFlow{src: isZero}
	if from%8 == 0 && length == 8 && from >= 0 && from < width {
		return byteFlow{src: int8(src), byte: int8(from / 8)}
	}
	for bit := from; bit < from+length; bit++ {
		switch {
		case bit >= 0 && bit < width:
			b.src = isMade
			b.deps[src] |= 1 << (bit / 8)
		case bit >= width && signed:
			b.src = isMade
			b.deps[src] |= 1 << ((width - 1) / 8)
		}
	}
	return b
}

// funnel is shf by a constant: 32 bits of b:a.
func funnel(x *flow, left, wrap bool) []byteFlow {
	if len(x.src) != 3 || x.src[2].form != fromImmediate {
		return nil
	}
	by := int(x.src[2].bits & 31)
	if c := x.src[2].bits & 0xffffffff; !wrap && c >= 32 {
		by = 32
	}
	if left {
		by = 32 - by
	}
	out := make([]byteFlow, 4)
	for i := range out {
		from := 8*i + by
		if from%8 == 0 {
			out[i] = byteFlow{src: int8(from / 32), byte: int8(from / 8 % 4)}
			if from >= 64 {
				out[i] = byteFlow{src: isZero}
			}
			continue
		}
		out[i].src = isMade
		for bit := from; bit < min(from+8, 64); bit++ {
			out[i].deps[bit/32] |= 1 << (bit % 32 / 8)
		}
	}
	return out
}

// permute is prmt. The selector of a mode other than the default, or in a register, is only
// known when it executes.
func (r *reader) permute() {
	x := r.x
	if len(x.src) != 3 {
		return
	}
	if x.src[2].form != fromImmediate {
		x.kind = flowPermute
		x.addr = append(x.addr, x.src[2])
		return
	}
	x.kind = flowBytes
	x.bytes = permuted(x.in, uint32(x.src[2].bits))
	x.src = x.src[:2]
}

// permuted is what prmt does with selectors c (PTX ISA, prmt).
func permuted(in *ptx.Instr, c uint32) []byteFlow {
	out := make([]byteFlow, 4)
	for i := range out {
		s := permuteSelector(in, c, uint32(i))
		at := s & 7
		if s&8 == 0 {
			out[i] = byteFlow{src: int8(at / 4), byte: int8(at % 4)}
			continue
		}
		out[i].src = isMade // the byte's sign
		out[i].deps[at/4] = 1 << (at % 4)
	}
	return out
}

// permuteSelector is the selector of byte i.
func permuteSelector(in *ptx.Instr, c, i uint32) uint32 {
	k := c & 3
	switch {
	case in.Has("f4e"):
		return k + i
	case in.Has("b4e"):
		return (k - i) & 7
	case in.Has("rc8"):
		return k
	case in.Has("ecl"):
		return max(i, k)
	case in.Has("ecr"):
		return min(i, k)
	case in.Has("rc16"):
		return i&1 + 2*(k&1)
	}
	return c >> (4 * i) & 15
}

// extracted is bfe with a constant position and length.
func extracted(x *flow, n int, signed bool) []byteFlow {
	if len(x.src) != 3 || x.src[1].form != fromImmediate || x.src[2].form != fromImmediate {
		return nil
	}
	pos, length, width := int(x.src[1].bits&0xff), int(x.src[2].bits&0xff), 8*n
	out := make([]byteFlow, n)
	top := min(pos+length-1, width-1)
	for i := range out {
		b := window(pos+8*i, max(min(8, length-8*i), 0), width, 0, false)
		if signed && length > 0 && 8*i+8 > length {
			if b.src >= 0 {
				b.deps[0] |= 1 << b.byte
			}
			b.src = isMade
			b.deps[0] |= 1 << (top / 8)
		}
		out[i] = b
	}
	return out
}

// inserted is bfi with a constant position and length: the low bits of the first source over the second.
func inserted(x *flow, n int) []byteFlow {
	if len(x.src) != 4 || x.src[2].form != fromImmediate || x.src[3].form != fromImmediate {
		return nil
	}
	pos, length, width := int(x.src[2].bits&0xff), int(x.src[3].bits&0xff), 8*n
	end := min(pos+length, width)
	out := make([]byteFlow, n)
	for i := range out {
		lo, hi := 8*i, 8*i+8
		switch {
		case hi <= pos || lo >= end:
			out[i] = byteFlow{src: 1, byte: int8(i)}
		case lo >= pos && hi <= end:
			out[i] = window(lo-pos, 8, width, 0, false)
		default:
			out[i].src = isMade
			out[i].deps[1] = 1 << i
			for bit := max(lo, pos); bit < min(hi, end); bit++ {
				out[i].deps[0] |= 1 << ((bit - pos) / 8)
			}
		}
	}
	return out
}
