package diagnose

import (
	"strings"
	"testing"
)

// TestLiesBetween: a barrier stands between two accesses of one iteration, or of one and the next of a loop
// that all are in.
func TestLiesBetween(t *testing.T) {
	lines := strings.Split(`void f() {
    a();
    for (int k = 0; k < n; k++) {
        write();
        if (c) {
            sync();
            read();
            sync();
        }
    }
    b();
}`, "\n")
	for _, c := range []struct {
		first, then, line int
		want              bool
	}{
		{4, 7, 6, true}, {4, 7, 8, false}, {4, 7, 4, false},
		{7, 4, 8, true}, {7, 4, 6, false}, {7, 4, 11, false}, {7, 4, 2, false}, {7, 7, 8, true},
	} {
		if got := liesBetween(lines, c.line, c.first, c.then); got != c.want {
			t.Errorf("line %d between %d and %d: %t", c.line, c.first, c.then, got)
		}
	}
}
