package check

import "testing"

// TestBackwards: a place above another of the same file.
func TestBackwards(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"k.cu:24", "k.cu:22", true}, {"k.cu:9", "k.cu:10", false}, {"k.cu:7", "k.cu:7", false},
		{"k.cu:24", "a.cuh:22", false}, {"", "k.cu:22", false}, {"k.cu:24", "k.cu", false},
	} {
		if got := backwards(c.from, c.to); got != c.want {
			t.Errorf("%q, %q: %v", c.from, c.to, got)
		}
	}
}
