package walk_test

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// graph writes a hang: one line a debt.
func graph(h *walk.Hang) string {
	var out []string
	for i, s := range h.Waits {
		for _, d := range s.Debts {
			out = append(out, fmt.Sprintf("%d %v at %s line %d: %s of %v → %v %s", i, s.Warps, s.At,
				s.Source.Line, d.What, d.Warps, d.Needs, d.Why))
		}
	}
	return strings.Join(out, "\n") + fmt.Sprintf("\ncycle %v", h.Cycle)
}

// The planted hangs of a kernel are explained as graphs: what each barrier lacks, and where those stand who
// would have to bring it.
func TestHangs(t *testing.T) {
	for _, tt := range []struct{ fault, want string }{
		{"expect-more", `0 [0] at k_empty[0] line 154: 8 of 8 arrivals of [4 5 6 7 8 9 10 11] → [1] 
1 [4 5 6 7 8 9 10 11] at q_full[0] line 178: 1024 bytes (17408 expected, 16384 arrived) of [] → [] ` +
			`no copy that completes on it is pending
cycle []`},
		{"count-of-threads", `0 [0] at k_empty[0] line 154: 248 of 256 arrivals of [] → [] ` +
			`everybody who arrives there has: 8 arrivals of 8 warps in this phase
1 [4 5 6 7 8 9 10 11] at k_full[0] line 192: 1 of 1 arrivals of [0] → [0] 
cycle []`},
		{"turn-count", `0 [0] at k_empty[1] line 154: 4 of 8 arrivals of [4 5 6 7] → [1 2] 
1 [4] at warpgroup 1 line 197: the arrival of [5 6 7] → [2] 
2 [5 6 7] at barrier 1 line 193: 32 of 128 threads of [4 8 9 10 11] → [1 3 4] 
3 [8] at warpgroup 2 line 197: the arrival of [9 10 11] → [4] 
4 [9 10 11] at barrier 2 line 193: 32 of 128 threads of [4 5 6 7 8] → [1 2 3] 
cycle [1 2]`},
		{"turn-not-given", `0 [0] at k_empty[0] line 154: 8 of 8 arrivals of [4 5 6 7 8 9 10 11] → [1 2] 
1 [4 5 6 7] at barrier 1 line 192: 128 of 256 threads of [8 9 10 11] → [2] 
2 [8 9 10 11] at barrier 2 line 192: 128 of 256 threads of [4 5 6 7] → [1] 
cycle [1 2]`},
	} {
		_, line := recorded(t, debugkern.Request{Target: "stage5_hopper", Faults: []string{tt.fault}})
		h := walk.HangOf(line)
		if h == nil {
			t.Errorf("%s: the block ends with %s", tt.fault, line.End)
			continue
		}
		if got := graph(h); got != tt.want {
			t.Errorf("%s:\n%s", tt.fault, got)
		}
	}
}

// Warps that wait for registers need those that are left, where any are.
func TestHangForRegisters(t *testing.T) {
	at := &target.Source{File: "k.cu", Line: 7}
	starved := walk.WarpTime{Waits: []walk.Wait{{
		Span: walk.Span{From: 5, To: walk.Never}, At: target.WaitRegisters, MBarrier: -1, Barrier: -1,
		Source: at,
	}}}
	other := walk.WarpTime{Waits: []walk.Wait{{
		Span: walk.Span{From: 3, To: walk.Never}, At: "warpgroup 0", MBarrier: -1, Barrier: -1, Source: at,
	}}}
	gone := walk.WarpTime{Ended: true}
	for _, tt := range []struct {
		warps []walk.WarpTime
		want  string
	}{
		{[]walk.WarpTime{starved, gone}, "0 [0] at registers line 7: registers of the block of [] → [] " +
			"no warp is left that could give any back\ncycle []"},
		{[]walk.WarpTime{other, starved}, "0 [0] at warpgroup 0 line 7: the arrival of [1] → [1] \n" +
			"1 [1] at registers line 7: registers of the block of [0] → [0] \ncycle [0 1]"},
	} {
		if got := graph(walk.HangOf(&walk.Timeline{End: "deadlock", Warps: tt.warps})); got != tt.want {
			t.Errorf("got %s", got)
		}
	}
}
