package diagnose

import (
	"strings"
	"testing"
)

// inTheLoop is a kernel of which tests ask where a barrier may stand.
var inTheLoop = strings.Split(`__global__ void k(float* x) {
    for (int i = t; i < N; i += THREADS) {
        sQ[i] = x[i];  // } { in a comment
    }
    for (int kv = 0; kv < tiles; kv++) {
        for (int i = t; i < N; i += THREADS) {
            sK[i] = x[kv * N + i];
        }
        if (t < 32) {
            m[t] = 0.0f;
        } else {
            l[t] = 0.0f;
        }
        const float first =
            sQ[0];
        for (int n = 0; n < N; n++)
            s += sQ[t] * sK[n];
        if (last) { printf("{"); }
        sO[t] = s;
    }
}`, "\n")

// TestInterval: a barrier stands where it orders the accesses to all arrays, and where all threads come by.
func TestInterval(t *testing.T) {
	o := outlineOf(inTheLoop)
	for _, c := range []struct {
		list []ordering
		want string // "": nowhere
	}{
		{[]ordering{{then: 17, first: 3}}, "between lines 4 and 5"},  // outside of both loops
		{[]ordering{{then: 17, first: 7}}, "between lines 8 and 16"}, // a loop without braces
		{[]ordering{{then: 17, first: 3}, {then: 17, first: 7}}, "between lines 8 and 16"},
		{[]ordering{{then: 17, first: 10}}, "between lines 13 and 16"}, // behind the else as well
		{[]ordering{{then: 15, first: 7}}, "between lines 8 and 14"},   // a statement of two lines
		{[]ordering{{first: 17, then: 7}}, "between lines 17 and 6 of the next iteration"},
		{[]ordering{{first: 7, then: 15}, {first: 10, then: 19}}, "between lines 13 and 14"},
		{[]ordering{{first: 7, then: 17}, {first: 10, then: 7}}, "between lines 13 and 16"},
		{[]ordering{{first: 17, then: 19}, {first: 19, then: 10}}, ""},
		// the accesses of the loop's iterations are to be ordered, and those behind it or before it
		{[]ordering{{first: 3, then: 7}, {first: 3, then: 3}}, "between lines 3 and 4"},
		{[]ordering{{first: 3, then: 17}, {first: 17, then: 7}}, "between lines 5 and 6"},
		{[]ordering{{first: 3, then: 7}, {first: 10, then: 17}}, ""},
	} {
		got := ""
		if x, ok := intersect(c.list); ok {
			got = x.outside(o, c.list).String()
		}
		if got != c.want {
			t.Errorf("%v: %q, expected %q", c.list, got, c.want)
		}
	}
}
