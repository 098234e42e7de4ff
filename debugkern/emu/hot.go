package emu

import (
	"math"

	"tilescope/debugkern/fp"
)

// The loops of this file are those that kernels spend their time in: written out, so that nothing is called
// per lane, and for all lanes also in vectors (hot_amd64.s), with the same bits.

func add32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		add32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] + bb[i]
	}
}

func sub32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		sub32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] - bb[i]
	}
}

func mul32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		mul32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] * bb[i]
	}
}

func mad32(n int, d, a, b, c *row32) {
	if n == 32 && vectors {
		mad32AVX2(d, a, b, c)
		return
	}
	dd, aa, bb, cc := d[:n], a[:n], b[:n], c[:n]
	for i := range dd {
		dd[i] = aa[i]*bb[i] + cc[i]
	}
}

func and32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		and32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] & bb[i]
	}
}

func or32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		or32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] | bb[i]
	}
}

func xor32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		xor32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] ^ bb[i]
	}
}

func shl32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		shl32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] << bb[i]
	}
}

func shrU32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		shrU32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] >> bb[i]
	}
}

func shrS32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		shrS32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = uint32(int32(aa[i]) >> bb[i])
	}
}

func minS32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		minS32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = uint32(min(int32(aa[i]), int32(bb[i])))
	}
}

func maxS32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		maxS32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = uint32(max(int32(aa[i]), int32(bb[i])))
	}
}

func add64(n int, d, a, b, _ *row64) {
	if n == 32 && vectors {
		add64AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] + bb[i]
	}
}

func shl64(n int, d, a *row64, b, _ *row32) {
	if n == 32 && vectors {
		shl64AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = aa[i] << bb[i]
	}
}

func mulWideU(n int, d *row64, a, b *row32, _ *row64) {
	if n == 32 && vectors {
		mulWideUAVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = uint64(aa[i]) * uint64(bb[i])
	}
}

func mulWideS(n int, d *row64, a, b *row32, _ *row64) {
	if n == 32 && vectors {
		mulWideSAVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		dd[i] = uint64(int64(int32(aa[i])) * int64(int32(bb[i])))
	}
}

func madWideU(n int, d *row64, a, b *row32, c *row64) {
	if n == 32 && vectors {
		madWideUAVX2(d, a, b, c)
		return
	}
	for i := range n {
		d[i&31] = uint64(a[i&31])*uint64(b[i&31]) + c[i&31]
	}
}

func madWideS(n int, d *row64, a, b *row32, c *row64) {
	if n == 32 && vectors {
		madWideSAVX2(d, a, b, c)
		return
	}
	for i := range n {
		d[i&31] = uint64(int64(int32(a[i&31]))*int64(int32(b[i&31]))) + c[i&31]
	}
}

// Every float result that is NaN has the one canonical pattern. The loops below add their results up
// to learn whether any is NaN (or infinities cancelled), which costs less than a test a lane, and
// then set the pattern.

// canonical gives every NaN its one pattern.
func canonical(d []uint32) {
	for i, v := range d {
		if v&0x7fffffff > 0x7f800000 {
			d[i] = fp.NaN32
		}
	}
}

func addF32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		addF32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	var sum float32
	for i := range dd {
		r := float32(math.Float32frombits(aa[i]) + math.Float32frombits(bb[i]))
		sum += r
		dd[i] = math.Float32bits(r)
	}
	if sum != sum {
		canonical(dd)
	}
}

func subF32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		subF32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	var sum float32
	for i := range dd {
		r := float32(math.Float32frombits(aa[i]) - math.Float32frombits(bb[i]))
		sum += r
		dd[i] = math.Float32bits(r)
	}
	if sum != sum {
		canonical(dd)
	}
}

func mulF32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		mulF32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	var sum float32
	for i := range dd {
		r := float32(math.Float32frombits(aa[i]) * math.Float32frombits(bb[i]))
		sum += r
		dd[i] = math.Float32bits(r)
	}
	if sum != sum {
		canonical(dd)
	}
}

func fmaF32(n int, d, a, b, c *row32) {
	dd, aa, bb, cc := d[:n], a[:n], b[:n], c[:n]
	for i := range dd {
		dd[i] = fp.Fma32(aa[i], bb[i], cc[i])
	}
}

// maxF32 and minF32 order non-NaN patterns as integers, -0 below +0.
func maxF32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		maxF32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		x, y := aa[i], bb[i]
		if x&0x7fffffff > 0x7f800000 || y&0x7fffffff > 0x7f800000 {
			dd[i] = fp.Max32(x, y)
			continue
		}
		if order(x) < order(y) {
			x = y
		}
		dd[i] = x
	}
}

func minF32(n int, d, a, b, _ *row32) {
	if n == 32 && vectors {
		minF32AVX2(d, a, b)
		return
	}
	dd, aa, bb := d[:n], a[:n], b[:n]
	for i := range dd {
		x, y := aa[i], bb[i]
		if x&0x7fffffff > 0x7f800000 || y&0x7fffffff > 0x7f800000 {
			dd[i] = fp.Min32(x, y)
			continue
		}
		if order(y) < order(x) {
			x = y
		}
		dd[i] = x
	}
}

func order(b uint32) int32 { return int32(b) ^ int32(uint32(int32(b)>>31)>>1) }

func cvtF32U32(n int, d, a, _, _ *row32) {
	if n == 32 && vectors {
		cvtF32U32AVX2(d, a)
		return
	}
	dd, aa := d[:n], a[:n]
	for i := range dd {
		dd[i] = math.Float32bits(float32(aa[i]))
	}
}

func cvtF32S32(n int, d, a, _, _ *row32) {
	if n == 32 && vectors {
		cvtF32S32AVX2(d, a)
		return
	}
	dd, aa := d[:n], a[:n]
	for i := range dd {
		dd[i] = math.Float32bits(float32(int32(aa[i])))
	}
}

func cvtF16F32(n int, d, a, _, _ *row32) {
	if n == 32 && vectors {
		cvtF16F32AVX2(d, a)
		return
	}
	dd, aa := d[:n], a[:n]
	for i := range dd {
		x := aa[i]
		// normal f16 results: fp.F32ToF16's common case
		if m := x & 0x7fffffff; m-0x38800000 < 0x47800000-0x38800000 {
			dd[i] = x>>16&0x8000 | (m+0xfff+m>>13&1-0x38000000)>>13
			continue
		}
		dd[i] = uint32(fp.F32ToF16(x))
	}
}

func cvtF32F16(n int, d, a, _, _ *row32) {
	if n == 32 && vectors {
		cvtF32F16AVX2(d, a)
		return
	}
	dd, aa := d[:n], a[:n]
	for i := range dd {
		x := aa[i]
		if m := x & 0x7fff; m-0x400 < 0x7c00-0x400 { // normal
			dd[i] = x&0x8000<<16 | (m<<13 + 0x38000000)
			continue
		}
		dd[i] = fp.F16ToF32(uint16(x))
	}
}

// hotCompare has the comparisons that kernels are full of, nil for the others.
func hotCompare(op string, signed bool) fnCmp {
	switch {
	case op == "lt" && signed:
		return func(n int, a, b *row32) (r uint32) {
			if n == 32 && vectors {
				return lt32AVX2(a, b)
			}
			for i := range n {
				if int32(a[i&31]) < int32(b[i&31]) {
					r |= 1 << i
				}
			}
			return r
		}
	case op == "ge" && signed:
		return func(n int, a, b *row32) (r uint32) {
			if n == 32 && vectors {
				return ^lt32AVX2(a, b)
			}
			for i := range n {
				if int32(a[i&31]) >= int32(b[i&31]) {
					r |= 1 << i
				}
			}
			return r
		}
	case op == "ne":
		return func(n int, a, b *row32) (r uint32) {
			if n == 32 && vectors {
				return ^eq32AVX2(a, b)
			}
			for i := range n {
				if a[i&31] != b[i&31] {
					r |= 1 << i
				}
			}
			return r
		}
	case op == "eq":
		return func(n int, a, b *row32) (r uint32) {
			if n == 32 && vectors {
				return eq32AVX2(a, b)
			}
			for i := range n {
				if a[i&31] == b[i&31] {
					r |= 1 << i
				}
			}
			return r
		}
	}
	return nil
}
