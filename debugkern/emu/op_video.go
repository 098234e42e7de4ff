package emu

import (
	"strings"

	"tilescope/debugkern/ptx"
)

// SIMD video instructions (PTX ISA, "Video Instructions: SIMD"): two halves or four bytes of a register at
// once. Operands without selectors and masks, as intrinsics use them, are modelled.

// video decodes vadd4, vabsdiff2 and their like: the parts of the result, or with .add their sum and c.
func (d *decoder) video() {
	ts := d.in.Types()
	if len(ts) != 3 || len(d.in.Args) != 4 {
		d.unmodelled()
	}
	parts := int(d.in.Op[len(d.in.Op)-1] - '0')
	width := 32 / parts
	sat, sum := d.has("sat"), d.has("add")
	op := strings.TrimRight(d.in.Op, "24")
	part := func(v uint32, k int, t ptx.Type) int32 {
		x := v << (32 - width*(k+1))
		if t.Signed() {
			return int32(x) >> (32 - width)
		}
		return int32(x >> (32 - width))
	}
	lo, hi := int32(0), int32(1)<<width-1
	if ts[0].Signed() {
		lo, hi = -1<<(width-1), 1<<(width-1)-1
	}
	d.op32(lift3(func(a, b, c uint32) uint32 {
		total, packed := c, uint32(0)
		for k := range parts {
			v := videoPart(op, part(a, k, ts[1]), part(b, k, ts[2]))
			if sat {
				v = min(max(v, lo), hi)
			}
			total += uint32(v)
			packed |= uint32(v) & (1<<width - 1) << (width * k)
		}
		if sum {
			return total
		}
		return packed
	}), 32)
}

func videoPart(op string, x, y int32) int32 {
	switch op {
	case "vsub":
		return x - y
	case "vavrg":
		if x+y >= 0 {
			return (x + y + 1) >> 1
		}
		return (x + y) >> 1
	case "vabsdiff":
		return max(x-y, y-x)
	case "vmin":
		return min(x, y)
	case "vmax":
		return max(x, y)
	}
	return x + y
}
