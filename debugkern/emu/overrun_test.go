package emu

import (
	"testing"

	"tilescope/debugkern/target"
)

// TestOverrun: an access outside an array states the element and, apart from it, the array's extents.
func TestOverrun(t *testing.T) {
	load, store := &inst{class: target.ClassLoad}, &inst{class: target.ClassStore}
	async := &inst{class: target.ClassAsync}
	for _, c := range []struct {
		v    variable
		in   *inst
		nth  int
		size int
		want string
	}{
		{typed("x", 4*4096, 4, []int{4096}), load, 0, 4, "reads x[4096]; x has 4096 elements"},
		{typed("y", 2*200*4, 4, []int{2, 200}), store, 0, 4, "writes y[2][0]; y has 2×200 elements"},
		{typed("x", 4*4094, 4, []int{4096}), load, 0, 16,
			"reads 16 bytes from x[4094] on; x has 4096 elements"},
		{typed("n", 4, 4, []int{1}), load, 0, 4, "reads n[1]; n has 1 element"},
		{typed("sV", 3*2048, 1, []int{3, 32, 64}), async, 0, 16,
			"writes 16 bytes from sV[3][0][0] on; sV has 3×32×64 elements"},
		{typed("V", 16*4, 1, []int{64}), async, 1, 16, "reads 16 bytes from byte 64 of V on; V has 64 bytes"},
		{variable{name: "smem", index: []int{9}}, store, 0, 4, "write of 4 bytes outside smem[9]"},
	} {
		if got := c.v.overrun(c.in, &access{nth: c.nth}, c.size); got != c.want {
			t.Errorf("%q, expected %q", got, c.want)
		}
	}
}
