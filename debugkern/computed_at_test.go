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

// TestLineageLineOfATotal: of a sum over several lines, one of which is a helper's, the document has the line
// of the addition that makes the total, and the moment is that line's.
func TestLineageLineOfATotal(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "softmax_row", Shape: "validation", Backend: "emu"})
	cell := debugkern.Cell{Place: debugkern.Place{Stage: "l", KVTile: 1}, Row: 1}
	doc, err := run.Lineage(t.Context(), cell, debugkern.LineageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range doc.Nodes {
		n := &doc.Nodes[i]
		if n.At == nil || n.At.Line == 0 || !strings.HasPrefix(n.Op, "sum of") {
			continue
		}
		got := run.Source(n.Source.File)[n.At.Line-1]
		if !strings.Contains(got, "l[i] = ") || n.Source.Line == n.At.Line || n.Line == 0 {
			t.Errorf("%s: line %d %q, from line %d to %d", n.Op, n.At.Line, got, n.Source.Line, n.Line)
		}
		return
	}
	t.Error("no sum of several lines")
}
