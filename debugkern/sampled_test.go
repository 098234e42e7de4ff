package debugkern_test

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/ptx"
)

// TestSampled: a register that has the number of the thread holds it in every sample, of several warps.
func TestSampled(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "stage2", Shape: "small", Backend: "emu"})
	fn := run.Entry()
	number, at := int32(-1), -1
	for i, in := range fn.Body {
		switch {
		case number < 0 && in.Op == "mov" && len(in.Args) == 2 && in.Args[1].Kind == ptx.OpSpecial &&
			in.Args[1].Name == "%tid" && in.Args[1].Comp == 0:
			number = in.Args[0].Reg
		case number >= 0 && at < 0 && in.Kind().Writes():
			at = i
		}
	}
	if number < 0 || at < 0 {
		t.Fatal("the kernel has no number of a thread, or no store behind it")
	}
	list, err := run.Sampled(t.Context(), run.Blocks()[0], []int{at}, []int32{number})
	if err != nil {
		t.Fatal(err)
	}
	warps := map[int]bool{}
	for _, x := range list {
		warps[x.Warp] = true
		if !x.Known[0] || x.Values[0] != int64(32*x.Warp+x.Lane) {
			t.Errorf("%+v", x)
		}
	}
	if len(warps) < 2 {
		t.Errorf("%d samples, of warps %v", len(list), warps)
	}
}
