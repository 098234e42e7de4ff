package scene

import (
	"slices"
	"testing"
)

// contestedBy is an array of rows and columns of which each warp writes a box.
func contestedBy(dims []int, boxes ...indexBox) *Contested {
	w := &Contested{
		Variable: "x", dims: dims, by: map[int]map[int]bool{}, here: map[int]bool{},
		before: map[int]site{}, wrote: map[int]bool{},
	}
	for warp, b := range boxes {
		w.by[warp] = map[int]bool{}
		total := 1
		for _, d := range dims {
			total *= d
		}
		for c := range total {
			x, in := c, true
			for i := len(dims) - 1; i >= 0; i-- {
				in = in && b[i][0] <= x%dims[i] && x%dims[i] < b[i][1]
				x /= dims[i]
			}
			if in {
				w.by[warp][c], w.here[c], w.wrote[c] = true, true, true
			}
		}
	}
	return w
}

func box(r0, r1, c0, c1 int) indexBox { return indexBox{{r0, r1}, {c0, c1}} }

// TestLaw: which bits of a warp's number its place follows, and which cells that leaves out.
func TestLaw(t *testing.T) {
	for _, c := range []struct {
		name         string
		w            *Contested
		shared       []Part
		never, whose string
	}{
		{
			"row and column follow one bit",
			contestedBy([]int{32, 64}, box(0, 16, 0, 32), box(16, 32, 32, 64), box(0, 16, 0, 32),
				box(16, 32, 32, 64)),
			[]Part{{[]int{0, 2}, "x[0:16][0:32]"}, {[]int{1, 3}, "x[16:32][32:64]"}},
			"x[0:16][32:64], x[16:32][0:32]",
			"its row follows warp % 2, its column follows warp % 2, and nothing follows warp / 2",
		},
		{
			"no index follows the warp",
			contestedBy([]int{8}, indexBox{{0, 4}}, indexBox{{0, 4}}),
			[]Part{{[]int{0, 1}, "x[0:4]"}}, "x[4:8]", "no index of it follows the warp's number",
		},
		{
			"a step less than the width",
			contestedBy([]int{8}, indexBox{{0, 2}}, indexBox{{1, 3}}, indexBox{{2, 4}}, indexBox{{3, 5}}),
			[]Part{{[]int{0, 1}, "x[1]"}, {[]int{1, 2}, "x[2]"}, {[]int{2, 3}, "x[3]"}}, "x[5:8]",
			"its index is 1 further from warp to warp, and each writes 2",
		},
		{
			"every warp has its own", contestedBy([]int{4}, indexBox{{0, 2}}, indexBox{{2, 4}}), nil, "", "",
		},
	} {
		if got := c.w.Shared(); !slices.EqualFunc(got, c.shared, func(a, b Part) bool {
			return a.Cells == b.Cells && slices.Equal(a.Parties, b.Parties)
		}) {
			t.Errorf("%s: shared %v, expected %v", c.name, got, c.shared)
		}
		if got := c.w.Never(); got != c.never {
			t.Errorf("%s: never %q, expected %q", c.name, got, c.never)
		}
		if got := c.w.Law(); got != c.whose {
			t.Errorf("%s: law %q, expected %q", c.name, got, c.whose)
		}
	}
}

// TestMissed: cells that another line stored are not written at the line, and yet written.
func TestMissed(t *testing.T) {
	w := contestedBy([]int{8}, indexBox{{0, 4}}, indexBox{{0, 4}})
	for c := 4; c < 8; c++ {
		w.before[c], w.wrote[c] = site{"k.cu", 3}, true
	}
	cells, at := w.Missed()
	if w.Never() != "" || cells != "x[4:8]" || at == nil || at.Line != 3 {
		t.Errorf("never %q, missed %q, stored at %v", w.Never(), cells, at)
	}
}

func TestBitText(t *testing.T) {
	for set, want := range map[int]string{
		1: "warp % 2", 2: "warp / 2 % 2", 3: "warp % 4", 4: "warp / 4", 5: "warp % 2 and warp / 4",
		6: "warp / 2", 7: "warp",
	} {
		if got := bitText(set, 8); got != want {
			t.Errorf("bits %b: %q, expected %q", set, got, want)
		}
	}
}
