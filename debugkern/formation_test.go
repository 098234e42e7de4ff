package debugkern_test

import (
	"math"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/probes"
)

// TestFormationOfRightKernels works out backwards what the values of right cells would have to be: what they
// are.
func TestFormationOfRightKernels(t *testing.T) {
	for _, c := range []struct {
		target, shape string
		least         int // values of which that is known
	}{
		{"scalar", "partial49", 1000}, {"stage3b", "small", 500}, {"flashcore_vec", "small", 1000},
		{"gemm_wmma", "ragged", 50}, {"softmax_row", "ragged", 300}, {"layernorm", "ragged", 300},
		{"attention_causal", "partial", 500}, {"attention_backward", "partial", 500},
	} {
		t.Run(c.target, func(t *testing.T) {
			run := debugtest.Run(t, debugkern.Request{Target: c.target, Shape: c.shape, Backend: "emu"})
			known := 0
			for i := range run.Plan.Stages {
				sp := &run.Plan.Stages[i]
				if sp.Capture.Kind == probes.CaptureNone || sp.OfLaunch() {
					continue
				}
				block := run.Blocks()[len(run.Blocks())-1]
				kv, n := run.Tiles(block)
				if sp.PerTile {
					kv += n - 1
				}
				v, err := run.View(debugkern.Place{Stage: sp.Stage, Block: block, KVTile: kv})
				if err != nil {
					t.Fatal(err)
				}
				if v.ValidRows*v.ValidCols == 0 {
					continue
				}
				cells, err := run.Formation(t.Context(), sp.Stage, block, kv, [][2]int{
					{0, 0}, {v.ValidRows - 1, v.ValidCols - 1}, {v.ValidRows / 2, v.ValidCols / 3},
				})
				if err != nil {
					t.Fatalf("%s: %v", sp.Stage, err)
				}
				for k := range cells {
					needs, is := cells[k].Needs()
					for j := range cells[k].Values {
						x := &cells[k].Values[j]
						if !is[j] || math.IsNaN(x.Got) {
							continue
						}
						if known++; !needs[j].Has(x.Got) {
							t.Errorf("%s: %+v is said to have to be %v", sp.Stage, *x, needs[j])
						}
					}
				}
			}
			if known < c.least {
				t.Errorf("what %d values would have to be is known, expected %d", known, c.least)
			}
		})
	}
}
