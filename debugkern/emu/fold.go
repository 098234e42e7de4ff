package emu

import (
	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// ptxas evaluates the reciprocal of a known constant to the correctly rounded value, not to what the
// hardware's approximation would give, and divides (div.full) by a known constant by multiplying with
// that reciprocal. Decoding does the same. ex2 of a constant is left to the model: of an integer it
// is exact either way.

// known returns the value of a 32-bit operand that is the same wherever it is read: an immediate, or a
// register whose only assignment is a mov of one.
func (d *decoder) known(op *ptx.Operand) (uint32, bool) {
	switch op.Kind {
	case ptx.OpInt, ptx.OpF32:
		return uint32(op.Imm), true
	case ptx.OpReg:
		v, ok := d.movedConstants()[op.Reg]
		return v, ok
	}
	return 0, false
}

// movedConstants finds the registers of the function that are assigned once, by an unguarded
// mov of an immediate.
func (d *decoder) movedConstants() map[int32]uint32 {
	if d.moved != nil && d.movedOf == d.fn {
		return d.moved
	}
	d.moved, d.movedOf = map[int32]uint32{}, d.fn
	defs := map[int32]int{}
	var read, written []int32
	for _, in := range d.fn.Body {
		cfg.Uses(in, &read, &written)
		for _, r := range written {
			defs[r]++
		}
		if in.Kind() != isa.Move || in.Guard != nil || len(in.Args) != 2 || in.Args[0].Kind != ptx.OpReg {
			continue
		}
		if src := &in.Args[1]; src.Kind == ptx.OpF32 || src.Kind == ptx.OpInt {
			d.moved[in.Args[0].Reg] = uint32(src.Imm)
		}
	}
	for r := range d.moved {
		if defs[r] != 1 {
			delete(d.moved, r)
		}
	}
	return d.moved
}

// ordinary reports whether a divisor and its reciprocal are normal, so that multiplying is what ptxas does.
func ordinary(b uint32) bool {
	e := b >> 23 & 0xff
	return e >= 2 && e <= 252
}

// foldReciprocal is rcp.approx of a known constant, nil where it is not one.
func (d *decoder) foldReciprocal() fn32 {
	b, ok := d.known(d.arg(1))
	if !ok || !ordinary(b) {
		return nil
	}
	v := fp.Rcp32(b, fp.Mode{})
	return lift1(func(uint32) uint32 { return v })
}

// foldDivision is div.full by a known constant, nil where it is not one.
func (d *decoder) foldDivision(m fp.Mode) fn32 {
	b, ok := d.known(d.arg(2))
	if !ok || !ordinary(b) {
		return nil
	}
	if a, ok := d.known(d.arg(1)); ok {
		v := fp.Div32(a, b, m)
		return lift1(func(uint32) uint32 { return v })
	}
	r := fp.Rcp32(b, fp.Mode{})
	return lift1(func(a uint32) uint32 { return fp.Mul32M(a, r, m) })
}
