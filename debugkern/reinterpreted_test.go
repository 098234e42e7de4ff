package debugkern_test

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestRightKernelsConvertAndStoreWhereTheyShould: in right kernels no product takes a number as another
// type than it was made as, and every block stores its own tile of the output.
func TestRightKernelsConvertAndStoreWhereTheyShould(t *testing.T) {
	for name, shape := range map[string]string{
		"stage3b": "small", "flashcore_fused_wmma": "small", "gemm_wmma": "ragged", "stage5_hopper": "small",
		"attention_gqa": "partial", "kvlut": "small", "softmax_row": "ragged",
	} {
		t.Run(name, func(t *testing.T) {
			run := debugtest.Run(t, debugkern.Request{Target: name, Shape: shape, Backend: "emu"})
			block := run.Blocks()[len(run.Blocks())-1]
			kv, _ := run.Tiles(block)
			for i := range run.Plan.Stages {
				sp := &run.Plan.Stages[i]
				if sp.Capture.Kind == probes.CaptureNone || sp.OfLaunch() {
					continue
				}
				x, err := run.Reinterpreted(t.Context(), sp.Stage, block, kv, [2]int{})
				if err != nil || x != nil {
					t.Errorf("%s: got %+v, %v", sp.Stage, x, err)
				}
				bits, err := run.Unconverted(t.Context(), sp.Stage, block, kv, [2]int{})
				if err != nil || bits != nil {
					t.Errorf("%s: got %+v, %v", sp.Stage, bits, err)
				}
				away, err := run.StoredAway(t.Context(), sp.Stage, block)
				if err != nil || away != nil {
					t.Errorf("%s: got %+v, %v", sp.Stage, away, err)
				}
			}
		})
	}
}

// TestFirstCompared: the warps of flashcore_vec go through the rows that they store from their own first
// row on, and each compares that first.
func TestFirstCompared(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "flashcore_vec", Shape: "small", Backend: "emu"})
	var compares []int
	for i, in := range run.Entry().Body {
		at := target.Blame(run.Entry(), i)
		if in.Op == "setp" && !in.Type().Float() && strings.HasSuffix(at.File, "flashcore.cuh") &&
			at.Line == 111 {
			compares = append(compares, i)
		}
	}
	first, err := run.FirstCompared(t.Context(), run.Blocks()[0], compares)
	if err != nil || len(first) < 2 {
		t.Fatalf("got %v, %v", first, err)
	}
	for w, c := range first {
		if c.A != float64(8*w) || !slices.Contains(compares, c.At) {
			t.Errorf("warp %d: got %+v, expected row %d first", w, c, 8*w)
		}
	}
}
