package diagnose

import (
	"slices"
	"testing"
)

// TestIndexNames: the names are those of the variable's own index, where the line has it.
func TestIndexNames(t *testing.T) {
	for _, c := range []struct {
		line, variable string
		want           []string
	}{
		{"if (ok) sK[n][d] = key0 + n < S ? K[at] : zero;", "sK", []string{"n", "d"}},
		{"if (ok) sK[n][d] = key0 + n < S ? K[at] : zero;", "K", []string{"at"}},
		{"store(&sQ[row][col], load(Q + (valid ? at : base), valid));", "Q", []string{"valid", "at", "base"}},
		{"x = *reinterpret_cast<const uint4*>(from + static_cast<size_t>(r) * HEAD_DIM + d);", "", []string{
			"from", "r", "d",
		}},
		{"m[row] = 0.0f;  // of [all]", "m", []string{"row"}},
	} {
		if got := indexNames(c.line, c.variable); !slices.Equal(got, c.want) {
			t.Errorf("%s of %q: %v, want %v", c.variable, c.line, got, c.want)
		}
	}
}

// TestFirst: a declaration of several names ends at the comma outside of brackets.
func TestFirst(t *testing.T) {
	for text, want := range map[string]string{
		" i / DIM, d = i % DIM;": " i / DIM", " min(a, b);": " min(a, b)", " a[i, j] + c": " a[i, j] + c",
	} {
		if got := first(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
