package diagnose

import (
	"testing"

	"tilescope/debugkern/scene"
)

func TestParties(t *testing.T) {
	for _, c := range []struct {
		list []int
		are  scene.Party
		want string
	}{
		{[]int{0, 2}, scene.Warps, "warps 0 and 2 both"},
		{[]int{0, 1, 2, 3}, scene.Warps, "warps 0, 1, 2 and 3 all"},
		{[]int{0, 8, 16, 24, 31}, scene.Lanes, "lanes 0, 8, 16 and 2 more of warp 1 all"},
		{[]int{67, 68}, scene.Lines, "lines 67 and 68 both"},
	} {
		if got := parties(c.list, []int{1}, c.are); got != c.want {
			t.Errorf("%q, expected %q", got, c.want)
		}
	}
}
