package debugkern_test

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestWriterSaysWhereTheValueWasComputed: of a stage that a probe captures that is the line of the
// arithmetic, not that of the macro; a value that is computed where it is stored, or loaded, has no other.
func TestWriterSaysWhereTheValueWasComputed(t *testing.T) {
	for _, c := range []struct {
		target, shape    string
		stage            probes.Stage
		computed, stored string // in the lines; computed "": no other line
		probe            bool
	}{
		{"softmax_row", "partial", "l", "l[i] = __fadd_rn(", "TS_OWN(TS_L", true},
		{"gemm_wmma", "partial", "pre", "const float x = __fadd_rn(", "TS_OWN(TS_PRE", true},
		{"layernorm", "partial", "var", "", "var_smem[r] = __fdiv_rn(", false},
		{"attention_causal", "small", "K", "", "sK[n][d] =", false},
	} {
		run := debugtest.Run(t, debugkern.Request{Target: c.target, Shape: c.shape, Backend: "emu"})
		w, err := run.Writer(t.Context(), debugkern.Cell{Place: debugkern.Place{Stage: c.stage}})
		if err != nil || w == nil {
			t.Errorf("%s %s: %v, %v", c.target, c.stage, w, err)
			continue
		}
		line := func(s *target.Source) string {
			if s == nil {
				return ""
			}
			return run.Source(s.File)[s.Line-1]
		}
		if got := line(w.Source); !strings.Contains(got, c.stored) || w.Probe != c.probe {
			t.Errorf("%s %s: stored by %q, probe %v", c.target, c.stage, got, w.Probe)
		}
		if got := line(w.Computed); !strings.Contains(got, c.computed) || (got == "") != (c.computed == "") {
			t.Errorf("%s %s: computed by %q, want %q", c.target, c.stage, got, c.computed)
		}
	}
}
