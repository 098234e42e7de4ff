package diagnose

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// TestSkipped: a barrier in a condition that warp 1 does not meet is listed, and moved to where the ways
// meet; one that both come to is not, nor are two that make up for each other.
func TestSkipped(t *testing.T) {
	fn := entry(t, `	.reg .pred %p<2>;
	.loc 1 3 1
	@%p1 bra $A;
	.loc 1 4 1
	bar.sync 0;
$A:
	.loc 1 5 1
	bar.sync 0;
	ret;`)
	for _, c := range []struct {
		more bool // warp 1 comes to the second barrier once more
		want int
	}{{false, 1}, {true, 0}} {
		m := &meetings{fn: fn, times: map[int]*[32]int{}}
		come := func(warp, at int) {
			m.Event(&target.Event{Class: target.ClassBarrier, Func: fn, Instr: fn.Body[at], Warp: warp})
		}
		come(0, 1)
		come(0, 2)
		come(1, 2)
		if c.more {
			come(1, 2)
		}
		list := m.skipped(fn, 2)
		if len(list) != c.want {
			t.Fatalf("%d barriers, not %d", len(list), c.want)
		}
		if c.want == 0 {
			continue
		}
		if x := list[0]; x.at.Line != 4 || !slices.Equal(x.times, []int{1, 0}) {
			t.Errorf("%+v", x)
		}
		r := list[0].moved(fn)
		if r == nil {
			t.Fatal("no place for it")
		}
		if e := r.edits(nil); len(e) != 2 || e[0].Kind != ptx.InsertBarrier || e[0].At != 2 || e[1].At != 1 ||
			!strings.HasSuffix(r.text, "before line 5") {
			t.Errorf("%+v", e)
		}
	}
}
