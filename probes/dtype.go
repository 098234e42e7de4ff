package probes

import (
	"fmt"
	"math"
)

// DType is the element type of a tile, argument or shared array.
type DType uint8

const (
	U8 DType = iota + 1
	I8
	U16
	U32
	I32
	U64
	I64
	F16
	BF16
	F32
	F64
	E4M3
	E5M2
	I16
)

// dtypes is indexed by DType: Size and Value are called for every cell.
var dtypes = [...]struct {
	name      string
	size      int
	exp, frac int // floats only
}{
	U8: {"u8", 1, 0, 0}, I8: {"i8", 1, 0, 0}, U16: {"u16", 2, 0, 0}, U32: {"u32", 4, 0, 0},
	I32: {"i32", 4, 0, 0}, U64: {"u64", 8, 0, 0}, I64: {"i64", 8, 0, 0}, F16: {"f16", 2, 5, 10},
	BF16: {"bf16", 2, 8, 7}, F32: {"f32", 4, 8, 23}, F64: {"f64", 8, 11, 52}, E4M3: {"e4m3", 1, 4, 3},
	E5M2: {"e5m2", 1, 5, 2}, I16: {"i16", 2, 0, 0},
}

func (t DType) String() string { return dtypes[t].name }

// Size returns the element's size in bytes.
func (t DType) Size() int { return dtypes[t].size }

// Float reports whether t is a floating-point type.
func (t DType) Float() bool { return dtypes[t].exp != 0 }

// Format returns the number of exponent and stored fraction bits of a floating-point type.
func (t DType) Format() (exp, frac int) { return dtypes[t].exp, dtypes[t].frac }

// ParseDType accepts the names that manifests use: u8, i32, f16, bf16, f32, f64, e4m3, e5m2, ….
func ParseDType(name string) (DType, error) {
	for t, d := range dtypes {
		if d.name == name && name != "" {
			return DType(t), nil
		}
	}
	return 0, fmt.Errorf(
		"unknown element type %q (expected u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64 e4m3 or e5m2)",
		name)
}

// Value widens a bit pattern of type t to float64, exactly (64-bit integers round to nearest even).
func (t DType) Value(bits uint64) float64 {
	switch t {
	case U8, U16, U32, U64:
		return float64(bits)
	case I8:
		return float64(int8(bits))
	case I16:
		return float64(int16(bits))
	case I32:
		return float64(int32(bits))
	case I64:
		return float64(int64(bits))
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	case F64:
		return math.Float64frombits(bits)
	}
	return t.widen(bits)
}

// widen decodes the small formats. E4M3 (OCP) has no infinity: only all ones is NaN.
func (t DType) widen(bits uint64) float64 {
	expBits, fracBits := t.Format()
	bias := 1<<(expBits-1) - 1
	frac := bits & (1<<fracBits - 1)
	exp := int(bits >> fracBits & (1<<expBits - 1))
	v := 0.0
	switch top := 1<<expBits - 1; {
	case t == E4M3 && exp == top && frac == 7, t != E4M3 && exp == top && frac != 0:
		return math.NaN()
	case t != E4M3 && exp == top:
		v = math.Inf(1)
	case exp == 0:
		v = math.Ldexp(float64(frac), 1-bias-fracBits)
	default:
		v = math.Ldexp(float64(frac|1<<fracBits), exp-bias-fracBits)
	}
	if bits>>(expBits+fracBits)&1 != 0 {
		v = -v
	}
	return v
}
