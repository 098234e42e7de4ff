package check

import (
	"math"
	"math/bits"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// lanes is one value a lane.
type lanes = [32]uint64

// executing is an instruction with what its operands hold: sources as they were before it, addresses as its
// events reported them, and, once it has executed, its results.
type executing struct {
	target.Event
	view  target.View
	src   [][]lanes // by operand and element; a destination has none
	dst   []lanes   // by register of the first operand, after
	parts []part
}

// part is one event of a memory access: element is the first that it moves of a fragment.
type part struct {
	element, bytes int
	mask           uint32
	space          target.Space
	addr, from     lanes
}

// tell takes an event. It reports whether it is the first of its instruction.
func (x *executing) add(v target.View, e *target.Event) (first bool) {
	if first = x.Instr != e.Instr || x.Step != e.Step || x.Warp != e.Warp; first {
		x.Event, x.view = *e, v
		x.Addr, x.Addr2 = nil, nil
		x.parts = x.parts[:0]
		x.src = x.src[:0]
		for i := range e.Instr.Args {
			if i == 0 && e.Instr.HasDest() {
				x.src = append(x.src, nil)
				continue
			}
			x.src = append(x.src, x.values(&e.Instr.Args[i]))
		}
	}
	if e.Addr != nil {
		p := part{element: int(e.Value), bytes: e.Bytes, mask: e.Mask, space: e.Space, addr: *e.Addr}
		if e.Addr2 != nil {
			p.from = *e.Addr2
		}
		x.parts = append(x.parts, p)
	}
	return first
}

// finish reads the results.
func (x *executing) finish() {
	x.dst = x.dst[:0]
	if x.Instr.HasDest() {
		for _, r := range x.dests() {
			x.dst = append(x.dst, x.view.Register(x.Warp, x.Func, r))
		}
	}
}

// dests lists the registers of the destination, in order.
func (x *executing) dests() []int32 { return x.Instr.Args[0].Registers(nil) }

// values is what an operand holds, by element.
func (x *executing) values(op *ptx.Operand) []lanes {
	switch op.Kind {
	case ptx.OpVec:
		var out []lanes
		for i := range op.Elems {
			out = append(out, x.values(&op.Elems[i])...)
		}
		return out
	case ptx.OpReg:
		return []lanes{x.view.Register(x.Warp, x.Func, op.Reg)}
	case ptx.OpInt, ptx.OpF32:
		return []lanes{everyLane(op.Imm)}
	case ptx.OpF64:
		if x.Instr.Type() == ptx.F32 {
			return []lanes{everyLane(uint64(math.Float32bits(float32(math.Float64frombits(op.Imm)))))}
		}
		return []lanes{everyLane(op.Imm)}
	}
	return []lanes{{}}
}

func everyLane(v uint64) (out lanes) {
	for i := range out {
		out[i] = v
	}
	return out
}

// numberType is a floating-point type as a register holds it: n values of bits bits.
type numberType struct {
	of   ptx.Type // F16, BF16, F32, F64; TypeNone: no floats
	n    int
	bits int
}

func numbers(t ptx.Type) numberType {
	switch t {
	case ptx.F16, ptx.BF16:
		return numberType{t, 1, 16}
	case ptx.F16x2:
		return numberType{ptx.F16, 2, 16}
	case ptx.BF16x2:
		return numberType{ptx.BF16, 2, 16}
	case ptx.F32, ptx.TF32:
		return numberType{ptx.F32, 1, 32}
	case ptx.F64:
		return numberType{ptx.F64, 1, 64}
	}
	return numberType{}
}

// part is the bits of the k-th value in a register.
func (t numberType) part(v uint64, k int) uint64 {
	if t.bits == 64 {
		return v
	}
	return v >> (k * t.bits) & (1<<t.bits - 1)
}

// value decodes bits.
func (t numberType) value(v uint64) float64 {
	switch t.of {
	case ptx.F16:
		return fp.F16ToFloat64(uint16(v))
	case ptx.BF16:
		return fp.BF16ToFloat64(uint16(v))
	case ptx.F32:
		return fp.F32ToFloat64(uint32(v))
	}
	return math.Float64frombits(v)
}

// precision is the bits of the significand, the hidden one counted.
func (t numberType) precision() int {
	switch t.of {
	case ptx.F16:
		return 11
	case ptx.BF16:
		return 8
	case ptx.F32:
		return 24
	}
	return 53
}

// smallest is the exponent of the smallest normal number.
func (t numberType) smallest() int {
	switch t.of {
	case ptx.F16:
		return -14
	case ptx.F64:
		return -1022
	}
	return -126
}

// finite reports whether a value is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// arithmetic describes an instruction that computes floats from floats: types of result and sources, and the
// operands that are sources. ok is false for every other instruction.
func arithmetic(in *ptx.Instr) (to, from numberType, args []int, ok bool) {
	switch f := in.Form(); {
	case f.Real == nil:
		return to, from, nil, false
	case f.Kind != isa.Convert:
		to = numbers(in.Type())
		from = to
	default:
		ts := in.Types()
		if len(ts) != 2 {
			return to, from, nil, false
		}
		to, from = numbers(ts[0]), numbers(ts[1])
		if from.n == 0 && to.n > 0 { // from an integer: exact enough
			return to, from, nil, false
		}
	}
	if to.n == 0 || from.n == 0 {
		return to, from, nil, false
	}
	for i := 1; i < len(in.Args); i++ {
		args = append(args, i)
	}
	return to, from, args, true
}

// product describes a matrix product: the types of the accumulators and of the operands.
func product(in *ptx.Instr) (acc, c, ab numberType, ok bool) {
	ts := in.Types()
	if in.Kind() != isa.Multiply || len(ts) < 2 {
		return acc, c, ab, false
	}
	ab = numberType{ptx.F16, 2, 16} // of wmma only the accumulators' types are named
	if len(ts) == 4 {
		ab = packed(ts[1])
	}
	return packed(ts[0]), packed(ts[len(ts)-1]), ab, true
}

// packed is a type as fragments hold it: halves in pairs.
func packed(t ptx.Type) numberType {
	n := numbers(t)
	if n.bits == 16 {
		n.n = 2
	}
	return n
}

// each calls f for every lane of a mask.
func each(mask uint32, f func(lane int)) {
	for m := mask; m != 0; m &= m - 1 {
		f(bits.TrailingZeros32(m) & 31)
	}
}
