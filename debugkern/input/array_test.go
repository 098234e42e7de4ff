package input

import (
	"testing"

	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// TestArrayTypes: every element type has an array type of its size, and an array's elements
// are what was written.
func TestArrayTypes(t *testing.T) {
	for dtype := probes.U8; dtype <= probes.I16; dtype++ {
		raw := RawArrayType(dtype)
		if raw.Size() != dtype.Size() {
			t.Errorf("%s is written as %s", dtype, raw)
		}
		array, ok := ArrayType(dtype)
		if without := dtype == probes.BF16 || dtype == probes.E4M3 || dtype == probes.E5M2; ok == without {
			t.Errorf("%s: NumPy's type is %q", dtype, array)
		}
		if ok && (array != raw || ElementType(array) != dtype) {
			t.Errorf("%s is written as %s and read as %s", dtype, raw, ElementType(array))
		}
	}
	if ElementType(npy.Bool) != probes.U8 {
		t.Error("a truth value is a byte")
	}
}
