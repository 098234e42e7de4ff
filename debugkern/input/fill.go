package input

import "tilescope/probes"

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
	case probes.FillRand:
		return float32(bitsAt(seed, arg, index)>>40) * (1.0 / (1 << 24)) // both factors and the product are exact
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
	case probes.FillRandInt:
		return f.Lo + int64(bitsAt(seed, arg, index)%uint64(f.Hi-f.Lo+1))
	}
	return 0
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
	case probes.U32:
		return int64(uint32(v))
	case probes.I32:
		return int64(int32(v))
	}
	return v
}
