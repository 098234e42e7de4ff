package isa

import "math"

// arithmeticRows are instructions that compute numbers of numbers (ISA 9.7.1 to 9.7.4).
var arithmeticRows = []row{
	{ops: "add", args: "dt st* st*", mods: "@int @flt @rnd ftz sat cc", need: "@int @flt", kind: Arith,
		real: func(a, b, _ float64) float64 { return a + b }, infix: "+"},
	{ops: "sub", args: "dt st* st*", mods: "@int @flt @rnd ftz sat cc", need: "@int @flt", kind: Arith,
		real: func(a, b, _ float64) float64 { return a - b }, infix: "-"},
	{ops: "addc subc", args: "dt st st", mods: "@int cc", need: "@int", kind: Arith},
	{ops: "mul", args: "dw st st", mods: "@int @flt @rnd ftz sat lo hi wide", need: "@int @flt",
		also: "int: lo hi wide",
		kind: Arith, real: func(a, b, _ float64) float64 { return a * b }, infix: "·"},
	{ops: "mul24", args: "dt st st", mods: "u32 s32 lo hi", need: "u32 s32", kind: Arith},
	{ops: "mad", args: "dw st st sw*", mods: "@int @flt @rnd ftz sat lo hi wide cc", need: "@int @flt",
		also: "int: lo hi wide", kind: Arith, real: math.FMA, infix: "· +"},
	{ops: "madc", args: "dt st st st", mods: "@int lo hi cc", need: "@int", kind: Arith},
	{ops: "mad24", args: "dt st st st*", mods: "u32 s32 lo hi sat", need: "u32 s32", kind: Arith},
	{ops: "fma", args: "dt st st st", mods: "@flt @rnd ftz sat relu oob", need: "@rnd oob", kind: Arith,
		real: math.FMA, infix: "· +"},
	{ops: "div", args: "dt st st", mods: "@int @flt @rnd ftz approx full", need: "@int @flt",
		also: "f32: approx full @rnd",
		kind: Arith, real: func(a, b, _ float64) float64 { return a / b }, infix: "/"},
	{ops: "rem", args: "dt st st", mods: "@int", need: "@int", kind: Arith},
	{ops: "abs", args: "dt st", mods: "@int @flt ftz", need: "@int @flt", kind: Arith, real: unary(math.Abs)},
	{ops: "neg", args: "dt st*", mods: "@int @flt ftz", need: "@int @flt", kind: Arith,
		real: unary(func(a float64) float64 { return -a })},
	{ops: "min", args: "dt st* st* st*?", mods: "@int @flt ftz NaN xorsign abs relu", need: "@int @flt",
		kind: Arith, real: func(a, b, _ float64) float64 { return pick(a, b, a < b) }},
	{ops: "max", args: "dt st* st* st*?", mods: "@int @flt ftz NaN xorsign abs relu", need: "@int @flt",
		kind: Arith, real: func(a, b, _ float64) float64 { return pick(a, b, a > b) }},
	{ops: "sad", args: "dt st st st", mods: "@int", need: "@int", kind: Arith},
	{ops: "copysign", args: "dt st st", mods: "f32 f64", need: "f32 f64", kind: Special,
		real: func(a, b, _ float64) float64 { return math.Copysign(b, a) }},
	{ops: "rcp", args: "dt st", mods: "f32 f64 approx ftz @rnd", need: "f32 f64", also: "approx @rnd",
		kind: Special, real: unary(func(a float64) float64 { return 1 / a })},
	{ops: "sqrt", args: "dt st", mods: "f32 f64 approx ftz @rnd", need: "f32 f64", also: "approx @rnd",
		kind: Special, real: unary(math.Sqrt)},
	{ops: "rsqrt", args: "dt st", mods: "f32 f64 approx ftz", need: "f32 f64", kind: Special,
		real: unary(func(a float64) float64 { return 1 / math.Sqrt(a) })},
	{ops: "sin", args: "dt st", mods: "f32 approx ftz", need: "f32", kind: Special, real: unary(math.Sin)},
	{ops: "cos", args: "dt st", mods: "f32 approx ftz", need: "f32", kind: Special, real: unary(math.Cos)},
	{ops: "lg2", args: "dt st", mods: "f32 approx ftz", need: "f32", kind: Special, real: unary(math.Log2)},
	{ops: "ex2", args: "dt st", mods: "f32 f16 f16x2 bf16 bf16x2 approx ftz",
		need: "f32 f16 f16x2 bf16 bf16x2", kind: Special, real: unary(math.Exp2)},
	{ops: "tanh", args: "dt st", mods: "f32 f16 f16x2 bf16 bf16x2 approx ftz",
		need: "f32 f16 f16x2 bf16 bf16x2", kind: Special, real: unary(math.Tanh)},
}

func unary(f func(float64) float64) func(a, b, c float64) float64 {
	return func(a, _, _ float64) float64 { return f(a) }
}

// pick is a maximum or minimum, which drops a NaN.
func pick(a, b float64, first bool) float64 {
	if first || math.IsNaN(b) {
		return a
	}
	return b
}

// bitRows are instructions on bits (ISA 9.7.1 and 9.7.8).
var bitRows = []row{
	{ops: "and or xor", args: "dt st* st*", mods: "b16 b32 b64 pred", need: "b16 b32 b64 pred", kind: Logic,
		bytewise: true},
	{ops: "not", args: "dt st*", mods: "b16 b32 b64 pred", need: "b16 b32 b64 pred", kind: Logic,
		bytewise: true},
	{ops: "cnot", args: "dt st", mods: "b16 b32 b64", need: "b16 b32 b64", kind: Logic},
	{ops: "shl", args: "dt st su", mods: "b16 b32 b64", need: "b16 b32 b64", kind: Logic},
	{ops: "shr", args: "dt st su", mods: "@int @bit", need: "@int @bit", kind: Logic},
	{ops: "lop3", args: "P- x-* x-* x-* x- x-?", mods: "b32 and or", need: "b32", kind: Bits},
	{ops: "shf", args: "dt st st su", mods: "l r clamp wrap b32", need: "l r", kind: Bits},
	{ops: "prmt", args: "dt st* st* st*", mods: "b32 f4e b4e rc8 ecl ecr rc16", need: "b32", kind: Bits},
	{ops: "bfe", args: "dt st su su", mods: "u32 u64 s32 s64", need: "u32 u64 s32 s64", kind: Bits},
	{ops: "bfi", args: "dt st* st* su* su", mods: "b32 b64", need: "b32 b64", kind: Bits},
	{ops: "bfind", args: "du st", mods: "u32 u64 s32 s64 shiftamt", need: "u32 u64 s32 s64", kind: Bits},
	{ops: "fns", args: "du st su su", mods: "b32", need: "b32", kind: Bits},
	{ops: "bmsk", args: "du su su", mods: "clamp wrap b32", need: "clamp wrap", kind: Bits},
	{ops: "szext", args: "dt st su", mods: "clamp wrap u32 s32", need: "clamp wrap", kind: Bits},
	{ops: "popc clz", args: "du st", mods: "b32 b64", need: "b32 b64", kind: Bits},
	{ops: "brev", args: "dt st", mods: "b32 b64", need: "b32 b64", kind: Bits},
	{
		ops:  "vadd2 vadd4 vsub2 vsub4 vavrg2 vavrg4 vabsdiff2 vabsdiff4 vmin2 vmin4 vmax2 vmax4",
		args: "du su su su",
		mods: "u32 s32 sat add", need: "u32 s32", kind: Bits,
	},
	{ops: "dp4a dp2a", args: "d- s- s- s-", mods: "u32 s32 lo hi", need: "u32 s32", kind: Bits},
}

// selectRows compare, choose, copy and convert values (ISA 9.7.6, 9.7.9).
var selectRows = []row{
	{ops: "setp", args: "Q- st st p-?", mods: "@int @bit @flt @cmp @bool ftz", need: "@cmp", kind: Compare},
	{ops: "set", args: "d1 s2 s2 p-?", mods: "@int @bit @flt @cmp @bool ftz", need: "@cmp", kind: Compare},
	{ops: "testp", args: "Q- st", mods: "f32 f64 finite infinite number notanumber normal subnormal",
		need: "f32 f64", kind: TestFloat},
	{ops: "selp", args: "dt st* st* p-*", mods: "@int @bit @flt", need: "@int @bit @flt", kind: Select,
		bytewise: true},
	{ops: "slct", args: "d1 s1* s1* s2*", mods: "@int @bit @flt ftz", need: "@int @bit @flt",
		kind: SelectBySign},
	{ops: "mov", args: "Dt St*", mods: "u16 u32 u64 s16 s32 s64 b16 b32 b64 b128 f16 f16x2 bf16 f32 f64 pred",
		need: "u16 u32 u64 s16 s32 s64 b16 b32 b64 b128 f16 f16x2 bf16 f32 f64 pred", kind: Move,
		bytewise: true},
	{ops: "cvt", args: "D3 S4* S-? s-?",
		mods: "@int @bit @flt @sub @rnd @rndi rna rs ftz sat satfinite relu scaled::n2::ue8m0 pack",
		need: "@int @flt @sub", kind: Convert, real: unary(func(a float64) float64 { return a })},
	{ops: "cvta", args: "d- s-*",
		mods: "to global shared local const param u32 u64 shared::cta shared::cluster param::entry",
		need: "u32 u64", kind: ConvertAddress, bytewise: true},
	{ops: "isspacep", args: "Q- s-", mods: "@space", need: "@space", kind: TestSpace},
}

// otherRows are instructions that are known by their form only.
var otherRows = []row{
	{ops: "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset", args: "X- x- x- x-? x-?", mods: "@any"},
	{ops: "mapa", args: "d- s-* s-", mods: "@space u32 u64", need: "u32 u64", kind: ClusterAddress},
	{ops: "createpolicy", args: "d- x-? x-? x-? x-?", mods: "@any", kind: Hint},
	{ops: "tensormap", args: "m- x- x-?", mods: "@any", need: "replace cp_fenceproxy", kind: ReplaceMap,
		when: []variant{{mods: "cp_fenceproxy", kind: CopyMap, args: "m- m- i-"}}},
	{ops: "getctarank", args: "d- s-", mods: "@space u32 u64", need: "u32 u64", kind: ClusterAddress},
	{ops: "alloca", args: "d- s- i-?", mods: "u32 u64", need: "u32 u64", kind: Alloca},
	{ops: "stacksave", args: "d-", mods: "u32 u64", need: "u32 u64", kind: SaveStack},
	{ops: "stackrestore", args: "s-", mods: "u32 u64", need: "u32 u64", kind: SaveStack},
	{ops: "setmaxnreg", args: "i-", mods: "inc dec sync aligned u32", need: "inc dec", kind: SetRegisters},
	{ops: "tex tld4 txq suld sured suq istypep", args: "X- x- x-? x-? x-?", mods: "@any", kind: Texture},
	{ops: "sust", args: "x- x- x-? x-? x-?", mods: "@any", kind: Texture},
	{ops: "clusterlaunchcontrol multimem", args: "X- x-? x-? x-?", mods: "@any"},
}
