package scene

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// TestTouches: without its stores to global memory a launch touches less, and adds nothing; the other way
// round it adds something.
func TestTouches(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "softmax_row", Shape: "partial"})
	touches := func(edits ...ptx.Edit) *Touched {
		out, err := Touches(t.Context(), run, debugkern.Trial{Edits: edits, Blocks: run.Blocks()})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	fn := run.Entry()
	var without []ptx.Edit // the stores of the output
	for i, in := range fn.Body {
		if in.Kind() == isa.Store && in.Has("global") && !in.Loc.Within(target.IsProbe) {
			without = append(without, ptx.Edit{Kind: ptx.Remove, Func: fn.Name, At: i})
		}
	}
	all, again, less := touches(), touches(), touches(without...)
	if all.Lacks(again) || all.Adds(again) {
		t.Error("a second launch touches something else")
	}
	if !all.Lacks(less) || less.Adds(all) || !all.Adds(less) {
		t.Errorf("without stores: lacks %t, adds %t, with it adds %t", all.Lacks(less), less.Adds(all),
			all.Adds(less))
	}
}
