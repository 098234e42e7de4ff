package check_test

import (
	"context"
	"fmt"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// watched runs a kernel of the archive, and then again with checkers attached.
func watched(t *testing.T, req debugkern.Request, tr debugkern.Trial) *debugkern.Run {
	t.Helper()
	s, err := debugkern.Open(context.Background(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	req.Backend = "emu"
	run, err := s.Run(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.Try(context.Background(), tr)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func ofKind(r *debugkern.Run, k target.Kind) []debugkern.FindingDoc {
	var out []debugkern.FindingDoc
	for _, f := range r.Report.Findings {
		if f.Kind == string(k) {
			out = append(out, f)
		}
	}
	return out
}

func TestShow(t *testing.T) {
	for _, v := range []string{"stage2", "scalar", "swizzle", "kvlut", "stage3b", "flashcore_vec", "flashcore_fused_wmma"} {
		r := watched(t, debugkern.Request{Target: v, Shape: "validation"}, debugkern.Trial{Check: check.Banks | check.Sectors | check.Overlap})
		for _, f := range r.Report.Findings {
			fmt.Println(v, f.Kind, f.Source.Line, f.Message, "--", f.Consequence)
		}
	}
	_ = probes.GateNone
}
