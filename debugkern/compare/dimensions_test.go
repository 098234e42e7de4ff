package compare_test

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/compare"
	"tilescope/debugkern/debugtest"
)

// TestOtherDimensions: targets whose problems have different dimensions are refused as such, whatever shape
// is given, so that no advice leads to another shape.
func TestOtherDimensions(t *testing.T) {
	s := debugtest.Open(t)
	want := "stage2 has the dimensions B,H,S,D and gemm_wmma has M,N,K: no shape fits both, " +
		"so they cannot be compared"
	for _, shape := range []string{"", "small", "1,4,128,64", "M=64,N=64,K=64"} {
		a := debugkern.Request{Target: "stage2", Shape: shape, Backend: "emu"}
		b := a
		b.Target = "gemm_wmma"
		if _, err := compare.Run(t.Context(), s, a, b, nil, nil); err == nil || err.Error() != want {
			t.Errorf("shape %q: %v", shape, err)
		}
	}
}
