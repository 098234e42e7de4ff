package record_test

import (
	"os"
	"path/filepath"
	"testing"

	"tilescope/debugkern/bundle"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/target"
)

// TestRecordedOnH200: launches that `tilescope record` wrote on an H200 (driver 580, CUDA 13.0, PyTorch 2.11,
// Triton 3.6) give the same bits here: a softmax of Triton's, attention of Triton's with wgmma, a copy with
// tensor maps, and a kernel of an inline CUDA extension (testdata/h200/ext.py, TORCH_CUDA_ARCH_LIST=9.0+PTX).
// The sources of Triton's kernels are in the bundles.
func TestRecordedOnH200(t *testing.T) {
	s := debugtest.Open(t)
	for name, want := range map[string]struct {
		elements int
		maps     int
	}{
		"softmax": {4800, 0}, "attn": {16384, 0}, "tma": {7680, 2}, "ext": {19200, 0},
	} {
		path := filepath.Join("testdata", "h200", name+bundle.Ext)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		res, err := checkrun.Kernel(t.Context(), s, checkrun.Request{File: path}, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		compared, maps := 0, 0
		for _, o := range res.Doc.Outputs {
			if r := o.Recorded; r != nil {
				compared += r.Elements
				if r.Differing > 0 {
					t.Errorf("%s: %d of %d elements of %s differ", name, r.Differing, r.Elements, o.Name)
				}
			}
		}
		for _, a := range res.Doc.Args {
			if a.DType == "tensormap" {
				maps++
			}
		}
		if compared != want.elements || maps != want.maps {
			t.Errorf("%s: %d elements compared, %d tensor maps", name, compared, maps)
		}
		for _, f := range res.Doc.Findings {
			if f.Kind == string(target.BackendDifference) {
				t.Errorf("%s: %s", name, f.Message)
			}
		}
	}
}
