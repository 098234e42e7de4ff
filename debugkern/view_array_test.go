package debugkern

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// TestWriteArray: the compared cells of a tile as an array: in their own type to the bit, those of a type
// that NumPy lacks as float32, of what they are compared with as float64; a cell without a number is NaN.
func TestWriteArray(t *testing.T) {
	want := func(row, col int) float64 { return float64(2*row+col) + 0.25 }
	for _, c := range []struct {
		dtype  probes.DType
		bits   [4]uint64
		absent bool
		want   func(row, col int) float64
		typed  npy.DType
		values string // the elements' bits
	}{
		{probes.F16, [4]uint64{0x3c00, 0xc100, 0, 0x3800}, false, nil, npy.F16, "[3c00 c100 0 3800]"},
		{probes.F16, [4]uint64{0x3c00, 0xc100, 0, 0x3800}, true, nil, npy.F16, "[7e00 c100 0 3800]"},
		{probes.BF16, [4]uint64{0x3f80, 0xc020, 0, 0x3f00}, false, nil, npy.F32,
			"[3f800000 c0200000 0 3f000000]"},
		{probes.I32, [4]uint64{1, 0xfffffffe, 3, 0}, false, nil, npy.I32, "[1 fffffffe 3 0]"},
		{probes.I32, [4]uint64{1, 0xfffffffe, 3, 0}, true, nil, npy.F64,
			"[7ff8000000000001 c000000000000000 4008000000000000 0]"},
		{probes.F16, [4]uint64{}, false, want, npy.F64,
			"[3fd0000000000000 3ff4000000000000 4002000000000000 400a000000000000]"},
	} {
		const cols = 3 // of which two are compared
		v := &TileView{Got: probes.NewTile(c.dtype, 2, cols), Plan: &probes.StagePlan{Rows: 2, Cols: cols},
			ValidRows: 2, ValidCols: 2}
		for i, x := range c.bits {
			v.Got.SetBits(i/2, i%2, x)
		}
		if c.absent {
			v.Got.Absent = make([]bool, 2*cols)
			v.Got.Absent[0] = true
		}
		var b bytes.Buffer
		if err := v.WriteArray(&b, c.want); err != nil {
			t.Fatal(err)
		}
		a, err := npy.ReadArray(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), "t.npy", 1<<20)
		if err != nil || a.DType != c.typed || !slices.Equal(a.Shape, []int{2, 2}) {
			t.Fatalf("%s: %+v, %v", c.dtype, a, err)
		}
		var got [4]uint64
		for i := range got {
			var bits [8]byte
			copy(bits[:], a.Data[i*c.typed.Size():(i+1)*c.typed.Size()])
			got[i] = binary.LittleEndian.Uint64(bits[:])
		}
		if s := fmt.Sprintf("%x", got); s != c.values {
			t.Errorf("%s, absent %t: %s, want %s", c.dtype, c.absent, s, c.values)
		}
	}
}
