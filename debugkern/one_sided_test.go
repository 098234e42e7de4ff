package debugkern

import (
	"testing"

	"tilescope/debugkern/report"
)

// TestOneSided: kernels that are right are right with inputs of one sign each too, and every score of an
// attention is negative then.
func TestOneSided(t *testing.T) {
	s := openSession(t)
	for target, shape := range map[string]string{
		"stage2": "small", "stage3b": "small", "stage5_hopper": "small", "attention_causal": "partial49",
		"attention_gqa": "small", "attention_backward": "small", "gemm_wmma": "small",
		"softmax_row": "partial", "layernorm": "partial", "flashcore_vec": "small",
		"flashcore_fused_wmma": "small",
	} {
		req := Request{Target: target, Shape: shape, Backend: "emu", OneSided: true}
		run, err := s.Run(t.Context(), req, nil)
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if rep := run.Report; rep.Verdict != report.Agree || len(rep.Guilty) > 0 || len(rep.Findings) > 0 {
			t.Errorf("%s at %s: %s, guilty %v, findings %v", target, shape, rep.Verdict, rep.Guilty,
				rep.Findings)
		}
		if target != "stage2" {
			continue
		}
		v, err := run.View(Place{Stage: "S"})
		if err != nil {
			t.Fatal(err)
		}
		for r := range v.ValidRows {
			for c := range v.ValidCols {
				if v.Got.At(r, c) >= 0 {
					t.Fatalf("S[%d][%d] is %g", r, c, v.Got.At(r, c))
				}
			}
		}
	}
}
