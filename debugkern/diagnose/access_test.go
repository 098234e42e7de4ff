package diagnose

import "testing"

// TestStands: a number that the compiler made of a line is not in it.
func TestStands(t *testing.T) {
	for _, c := range []struct {
		line, number string
		want         bool
	}{
		{"const int buffer = kt % 2;", "1", false}, {"const int buffer = kt % 2;", "2", true},
		{"x = i + 0x10u;", "16", true}, {"x = a1 + b; // 1", "1", false}, {"x = 1.5f;", "-4", false},
		{"x = i;", "", true}, {"x = i * HEAD_DIM;", "64 (HEAD_DIM)", true},
		{"x = i;", "64 (HEAD_DIM)", false},
	} {
		if got := stands(c.line, c.number); got != c.want {
			t.Errorf("%s in %s: %t", c.number, c.line, got)
		}
	}
}
