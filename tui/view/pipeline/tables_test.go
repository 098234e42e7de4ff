package pipeline

import "testing"

// TestWarpsText: warps that follow each other are a range, however often and in which order they are given.
func TestWarpsText(t *testing.T) {
	for _, c := range []struct {
		warps []int
		want  string
	}{
		{[]int{0}, "w0"},
		{[]int{3, 0, 1, 2, 1}, "w0-3"},
		{[]int{0, 2, 3, 7}, "w0, w2-3, w7"},
	} {
		if got := warpsText(c.warps); got != c.want {
			t.Errorf("%v: %q, want %q", c.warps, got, c.want)
		}
	}
}
