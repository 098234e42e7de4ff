package diagnose

import "testing"

// TestLiteralOf: the line that has a number has it with its suffix, and not as a part of another one.
func TestLiteralOf(t *testing.T) {
	for _, c := range []struct {
		number, line string
		has          bool
	}{
		{"0.5", "red[t] = sum * 0.5f;", true},
		{"16", "const unsigned n = 16u;", true},
		{"16", "row16 = 160;", false},
		{"0.5", "x = 10.5f;", false},
	} {
		if got := literalOf(c.number).MatchString(c.line); got != c.has {
			t.Errorf("%s in %q: %t", c.number, c.line, got)
		}
	}
}
