// Package fp is the arithmetic of the GPU to the bit: f16, bf16, tf32, e4m3,
// e5m2, f32 and f64 operations with every rounding mode, flush, saturation and
// NaN rule of the PTX ISA, conversions, comparisons, the approximations of the
// multi-function unit and the tensor core's dot product.
//
// Values travel as bit patterns (uint16 for f16 and bf16, uint32 for f32,
// uint64 for f64), so that a NaN payload or a signed zero is never lost on the
// way through a Go float.
//
// The one idea: every result is computed exactly, or as a float64 rounded to
// odd, and is then rounded once. A float64 rounded to odd keeps one sticky bit
// below any narrower format, so a second rounding from it is the rounding of
// the exact value (Boldo and Melquiond, "Emulation of a FMA and correctly
// rounded sums", 2008).
//
// What a chip is free to choose (approximations, accumulation in the tensor
// core) sits behind Model; SM90 is the model of the H200, measured to the bit.
//
// The package knows no instruction, register or kernel. Its results are the
// same on every platform: no product feeds a sum without an explicit rounding,
// and of package math only what is specified exactly is used (FMA, Sqrt, Trunc
// and their kin, bit casts).
package fp

// Round is a rounding mode of the PTX ISA.
type Round uint8

const (
	RN  Round = iota // to nearest, ties to even
	RZ               // toward zero
	RM               // toward minus infinity
	RP               // toward plus infinity
	RNA              // to nearest, ties away from zero
)

// String returns the ISA's modifier without its dot.
func (r Round) String() string {
	if int(r) < len(roundNames) {
		return roundNames[r]
	}
	return "round?"
}

var roundNames = [...]string{"rn", "rz", "rm", "rp", "rna"}

// Mode gathers the modifiers of an arithmetic instruction. The zero Mode is
// round to nearest even with subnormals kept.
type Mode struct {
	Rnd  Round
	Ftz  bool // flush subnormal inputs and results to zeros of the same sign
	Sat  bool // clamp to [0, 1], NaN to +0
	Relu bool // negative results and -0 to +0, NaN canonical
	NaN  bool // min and max: any NaN operand gives NaN
	// XorSign is .xorsign.abs: min and max of magnitudes, with the sign of the product
	// where that is a number.
	XorSign bool
}

// The NaN that arithmetic produces, whatever its operands' payloads.
const (
	NaN32 uint32 = 0x7fffffff
	NaN16 uint16 = 0x7fff             // both f16 and bf16
	NaN64 uint64 = 0xfff8000000000000 // of invalid operations; a NaN operand is kept
	NaN8  uint8  = 0x7f               // both e4m3 and e5m2
)

// Format names a floating-point format.
type Format uint8

const (
	F16 Format = iota
	BF16
	TF32 // 19 significant bits in the high part of a 32-bit word
	E4M3
	E5M2
	F32
	F64
)

// String returns the ISA's type name without its dot.
func (f Format) String() string {
	if int(f) < len(layouts) {
		return layouts[f].name
	}
	return "format?"
}

// layout describes a binary format: frac fraction bits, exponent bias, and the
// magnitude patterns of infinity (or the first pattern past the largest finite
// value), the largest finite value and the canonical NaN.
type layout struct {
	name string
	frac int
	bias int
	inf  uint64
	max  uint64
	nan  uint64
}

var layouts = [...]layout{
	F16:  {"f16", 10, 15, 0x7c00, 0x7bff, uint64(NaN16)},
	BF16: {"bf16", 7, 127, 0x7f80, 0x7f7f, uint64(NaN16)},
	TF32: {"tf32", 10, 127, 0xff << 10, 0xff<<10 - 1, 1<<18 - 1},
	E4M3: {"e4m3", 3, 7, 0x7f, 0x7e, uint64(NaN8)},
	E5M2: {"e5m2", 2, 15, 0x7c, 0x7b, uint64(NaN8)},
	F32:  {"f32", 23, 127, 0x7f800000, 0x7f7fffff, uint64(NaN32)},
	F64:  {"f64", 52, 1023, 0x7ff << 52, 0x7ff<<52 - 1, NaN64},
}

// sign returns the sign bit of the format.
func (l *layout) sign() uint64 {
	switch {
	case l.frac == 52:
		return 1 << 63
	case l.frac == 23:
		return 1 << 31
	case l.bias == 127 && l.frac == 10:
		return 1 << 18
	case l.frac >= 7:
		return 1 << 15
	}
	return 1 << 7
}
