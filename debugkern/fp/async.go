package fp

import "math"

// AsyncMMA names the formats of a wgmma.mma_async of floating-point operands: A and B are F16, BF16, TF32, or
// each E4M3 or E5M2; D is F32, or F16 with operands F16, E4M3 and E5M2. The accumulator that is added has the
// format of D.
type AsyncMMA struct{ A, B, D Format }

// K returns the products that one wgmma adds to an accumulator: 32 bytes of a row of A.
func (t AsyncMMA) K() int {
	switch t.A {
	case F16, BF16:
		return 16
	case TF32:
		return 8
	}
	return 32
}

// wide reports whether the operands have 16 bits or more.
func (t AsyncMMA) wide() bool { return t.A == F16 || t.A == BF16 || t.A == TF32 }

// asyncAccumulator describes how the tensor core adds the products of a wgmma.
func (m *Model) asyncAccumulator(t AsyncMMA) accumulator {
	if t.wide() {
		return m.mma
	}
	return m.mma8
}

// DotAsync returns a[0]*b[0] + a[1]*b[1] + ... + c as wgmma.mma_async computes one element of D: all
// products of the instruction and c are one block of the tensor core, as Dot has it. An operand sits in the
// low bits of its word, one of TF32 in the high ones. FP8 products are not widened as mma.sync has them: they
// are added by an accumulator of their own width.
func (m *Model) DotAsync(t AsyncMMA, a, b []uint32, c uint32) uint32 {
	if r, ok := settleAsync(t, a, b, c); ok {
		return r
	}
	acc := m.asyncAccumulator(t)
	mc, ec, nc := termC(t.D, c)
	emax := acc.floor
	if mc != 0 {
		emax = max(emax, ec)
	}
	var terms [32]struct {
		m   uint64
		e   int
		neg bool
	}
	for i := range a {
		ma, ea, na := operandAsync(t.A, a[i])
		mb, eb, nb := operandAsync(t.B, b[i])
		x := &terms[i&31]
		x.m, x.e, x.neg = ma*mb, ea+eb, na != nb
		if x.m != 0 {
			emax = max(emax, x.e)
		}
	}
	sum := signed(align(mc, acc.frac-23+ec-emax), nc)
	for i := range a {
		x := &terms[i&31]
		sum += signed(align(x.m, acc.frac-20+x.e-emax), x.neg)
	}
	return acc.round(sum, emax-acc.frac, t.D)
}

// round converts a sum of cut terms: to f32 with the fraction bits that the accumulator keeps.
func (acc accumulator) round(sum int64, e int, form Format) uint32 {
	r := roundSum(sum, e, form)
	if form == F32 && acc.keep < 23 && r&inf32 != inf32 {
		r &^= 1<<(23-acc.keep) - 1
		if r&^sign32 == 0 {
			r = 0
		}
	}
	return r
}

// operandAsync splits an operand as operand does, with 10 fraction bits for each format.
func operandAsync(f Format, x uint32) (m uint64, e int, neg bool) {
	switch f {
	case TF32:
		m, e = operandTF32(x)
		return m, e, x >= sign32
	case E4M3, E5M2:
		l := &layouts[f]
		field := int(x&0x7f) >> l.frac
		m = uint64(x & (1<<l.frac - 1))
		if field != 0 {
			m |= 1 << l.frac
		}
		return m << (10 - l.frac), max(field, 1) - l.bias, x&0x80 != 0
	}
	return operand(f, uint16(x))
}

// valueAsync is the value of an operand of a wgmma.
func valueAsync(f Format, x uint32) float64 {
	switch f {
	case TF32:
		return float64(Float32(x &^ tf32Low))
	case E4M3:
		return F16ToFloat64(E4M3ToF16(uint8(x)))
	case E5M2:
		return F16ToFloat64(E5M2ToF16(uint8(x)))
	}
	return wide(f, uint16(x))
}

// settleAsync returns the result that a NaN or infinity settles, as dotSpecial does.
func settleAsync(t AsyncMMA, a, b []uint32, c uint32) (uint32, bool) {
	s := 0.0 // float arithmetic has the same rule; finite terms add 0
	add := func(v float64) {
		if v != v || math.IsInf(v, 0) {
			s += v
		}
	}
	add(accumulated(t.D, c))
	for i := range a {
		add(float64(valueAsync(t.A, a[i]) * valueAsync(t.B, b[i])))
	}
	return settled(t.D, s)
}
