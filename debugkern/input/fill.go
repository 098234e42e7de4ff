package input

import (
	"context"
	"encoding/binary"
	"math"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Fill makes the n elements of an argument as a rule says, little endian: the same bits on every platform. It
// is nil for probes.FillUnwritten. The error is ctx's.
func Fill(ctx context.Context, f probes.Fill, t probes.DType, n int, seed uint64, arg int) ([]byte, error) {
	if f.Kind == probes.FillUnwritten {
		return nil, ctx.Err()
	}
	size := t.Size()
	out := make([]byte, n*size)
	err := inChunks(ctx, 0, n, func(lo, hi int) {
		var word [8]byte
		for i := lo; i < hi; i++ {
			binary.LittleEndian.PutUint64(word[:], bitsOf(f, t, seed, arg, i))
			copy(out[i*size:(i+1)*size], word[:])
		}
	})
	return out, err
}

// bitsOf is an element in the bits of its type.
func bitsOf(f probes.Fill, t probes.DType, seed uint64, arg, index int) uint64 {
	if !t.Float() {
		return uint64(wholeAt(f, seed, arg, index))
	}
	if t == probes.F64 {
		switch f.Kind {
		case probes.FillValues:
			return math.Float64bits(f.Values[index])
		case probes.FillRandn:
			return math.Float64bits(normalAt(seed, arg, index))
		case probes.FillBelow:
			return math.Float64bits(-math.Abs(normalAt(seed, arg, index)))
		case probes.FillAbove:
			return math.Float64bits(math.Abs(normalAt(seed, arg, index)))
		case probes.FillLarge:
			return math.Float64bits(large * normalAt(seed, arg, index))
		case probes.FillRand:
			return math.Float64bits(float64(bitsAt(seed, arg, index)>>11) * (1.0 / (1 << 53)))
		}
	}
	return op.Round(t, float64(realAt(f, seed, arg, index)))
}

// large is how many times as large as normal numbers those of probes.FillLarge are.
const large = 8

// bitsAt are 64 bits of the index-th element of an argument.
func bitsAt(seed uint64, arg, index int) uint64 {
	key := splitmix(splitmix(seed+golden) + golden*uint64(arg+1))
	return splitmix(key + golden*uint64(index+1))
}

// realAt is an element of a floating-point tensor.
func realAt(f probes.Fill, seed uint64, arg, index int) float32 {
	switch f.Kind {
	case probes.FillRandn:
		return float32(normalAt(seed, arg, index))
	case probes.FillBelow:
		return float32(-math.Abs(normalAt(seed, arg, index)))
	case probes.FillAbove:
		return float32(math.Abs(normalAt(seed, arg, index)))
	case probes.FillLarge:
		return float32(large * normalAt(seed, arg, index))
	case probes.FillRand:
		// both factors and the product are exact
		return float32(bitsAt(seed, arg, index)>>40) * (1.0 / (1 << 24))
	}
	switch f.Kind {
	case probes.FillValues:
		return float32(f.Values[index])
	case probes.FillNaN:
		return float32(math.NaN())
	case probes.FillInf:
		return float32(math.Inf(1))
	case probes.FillNegInf:
		return float32(math.Inf(-1))
	}
	return float32(wholeAt(f, seed, arg, index))
}

// wholeAt is an element of an integer tensor, before it is wrapped to its type.
func wholeAt(f probes.Fill, seed uint64, arg, index int) int64 {
	switch f.Kind {
	case probes.FillOnes:
		return 1
	case probes.FillIota:
		return int64(index)
	case probes.FillValues:
		return int64(f.Values[index])
	case probes.FillRandInt:
		return f.Lo + int64(bitsAt(seed, arg, index)%uint64(f.Hi-f.Lo+1))
	}
	return 0
}

// Whole makes the n elements of an integer input as a rule says. The error is ctx's.
func Whole(ctx context.Context, f probes.Fill, t probes.DType, n int, seed uint64, arg int) ([]int64, error) {
	out := make([]int64, n)
	err := inChunks(ctx, 0, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = Wrap(t, wholeAt(f, seed, arg, i))
		}
	})
	return out, err
}

// Wrap keeps as many bits of a whole number as an integer type has.
func Wrap(t probes.DType, v int64) int64 {
	switch t {
	case probes.U8:
		return int64(uint8(v))
	case probes.I8:
		return int64(int8(v))
	case probes.U16:
		return int64(uint16(v))
	case probes.I16:
		return int64(int16(v))
	case probes.U32:
		return int64(uint32(v))
	case probes.I32:
		return int64(int32(v))
	}
	return v
}
