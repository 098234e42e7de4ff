package cell

import (
	"math"
	"strconv"
	"strings"

	"tilescope/probes"
)

// Form is a form in which other programs take numbers.
type Form uint8

// The forms.
const (
	CSV   Form = iota // a line a row
	NumPy             // an expression of Python, with numpy imported as np
)

// Forms lists the names of the forms.
var Forms = []string{"csv", "numpy"}

func (f Form) String() string { return [...]string{"CSV", "NumPy"}[f] }

// numpyTypes are the types that NumPy has; numbers of other types are all numbers of float32.
var numpyTypes = map[probes.DType]string{
	probes.U8: "uint8", probes.I8: "int8", probes.U16: "uint16", probes.I16: "int16", probes.U32: "uint32",
	probes.I32: "int32", probes.U64: "uint64", probes.I64: "int64", probes.F16: "float16",
	probes.F32: "float32", probes.F64: "float64",
}

// NumPyType is the name of a type in NumPy: one that has all its numbers, where NumPy lacks the type itself.
func NumPyType(t probes.DType) string {
	if name := numpyTypes[t]; name != "" {
		return name
	}
	return "float32"
}

// Rows writes rows of a tile of rows×cols in a form, from row first on, as many whole rows as limit bytes
// hold, but one at least. value returns the text of a cell, "" where there is none. dtype is NumPy's name
// of the type. It returns how many rows it wrote.
func (f Form) Rows(dtype string, first, rows, cols, limit int, value func(row, col int) string) (string,
	int) {
	var b strings.Builder
	holes := false
	if f == NumPy {
		b.WriteString("np.array([")
	}
	n := 0
	for row := first; row < first+rows; row++ {
		line := f.row(row, cols, func(row, col int) string {
			s := value(row, col)
			holes = holes || s == ""
			return s
		})
		if n > 0 && b.Len()+len(line)+32 > limit {
			break
		}
		if f == NumPy && n > 0 {
			b.WriteString(",\n          ")
		}
		b.WriteString(line)
		if f == CSV {
			b.WriteByte('\n')
		}
		n++
	}
	if f == NumPy {
		if holes && !strings.HasPrefix(dtype, "float") {
			dtype = "float64" // integers have no NaN
		}
		b.WriteString("], dtype=np." + dtype + ")\n")
	}
	return b.String(), n
}

func (f Form) row(row, cols int, value func(row, col int) string) string {
	cells := make([]string, cols)
	for col := range cells {
		cells[col] = value(row, col)
		if f == NumPy {
			cells[col] = numpyNumber(cells[col])
		}
	}
	if f == NumPy {
		return "[" + strings.Join(cells, ", ") + "]"
	}
	return strings.Join(cells, ",")
}

func numpyNumber(s string) string {
	switch s {
	case "", "NaN":
		return "np.nan"
	case "Inf":
		return "np.inf"
	case "-Inf":
		return "-np.inf"
	}
	return s
}

// Exact writes a bit pattern of type t as the shortest number that reads back as the same one.
func Exact(t probes.DType, bits uint64) string {
	switch t {
	case probes.U8, probes.U16, probes.U32, probes.U64:
		return strconv.FormatUint(bits, 10)
	case probes.I64:
		return strconv.FormatInt(int64(bits), 10)
	case probes.F64:
		return Decimal(t.Value(bits), 64)
	}
	return Decimal(t.Value(bits), 32)
}

// Decimal is the shortest number that reads back as x in so many bits.
func Decimal(x float64, bits int) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Inf"
	case math.IsInf(x, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(x, 'g', -1, bits)
}
