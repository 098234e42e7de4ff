package tensormap

import (
	"slices"
	"strings"
	"testing"
)

// matrix is a valid map: 100 rows of 64 halves, of which 32 rows are copied.
func matrix() *Map {
	return &Map{
		DType: F16, Dims: []uint64{64, 100}, Strides: []uint64{128}, Box: []uint32{64, 32},
		Steps: []uint32{1, 1}, Swizzle: Swizzle128B,
	}
}

// TestValidate: each rule of cuTensorMapEncodeTiled has a map that breaks it alone, and one at its edge.
func TestValidate(t *testing.T) {
	for says, change := range map[string]func(*Map){
		"elements of type 13":        func(m *Map) { m.DType = 13 },
		"1 to 5 dimensions, not 0":   func(m *Map) { m.Dims = nil },
		"1 to 5 dimensions, not 6":   func(m *Map) { m.Dims = make([]uint64, 6) },
		"0 strides for 2 dimensions": func(m *Map) { m.Strides = nil },
		"a box of 1 extents":         func(m *Map) { m.Box = m.Box[:1] },
		"3 element strides": func(m *Map) {
			m.Steps = []uint32{1, 1, 1}
		},
		"an unknown interleave":                                  func(m *Map) { m.Swizzle = 4 },
		"dimension 0 has 0 elements":                             func(m *Map) { m.Dims[1] = 0 },
		"dimension 1 (the innermost) has 4294967297":             func(m *Map) { m.Dims[0] = 1<<32 + 1 },
		"the box has 257 elements in dimension 0":                func(m *Map) { m.Box[1] = 257 },
		"the box has 0 elements":                                 func(m *Map) { m.Box[0] = 0 },
		"an element stride of 9":                                 func(m *Map) { m.Steps[1] = 9 },
		"an element stride of 0":                                 func(m *Map) { m.Steps[0] = 0 },
		"a stride of 136 bytes in dimension 0: a multiple of 16": func(m *Map) { m.Strides[0] = 136 },
		"less than 2^40":                                         func(m *Map) { m.Strides[0] = 1 << 40 },
		"2^62 bytes": func(m *Map) {
			m.Dims[1], m.Strides[0] = 1<<32, 1<<39
		},
		"the box has 24 bytes in the innermost": func(m *Map) { m.Box[0] = 12 },
		"at most 64 with swizzle 64B":           func(m *Map) { m.Swizzle = Swizzle64B },
		"cannot be filled with NaN": func(m *Map) {
			m.DType, m.Fill = I64, FillNaN
			m.Box[0] = 8
		},
		"at least 3 dimensions": func(m *Map) {
			m.Interleave = Interleave16B
		},
		"interleave 32B needs swizzle 32B": func(m *Map) {
			m.Dims, m.Strides = []uint64{16, 4, 4}, []uint64{32, 128}
			m.Box, m.Steps, m.Interleave = []uint32{16, 4, 4}, []uint32{1, 1, 1}, Interleave32B
		},
	} {
		m := matrix()
		change(m)
		if err := m.Validate(0); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	for says, at := range map[string]uint64{"no multiple of 16": 8, "": 16} {
		if err := matrix().Validate(at); (err == nil) != (says == "") ||
			err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("at %d: %v, want %q", at, err, says)
		}
	}
	for name, change := range map[string]func(m *Map){
		"the matrix": func(*Map) {}, "a box of 256": func(m *Map) { m.Box[1] = 256 },
		"element strides of 8": func(m *Map) { m.Steps = []uint32{8, 8} },
		"a dimension of 2^32":  func(m *Map) { m.Dims[1] = 1 << 32 },
		"NaN":                  func(m *Map) { m.Fill = FillNaN },
		"rows over each other": func(m *Map) { m.Strides[0] = 16 },
		"all rows the same":    func(m *Map) { m.Strides[0] = 0 },
		"a vector": func(m *Map) {
			m.Dims, m.Strides, m.Box, m.Steps = m.Dims[:1], nil, m.Box[:1], m.Steps[:1]
		},
	} {
		m := matrix()
		if change(m); m.Validate(1024) != nil {
			t.Errorf("%s: %v", name, m.Validate(1024))
		}
	}
}

// TestSwizzles: the places of the 16-byte chunks of the first rows of a tile, by the figures of PTX ISA
// 5.5.6.
func TestSwizzles(t *testing.T) {
	for _, c := range []struct {
		s    Swizzle
		row  int // bytes
		want [][]int
	}{
		{Swizzle128B, 128, [][]int{
			{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5},
			{3, 2, 1, 0, 7, 6, 5, 4}, {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
			{6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}, {0, 1, 2, 3, 4, 5, 6, 7},
		}},
		{Swizzle64B, 64, [][]int{
			{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 3, 2}, {1, 0, 3, 2}, {2, 3, 0, 1}, {2, 3, 0, 1}, {3, 2, 1, 0},
			{3, 2, 1, 0}, {0, 1, 2, 3},
		}},
		{Swizzle32B, 32, [][]int{
			{0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {0, 1},
		}},
		{SwizzleNone, 32, [][]int{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}},
	} {
		for i, row := range c.want {
			for chunk, want := range row {
				at := uint64(4096 + i*c.row + 16*chunk + 5)
				if got := c.s.Address(at); got != uint64(4096+i*c.row+16*want+5) {
					t.Errorf("swizzle %s: chunk %d of row %d lies at %#x", c.s, chunk, i, got)
				}
			}
		}
	}
}

// TestRows: which bytes of a box lie in the tensor.
func TestRows(t *testing.T) {
	m := &Map{
		DType: U32, Dims: []uint64{10, 5, 3}, Strides: []uint64{48, 256}, Box: []uint32{8, 4, 2},
		Steps: []uint32{1, 2, 1},
	}
	if m.Rows() != 4 || m.RowBytes() != 32 || m.BoxBytes() != 128 || m.SharedBytes() != 128 ||
		m.GlobalBytes() != 40+4*48+2*256 {
		t.Errorf("%d rows of %d bytes, %d and %d, of %d", m.Rows(), m.RowBytes(), m.BoxBytes(),
			m.SharedBytes(), m.GlobalBytes())
	}
	var got []Row
	for i := range m.Rows() {
		got = append(got, m.Row(i, []int32{-2, 3, 2}))
	}
	if want := []Row{{648, 8, 32}, {744, 0, 0}, {904, 0, 0}, {1000, 0, 0}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if r := m.Row(1, []int32{6, 1, 0}); r != (Row{24 + 3*48, 0, 16}) {
		t.Errorf("%v", r)
	}
	m.Swizzle = Swizzle128B
	if m.SharedBytes() != 512 || m.BoxBytes() != 128 {
		t.Errorf("swizzled: %d bytes of shared memory, %d moved", m.SharedBytes(), m.BoxBytes())
	}
}

// TestFillPattern: what elements outside the tensor are.
func TestFillPattern(t *testing.T) {
	for m, want := range map[*Map]string{
		{DType: F16}:                 "\x00\x00",
		{DType: F16, Fill: FillNaN}:  "\xff\x7f",
		{DType: BF16, Fill: FillNaN}: "\xff\x7f",
		{DType: F32, Fill: FillNaN}:  "\xff\xff\xff\x7f",
	} {
		if got := string(m.FillPattern()); got != want {
			t.Errorf("%s: %x, want %x", m.DType, got, want)
		}
	}
}
