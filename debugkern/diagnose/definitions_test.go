package diagnose

import (
	"slices"
	"testing"
)

// TestIndexNames: the names are those of the variable's own index, where the line has it.
func TestIndexNames(t *testing.T) {
	for _, c := range []struct {
		line, variable string
		written        bool
		want           []string
	}{
		{"if (ok) sK[n][d] = key0 + n < S ? K[at] : zero;", "sK", true, []string{"n", "d"}},
		{"if (ok) sK[n][d] = key0 + n < S ? K[at] : zero;", "K", false, []string{"at"}},
		{"store(&sQ[row][col], load(Q + (valid ? at : base), valid));", "Q", false, []string{
			"valid", "at", "base",
		}},
		{"x = *reinterpret_cast<const uint4*>(from + static_cast<size_t>(r) * HEAD_DIM + d);", "", false, []string{
			"from", "r", "d",
		}},
		{"P[r][n] = exp_below(S[r][n], lse[n]);", "lse", false, []string{"n"}},
		{"wmma::load_matrix_sync(v, &sV[d][n], LD);", "sV", false, []string{"d", "n"}},
		{"x[map[i]] = x[j];", "x", true, []string{"map", "i"}},
		{"x[map[i]] = x[j];", "x", false, []string{"j"}},
		{"const half* p = USE ? sV[0][row] : V + chunk * 8;", "sV", false, []string{"row"}},
		{"if (r < rows) x = *(from + r * D + d);", "", false, []string{"from", "r", "d"}},
		{"m[row] = 0.0f;  // of [all]", "m", true, []string{"row"}},
	} {
		if got := indexNames(c.line, c.variable, c.written); !slices.Equal(got, c.want) {
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
