package argument

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// integers are the ranges of the integer types.
var integers = map[probes.DType]struct{ lo, hi float64 }{
	probes.U8: {0, math.MaxUint8}, probes.I8: {math.MinInt8, math.MaxInt8}, probes.U16: {0, math.MaxUint16},
	probes.I16: {math.MinInt16, math.MaxInt16}, probes.U32: {0, math.MaxUint32},
	probes.I32: {math.MinInt32, math.MaxInt32}, probes.U64: {0, 0x1p64}, probes.I64: {-0x1p63, 0x1p63},
}

// Bytes are a scalar's bytes, little endian, for a parameter of so many; float says that the parameter is
// declared as a floating-point number. Without a type of its own an integer is one, and a fraction a float of
// the parameter's size.
func (n *Number) Bytes(size int, float bool) ([]byte, error) {
	t := n.DType
	if t == 0 {
		var err error
		if t, err = n.untyped(size, float); err != nil {
			return nil, err
		}
	}
	if t.Size() != size {
		return nil, fmt.Errorf("%s:%s has %d bytes, the parameter %d", n.Text, t, t.Size(), size)
	}
	var bits uint64
	switch {
	case n.Text == "true", n.Text == "false":
		if n.Text == "true" {
			bits = 1
		}
		if t.Float() {
			bits = op.Round(t, float64(bits))
		}
	case t.Float():
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			whole, werr := n.whole()
			if werr != nil {
				return nil, fmt.Errorf("%s is out of range for %s", n.Text, t)
			}
			f = whole
		}
		if bits = op.Round(t, f); !math.IsInf(f, 0) && math.IsInf(t.Value(bits), 0) {
			return nil, fmt.Errorf("%s is out of range for %s", n.Text, t)
		}
	default:
		var err error
		if bits, err = n.integer(t); err != nil {
			return nil, err
		}
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:size], nil
}

// untyped is the type of a number without one.
func (n *Number) untyped(size int, float bool) (probes.DType, error) {
	var t probes.DType
	switch {
	case float || n.Fraction():
		t = map[int]probes.DType{2: probes.F16, 4: probes.F32, 8: probes.F64}[size]
	default:
		t = map[int]probes.DType{1: probes.U8, 2: probes.U16, 4: probes.U32, 8: probes.U64}[size]
		if n.Text[0] == '-' {
			t = map[int]probes.DType{1: probes.I8, 2: probes.I16, 4: probes.I32, 8: probes.I64}[size]
		}
	}
	if t == 0 {
		return 0, fmt.Errorf("%s for a parameter of %d bytes: give its fields, {OFFSET: VALUE, ...}",
			n.Text, size)
	}
	return t, nil
}

// Fraction reports whether the number is written as one that no integer is: 1.5, 1e3, nan.
func (n *Number) Fraction() bool {
	_, err := n.whole()
	return err != nil && n.Text != "true" && n.Text != "false"
}

// whole is the number's value where it is written as an integer.
func (n *Number) whole() (float64, error) {
	if i, err := strconv.ParseInt(n.Text, 0, 64); err == nil {
		return float64(i), nil
	}
	u, err := strconv.ParseUint(n.Text, 0, 64)
	return float64(u), err
}

// integer is the number in the bits of an integer type.
func (n *Number) integer(t probes.DType) (uint64, error) {
	v, err := n.whole()
	if err != nil {
		return 0, fmt.Errorf(
			"%s is not a whole number, and the parameter is %s; for another type write %s:DTYPE",
			n.Text, t, n.Text)
	}
	r := integers[t]
	if v < r.lo || v > r.hi || v == r.hi && r.hi >= 0x1p63 {
		u, uerr := strconv.ParseUint(n.Text, 0, 64)
		if t != probes.U64 && t != probes.I64 || uerr != nil || t == probes.I64 && u > math.MaxInt64 {
			return 0, fmt.Errorf("%s is out of range for %s", n.Text, t)
		}
		return u, nil
	}
	if i, err := strconv.ParseInt(n.Text, 0, 64); err == nil {
		return uint64(i), nil
	}
	return strconv.ParseUint(n.Text, 0, 64)
}
