package scaffold

import (
	"testing"

	"tilescope/debugkern/ptx"
)

// TestStride: the stride of an index is one dimension, the same one every time, where two are factors of it.
func TestStride(t *testing.T) {
	for _, c := range []struct{ index, want string }{
		{"row * C + c", "C"}, {"C * row + c", "C"}, {"(i / HW * C + c) * HW + i % HW", "C"},
		{"row * 8 + c", ""},
	} {
		v := read("__global__ void k(float* x, int C, int HW) { x[" + c.index + "] = 0; }").view(&ptx.Func{
			Name: "k", Demangled: "k",
		})
		g := &general{v: v, dimOf: map[int]string{1: "C", 2: "HW"}}
		for range 20 {
			if got := g.stride(0); got != c.want {
				t.Fatalf("%s: %q, want %q", c.index, got, c.want)
			}
		}
	}
}
