package emu

import (
	"math"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ptx"
)

// mode collects the modifiers of a float instruction.
func (d *decoder) mode() fp.Mode {
	m := fp.Mode{
		Ftz: d.has("ftz"), Sat: d.has("sat"), Relu: d.has("relu"), NaN: d.has("NaN"),
		XorSign: d.has("xorsign"),
	}
	for _, mod := range d.in.Mods {
		switch mod {
		case "rz", "rzi":
			m.Rnd = fp.RZ
		case "rm", "rmi":
			m.Rnd = fp.RM
		case "rp", "rpi":
			m.Rnd = fp.RP
		case "rna":
			m.Rnd = fp.RNA
		case "rs":
			d.unmodelled()
		}
	}
	return m
}

// floatOp is an arithmetic instruction on 16- or 32-bit floats.
func (d *decoder) floatOp(t ptx.Type) fn32 {
	for _, m := range []string{"oob", "f32x2"} {
		if d.has(m) {
			d.unmodelled()
		}
	}
	if d.has("xorsign") != d.has("abs") {
		d.unmodelled()
	}
	if len(d.in.Args) > 3 && (d.in.Op == "min" || d.in.Op == "max") {
		d.unmodelled()
	}
	if t == ptx.F32 {
		return d.floatOp32()
	}
	return d.halfOp(t)
}

func (d *decoder) floatOp32() fn32 {
	m, model := d.mode(), d.p.model
	plain := m == fp.Mode{}
	switch d.in.Op {
	case "add":
		if plain {
			return addF32
		}
		return lift2(func(a, b uint32) uint32 { return fp.Add32M(a, b, m) })
	case "sub":
		if plain {
			return subF32
		}
		return lift2(func(a, b uint32) uint32 { return fp.Sub32M(a, b, m) })
	case "mul":
		if plain {
			return mulF32
		}
		return lift2(func(a, b uint32) uint32 { return fp.Mul32M(a, b, m) })
	case "fma", "mad":
		if plain {
			return fmaF32
		}
		return lift3(func(a, b, c uint32) uint32 { return fp.Fma32M(a, b, c, m) })
	case "max":
		if plain {
			return maxF32
		}
		return lift2(func(a, b uint32) uint32 { return fp.Max32M(a, b, m) })
	case "min":
		if plain {
			return minF32
		}
		return lift2(func(a, b uint32) uint32 { return fp.Min32M(a, b, m) })
	case "abs":
		return lift1(func(a uint32) uint32 { return fp.Abs32(flush(a, m)) })
	case "neg":
		return lift1(func(a uint32) uint32 { return fp.Neg32(flush(a, m)) })
	case "div":
		switch {
		case d.has("approx"):
			return lift2(func(a, b uint32) uint32 { return model.DivApprox32(a, b, m.Ftz) })
		case d.has("full"):
			if f := d.foldDivision(m); f != nil {
				return f
			}
			return lift2(func(a, b uint32) uint32 { return model.DivFull32(a, b, m.Ftz) })
		}
		return lift2(func(a, b uint32) uint32 { return fp.Div32(a, b, m) })
	}
	d.unmodelled()
	return nil
}

func flush(a uint32, m fp.Mode) uint32 {
	if m.Ftz {
		return fp.Flush32(a)
	}
	return a
}

// halfOp is an instruction on f16, bf16 or pairs of them.
func (d *decoder) halfOp(t ptx.Type) fn32 {
	m := d.mode()
	bf := t == ptx.BF16 || t == ptx.BF16x2
	pair := t == ptx.F16x2 || t == ptx.BF16x2
	two := func(f16, bf16 func(a, b uint16, m fp.Mode) uint16) fn32 {
		f := f16
		if bf {
			f = bf16
		}
		return halves2(f, m, pair)
	}
	one := func(f16, bf16 func(a uint16) uint16) fn32 {
		f := f16
		if bf {
			f = bf16
		}
		if m.Ftz && !bf {
			g := f
			f = func(a uint16) uint16 { return g(fp.Flush16(a)) }
		}
		return halves1(f, pair)
	}
	plain := m == fp.Mode{}
	switch d.in.Op {
	case "add":
		if plain && !bf {
			return two(func(a, b uint16, _ fp.Mode) uint16 { return fp.Add16(a, b) }, nil)
		}
		return two(fp.Add16M, fp.AddBF16M)
	case "sub":
		if plain && !bf {
			return two(func(a, b uint16, _ fp.Mode) uint16 { return fp.Sub16(a, b) }, nil)
		}
		return two(fp.Sub16M, fp.SubBF16M)
	case "mul":
		if plain && !bf {
			return two(func(a, b uint16, _ fp.Mode) uint16 { return fp.Mul16(a, b) }, nil)
		}
		return two(fp.Mul16M, fp.MulBF16M)
	case "max":
		return two(fp.Max16, fp.MaxBF16)
	case "min":
		return two(fp.Min16, fp.MinBF16)
	case "abs":
		return one(fp.Abs16, fp.AbsBF16)
	case "neg":
		return one(fp.Neg16, fp.NegBF16)
	case "fma":
		return d.halfFma(m, bf, pair)
	}
	d.unmodelled()
	return nil
}

// halves1 and halves2 apply a function of halves to the low half of a register, or, of a pair, to both.
func halves1(f func(a uint16) uint16, pair bool) fn32 {
	if pair {
		return lift1(func(a uint32) uint32 { return uint32(f(uint16(a>>16)))<<16 | uint32(f(uint16(a))) })
	}
	return lift1(func(a uint32) uint32 { return uint32(f(uint16(a))) })
}

func halves2(f func(a, b uint16, m fp.Mode) uint16, m fp.Mode, pair bool) fn32 {
	if pair {
		return lift2(func(a, b uint32) uint32 {
			return uint32(f(uint16(a>>16), uint16(b>>16), m))<<16 | uint32(f(uint16(a), uint16(b), m))
		})
	}
	return lift2(func(a, b uint32) uint32 { return uint32(f(uint16(a), uint16(b), m)) })
}

func (d *decoder) halfFma(m fp.Mode, bf, pair bool) fn32 {
	f := fp.Fma16M
	if bf {
		f = fp.FmaBF16M
	}
	if pair {
		return lift3(func(a, b, c uint32) uint32 {
			return uint32(f(uint16(a>>16), uint16(b>>16), uint16(c>>16), m))<<16 |
				uint32(f(uint16(a), uint16(b), uint16(c), m))
		})
	}
	return lift3(func(a, b, c uint32) uint32 { return uint32(f(uint16(a), uint16(b), uint16(c), m)) })
}

// floatOp64 is an arithmetic instruction on f64.
func (d *decoder) floatOp64() fn64 {
	m := d.mode()
	switch d.in.Op {
	case "add":
		return lift64x2(func(a, b uint64) uint64 { return fp.Add64(a, b, m.Rnd) })
	case "sub":
		return lift64x2(func(a, b uint64) uint64 { return fp.Sub64(a, b, m.Rnd) })
	case "mul":
		return lift64x2(func(a, b uint64) uint64 { return fp.Mul64(a, b, m.Rnd) })
	case "fma", "mad":
		return lift64x3(func(a, b, c uint64) uint64 { return fp.Fma64(a, b, c, m.Rnd) })
	case "div":
		return lift64x2(func(a, b uint64) uint64 { return fp.Div64(a, b, m.Rnd) })
	case "min":
		return lift64x2(fp.Min64)
	case "max":
		return lift64x2(fp.Max64)
	case "abs":
		return lift64x1(fp.Abs64)
	case "neg":
		return lift64x1(fp.Neg64)
	}
	d.unmodelled()
	return nil
}

// special1 decodes the functions of one operand: rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh; and copysign.
func (d *decoder) special1() {
	t := d.typ()
	switch {
	case d.in.Op == "copysign":
		d.copysign(t)
	case t == ptx.F64:
		d.special64()
	case t == ptx.F32:
		d.op32(d.unary32(), 32)
	default:
		d.halfUnary(t)
	}
}

func (d *decoder) unary32() fn32 {
	m, model, ftz := d.mode(), d.p.model, d.has("ftz")
	approx := d.has("approx")
	switch d.in.Op {
	case "ex2":
		return lift1(func(a uint32) uint32 { return model.Ex232(a, ftz) })
	case "rcp":
		if !approx {
			return lift1(func(a uint32) uint32 { return fp.Rcp32(a, m) })
		}
		if f := d.foldReciprocal(); f != nil {
			return f
		}
		return lift1(func(a uint32) uint32 { return model.Rcp32(a, ftz) })
	case "sqrt":
		if !approx {
			return lift1(func(a uint32) uint32 { return fp.Sqrt32(a, m) })
		}
		return lift1(func(a uint32) uint32 { return model.Sqrt32(a, ftz) })
	case "rsqrt":
		return lift1(func(a uint32) uint32 { return model.Rsqrt32(a, ftz) })
	case "lg2":
		return lift1(func(a uint32) uint32 { return model.Lg232(a, ftz) })
	case "sin":
		return lift1(model.Sin32)
	case "cos":
		return lift1(model.Cos32)
	case "tanh":
		return lift1(model.Tanh32)
	}
	d.unmodelled()
	return nil
}

func (d *decoder) halfUnary(t ptx.Type) {
	model := d.p.model
	bf := t == ptx.BF16 || t == ptx.BF16x2
	var f func(uint16) uint16
	switch {
	case d.in.Op == "ex2" && bf:
		f = model.Ex2BF16
	case d.in.Op == "ex2":
		f = model.Ex216
	case d.in.Op == "tanh" && bf:
		f = model.TanhBF16
	case d.in.Op == "tanh":
		f = model.Tanh16
	default:
		d.unmodelled()
	}
	d.op32(halves1(f, t.Bits() == 32), t.Bits())
}

// special64 decodes rcp, sqrt and rsqrt of f64.
func (d *decoder) special64() {
	m := d.mode()
	switch {
	case d.in.Op == "rsqrt" && !d.has("ftz"):
		d.op64(lift64x1(fp.Rsqrt64))
	case d.in.Op == "rsqrt":
		d.op64(lift64x1(fp.RsqrtHigh64))
	case d.in.Op == "rcp" && d.has("approx"):
		d.op64(lift64x1(fp.RcpHigh64))
	case d.has("approx"):
		d.unmodelled()
	case d.in.Op == "rcp":
		d.op64(lift64x1(func(a uint64) uint64 { return fp.Div64(math.Float64bits(1), a, m.Rnd) }))
	case d.in.Op == "sqrt":
		d.op64(lift64x1(func(a uint64) uint64 { return fp.Sqrt64(a, m.Rnd) }))
	default:
		d.unmodelled()
	}
}

// copysign gives b the sign of a.
func (d *decoder) copysign(t ptx.Type) {
	if t == ptx.F64 {
		const sign = 1 << 63
		d.op64(lift64x2(func(a, b uint64) uint64 { return a&sign | b&^sign }))
		return
	}
	const sign = 1 << 31
	d.op32(lift2(func(a, b uint32) uint32 { return a&sign | b&^sign }), 32)
}
