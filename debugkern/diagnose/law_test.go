package diagnose

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
)

// TestLoopsRound: a line lies in the loops whose bodies have it, with braces or without.
func TestLoopsRound(t *testing.T) {
	lines := strings.Split(scoped, "\n")
	for use, want := range map[int][]int{5: {3}, 19: {17}, 21: nil, 24: {22}, 26: nil} {
		if got := loopsRound(lines, use); !slices.Equal(got, want) {
			t.Errorf("line %d: in loops of lines %v, want %v", use, got, want)
		}
	}
}

// TestStepsOf: how an operand's index moves says nothing where no foreign element is of it.
func TestStepsOf(t *testing.T) {
	c := &debugkern.Contrast{Foreign: []debugkern.Operands{{Of: "P"}}}
	steps := []debugkern.Step{{Of: "K", Along: "column"}, {Of: "P", Along: "row"}}
	if got := stepsOf(steps, c); len(got) != 1 || got[0].Of != "P" {
		t.Errorf("%v, want the step of P alone", got)
	}
}
