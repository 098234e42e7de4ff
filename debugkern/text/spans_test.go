package text

import "testing"

// TestSpans: three numbers and more in a row are a range.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		list []int
		want string
	}{{nil, ""}, {[]int{4}, "4"}, {[]int{0, 1}, "0, 1"}, {[]int{0, 1, 2, 5, 7, 8, 9}, "0–2, 5, 7–9"}} {
		if got := Spans(c.list); got != c.want {
			t.Errorf("Spans(%v) = %q, expected %q", c.list, got, c.want)
		}
	}
}
