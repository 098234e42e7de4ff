package diagnose

import "testing"

// TestMaskedBy: a mask that a remainder becomes is written as one.
func TestMaskedBy(t *testing.T) {
	for mask, want := range map[int64]string{1: "% 2", 3: "% 4", 7: "% 8", 6: "& 6", 0: "& 0"} {
		if got := maskedBy(mask); got != want {
			t.Errorf("%d: %s, want %s", mask, got, want)
		}
	}
}

// TestBuffersText: parts of an array by their first index.
func TestBuffersText(t *testing.T) {
	for _, c := range []struct {
		list []int
		want string
	}{{[]int{1}, "[1]"}, {[]int{2, 3}, "[2] and [3]"}, {[]int{0, 2, 3}, "[0], [2] and [3]"}} {
		if got := buffersText(c.list); got != c.want {
			t.Errorf("%v: %s, want %s", c.list, got, c.want)
		}
	}
}
