// Mma writes the assembly of fp's tensor core for amd64: go generate in debugkern/fp. It is a module of its
// own, so that tilescope does not depend on avo.
//
// What the functions compute is Model.Dot for m16n8k16 (halves = 1) or for two of them that share A (halves =
// 2: m16n16k16). The eight columns of a half are the lanes of a vector, in the order 0 2 4 6 1 3 5 7: so four
// lanes of an accumulator's two registers are a row of it. Products are float32, where they are exact;
// multiplied by the power of two that makes the lowest bit after alignment an integer, and converted to
// integers, they are cut toward zero as the tensor core does. An output of which this is not true, and any
// that needs NaN, infinity or a subnormal result, is reported in bad; its place in d is undefined.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format is how 16-bit operands are decoded. A nonzero operand has the exponent code base + max(field, 1),
// zero has 0 and NaN and infinity special, so that the sum of two codes shows what a product is: below
// 2·base+2, a factor is zero; at special and above, one is NaN or infinite.
type format struct {
	name       string
	frac, bias int
	inf        int
	base       int
}

var formats = []format{{"F16", 10, 15, 0x7c00, 32}, {"BF16", 7, 127, 0x7f80, 256}}

const (
	special = 1 << 13
	k       = 16
	bias32  = 127
	keep    = 25 // fraction bits that survive the alignment

	// An output is right where the largest exponent of a product is at most mostE, so that none overflows,
	// and the largest of any term at least leastE, so that a product that becomes subnormal lies below the
	// aligned bits, and no result is subnormal.
	mostE, leastE = 125, -98
)

func main() {
	ConstraintExpr("amd64")
	detect()
	for _, f := range formats {
		for _, halves := range []int{1, 2} {
			multiply(f, halves)
		}
	}
	widen()
	narrow()
	Generate()
}

// detect reports F16C, which golang.org/x/sys/cpu does not.
func detect() {
	TEXT("hasF16C", 4, "func() bool") // NOSPLIT
	Doc("hasF16C reports whether the processor converts vectors of f16.")
	MOVL(U32(1), reg.EAX)
	XORL(reg.ECX, reg.ECX)
	CPUID()
	SHRL(U8(29), reg.ECX)
	ANDL(U32(1), reg.ECX)
	out, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	MOVB(reg.CL, out.Addr)
	RET()
}

// consts makes one constant for each value, in all lanes of a vector.
var consts = map[uint64]Mem{}

func words(v uint16) Mem { return constant(uint64(v)|uint64(v)<<16|uint64(v)<<32|uint64(v)<<48, "w") }

func dwords(v uint32) Mem { return constant(uint64(v)|uint64(v)<<32, "d") }

func constant(v uint64, kind string) Mem {
	if m, ok := consts[v]; ok {
		return m
	}
	m := GLOBL("vec"+kind+hex(v), 24) // RODATA|NOPTR
	for i := range 4 {
		DATA(8*i, U64(v))
	}
	consts[v] = m
	return m
}

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	s := ""
	for range 16 {
		s, v = string(digits[v&15])+s, v>>4
	}
	return s
}

// frame is the function's memory: the operands as numbers and as codes.
type frame struct {
	halves int
	base   reg.GPVirtual
}

func (f frame) at(off int) Mem { return Mem{Base: f.base, Disp: off} }

// av and ac are a row of A, bv and bc a k of B: values and codes.
func (f frame) av(row int) int     { return row * 4 * k }
func (f frame) ac(row int) int     { return 4*k*16 + row*4*k }
func (f frame) bv(n, half int) int { return 2*4*k*16 + (n*f.halves+half)*32 }
func (f frame) bc(n, half int) int { return f.bv(k, 0) + (n*f.halves+half)*16 }

// least and odd are the parameters, in all lanes of a vector.
func (f frame) least() int { return f.bc(k, 0) }
func (f frame) odd() int   { return f.least() + 32 }

// kept is the stack slot of a half's vector i while the products are summed.
func (f frame) kept(half, i int) Mem { return f.at(f.odd() + 32 + 32*(3*half+i)) }
func (f frame) size() int            { return f.odd() + 32 + 32*3*f.halves }

func load(p reg.Register, disp int) reg.GPVirtual {
	r := GP64()
	MOVQ(Mem{Base: p, Disp: disp}, r)
	return r
}

func multiply(f format, halves int) {
	name := map[int]string{1: "16x8", 2: "16x16"}[halves]
	TEXT("mma"+name+f.name+"AVX2", 0,
		"func(d *[8][32]uint32, c *[8]*[32]uint32, a, b *[4]*[32]uint32, bad *[16]uint16, leastC, odd uint32) uint32")
	Pragma("noescape")
	Doc("mma"+name+f.name+
		"AVX2 sets d = a·b + c, registers of a warp with accumulators of f32, and bad to the outputs that it cannot compute, by",
		"row and in the order 0 2 4 6 1 3 5 7 of each eight columns; it returns whether there are any. The exponent field of a nonzero c is at",
		"least leastC; a result that is not exact gets the bits of odd.")
	fr := frame{halves: halves, base: GP64()}
	mem := AllocLocal(fr.size() + 64)
	LEAQ(mem, fr.base)
	ADDQ(U8(63), fr.base)
	ANDQ(I8(-64), fr.base)
	spread("leastC", fr.at(fr.least()))
	spread("odd", fr.at(fr.odd()))
	decodeA(f, fr)
	decodeB(f, fr)
	rows(f, fr)
	RET()
}

// spread stores a parameter in all lanes of a vector.
func spread(param string, to Mem) {
	VMOVDQU(all(param), to)
}

// all is a parameter in all lanes of a vector.
func all(param string) reg.VecVirtual {
	v := YMM()
	VMOVD(Load(Param(param), GP32()), v.AsX())
	VPBROADCASTD(v.AsX(), v)
	return v
}

// codes returns the exponent codes of a vector of 16-bit operands, and destroys it.
func codes(f format, h reg.VecVirtual) reg.VecVirtual {
	zero, e, nan := YMM(), YMM(), YMM()
	VPAND(words(0x7fff), h, h)
	VPCMPGTW(words(uint16(f.inf-1)), h, nan)
	VPXOR(zero, zero, zero)
	VPCMPEQW(zero, h, zero)
	VPSRLW(U8(f.frac), h, e)
	VPMAXSW(words(1), e, e)
	VPADDW(words(uint16(f.base)), e, e)
	VPANDN(e, zero, e)
	VPAND(words(special), nan, nan)
	VPOR(nan, e, e)
	return e
}

// value widens eight 16-bit operands at m to float32.
func value(f format, m Op) reg.VecVirtual {
	v := YMM()
	if f.name == "F16" {
		VCVTPH2PS(m, v)
		return v
	}
	VPMOVZXWD(m, v)
	VPSLLD(U8(16), v, v)
	return v
}

// decodeA stores the rows of A, which are four lanes of its registers: 0 and 1 have k below
// 8, 2 and 3 the rest.
func decodeA(f format, fr frame) {
	regs := Load(Param("a"), GP64())
	for i := range 4 {
		p, to := load(regs, 8*i), GP64()
		values := fr.av(i&1*8) + i>>1*32
		LEAQ(fr.at(values), to)
		at := func(row, disp int) Mem { return Mem{Base: to, Disp: fr.av(row) + disp} }
		repeat("a"+string(rune('0'+i)), 4, func() { // two rows
			h := YMM()
			VMOVDQU(Mem{Base: p}, h)
			VMOVUPS(value(f, Mem{Base: p}), at(0, 0))
			VMOVUPS(value(f, Mem{Base: p, Disp: 16}), at(1, 0))
			e, lo, hi := codes(f, h), YMM(), YMM()
			VPUNPCKLWD(e, e, lo) // each code twice, to be read as a word of 32 bits
			VPUNPCKHWD(e, e, hi)
			c := fr.ac(0) - fr.av(0)
			VMOVDQU(lo.AsX(), at(0, c))
			VMOVDQU(hi.AsX(), at(0, c+16))
			VEXTRACTI128(U8(1), lo, at(1, c))
			VEXTRACTI128(U8(1), hi, at(1, c+16))
			ADDQ(U8(32), p)
			ADDQ(U8(fr.av(2)), to)
		})
	}
}

// repeat emits a loop.
func repeat(label string, n int, body func()) {
	left := GP64()
	MOVQ(U32(n), left)
	Label(label)
	body()
	DECQ(left)
	JNE(LabelRef(label))
}

// decodeB stores B by k. A register has four pairs of k for each column: two columns a vector,
// which are transposed.
func decodeB(f format, fr frame) {
	regs, to, toCodes := Load(Param("b"), GP64()), GP64(), GP64()
	LEAQ(fr.at(fr.bv(0, 0)), to)
	LEAQ(fr.at(fr.bc(0, 0)), toCodes)
	repeat("b", 2, func() { // eight k
		for half := range fr.halves {
			eightB(f, fr, load(regs, 16*half), half, to, toCodes)
		}
		ADDQ(U8(8), regs)
		ADDQ(U32(fr.bv(8, 0)-fr.bv(0, 0)), to)
		ADDQ(U32(fr.bc(8, 0)-fr.bc(0, 0)), toCodes)
	})
}

// eightB stores eight k of a half of B, which are one register.
func eightB(f format, fr frame, p reg.Register, half int, to, toCodes reg.Register) {
	var y, t [4]reg.VecVirtual
	for j := range y {
		y[j], t[j] = YMM(), YMM()
		VMOVDQU(Mem{Base: p, Disp: 32 * j}, y[j])
	}
	VPUNPCKLDQ(y[1], y[0], t[0])
	VPUNPCKLDQ(y[3], y[2], t[1])
	VPUNPCKHDQ(y[1], y[0], t[2])
	VPUNPCKHDQ(y[3], y[2], t[3])
	VPUNPCKLQDQ(t[1], t[0], y[0])
	VPUNPCKHQDQ(t[1], t[0], y[1])
	VPUNPCKLQDQ(t[3], t[2], y[2])
	VPUNPCKHQDQ(t[3], t[2], y[3])
	value8 := func(n int) Mem { return Mem{Base: to, Disp: fr.bv(n, half) - fr.bv(0, 0)} }
	code8 := func(n int) Mem { return Mem{Base: toCodes, Disp: fr.bc(n, half) - fr.bc(0, 0)} }
	for j, z := range y { // the pair 2j, 2j+1 of every column
		even, odd, v := YMM(), YMM(), YMM()
		VPAND(dwords(0xffff), z, even)
		VPSRLD(U8(16), z, odd)
		VPACKUSDW(odd, even, even)
		VPERMQ(U8(0xd8), even, even) // the columns of the first k, then those of the second
		VMOVUPS(value(f, even.AsX()), value8(2*j))
		VEXTRACTI128(U8(1), even, v.AsX())
		VMOVUPS(value(f, v.AsX()), value8(2*j+1))
		e := codes(f, even)
		VMOVDQU(e.AsX(), code8(2*j))
		VEXTRACTI128(U8(1), e, code8(2*j+1))
	}
}

// half is what a row has computed of eight columns before the products are summed.
type half struct {
	// e, bad, none: the exponent of the terms as a field of f32, which outputs are not right, and
	// which have no product
	e, bad, none  Mem
	scale, c, sum reg.VecVirtual
}

// rows computes the outputs, a row at a time: those below 8, and the others, whose registers follow.
func rows(f format, fr frame) {
	d, c, bad := Load(Param("d"), GP64()), Load(Param("c"), GP64()), Load(Param("bad"), GP64())
	some, row := GP32(), GP64()
	XORL(some, some)
	MOVQ(fr.base, row)
	repeat("rows", 2, func() {
		var regs [2][2]reg.GPVirtual
		for h := range fr.halves {
			for i := range 2 {
				regs[h][i] = load(c, 8*(4*h+i))
			}
		}
		lane := GP64()
		XORQ(lane, lane)
		Label("row")
		var hs [2]half
		sums := exponents(fr, row)
		for h := range fr.halves {
			hs[h] = align(f, fr, sums, h, regs[h], lane)
		}
		products(fr, row, hs[:fr.halves])
		mask := GP32()
		for h := range fr.halves {
			if h == 0 {
				finish(fr, hs[h], regs[h], lane, mask, d, 0)
				continue
			}
			m := GP32()
			finish(fr, hs[h], regs[h], lane, m, d, 512)
			SHLL(U8(8), m)
			ORL(m, mask)
		}
		ORL(mask, some)
		MOVW(mask.As16(), Mem{Base: bad})
		ADDQ(U8(2), bad)
		ADDQ(U8(4*k), row)
		ADDQ(U8(16), lane)
		CMPQ(lane, U8(128))
		JNE(LabelRef("row"))
		ADDQ(U8(16), c)
		ADDQ(U32(256), d)
	})
	VZEROUPPER()
	Store(some, ReturnIndex(0))
}

// exponents returns the largest code sum of a row with each column.
func exponents(fr frame, row reg.GPVirtual) reg.VecVirtual {
	most := [2]reg.VecVirtual{YMM(), YMM()}
	for i := range k {
		t := YMM()
		x := func(v reg.VecVirtual) Op {
			if fr.halves == 1 {
				return v.AsX()
			}
			return v
		}
		VPBROADCASTD(Mem{Base: row, Disp: fr.ac(0) + 4*i}, x(t))
		if i < 2 {
			VPADDW(fr.at(fr.bc(i, 0)), x(t), x(most[i]))
			continue
		}
		VPADDW(fr.at(fr.bc(i, 0)), x(t), x(t))
		VPMAXSW(x(t), x(most[i&1]), x(most[i&1]))
	}
	VPMAXSW(most[1], most[0], most[0])
	return most[0]
}

// addend loads C's row of a half.
func addend(regs [2]reg.GPVirtual, lane reg.GPVirtual) reg.VecVirtual {
	c := YMM()
	VMOVDQU(Mem{Base: regs[0], Index: lane, Scale: 1}, c.AsX())
	VINSERTI128(U8(1), Mem{Base: regs[1], Index: lane, Scale: 1}, c, c)
	return c
}

// align finds the exponent that the terms are aligned to, and aligns C.
func align(f format, fr frame, sums reg.VecVirtual, h int, regs [2]reg.GPVirtual, lane reg.GPVirtual) half {
	w := half{e: fr.kept(h, 0), bad: fr.kept(h, 1), none: fr.kept(h, 2), scale: YMM(), c: YMM(), sum: YMM()}
	e, ce, t, none, bad := YMM(), YMM(), YMM(), YMM(), YMM()
	if h == 1 {
		VEXTRACTI128(U8(1), sums, t.AsX())
		VPMOVZXWD(t.AsX(), e)
	} else {
		VPMOVZXWD(sums.AsX(), e)
	}
	zero := 2 * (f.base + f.bias) // the code sum of the exponent 0
	VMOVDQU(dwords(uint32(2*f.base+2)), t)
	VPCMPGTD(e, t, none)
	VPCMPGTD(dwords(uint32(zero+mostE)), e, bad)
	VPSUBD(dwords(uint32(zero-bias32)), e, e)
	VMOVDQU(none, w.none)
	VPANDN(e, none, e) // 0 where there is no product
	c := addend(regs, lane)
	VPSLLD(U8(1), c, ce)
	VPXOR(t, t, t)
	VPCMPEQD(t, ce, t)
	VPSRLD(U8(24), ce, ce)
	VPMAXSD(fr.at(fr.least()), ce, ce)
	VPANDN(ce, t, ce)
	VPMAXSD(ce, e, e)
	VMOVDQU(e, w.e)
	VMOVDQU(dwords(uint32(bias32+leastE)), t)
	VPCMPGTD(e, t, t)
	VPOR(t, bad, bad)
	VMOVDQU(bad, w.bad)
	VMOVDQU(dwords(2*bias32+keep), t)
	VPSUBD(e, t, t)
	VPSLLD(U8(23), t, w.scale)
	VMULPS(c, w.scale, w.c)
	VCVTTPS2DQ(w.c, w.c)
	return w
}

// products adds up the aligned products. Each is below 2^27, so that sixteen fit 32 bits.
func products(fr frame, row reg.GPVirtual, hs []half) {
	for i := range k {
		a := YMM()
		VBROADCASTSS(Mem{Base: row, Disp: 4 * i}, a)
		for h, w := range hs {
			t := YMM()
			VMULPS(fr.at(fr.bv(i, h)), a, t)
			VMULPS(w.scale, t, t)
			if i == 0 {
				VCVTTPS2DQ(t, w.sum)
				continue
			}
			VCVTTPS2DQ(t, t)
			VPADDD(t, w.sum, w.sum)
		}
	}
}

// finish adds C, makes f32 of the sum, stores it and sets mask to the outputs that are not right.
func finish(fr frame, w half, regs [2]reg.GPVirtual, lane, mask reg.GPVirtual, d reg.Register, at int) {
	r, over, t, m, v := YMM(), YMM(), YMM(), YMM(), YMM()
	VPADDD(w.c, w.sum, r)
	VPXOR(r, w.sum, over)
	VPXOR(r, w.c, t)
	VPAND(t, over, over) // the sign: the sum does not fit 32 bits
	VPABSD(r, m)
	VPOR(m, over, over)
	VPCMPGTD(dwords(1<<31-1-64), m, t) // its conversion would not fit
	VPOR(t, over, over)
	back, exact := YMM(), YMM()
	VCVTDQ2PS(m, v)
	VCVTTPS2DQ(v, back)
	VPCMPGTD(m, back, t)
	VPADDD(t, v, v) // rounded up: the number below
	VPCMPEQD(m, back, exact)
	VPANDN(fr.at(fr.odd()), exact, exact)
	VPOR(exact, v, v)
	zero := YMM()
	VPXOR(zero, zero, zero)
	VPCMPEQD(zero, m, zero)
	field, e, none := YMM(), YMM(), YMM()
	VMOVDQU(w.e, e)
	VPSUBD(dwords(bias32+keep), e, e)
	VPSRLD(U8(23), v, field)
	VPADDD(e, field, field) // of the result
	VPSLLD(U8(23), e, e)
	VPADDD(e, v, v)
	VPCMPGTD(dwords(254), field, field)
	VPANDN(field, zero, field)
	VPOR(field, over, over)
	VPANDN(v, zero, v)
	VPAND(dwords(1<<31), r, r)
	VPOR(r, v, v)
	c := addend(regs, lane)
	magnitude := YMM()
	VPSLLD(U8(1), c, magnitude)
	VPXOR(t, t, t)
	VPCMPEQD(t, magnitude, t)
	VPSRLD(U8(24), magnitude, magnitude)
	VPCMPGTD(dwords(254), magnitude, magnitude)
	VPANDN(c, t, c)
	VMOVDQU(w.none, none)
	VBLENDVPS(none, c, v, v)
	VPOR(w.bad, over, over)
	VPANDN(over, none, over)
	VPOR(magnitude, over, over)
	VMOVMSKPS(over, mask)
	VMOVDQU(v.AsX(), Mem{Base: d, Disp: at, Index: lane, Scale: 1})
	VEXTRACTI128(U8(1), v, Mem{Base: d, Disp: at + 128, Index: lane, Scale: 1})
}

// widen makes accumulators of f32 of those of f16.
func widen() {
	TEXT("widenAVX2", 4, "func(to *[8][32]uint32, from *[4]*[32]uint32, n int)")
	Pragma("noescape")
	Doc("widenAVX2 sets registers 2i and 2i+1 of to to the low and high halves of register i of from, i < n, as f32.")
	to, from, n := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("n"), GP64())
	Label("next")
	p := load(from, 0)
	for j := range 4 {
		z, even, odd, v := YMM(), YMM(), YMM(), YMM()
		VMOVDQU(Mem{Base: p, Disp: 32 * j}, z)
		VPAND(dwords(0xffff), z, even)
		VPSRLD(U8(16), z, odd)
		VPACKUSDW(odd, even, even)
		VPERMQ(U8(0xd8), even, even)
		VCVTPH2PS(even.AsX(), v)
		VMOVUPS(v, Mem{Base: to, Disp: 32 * j})
		VEXTRACTI128(U8(1), even, even.AsX())
		VCVTPH2PS(even.AsX(), v)
		VMOVUPS(v, Mem{Base: to, Disp: 128 + 32*j})
	}
	ADDQ(U32(256), to)
	ADDQ(U8(8), from)
	DECQ(n)
	JNE(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// narrow makes accumulators of f16 of those of f32.
func narrow() {
	TEXT("narrowAVX2", 4, "func(d *[8][32]uint32, n int, lost uint32)")
	Pragma("noescape")
	Doc("narrowAVX2 sets register i of d, i < n, to registers 2i and 2i+1 rounded to f16. The bits of lost are removed from a half that is -0.")
	from, n := Load(Param("d"), GP64()), Load(Param("n"), GP64())
	lost, to := all("lost"), GP64()
	MOVQ(from, to)
	Label("next")
	for j := range 4 {
		v, low, high := YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: from, Disp: 32 * j}, v)
		VCVTPS2PH(U8(0), v, low.AsX())
		VMOVUPS(Mem{Base: from, Disp: 128 + 32*j}, v)
		VCVTPS2PH(U8(0), v, high.AsX())
		VPMOVZXWD(low.AsX(), low)
		VPMOVZXWD(high.AsX(), high)
		VPSLLD(U8(16), high, high)
		VPOR(high, low, low)
		VPCMPEQW(words(0x8000), low, high)
		VPAND(lost, high, high)
		VPANDN(low, high, low)
		VMOVDQU(low, Mem{Base: to, Disp: 32 * j})
	}
	ADDQ(U32(256), from)
	ADDQ(U32(128), to)
	DECQ(n)
	JNE(LabelRef("next"))
	VZEROUPPER()
	RET()
}
