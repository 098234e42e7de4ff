package debugkern

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// Has reports whether a cell of the kernel's tile has a number: it was captured, and is an element of the
// argument where the tile is one's.
func (v *TileView) Has(row, col int) bool {
	return v.Got.Captured(row, col) && (v.Elems == 0 || row*v.Plan.Cols+col < v.Elems)
}

// WriteArray writes the compared cells of the tile as a NumPy array of ValidRows×ValidCols: of want as
// float64, or, where that is nil, the kernel's in their own type, or as float32 where NumPy lacks the type:
// it has all numbers of bf16 and of the types of 8 bits. A cell that has no number is NaN, of integers all
// are float64 then. The error is of writing.
func (v *TileView) WriteArray(w io.Writer, want func(row, col int) float64) error {
	rows, cols := v.ValidRows, v.ValidCols
	t, own := arrayTypes[v.Got.DType]
	switch {
	case want != nil:
		t, own = npy.F64, false
	case !own:
		t = npy.F32
	case !strings.HasPrefix(string(t), "f") && v.holes():
		t, own = npy.F64, false
	}
	b := npy.AppendHeader(nil, t, []int{rows, cols})
	for i := range rows * cols {
		row, col := i/cols, i%cols
		switch {
		case want != nil:
			b = appendNumber(b, t, want(row, col))
		case !v.Has(row, col):
			b = appendNumber(b, t, math.NaN())
		case own:
			bits := binary.LittleEndian.AppendUint64(nil, v.Got.Bits(row, col))
			b = append(b, bits[:t.Size()]...)
		default:
			b = appendNumber(b, t, v.Got.At(row, col))
		}
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write tile of %s: %w", v.Stage, err)
	}
	return nil
}

// holes reports whether some compared cell has no number.
func (v *TileView) holes() bool {
	for i := range v.ValidRows * v.ValidCols {
		if !v.Has(i/v.ValidCols, i%v.ValidCols) {
			return true
		}
	}
	return false
}

// arrayTypes are the types of cells that NumPy has.
var arrayTypes = map[probes.DType]npy.DType{
	probes.U8: npy.U8, probes.I8: npy.I8, probes.U16: npy.U16, probes.I16: npy.I16, probes.U32: npy.U32,
	probes.I32: npy.I32, probes.U64: npy.U64, probes.I64: npy.I64, probes.F16: npy.F16, probes.F32: npy.F32,
	probes.F64: npy.F64,
}

// appendNumber appends a number as float32 or float64; as float16, of which other elements are copied, NaN
// alone.
func appendNumber(b []byte, t npy.DType, x float64) []byte {
	switch t {
	case npy.F16:
		return append(b, 0x00, 0x7e)
	case npy.F32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}
