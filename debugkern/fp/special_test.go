package fp

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// hardware reads the results that an H200 gave on special operands: unary
// instructions on the inputs of the first line, then the others on triples.
func hardware(t *testing.T) (inputs []uint32, unary, triple map[string][]uint32) {
	t.Helper()
	text, err := os.ReadFile("testdata/special_values.txt")
	if err != nil {
		t.Fatal(err)
	}
	unary, triple = map[string][]uint32{}, map[string][]uint32{}
	into := unary
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			into = triple
			continue
		}
		fields := strings.Fields(line)
		var v []uint32
		for _, f := range fields[1:] {
			x, err := strconv.ParseUint(f, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			v = append(v, uint32(x))
		}
		if fields[0] == "op" {
			inputs = v
			continue
		}
		into[fields[0]] = v
	}
	return inputs, unary, triple
}

// s32 and u32 convert to 32-bit integers.
func toS32(rnd Round, ftz bool) func(uint32) uint32 {
	return func(a uint32) uint32 { return uint32(F32ToInt(a, Int{32, true}, Mode{Rnd: rnd, Ftz: ftz})) }
}

func toU32(rnd Round) func(uint32) uint32 {
	return func(a uint32) uint32 { return uint32(F32ToInt(a, Int{32, false}, Mode{Rnd: rnd})) }
}

func fromInt32(signed bool, rnd Round) func(uint32) uint32 {
	return func(a uint32) uint32 { return IntToF32(uint64(a), Int{32, signed}, Mode{Rnd: rnd}) }
}

func rounded(m Mode) func(uint32) uint32 {
	return func(a uint32) uint32 { return RoundInt32(a, m) }
}

func with(op func(uint32, Mode) uint32, m Mode) func(uint32) uint32 {
	return func(a uint32) uint32 { return op(a, m) }
}

func approx(op func(uint32, bool) uint32, ftz bool) func(uint32) uint32 {
	return func(a uint32) uint32 { return op(a, ftz) }
}

func packed(op func(uint16) uint16) func(uint32) uint32 {
	return func(a uint32) uint32 { return Each1x2(op, a) }
}

func toHalf(op func(uint32, Mode) uint16, m Mode) func(uint32) uint32 {
	return func(a uint32) uint32 { return uint32(op(a, m)) }
}

// pairOne is a pair conversion of the input and 1.0.
func pairOne(op func(a, b uint32, m Mode) uint32, m Mode) func(uint32) uint32 {
	return func(a uint32) uint32 { return op(a, one32, m) }
}

// unaryOps maps the hardware file's names to this package.
func unaryOps() map[string]func(uint32) uint32 {
	m := SM90()
	return map[string]func(uint32) uint32{
		"ex2.approx.ftz.f32":   approx(m.Ex232, true),
		"ex2.approx.f32":       approx(m.Ex232, false),
		"rcp.approx.ftz.f32":   approx(m.Rcp32, true),
		"rcp.approx.f32":       approx(m.Rcp32, false),
		"rsqrt.approx.ftz.f32": approx(m.Rsqrt32, true),
		"rsqrt.approx.f32":     approx(m.Rsqrt32, false),
		"sqrt.approx.ftz.f32":  approx(m.Sqrt32, true),
		"sqrt.approx.f32":      approx(m.Sqrt32, false),
		"lg2.approx.ftz.f32":   approx(m.Lg232, true),
		"lg2.approx.f32":       approx(m.Lg232, false),
		"sin.approx.ftz.f32":   m.Sin32,
		"sin.approx.f32":       m.Sin32,
		"cos.approx.ftz.f32":   m.Cos32,
		"cos.approx.f32":       m.Cos32,
		"tanh.approx.f32":      m.Tanh32,
		"sqrt.rn.f32":          with(Sqrt32, Mode{}),
		"sqrt.rn.ftz.f32":      with(Sqrt32, ftzMode),
		"rcp.rn.f32":           with(Rcp32, Mode{}),
		"rcp.rn.ftz.f32":       with(Rcp32, ftzMode),
		"cvt.rni.f32.f32":      rounded(Mode{Rnd: RN}),
		"cvt.rmi.f32.f32":      rounded(Mode{Rnd: RM}),
		"cvt.rpi.f32.f32":      rounded(Mode{Rnd: RP}),
		"cvt.rzi.f32.f32":      rounded(Mode{Rnd: RZ}),
		"cvt.rni.ftz.f32.f32":  rounded(ftzMode),
		"cvt.rna.tf32.f32":     with(F32ToTF32, Mode{Rnd: RNA}),
		"cvt.rni.s32.f32":      toS32(RN, false),
		"cvt.rzi.s32.f32":      toS32(RZ, false),
		"cvt.rmi.s32.f32":      toS32(RM, false),
		"cvt.rpi.s32.f32":      toS32(RP, false),
		"cvt.rzi.ftz.s32.f32":  toS32(RZ, true),
		"cvt.rzi.u32.f32":      toU32(RZ),
		"cvt.rni.u32.f32":      toU32(RN),
		"cvt.rn.f32.s32":       fromInt32(true, RN),
		"cvt.rn.f32.u32":       fromInt32(false, RN),
		"cvt.rz.f32.s32":       fromInt32(true, RZ),
		"cvt.sat.f32.f32":      with(Cvt32, Mode{Sat: true}),
		"cvt.ftz.f32.f32":      with(Cvt32, ftzMode),
		"abs.f32":              Abs32,
		"neg.f32":              Neg32,
		"abs.ftz.f32":          func(a uint32) uint32 { return Abs32(Flush32(a)) },
		"neg.ftz.f32":          func(a uint32) uint32 { return Neg32(Flush32(a)) },
		"cvt.rn.f16.f32":       toHalf(F32ToF16M, Mode{}),
		"cvt.rz.f16.f32":       toHalf(F32ToF16M, Mode{Rnd: RZ}),
		"cvt.rn.ftz.f16.f32":   toHalf(F32ToF16M, ftzMode),
		"cvt.rn.bf16.f32":      toHalf(F32ToBF16M, Mode{}),
		"cvt.rz.bf16.f32":      toHalf(F32ToBF16M, Mode{Rnd: RZ}),
		"cvt.rn.satfinite.e4m3x2.f32": func(a uint32) uint32 {
			return uint32(F32ToE4M3x2(a, one32, false))
		},
		"cvt.rn.satfinite.e5m2x2.f32": func(a uint32) uint32 {
			return uint32(F32ToE5M2x2(a, one32, false))
		},
		"cvt.rn.f16x2.f32":       pairOne(F32ToF16x2, Mode{}),
		"cvt.rn.bf16x2.f32":      pairOne(F32ToBF16x2, Mode{}),
		"cvt.rn.relu.f16x2.f32":  pairOne(F32ToF16x2, Mode{Relu: true}),
		"cvt.rn.relu.bf16x2.f32": pairOne(F32ToBF16x2, Mode{Relu: true}),
		"ex2.approx.f16x2":       packed(m.Ex216),
		"ex2.approx.ftz.bf16x2":  packed(m.Ex2BF16),
		"tanh.approx.f16x2":      packed(m.Tanh16),
		"tanh.approx.bf16x2":     packed(m.TanhBF16),
		"abs.f16x2":              packed(Abs16),
		"neg.f16x2":              packed(Neg16),
		"abs.bf16x2":             packed(AbsBF16),
		"neg.bf16x2":             packed(NegBF16),
		"cvt.f32.f16":            func(a uint32) uint32 { return F16ToF32(uint16(a)) },
		"cvt.f32.bf16":           func(a uint32) uint32 { return BF16ToF32(uint16(a)) },
		"cvt.rn.f16x2.e4m3x2":    func(a uint32) uint32 { return E4M3x2ToF16x2(uint16(a), false) },
		"cvt.rn.f16x2.e5m2x2":    func(a uint32) uint32 { return E5M2x2ToF16x2(uint16(a), false) },
		"cvt.rn.satfinite.e4m3x2.f16x2": func(a uint32) uint32 {
			return uint32(F16x2ToE4M3x2(a, false))
		},
		"cvt.rn.satfinite.e5m2x2.f16x2": func(a uint32) uint32 {
			return uint32(F16x2ToE5M2x2(a, false))
		},
		"cvt.rzi.s32.f16": func(a uint32) uint32 {
			return uint32(F16ToInt(uint16(a), Int{32, true}, Mode{Rnd: RZ}))
		},
		"cvt.rni.f16.f16": func(a uint32) uint32 { return uint32(RoundInt16(uint16(a), Mode{})) },
		"cvt.rn.f16.s32": func(a uint32) uint32 {
			return uint32(IntToF16(uint64(a), Int{32, true}, Mode{}))
		},
	}
}

func TestUnarySpecialValues(t *testing.T) {
	inputs, rows, _ := hardware(t)
	ops := unaryOps()
	if len(inputs) != 34 || len(rows) != len(ops) {
		t.Fatalf("%d inputs, %d instructions in the file, %d here", len(inputs), len(rows), len(ops))
	}
	for name, want := range rows {
		op := ops[name]
		if op == nil {
			t.Errorf("%s: not modelled", name)
			continue
		}
		for i, x := range inputs {
			if got := op(x); got != want[i] {
				t.Errorf("%s(%08x) = %08x, hardware %08x", name, x, got, want[i])
			}
		}
	}
}

// triples rebuilds the operands of the file's second part: every pair of ten
// values with c = 1, then 1*1 with eight values of c, then pairs of (0, inf)
// and of two NaNs with each NaN as c.
func triples() (out [][3]uint32) {
	v := [10]uint32{
		0, sign32, inf32, sign32 | inf32, 0x7fc00000, 0xffc54321, 0x7f812345, 0xff854321, one32, 0x80000001,
	}
	for _, a := range v {
		for _, b := range v {
			out = append(out, [3]uint32{a, b, one32})
		}
	}
	for _, c := range v[:8] {
		out = append(out, [3]uint32{one32, one32, c})
	}
	for _, c := range v[4:8] {
		out = append(out, [3]uint32{0, inf32, c}, [3]uint32{v[5], v[4], c})
	}
	return out
}

func two(op func(a, b uint32, m Mode) uint32, m Mode) func(v [3]uint32) uint32 {
	return func(v [3]uint32) uint32 { return op(v[0], v[1], m) }
}

func three(op func(a, b, c uint32, m Mode) uint32, m Mode) func(v [3]uint32) uint32 {
	return func(v [3]uint32) uint32 { return op(v[0], v[1], v[2], m) }
}

func quotient(op func(a, b uint32, ftz bool) uint32, ftz bool) func(v [3]uint32) uint32 {
	return func(v [3]uint32) uint32 { return op(v[0], v[1], ftz) }
}

func two16(op func(a, b uint16, m Mode) uint16, m Mode) func(v [3]uint32) uint32 {
	return func(v [3]uint32) uint32 { return Each2x2(op, v[0], v[1], m) }
}

func three16(op func(a, b, c uint16, m Mode) uint16, m Mode) func(v [3]uint32) uint32 {
	return func(v [3]uint32) uint32 { return Each3x2(op, v[0], v[1], v[2], m) }
}

func setp(op CmpOp, ftz bool) func(v [3]uint32) uint32 {
	return func(v [3]uint32) uint32 {
		a, b := v[0], v[1]
		if ftz {
			a, b = Flush32(a), Flush32(b)
		}
		if Cmp32(op, a, b) {
			return 1
		}
		return 0
	}
}

func tripleOps() map[string]func([3]uint32) uint32 {
	m := SM90()
	rn, rz, sat, nan, relu := Mode{}, Mode{Rnd: RZ}, Mode{Sat: true}, Mode{NaN: true}, Mode{Relu: true}
	return map[string]func([3]uint32) uint32{
		"add.rn.f32": two(Add32M, rn), "add.rn.ftz.f32": two(Add32M, ftzMode), "add.rz.f32": two(Add32M, rz),
		"sub.rn.f32": two(Sub32M, rn), "mul.rn.f32": two(Mul32M, rn), "mul.rn.ftz.f32": two(Mul32M, ftzMode),
		"mul.rz.ftz.f32": two(Mul32M, Mode{Rnd: RZ, Ftz: true}),
		"fma.rn.f32":     three(Fma32M, rn), "fma.rn.ftz.f32": three(Fma32M, ftzMode),
		"div.rn.f32": two(Div32, rn), "div.rn.ftz.f32": two(Div32, ftzMode),
		"div.full.f32": quotient(m.DivFull32, false), "div.full.ftz.f32": quotient(m.DivFull32, true),
		"div.approx.f32": quotient(m.DivApprox32, false), "div.approx.ftz.f32": quotient(m.DivApprox32, true),
		"min.f32": two(Min32M, rn), "max.f32": two(Max32M, rn),
		"min.ftz.f32": two(Min32M, ftzMode), "max.ftz.f32": two(Max32M, ftzMode),
		"min.NaN.f32": two(Min32M, nan), "max.NaN.f32": two(Max32M, nan),
		"fma.rn.sat.f32": three(Fma32M, sat), "add.sat.f32": two(Add32M, sat),
		"mul.sat.f32":  two(Mul32M, sat),
		"add.rn.f16x2": two16(Add16M, rn), "add.rn.ftz.f16x2": two16(Add16M, ftzMode),
		"add.f16x2":    two16(Add16M, rn),
		"sub.rn.f16x2": two16(Sub16M, rn), "mul.rn.f16x2": two16(Mul16M, rn),
		"mul.rn.ftz.f16x2": two16(Mul16M, ftzMode), "mul.f16x2": two16(Mul16M, rn),
		"fma.rn.f16x2": three16(Fma16M, rn), "fma.rn.ftz.f16x2": three16(Fma16M, ftzMode),
		"fma.rn.relu.f16x2": three16(Fma16M, relu), "fma.rn.sat.f16x2": three16(Fma16M, sat),
		"min.f16x2": two16(Min16, rn), "max.f16x2": two16(Max16, rn), "min.ftz.f16x2": two16(Min16, ftzMode),
		"min.NaN.f16x2": two16(Min16, nan), "max.NaN.f16x2": two16(Max16, nan),
		"add.rn.bf16x2": two16(AddBF16M, rn), "sub.rn.bf16x2": two16(SubBF16M, rn),
		"mul.rn.bf16x2": two16(MulBF16M, rn),
		"fma.rn.bf16x2": three16(FmaBF16M, rn), "fma.rn.relu.bf16x2": three16(FmaBF16M, relu),
		"min.bf16x2": two16(MinBF16, rn), "max.bf16x2": two16(MaxBF16, rn),
		"max.NaN.bf16x2": two16(MaxBF16, nan),
		"cvt.rn.satfinite.e4m3x2.f32": func(v [3]uint32) uint32 {
			return uint32(F32ToE4M3x2(v[0], v[1], false))
		},
		"cvt.rn.f16x2.f32": two(F32ToF16x2, rn), "cvt.rn.bf16x2.f32": two(F32ToBF16x2, rn),
		"cvt.rz.bf16x2.f32": two(F32ToBF16x2, rz),
		"setp.lt.f32":       setp(Lt, false), "setp.ltu.f32": setp(Ltu, false),
		"setp.eq.f32": setp(Eq, false), "setp.equ.f32": setp(Equ, false),
		"setp.ne.f32": setp(Ne, false), "setp.neu.f32": setp(Neu, false),
		"setp.ge.ftz.f32": setp(Ge, true), "setp.num.f32": setp(Num, false), "setp.nan.f32": setp(Nan, false),
	}
}

func TestTripleSpecialValues(t *testing.T) {
	_, _, rows := hardware(t)
	ops, in := tripleOps(), triples()
	if len(rows) != len(ops) {
		t.Fatalf("%d instructions in the file, %d here", len(rows), len(ops))
	}
	for name, want := range rows {
		op := ops[name]
		if op == nil || len(want) != len(in) {
			t.Errorf("%s: not modelled, or %d results for %d operand sets", name, len(want), len(in))
			continue
		}
		for i, v := range in {
			if got := op(v); got != want[i] {
				t.Errorf("%s%08x = %08x, hardware %08x", name, v, got, want[i])
			}
		}
	}
}
