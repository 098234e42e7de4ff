package scene

import (
	"slices"
	"testing"
)

// written is an array of which each of some threads writes one cell in each of its stores, and that is read
// as a whole.
func written(dims []int, threads, visits int, cell func(thread, visit int) []int) *Contested {
	w := &Contested{
		Variable: "x", Parties: Warps, dims: dims, by: map[int]map[int]bool{}, here: map[int]bool{},
		before: map[int]site{}, wrote: map[int]bool{}, read: map[int]bool{},
	}
	for t := range threads {
		for v := range visits {
			c, ok := linear(cell(t, v), dims)
			if !ok {
				panic("BUG: the test writes outside the array")
			}
			w.wrote[c], w.here[c] = true, true
			w.marks = append(w.marks, mark{thread: t, visit: v, cell: c, instr: v})
		}
	}
	total := 1
	for _, d := range dims {
		total *= d
	}
	for c := range total {
		w.read[c] = true
	}
	return w
}

// TestMisstep: the one step by which writers have the same cells, and what it should be; nil where the
// writers are no sums of steps, or two changes would do.
func TestMisstep(t *testing.T) {
	for _, c := range []struct {
		name string
		w    *Contested
		want Step // the zero value: none
	}{
		{
			"from store to store",
			written([]int{32, 32}, 256, 4, func(t, v int) []int { return []int{4*v + t/32, t % 32} }),
			Step{Of: "store", Visits: true, Dim: 0, Is: 4, Be: 8, Size: 32},
		},
		{
			"from warp to warp",
			written([]int{16, 32}, 128, 4, func(t, v int) []int { return []int{2*(t/32) + v, t % 32} }),
			Step{Of: "warp", Dim: 0, Is: 2, Be: 4, Size: 32},
		},
		{
			"part of a lane's number",
			written([]int{8, 8}, 32, 2, func(t, v int) []int { return []int{t / 8, t%8/4*2 + t%4} }),
			Step{},
		},
		{
			"no sum",
			written([]int{8, 32}, 32, 8, func(t, v int) []int { return []int{v, (t * t) % 32} }), Step{},
		},
		{
			"every cell once",
			written([]int{8, 32}, 32, 8, func(t, v int) []int { return []int{v, t} }), Step{},
		},
	} {
		got := c.w.Misstep()
		switch {
		case got == nil && c.want.Be != 0:
			t.Errorf("%s: nothing", c.name)
		case got != nil && (c.want.Be == 0 || got.Of != c.want.Of || got.Visits != c.want.Visits ||
			got.Dim != c.want.Dim || got.Is != c.want.Is || got.Be != c.want.Be || got.Size != c.want.Size):
			t.Errorf("%s: %+v, expected %+v", c.name, *got, c.want)
		}
	}
	w := written([]int{8}, 128, 2, func(t, v int) []int { return []int{t/32 + v} })
	w.marks = slices.DeleteFunc(w.marks, func(m mark) bool { return m.thread%32 != 0 })
	if got := w.Misstep(); got == nil || got.Of != "warp" || got.Be != 2 || got.Sure {
		t.Errorf("of one lane a warp: %+v, expected 2 from warp to warp, or 4 from store to store", got)
	}
	if at := written([]int{32, 32}, 256, 4, func(t, v int) []int { return []int{4*v + t/32, t % 32} }).
		Misstep().At; len(at) != 4 || at[3] != 3 {
		t.Errorf("stores %v", at)
	}
}

// TestThreadPart: bits of a thread's number by name.
func TestThreadPart(t *testing.T) {
	for bits, want := range map[[3]int]string{
		{0, 5, 8}: "lane", {5, 8, 8}: "warp", {2, 5, 8}: "lane / 4", {0, 2, 8}: "lane % 4",
		{5, 6, 8}: "warp % 2", {6, 8, 8}: "warp / 2", {1, 3, 5}: "lane / 2 % 4",
	} {
		if got := threadPart(bits[0], bits[1], bits[2]); got != want {
			t.Errorf("bits %v: %q, expected %q", bits, got, want)
		}
	}
}
