// Rows writes the assembly of emu's loops over the lanes of a warp for amd64: go generate in debugkern/emu.
// Each function is the loop of hot.go of the same name for all 32 lanes; tests compare them bit by bit.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	lanes   = 32
	nosplit = 4
	nan32   = 0x7fffffff
	nan16   = 0x7fff
)

type vec = reg.VecVirtual

func main() {
	ConstraintExpr("amd64")
	integers()
	floats()
	conversions()
	wides()
	for _, c := range []string{"lt", "eq"} {
		compare(c)
	}
	Generate()
}

// same is a vector of one value in all lanes.
func same(v uint32) Mem {
	if m, ok := constants[v]; ok {
		return m
	}
	m := GLOBL("lanes"+hex(v), 24) // RODATA|NOPTR
	for i := range 8 {
		DATA(4*i, U32(v))
	}
	constants[v] = m
	return m
}

var constants = map[uint32]Mem{}

func hex(v uint32) string {
	s := ""
	for range 8 {
		s, v = string("0123456789abcdef"[v&15])+s, v>>4
	}
	return s
}

// function emits a function over rows of 32 bits: body gets the vectors of eight lanes of its operands and
// returns the result's.
func function(name string, operands int, body func(x []vec) vec) {
	params := []string{"a", "b", "c"}[:operands]
	signature := "func(d"
	for _, p := range params {
		signature += ", " + p
	}
	TEXT(name+"AVX2", nosplit, signature+" *[32]uint32)")
	Pragma("noescape")
	d := Load(Param("d"), GP64())
	var from []reg.Register
	for _, p := range params {
		from = append(from, Load(Param(p), GP64()))
	}
	for i := range lanes / 8 {
		x := make([]vec, operands)
		for j := range x {
			x[j] = YMM()
			VMOVDQU(Mem{Base: from[j], Disp: 32 * i}, x[j])
		}
		VMOVDQU(body(x), Mem{Base: d, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}

// to makes a body of an instruction with operands in the order of the assembler: the second one first.
func to(op func(b, a, d Op)) func(x []vec) vec {
	return func(x []vec) vec {
		op(x[1], x[0], x[0])
		return x[0]
	}
}

func plain(op func(ops ...Op)) func(b, a, d Op) { return func(b, a, d Op) { op(b, a, d) } }

func integers() {
	for _, f := range []struct {
		name string
		op   func(b, a, d Op)
	}{
		{"add32", plain(VPADDD)}, {"sub32", plain(VPSUBD)}, {"mul32", plain(VPMULLD)},
		{"and32", func(b, a, d Op) { VPAND(b, a, d) }}, {"or32", func(b, a, d Op) { VPOR(b, a, d) }},
		{"xor32", func(b, a, d Op) { VPXOR(b, a, d) }},
		{"shl32", plain(VPSLLVD)}, {"shrU32", plain(VPSRLVD)}, {"shrS32", plain(VPSRAVD)},
		{"minS32", plain(VPMINSD)}, {"maxS32", plain(VPMAXSD)},
	} {
		function(f.name, 2, to(f.op))
	}
	function("mad32", 3, func(x []vec) vec {
		VPMULLD(x[1], x[0], x[0])
		VPADDD(x[2], x[0], x[0])
		return x[0]
	})
}

// unordered returns which lanes are NaN.
func unordered(v vec) vec {
	m := YMM()
	VCMPPS(U8(3), v, v, m)
	return m
}

// canonical gives every NaN of v the pattern that results have.
func canonical(v vec) vec {
	VBLENDVPS(unordered(v), same(nan32), v, v)
	return v
}

// order returns v as integers that are ordered as the floats are, -0 below +0.
func order(v vec) vec {
	t := YMM()
	VPSRAD(U8(31), v, t)
	VPSRLD(U8(1), t, t)
	VPXOR(v, t, t)
	return t
}

func floats() {
	for _, f := range []struct {
		name string
		op   func(ops ...Op)
	}{{"addF32", VADDPS}, {"subF32", VSUBPS}, {"mulF32", VMULPS}} {
		function(f.name, 2, func(x []vec) vec {
			f.op(x[1], x[0], x[0])
			return canonical(x[0])
		})
	}
	for _, f := range []struct {
		name string
		max  bool
	}{{"maxF32", true}, {"minF32", false}} {
		function(f.name, 2, func(x []vec) vec {
			first, second, r := order(x[0]), order(x[1]), YMM()
			if f.max {
				VPCMPGTD(first, second, first)
			} else {
				VPCMPGTD(second, first, first)
			}
			VBLENDVPS(first, x[1], x[0], r)
			VBLENDVPS(unordered(x[0]), x[1], r, r)
			VBLENDVPS(unordered(x[1]), x[0], r, r)
			return canonical(r)
		})
	}
}

func conversions() {
	function("cvtF32S32", 1, func(x []vec) vec {
		VCVTDQ2PS(x[0], x[0])
		return x[0]
	})
	function("cvtF32U32", 1, func(x []vec) vec { // both halves are exact, and their sum is rounded once
		low := YMM()
		VPAND(same(0xffff), x[0], low)
		VPSRLD(U8(16), x[0], x[0])
		VCVTDQ2PS(low, low)
		VCVTDQ2PS(x[0], x[0])
		VMULPS(same(0x47800000), x[0], x[0]) // 2^16
		VADDPS(low, x[0], x[0])
		return x[0]
	})
	function("cvtF16F32", 1, func(x []vec) vec {
		r := YMM()
		VCVTPS2PH(U8(0), x[0], r.AsX())
		VPMOVZXWD(r.AsX(), r)
		VBLENDVPS(unordered(x[0]), same(nan16), r, r)
		return r
	})
	function("cvtF32F16", 1, func(x []vec) vec {
		VPAND(same(0xffff), x[0], x[0])
		VPACKUSDW(x[0], x[0], x[0])
		VPERMQ(U8(0x08), x[0], x[0]) // the words of both halves side by side
		r := YMM()
		VCVTPH2PS(x[0].AsX(), r)
		return canonical(r)
	})
}

// wides emits functions with results of 64 bits.
func wides() {
	wide := func(name, signature string, body func(at func(param string, size int) Mem, i int) vec) {
		TEXT(name+"AVX2", nosplit, signature)
		Pragma("noescape")
		d := Load(Param("d"), GP64())
		bases := map[string]reg.Register{}
		for _, p := range []string{"a", "b", "c"} {
			if p != "c" || name == "madWideU" || name == "madWideS" {
				bases[p] = Load(Param(p), GP64())
			}
		}
		for i := range lanes / 4 {
			r := body(func(param string, size int) Mem {
				return Mem{Base: bases[param], Disp: 4 * size * i}
			}, i)
			VMOVDQU(r, Mem{Base: d, Disp: 32 * i})
		}
		VZEROUPPER()
		RET()
	}
	wide("add64", "func(d, a, b *[32]uint64)", func(at func(string, int) Mem, _ int) vec {
		v := YMM()
		VMOVDQU(at("a", 8), v)
		VPADDQ(at("b", 8), v, v)
		return v
	})
	wide("shl64", "func(d, a *[32]uint64, b *[32]uint32)", func(at func(string, int) Mem, _ int) vec {
		v, n := YMM(), YMM()
		VMOVDQU(at("a", 8), v)
		VPMOVZXDQ(at("b", 4), n)
		VPSLLVQ(n, v, v)
		return v
	})
	for _, signed := range []bool{false, true} {
		product := func(at func(string, int) Mem) vec {
			x, y := YMM(), YMM()
			VPMOVZXDQ(at("a", 4), x) // the products take the low half of each lane, with its sign or without
			VPMOVZXDQ(at("b", 4), y)
			if signed {
				VPMULDQ(y, x, x)
			} else {
				VPMULUDQ(y, x, x)
			}
			return x
		}
		mul, mad := "mulWideU", "madWideU"
		if signed {
			mul, mad = "mulWideS", "madWideS"
		}
		wide(mul, "func(d *[32]uint64, a, b *[32]uint32)", func(at func(string, int) Mem, _ int) vec {
			return product(at)
		})
		wide(mad, "func(d *[32]uint64, a, b *[32]uint32, c *[32]uint64)",
			func(at func(string, int) Mem, _ int) vec {
				v := product(at)
				VPADDQ(at("c", 8), v, v)
				return v
			})
	}
}

// compare emits a comparison of signed integers or of bits: a bit a lane.
func compare(name string) {
	TEXT(name+"32AVX2", nosplit, "func(a, b *[32]uint32) uint32")
	Pragma("noescape")
	a, b, r := Load(Param("a"), GP64()), Load(Param("b"), GP64()), GP32()
	for i := range lanes / 8 {
		v, m := YMM(), GP32()
		VMOVDQU(Mem{Base: b, Disp: 32 * i}, v)
		if name == "lt" {
			VPCMPGTD(Mem{Base: a, Disp: 32 * i}, v, v)
		} else {
			VPCMPEQD(Mem{Base: a, Disp: 32 * i}, v, v)
		}
		VMOVMSKPS(v, m)
		if i == 0 {
			MOVL(m, r)
			continue
		}
		SHLL(U8(8*i), m)
		ORL(m, r)
	}
	VZEROUPPER()
	Store(r, ReturnIndex(0))
	RET()
}
