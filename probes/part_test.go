package probes

import "testing"

// TestPart: two kernels' tiles are paired by the positions that both have, by the iteration where no position
// depends on it, and an argument by its name alone.
func TestPart(t *testing.T) {
	across := Extent{Dims: [4]int{4, 1, 1, 1}, Values: []int{0, 16, 32, 48}}
	along := Extent{Dims: [4]int{1, 1, 1, 3}, Values: []int{0, 8, 16}}
	tile, once := &StagePlan{Stage: "x", PerTile: true}, &StagePlan{Stage: "y"}
	argument := &StagePlan{Stage: "out", Capture: Capture{Kind: CaptureMemory}}
	both := &Plan{Positions: []Position{{"row", across}, {"key", along}}}
	row := &Plan{Positions: []Position{{"row", across}}}
	block := Dim3{2, 0, 0}
	for _, c := range []struct {
		p    *Plan
		sp   *StagePlan
		kv   int
		want string
	}{
		{both, tile, 2, "row=32 key=16 "}, {both, once, 0, "row=32 "}, {row, tile, 2, "row=32 2"},
		{row, once, 0, "row=32 "}, {&Plan{}, tile, 2, "2,0,0 2"}, {&Plan{}, once, 0, "2,0,0 "},
		{both, argument, 0, "out"},
	} {
		if got := c.p.Part(SharedPositions(c.p, both), c.sp, block, c.kv); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := SharedPositions(both, row); len(got) != 1 || got[0] != "row" {
		t.Errorf("%v", got)
	}
}
