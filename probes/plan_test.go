package probes

import (
	"slices"
	"testing"
)

// TestUnjudged: an output is judged by a stage with a reference that is cut out of it, or by one of its own.
func TestUnjudged(t *testing.T) {
	cut := func(kind CaptureKind, of string, r Reference) StagePlan {
		return StagePlan{Reference: r, Capture: Capture{Kind: kind, Output: of}}
	}
	arrays := Reference{Kind: ReferenceNPZ}
	p := Plan{
		Args: []Arg{
			{Name: "x", Role: RoleInput}, {Name: "cut", Role: RoleOutput}, {Name: "whole", Role: RoleOutput},
			{Name: "bare", Role: RoleOutput}, {Name: "none", Role: RoleOutput},
		},
		Stages: []StagePlan{cut(CaptureOutput, "cut", arrays), cut(CaptureOutput, "bare", Reference{})},
		Memory: []StagePlan{cut(CaptureMemory, "whole", arrays)},
	}
	if got := p.Unjudged(); !slices.Equal(got, []string{"bare", "none"}) {
		t.Errorf("%v, want bare and none", got)
	}
}
