package diagnose

import (
	"slices"
	"strings"
	"testing"
)

const scoped = `template <int ROWS>
__device__ void load_tile(half (&tile)[ROWS][LD], const half* from, int rows) {
    for (int i = threadIdx.x * 8; i < ROWS * D; i += THREADS * 8) {
        const int r = i / D, d = i % D;
        tile[r][d] = from[r * D + d];
    }
}

__global__ void kernel(const half* A, int n) {
    int best = 0, row = 0;
    if (n > 3) {
        int row = 7;
        row += 2;
        best = row;
    }
    auto fetch = [&](int kt) {
        for (int i = 0; i < 4; i++) {
            const int k = kt * 4 + i;
            a[i] = A[k];
        }
        for (int i = 0; i < 8; i++) b[i] = A[i];
        for (int i = 0; i < 16; i++) {
            const int k = kt * 8 + i;
            b[i] = A[k * n + row];
        }
        b[0] = A[best + i];
    };
    fetch(0);
    load_tile(sA, A + (row + 1) * D,
              n);
}`

// TestValueOf: a name is that of the innermost declaration in scope.
func TestValueOf(t *testing.T) {
	lines := strings.Split(scoped, "\n")
	for _, c := range []struct {
		name      string
		use, want int
	}{
		{"r", 5, 4}, {"d", 5, 4}, {"i", 4, 3}, {"from", 5, 0}, {"i", 5, 3},
		{"row", 13, 12}, {"row", 24, 10}, {"best", 26, 14}, {"k", 19, 18}, {"k", 24, 23}, {"i", 23, 22},
		{"i", 18, 17},
		{"i", 26, 0}, // the loops are over
		{"i", 21, 0}, // the line's own
		{"kt", 18, 0},
	} {
		if got, _ := valueOf(lines, c.name, c.use); got != c.want {
			t.Errorf("%s on line %d: line %d, want %d", c.name, c.use, got, c.want)
		}
	}
}

// TestEnclosing: a function's parameters are what its call passes, and so are a lambda's.
func TestEnclosing(t *testing.T) {
	lines := strings.Split(scoped, "\n")
	for _, c := range []struct {
		use    int
		name   string
		params []string
		call   int
		args   []string
	}{
		{5, "load_tile", []string{"tile", "from", "rows"}, 29, []string{"sA", "A + (row + 1) * D", "n"}},
		{24, "fetch", []string{"kt"}, 28, []string{"0"}},
		{28, "kernel", []string{"A", "n"}, 5, nil},
	} {
		name, params := enclosing(lines, c.use)
		if name != c.name || !slices.Equal(params, c.params) {
			t.Errorf("line %d: in %s(%v), want %s(%v)", c.use, name, params, c.name, c.params)
		}
		if got := passed(lines, c.call, name); !slices.Equal(got, c.args) {
			t.Errorf("line %d passes %q, want %q", c.call, got, c.args)
		}
	}
}
