package debugkern_test

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// TestMadeAt: where a cell is computed is not where it is stored, and what several stages have in common is
// the operation that all of them use.
func TestMadeAt(t *testing.T) {
	cell := func(stage probes.Stage, kv, row, col int) debugkern.Cell {
		return debugkern.Cell{Place: debugkern.Place{Stage: stage, KVTile: kv}, Row: row, Col: col}
	}
	for _, c := range []struct {
		target, shape string
		cells         []debugkern.Cell
		want          string // of the line, or of the line that calls it
	}{
		{"softmax_row", "partial", []debugkern.Cell{cell("l", 0, 1, 0)}, "l[i] = __fadd_rn("},
		{"gemm_wmma", "partial", []debugkern.Cell{cell("C", 0, 1, 1)}, "__fmul_rn(0.5f, x), phi2)"},
		{"attention_causal", "small", []debugkern.Cell{cell("l", 0, 3, 0), cell("P", 0, 3, 1)},
			"? exp_below(sS[t][n], m)"},
		{"attention_backward", "small", []debugkern.Cell{cell("dS", 0, 2, 1)}, "const float ds = seen"},
	} {
		run := debugtest.Run(t, debugkern.Request{Target: c.target, Shape: c.shape, Backend: "emu"})
		at, err := run.MadeAt(t.Context(), c.cells...)
		if err != nil || at == nil {
			t.Errorf("%s: %v, %v", c.target, at, err)
			continue
		}
		places := []*report.Source{at}
		for _, s := range at.Calls.Sites() {
			places = append(places, &report.Source{File: s.File, Line: s.Line})
		}
		found := false
		for _, p := range places {
			lines := run.Source(p.File)
			found = found || p.Line <= len(lines) && strings.Contains(lines[p.Line-1], c.want)
		}
		if !found {
			t.Errorf("%s: %v, expected the line with %q", c.target, at, c.want)
		}
	}
}

// TestMadeAtOfOtherCells: cells that no operation has in common are computed at no one place.
func TestMadeAtOfOtherCells(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "gemm_wmma", Shape: "partial", Backend: "emu"})
	at, err := run.MadeAt(t.Context(),
		debugkern.Cell{Place: debugkern.Place{Stage: "C"}, Row: 1, Col: 1},
		debugkern.Cell{Place: debugkern.Place{Stage: "C"}, Row: 2, Col: 5})
	if err != nil || at != nil {
		t.Errorf("%v, %v", at, err)
	}
}
