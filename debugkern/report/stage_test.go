package report

import (
	"testing"

	"tilescope/probes"
)

// TestAtTile: what a block has once is at no kv tile.
func TestAtTile(t *testing.T) {
	for _, c := range []struct {
		phase probes.Phase
		kv    int
		want  string
	}{{probes.PhaseEach, 3, ", kv tile 3"}, {probes.PhaseAfter, 4, ""}, {probes.PhaseBefore, -1, ""}} {
		if got := AtTile(", ", c.phase, "", c.kv); got != c.want {
			t.Errorf("%d %d: %q, want %q", c.phase, c.kv, got, c.want)
		}
	}
}

// TestJudged counts stages that were compared, whatever came of it.
func TestJudged(t *testing.T) {
	r := Run{Stages: []Stage{
		{Name: "S", Verdict: OK}, {Name: "P", Verdict: Wrong}, {Name: "U", Verdict: Tainted},
		{Name: "m", Verdict: Off},
		{Name: "l", Verdict: OK, Reference: Reference{Kind: NoReference}},
	}}
	if n := r.Judged(); n != 3 {
		t.Errorf("%d stages are judged, want 3", n)
	}
}
