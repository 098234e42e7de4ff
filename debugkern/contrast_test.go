package debugkern_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/probes"
)

// TestContrastOfRightKernels: no cell of a right kernel is made of anything but what its manifest says, and
// no index moves further or less far.
func TestContrastOfRightKernels(t *testing.T) {
	for i, c := range []struct{ target, shape string }{
		{"scalar", "partial49"}, {"stage2", "partial49"}, {"stage3b", "small"}, {"flashcore_vec", "small"},
		{"flashcore_fused_wmma", "partial49"}, {"gemm_wmma", "ragged"}, {"softmax_row", "ragged"},
		{"layernorm", "ragged"}, {"attention_causal", "partial"}, {"attention_gqa", ""},
		{"attention_backward", "partial"},
	} {
		t.Run(c.target, func(t *testing.T) {
			if i%3 != 0 && os.Getenv("TILESCOPE_LONG") == "" {
				t.Skip("one kernel of three is compared without TILESCOPE_LONG: make test-long has all")
			}
			run := debugtest.Run(t, debugkern.Request{Target: c.target, Shape: c.shape, Backend: "emu"})
			compared := 0
			for i := range run.Plan.Stages {
				sp := &run.Plan.Stages[i]
				if sp.Capture.Kind == probes.CaptureNone || sp.OfLaunch() {
					continue
				}
				block := run.Blocks()[len(run.Blocks())-1]
				lo, n := run.Tiles(block)
				kv := lo
				if sp.PerTile {
					kv = lo + n - 1
				}
				v, err := run.View(debugkern.Place{Stage: sp.Stage, Block: block, KVTile: kv})
				if err != nil {
					t.Fatal(err)
				}
				if v.ValidRows*v.ValidCols == 0 {
					continue
				}
				compared++
				list, err := run.Contrast(t.Context(), sp.Stage, block, kv, [][2]int{
					{0, 0}, {v.ValidRows - 1, v.ValidCols - 1}, {v.ValidRows / 2, v.ValidCols / 3},
				})
				if err != nil {
					t.Errorf("%s: %v", sp.Stage, err)
					continue
				}
				steps, err := run.Steps(t.Context(), sp.Stage, block, kv)
				if err != nil || len(steps) > 0 {
					t.Errorf("%s: %v, %v", sp.Stage, steps, err)
				}
				for _, x := range list {
					if !x.Empty() {
						t.Errorf("%s of block %s, tile %d, cell %d,%d: %+v", sp.Stage, block, kv, x.Cell.Row,
							x.Cell.Col, x)
					}
				}
			}
			if compared < 3 {
				t.Errorf("%d stages were compared", compared)
			}
		})
	}
}

// TestContrastOfFaults: the operands that should not be there, those that should, and the line
// where they come in.
func TestContrastOfFaults(t *testing.T) {
	for _, c := range []struct {
		target, shape, fault, stage string
		foreign, missing            []string
		line                        string // a part of it
	}{
		{"stage2", "validation", "k-scale-head", "K", []string{"Ks[1]"}, []string{"Ks[0]"}, "k_scale"},
		{"gemm_wmma", "ragged", "k-half", "acc", nil, []string{"A[0][16..31]", "B[16..31][0]"},
			"load_matrix_sync(a"},
		{"gemm_wmma", "ragged", "bias-row", "pre", []string{"bias[0]"}, []string{"bias[1]"}, "bias["},
		{"layernorm", "ragged", "neighbour", "xhat", []string{"mean[1]"}, []string{"mean[0]"}, "mean_smem["},
		{"layernorm", "ragged", "mean-tail", "mean", nil, []string{"X[0][192..202]"}, ""},
		{"attention_gqa", "", "kv-head", "K", []string{"K[0][1][0][0]"}, []string{"K[0][0][0][0]"}, ""},
	} {
		t.Run(c.fault, func(t *testing.T) {
			run := debugtest.Run(t, debugkern.Request{
				Target: c.target, Shape: c.shape, Faults: []string{c.fault}, Backend: "emu",
			})
			b := run.Report.Stage(c.stage).FirstBad
			list, err := run.Contrast(t.Context(), probes.Stage(c.stage), b.Block, max(b.KVTile, 0), [][2]int{
				{b.Row, b.Col},
			})
			if err != nil {
				t.Fatal(err)
			}
			texts := func(list []debugkern.Operands) (out []string) {
				for _, o := range list {
					out = append(out, o.Text)
				}
				return out
			}
			x := &list[0]
			if !slices.Equal(texts(x.Foreign), c.foreign) || !slices.Equal(texts(x.Missing), c.missing) {
				t.Errorf("foreign %v, want %v; missing %v, want %v", texts(x.Foreign), c.foreign,
					texts(x.Missing), c.missing)
			}
			at := x.Missing[0].At
			if len(x.Foreign) > 0 {
				at = x.Foreign[0].At
			}
			if at == nil {
				t.Fatal("no line is named")
			}
			if text := run.Source(at.File); c.line != "" && !strings.Contains(text[at.Line-1], c.line) {
				t.Errorf("at %v, not the line with %q", at, c.line)
			}
		})
	}
}
