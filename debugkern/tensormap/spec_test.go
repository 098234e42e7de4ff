package tensormap

import (
	"reflect"
	"strings"
	"testing"
)

// TestSpec: what a description leaves out is the buffer's, and its lists have the order of the buffer's
// extents.
func TestSpec(t *testing.T) {
	for name, c := range map[string]struct {
		spec    Spec
		strides []int
		want    Map
	}{
		"the buffer's": {
			Spec{Box: []int64{1, 16, 32}, Swizzle: "64B"}, nil,
			Map{
				DType: F16, Dims: []uint64{64, 40, 3}, Strides: []uint64{128, 5120}, Box: []uint32{32, 16, 1},
				Steps: []uint32{1, 1, 1}, Swizzle: Swizzle64B,
			},
		},
		"the buffer's with gaps": {
			Spec{Box: []int64{1, 16, 32}, Steps: []int64{1, 2, 1}, Fill: "nan", Promotion: "256B"},
			[]int{4000, 80, 1},
			Map{
				DType: F16, Dims: []uint64{64, 40, 3}, Strides: []uint64{160, 8000}, Box: []uint32{32, 16, 1},
				Steps: []uint32{1, 2, 1}, Fill: FillNaN, Promotion: 3,
			},
		},
		"other dimensions": {
			Spec{DType: "i8", Dims: []int64{9, 32}, Box: []int64{3, 32}, Offset: 16}, nil,
			Map{
				DType: U8, Dims: []uint64{32, 9}, Strides: []uint64{32}, Box: []uint32{32, 3},
				Steps: []uint32{1, 1},
			},
		},
		"other strides": {
			Spec{
				Dims: []int64{4, 40, 16}, Strides: []int64{32, 128}, Box: []int64{1, 8, 16},
				Interleave: "none",
			},
			nil,
			Map{
				DType: F16, Dims: []uint64{16, 40, 4}, Strides: []uint64{128, 32}, Box: []uint32{16, 8, 1},
				Steps: []uint32{1, 1, 1},
			},
		},
	} {
		m, err := c.spec.Map("f16", []int{3, 40, 64}, c.strides)
		if err != nil || !reflect.DeepEqual(*m, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, m, err, c.want)
		}
	}
}

// TestSpecMistakes: what no map is made of is an error that says why.
func TestSpecMistakes(t *testing.T) {
	for says, s := range map[string]Spec{
		"no tensor map has elements of type \"q4\"": {DType: "q4", Box: []int64{16}},
		"swizzle \"3B\": expected none, 32B":        {Swizzle: "3B"},
		"fill \"one\": expected zero, nan":          {Fill: "one"},
		"a box of 1 extents for 2 dimensions":       {Box: []int64{16}},
		"3 element strides for 2 dimensions":        {Box: []int64{1, 16}, Steps: []int64{1, 1, 1}},
		"2 strides for 2 dimensions":                {Box: []int64{1, 16}, Strides: []int64{1, 1}},
		"1 to 5 dimensions, not 6":                  {Dims: make([]int64, 6)},
		"dimension 0 has 0 elements":                {Dims: []int64{-4, 16}, Box: []int64{1, 16}},
		"the box has 0 elements in dimension 0":     {Box: []int64{-1, 16}},
		"offset -16":                                {Box: []int64{1, 16}, Offset: -16},
		"a stride of 18446744073709551615 bytes":    {Box: []int64{1, 16}, Strides: []int64{-16}},
	} {
		if m, err := s.Map("f16", []int{40, 64}, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %+v, %v, want %q", s, m, err, says)
		}
	}
	s := Spec{Box: []int64{1, 16}}
	if _, err := s.Map("f16", []int{40, 64}, []int{64, 2}); err == nil ||
		!strings.Contains(err.Error(), "side by side") {
		t.Errorf("a last dimension with gaps: %v", err)
	}
}

// TestKeys: what a map is written as makes the same map.
func TestKeys(t *testing.T) {
	m := matrix()
	m.Steps[1], m.Promotion, m.Fill = 2, 1, FillNaN
	s := m.Spec(32)
	if got, want := s.Keys(), "dtype: f16, dims: [100, 64], strides: [128], box: [32, 64], steps: [2, 1], "+
		"interleave: none, swizzle: 128B, promotion: 64B, fill: nan, offset: 32"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if again, err := s.Map("u8", []int{4}, nil); err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("%+v, %v, want %+v", again, err, m)
	}
}
