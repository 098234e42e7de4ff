package pipeline

import (
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// A column of a chart in words: each warp's acts in their order, and of a row of several warps how many do
// what.
func TestDoing(t *testing.T) {
	wait := func(from, to uint64) walk.Wait {
		return walk.Wait{Span: walk.Span{From: from, To: to}, At: "barrier 0", MBarrier: -1,
			Source: &target.Source{Line: 9}}
	}
	runs := func(spans ...walk.Span) []walk.Span { return spans }
	warps := []walk.WarpTime{
		{Runs: runs(walk.Span{From: 0, To: 100}, walk.Span{From: 300, To: 310}), Ended: true,
			Waits: []walk.Wait{wait(100, 300)}},
		{Runs: runs(walk.Span{From: 100, To: 200}, walk.Span{From: 310, To: 400}),
			Waits: []walk.Wait{wait(200, 300)}},
		{Runs: runs(walk.Span{From: 200, To: 250}), Waits: []walk.Wait{wait(210, walk.Never)}},
		{Runs: runs(walk.Span{From: 0, To: 1}, walk.Span{From: 2, To: 3}, walk.Span{From: 4, To: 5}),
			Waits: []walk.Wait{wait(1, 2), wait(3, 4), wait(5, 6)}},
		{Waits: []walk.Wait{wait(0, 2), wait(2, 4), wait(4, 6), wait(6, 8), wait(8, 10)}},
	}
	c := &chart{line: &walk.Timeline{Steps: 399, Warps: warps}, cols: []uint64{0}}
	for _, x := range []struct {
		warps []int
		span  walk.Span
		full  bool
		want  string
	}{
		{[]int{0}, walk.Span{From: 0, To: 50}, true, "executes"},
		{[]int{0}, walk.Span{From: 50, To: 150}, true,
			"executes, then waits at barrier 0 (line 9) from step 100 to 299"},
		{[]int{0}, walk.Span{From: 250, To: 305}, false, "waits at barrier 0 (line 9), then executes"},
		{[]int{0}, walk.Span{From: 50, To: 400}, false,
			"executes, then waits at barrier 0 (line 9), then executes"},
		{[]int{0}, walk.Span{From: 310, To: 400}, true, "has ended"},
		{[]int{1}, walk.Span{From: 0, To: 100}, true, "is ready, but not scheduled"},
		{[]int{2}, walk.Span{From: 200, To: 400}, true, "executes, then some lanes execute, and others " +
			"wait at barrier 0 (line 9) from step 210 on, for ever"},
		{[]int{3}, walk.Span{From: 0, To: 10}, true,
			"executes, and waits 3 times in between, first at barrier 0 (line 9)"},
		{[]int{3}, walk.Span{From: 0, To: 10}, false, "executes, and waits 3 times in between"},
		{[]int{4}, walk.Span{From: 0, To: 10}, false, "waits 5 times"},
		{[]int{0, 1, 2}, walk.Span{From: 0, To: 90}, false,
			"1 of 3 executes, 2 of 3 are ready, but not scheduled"},
		{[]int{0, 1}, walk.Span{From: 210, To: 220}, false, "each: waits at barrier 0 (line 9)"},
		{[]int{0, 1}, walk.Span{From: 120, To: 130}, true,
			"1 of 2 waits at barrier 0 (line 9), 1 of 2 executes"},
		{[]int{0, 1}, walk.Span{From: 120, To: 400}, true,
			"2 of 2 wait at barrier 0 (line 9), 2 of 2 execute, at different steps"},
	} {
		if got := c.doing(&row{warps: x.warps}, x.span, x.full); got != x.want {
			t.Errorf("warps %v, %v: %q; want %q", x.warps, x.span, got, x.want)
		}
	}
}
