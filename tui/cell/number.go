package cell

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tilescope/probes"
)

// Format is how a cell's number is written.
type Format uint8

// The number formats, in the order of their key.
const (
	Fixed Format = iota
	Sci
	Hex
	Bits
	ULP // the value's place in the order of its type's representable values
	numFormats
)

var formatNames = [numFormats]string{"fixed", "sci", "hex", "bits", "ulp"}

func (f Format) String() string { return formatNames[f] }

// Next is the format after f.
func (f Format) Next() Format { return (f + 1) % numFormats }

// ParseFormat reads a format's name.
func ParseFormat(name string) (Format, bool) {
	i := slices.Index(formatNames[:], name)
	return Format(max(i, 0)), i >= 0
}

// Width is how many columns a number of type t takes in this format; wide allows more digits.
func (f Format) Width(t probes.DType, wide bool) int {
	switch f {
	case Sci:
		return 8
	case Hex:
		return 2 * t.Size()
	case Bits:
		return 8 * t.Size()
	case ULP:
		if t.Size() <= 2 {
			return 6
		}
		return 11
	}
	if wide {
		return 6
	}
	return 4
}

// Text writes the value with bit pattern bits in at most w columns.
func (f Format) Text(t probes.DType, bits uint64, w int) string {
	switch f {
	case Sci:
		return sci(t.Value(bits), w)
	case Hex:
		return clip(HexText(t, bits), w)
	case Bits:
		s := strconv.FormatUint(bits, 2)
		return clip(strings.Repeat("0", max(0, 8*t.Size()-len(s)))+s, w)
	case ULP:
		return clip(strconv.FormatInt(Ordinal(t, bits), 10), w)
	}
	v := t.Value(bits)
	if s := Typed(t, v); !t.Float() && len(s) <= w {
		return s
	}
	return FixedText(v, w)
}

// HexText writes a bit pattern in all its digits.
func HexText(t probes.DType, bits uint64) string {
	s := strings.ToUpper(strconv.FormatUint(bits, 16))
	return strings.Repeat("0", max(0, 2*t.Size()-len(s))) + s
}

func clip(s string, w int) string {
	if len(s) <= w {
		return s
	}
	return s[:max(0, w-1)] + "…"
}

// Odd is what an error is that has no size: NaN, or Inf.
func Odd(delta float64) string {
	if math.IsNaN(delta) {
		return "NaN"
	}
	return "Inf"
}

// FixedText writes v in at most w columns (w ≥ 3): as many decimals as fit, no zero before the point, then k,
// M, G, then powers of ten. A number too small for its decimals is a power of ten where that fits with a
// sign, else it has a unit (m, u, n, p, f, a), so that its sign is never before zeros alone.
func FixedText(v float64, w int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Inf"
	case math.IsInf(v, -1):
		if w < 4 {
			return "-I"
		}
		return "-Inf"
	case v == 0:
		if math.Signbit(v) {
			return "-0"
		}
		return "0"
	}
	if a := math.Abs(v); a < math.Pow(10, float64(-(w-2)))/2 {
		return small(v, w)
	}
	for prec := max(0, w-2); prec >= 0; prec-- {
		s := noZero(strconv.FormatFloat(v, 'f', prec, 64))
		if len(s) <= w {
			return s
		}
	}
	return scaled(v, w)
}

// noZero drops the zero before the point: 0.41 is .41.
func noZero(s string) string {
	if strings.HasPrefix(s, "0.") {
		return s[1:]
	}
	if strings.HasPrefix(s, "-0.") {
		return "-" + s[2:]
	}
	return s
}

// small writes a number below the last decimal: as a power of ten, else with a unit, the largest that leaves
// a digit; what has none is ~0. A column is left for the sign: a number and its negative are written alike.
func small(v float64, w int) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	if s := sciShort(v); len(s) < w {
		return sign + s
	}
	for _, unit := range "munpfa" {
		v *= 1000
		for prec := w - 3; prec >= 0; prec-- {
			s := noZero(strconv.FormatFloat(v, 'f', prec, 64))
			if len(s) < w-1 && strings.ContainsAny(s, "123456789") {
				return sign + s + string(unit)
			}
		}
	}
	return sign + "~0"
}

// scaled writes a large number with a unit, 2k or .5M, or as a power of ten.
func scaled(v float64, w int) string {
	whole := v
	for _, unit := range "kMGT" {
		if v /= 1000; math.Abs(v) >= 999.5 {
			continue
		}
		for prec := w; prec >= 0; prec-- {
			s := noZero(strconv.FormatFloat(v, 'f', prec, 64)) + string(unit)
			if len(s) <= w && strings.ContainsAny(s, "123456789") {
				return s
			}
		}
	}
	if s := sciShort(whole); len(s) <= w {
		return s
	}
	if v < 0 {
		return "-++"[:min(3, w)]
	}
	return "++"
}

// sciShort is one digit and a power of ten: 3e-5.
func sciShort(v float64) string {
	s := strconv.FormatFloat(v, 'e', 0, 64)
	mant, exp, _ := strings.Cut(s, "e")
	n, _ := strconv.Atoi(exp)
	return mant + "e" + strconv.Itoa(n)
}

func sci(v float64, w int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
		return FixedText(v, w)
	}
	for prec := w; prec >= 0; prec-- {
		if s := strconv.FormatFloat(v, 'e', prec, 64); len(s) <= w {
			return s
		}
	}
	return clip(sciShort(v), w)
}

// SignedText writes an error in at most w columns, its sign always shown.
func SignedText(v float64, w int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
		return FixedText(v, w)
	}
	if v > 0 {
		return "+" + FixedText(v, w-1)
	}
	return FixedText(v, w)
}

// Ordinal is the place of a bit pattern in the order of its type's values: neighbours differ by
// one, both zeros are 0.
func Ordinal(t probes.DType, bits uint64) int64 {
	if !t.Float() {
		return int64(t.Value(bits))
	}
	sign := uint64(1) << (8*t.Size() - 1)
	if bits&sign != 0 {
		return -int64(bits &^ sign)
	}
	return int64(bits)
}

// Round returns the bit pattern of type t nearest to v, ties to even.
func Round(t probes.DType, v float64) uint64 {
	switch {
	case t == probes.F64:
		return math.Float64bits(v)
	case t == probes.F32:
		return uint64(math.Float32bits(float32(v)))
	case !t.Float():
		return uint64(int64(math.RoundToEven(v))) & (1<<(8*t.Size()) - 1)
	}
	return roundSmall(t, v)
}

func roundSmall(t probes.DType, v float64) uint64 {
	expBits, fracBits := t.Format()
	var sign uint64
	if math.Signbit(v) {
		sign = 1 << (expBits + fracBits)
	}
	inf := (uint64(1)<<expBits - 1) << fracBits
	nan := inf | 1<<(fracBits-1)
	if t == probes.E4M3 {
		inf = 0x7f // no infinity: all ones is NaN
		nan = 0x7f
	}
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return sign | nan
	case a == 0:
		return sign
	case math.IsInf(v, 0):
		return sign | inf
	}
	emin := 2 - 1<<(expBits-1)
	_, e := math.Frexp(a)
	e = max(e-1, emin)
	bits := uint64(math.RoundToEven(math.Ldexp(a, fracBits-e))) + uint64(e-emin)<<fracBits
	return sign | min(bits, inf)
}
