package fp

import "math/bits"

//go:generate go run gen_tables.go

// segment holds the coefficients of one segment of a quadratic: c0 in quarter
// units, c1 in units, c2 in half units of the function's output unit.
type segment struct{ c0, c1, c2 int32 }

// square is the unit's truncated squarer: the 17-bit x squared without the
// partial products below column 19, in units of 2^19. With h = x>>9 the full
// products of the top bits are h*h/2, of which the diagonal one of bit 9 falls
// away with the half; below them bit i meets only x >> (18-i).
func square(x uint32) int64 {
	h := x >> 9
	return int64(h*h>>1 + uint32(squareHigh[x<<2&0x780|x>>10&0x7f]) + uint32(squareLow[x<<1&0x38|x>>14&7]))
}

// quadratic evaluates segment s at the 17-bit position x, in units of 2^-17
// output units, without the function's bias.
func (s *segment) quadratic(x uint32) int64 {
	return int64(s.c0)<<15 + int64(s.c1)*int64(x) + 2*int64(s.c2)*square(x)
}

// ex2SM90 is MUFU.EX2 (ex2.approx.ftz.f32).
func ex2SM90(a uint32) uint32 {
	mag := a &^ sign32
	switch {
	case mag > inf32:
		return NaN32
	case mag < tiny32:
		return one32
	case mag >= 0x43000000: // |x| >= 128
		if a == mag {
			return inf32
		}
		if mag >= 0x43800000 {
			return 0
		}
	}
	f := uint32(uint64(mag&0x7fffff|0x800000) << 8 >> (8 + 127 - mag>>23))
	i := int32(f >> 23)
	f &= 0x7fffff
	if a != mag {
		i = -i
		if f != 0 {
			i, f = i-1, 0x7fffff-f
		}
	}
	y := (ex2Table[f>>17&63].quadratic(f&0x1ffff) + 24456) >> 17
	switch {
	case i <= -127:
		return 0
	case i >= 128:
		return inf32
	}
	return uint32(i+126)<<23 + uint32(y)
}

// rcpSM90 is MUFU.RCP (rcp.approx.ftz.f32).
func rcpSM90(a uint32) uint32 {
	mag, sign := a&^sign32, a&sign32
	switch {
	case mag > inf32:
		return NaN32
	case mag == inf32:
		return sign
	case mag < tiny32:
		return sign | inf32
	}
	f := mag & 0x7fffff
	y := (rcpTable[f>>16&127].quadratic(f<<1&0x1fffe) + 8092) >> 17
	r := int32(126+127-1-int32(mag>>23))<<23 + int32(y)
	if r < tiny32 {
		return sign
	}
	return sign | uint32(r)
}

// rsqrtSM90 is MUFU.RSQ (rsqrt.approx.ftz.f32).
func rsqrtSM90(a uint32) uint32 {
	mag := a &^ sign32
	switch {
	case mag > inf32:
		return NaN32
	case mag < tiny32:
		return a&sign32 | inf32
	case a != mag:
		return NaN32
	case mag == inf32:
		return 0
	}
	j, odd, f := halve(mag)
	if f == 0 && odd == 0 {
		return uint32(127-j) << 23
	}
	y := (rsqTable[(odd<<6|f>>17)&127].quadratic(f&0x1ffff) - 2) >> 17
	return uint32(125-j)<<23 + uint32(y)
}

// sqrtSM90 is MUFU.SQRT (sqrt.approx.ftz.f32).
func sqrtSM90(a uint32) uint32 {
	mag := a &^ sign32
	switch {
	case mag > inf32:
		return NaN32
	case mag < tiny32:
		return a & sign32
	case a != mag:
		return NaN32
	case mag == inf32:
		return inf32
	}
	j, odd, f := halve(mag)
	y := (sqrtTable[(odd<<6|f>>17)&127].quadratic(f&0x1ffff) - 1) >> 17
	return uint32(126+j)<<23 + uint32(y)
}

// halve splits the exponent of a positive normal f32 into 2j + odd.
func halve(mag uint32) (j int32, odd, f uint32) {
	e := int32(mag>>23) - 127
	return e >> 1, uint32(e & 1), mag & 0x7fffff
}

// lg2SM90 is MUFU.LG2 (lg2.approx.ftz.f32).
func lg2SM90(a uint32) uint32 {
	mag := a &^ sign32
	switch {
	case mag > inf32:
		return NaN32
	case mag < tiny32:
		return sign32 | inf32
	case a != mag:
		return NaN32
	case mag == inf32:
		return inf32
	case mag == one32:
		return 0
	}
	f := mag & 0x7fffff
	v := int64(int32(mag>>23)-127)<<36 + (lg2Table[f>>17&63].quadratic(f&0x1ffff)+6700)>>5
	if v < 0 {
		return sign32 | truncate24(uint64(-v-1), -36)
	}
	return truncate24(uint64(v), -36)
}

// truncate24 returns p * 2^e truncated to an f32 in the normal range.
func truncate24(p uint64, e int) uint32 {
	if p == 0 {
		return 0
	}
	lz := bits.LeadingZeros64(p)
	return uint32(63-lz+e+126)<<23 + uint32(p<<uint(lz)>>40)
}

// sinSM90 and cosSM90 are sin.approx.f32 and cos.approx.f32, the same with ftz.
func sinSM90(a uint32) uint32 { return quarterWave(a, 0, a&sign32) }
func cosSM90(a uint32) uint32 { return quarterWave(a, 1, 0) }

// quarterWave reduces |x| to turns with a truncated multiplication by 1/2pi,
// then evaluates the quarter that lies ahead quarters further on.
func quarterWave(a, ahead, sign uint32) uint32 {
	mag := a &^ sign32
	if mag >= inf32 {
		return NaN32
	}
	const invTurn = 0x22f983 | 0x800000 // 0x3e22f983: 2^-3 * 1.2732395
	var turns uint32                    // in units of 2^-25, modulo 1
	if mag >= tiny32 {
		p := uint64(mag&0x7fffff|0x800000) * invTurn // 47 or 48 bits
		cut := bits.Len64(p) - 24
		t := p >> uint(cut)
		// x is mantissa * 2^(field-150), the constant mantissa * 2^-26.
		k := int(mag>>23) - 150 - 26 + 25 + cut
		switch {
		case k >= 25:
		case k >= 0:
			turns = uint32(t<<uint(k)) & 0x1ffffff
		case k > -24:
			turns = uint32(t >> uint(-k))
		}
	}
	q := turns>>23 + ahead
	f := turns & 0x7fffff
	if q&1 != 0 {
		f = 0x7fffff - f
	}
	p := sinTable[f>>17&63].quadratic(f & 0x1ffff)
	return truncate24(uint64(p), -41) | (sign ^ q>>1<<31)
}

// tanhSM90 is tanh.approx.f32.
func tanhSM90(a uint32) uint32 {
	mag, sign := a&^sign32, a&sign32
	switch {
	case mag > inf32:
		return NaN32
	case mag < 0x3b800000: // 2^-8
		return a
	case mag >= 0x41000000: // 8
		return sign | one32
	}
	b := &tanhBinades[mag>>23-119]
	f := mag & 0x7fffff
	s := &tanhTable[uint32(b.first)+f>>(23-b.log)]
	x := f << b.log & 0x7fffff >> 6
	p := int64(s.c0)<<17 + int64(s.c1)*int64(x) + 4*int64(s.c2)*square(x)
	return sign | truncate24(uint64(p), int(mag>>23)-127-42)
}

// tanhBinades gives, from 2^-8 up, each binade's first table entry and the
// logarithm of its number of segments.
var tanhBinades = [11]struct{ first, log uint8 }{
	{0, 0}, {1, 0}, {2, 0}, {3, 1}, {5, 1}, {7, 2}, {11, 2}, {15, 2}, {19, 3}, {27, 4}, {43, 3},
}
