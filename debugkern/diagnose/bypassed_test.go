package diagnose

import (
	"testing"

	"tilescope/debugkern/report"
)

// TestStandsBetween: a barrier stands between two accesses of one iteration, or of one and the next.
func TestStandsBetween(t *testing.T) {
	at := func(line int) *report.Source { return &report.Source{File: "k.cu", Line: line} }
	for _, c := range []struct {
		first, then, line int
		want              bool
	}{
		{7, 10, 9, true}, {7, 10, 11, false}, {7, 10, 7, false},
		{10, 7, 11, true}, {10, 7, 6, true}, {10, 7, 9, false},
	} {
		f := &report.Finding{Source: at(c.first), Other: at(c.then)}
		if got := standsBetween(at(c.line), f); got != c.want {
			t.Errorf("line %d between %d and %d: %t", c.line, c.first, c.then, got)
		}
	}
	f := &report.Finding{Source: at(7), Other: at(10)}
	if standsBetween(&report.Source{File: "k.cuh", Line: 9}, f) {
		t.Error("a line of another file")
	}
}
