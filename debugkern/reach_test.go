package debugkern_test

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// TestReaches: the addresses of a right kernel's loads from its argument are sums of indices, and within it.
func TestReaches(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "softmax_row", Shape: "ragged", Backend: "emu"})
	var loads []int
	for i, in := range run.Entry().Body {
		if in.Kind() == isa.Load && in.Space() == ptx.SpaceGlobal {
			loads = append(loads, i)
		}
	}
	blocks := run.Blocks()
	list, _, err := run.Reaches(t.Context(), blocks[len(blocks)-1], loads)
	if err != nil {
		t.Fatal(err)
	}
	x := run.Plan.Arg("X")
	seen := 0
	for _, r := range list {
		if r.Base != "X" {
			continue
		}
		seen++
		sum := int64(0)
		for _, c := range r.Const {
			sum += c
		}
		for _, s := range r.Terms {
			sum += s.Factor * s.Value
		}
		if sum != r.Offset || sum < 0 || sum >= int64(x.Elems()*x.DType.Size()) || len(r.Terms) < 2 {
			t.Errorf("%+v: a sum of %d, want the offset, in %d elements", r, sum, x.Elems())
		}
	}
	if seen < x.Dims[1] {
		t.Errorf("%d accesses of X, want a row of %d at least", seen, x.Dims[1])
	}
}
